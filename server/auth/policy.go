package auth

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Policy says what roles may do. A caller may do what any of its roles may.
type Policy struct {
	Roles map[string]Role `yaml:"roles"`
}

// Role is what callers of a role may do.
type Role struct {
	// Everywhere lets them see and change what belongs to other projects.
	Everywhere bool `yaml:"everywhere"`
	// Allow are actions: a resource, or *, and :read, :write or :*, such as instances:read.
	Allow []string `yaml:"allow"`
}

// Resources are what actions are about.
func Resources() []string {
	return []string{"packages", "instances", "operations", "subscriptions", "vims", "audit", "metrics"}
}

// DefaultPolicy is that of OpenStack's roles: a reader reads, a member also changes what is in its project, a manager also sees who has done it,
// and an administrator does everything everywhere.
func DefaultPolicy() *Policy {
	reader := []string{"packages:read", "instances:read", "operations:read", "subscriptions:read", "vims:read"}
	member := []string{"packages:*", "instances:*", "operations:*", "subscriptions:*", "vims:*"}
	return &Policy{Roles: map[string]Role{
		"admin":   {Everywhere: true, Allow: []string{"*:*"}},
		"manager": {Allow: append(slices.Clone(member), "audit:read")},
		"member":  {Allow: member},
		"reader":  {Allow: reader},
	}}
}

// ReadPolicy reads a policy from a YAML file.
func ReadPolicy(path string) (*Policy, error) {
	content, err := os.ReadFile(path) //nolint:gosec // the operator's own choice
	if err != nil {
		return nil, err
	}
	policy := &Policy{}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	if err := decoder.Decode(policy); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(policy.Roles) == 0 {
		return nil, fmt.Errorf("%s: it names no role, so that nobody may do anything", path)
	}
	for name, role := range policy.Roles {
		for _, action := range role.Allow {
			resource, verb, _ := strings.Cut(action, ":")
			if resource != "*" && !slices.Contains(Resources(), resource) || !slices.Contains([]string{"*", "read", "write"}, verb) {
				return nil, fmt.Errorf("%s: role %s: %q is no action; it is one of *, %s, and then :read, :write or :*", path, name, action,
					strings.Join(Resources(), ", "))
			}
		}
	}
	return policy, nil
}

// allows reports whether one of some roles allows an action, and whether one of those that do is everywhere: a role that sees all projects for
// one thing gives no more weight to the others.
func (p *Policy) allows(roles []string, action string) (allowed, everywhere bool) {
	for _, name := range roles {
		if role := p.Roles[name]; role.allows(action) {
			allowed, everywhere = true, everywhere || role.Everywhere
		}
	}
	return allowed, everywhere
}

func (r *Role) allows(action string) bool {
	resource, verb, _ := strings.Cut(action, ":")
	return slices.ContainsFunc(r.Allow, func(allowed string) bool {
		r, v, _ := strings.Cut(allowed, ":")
		return (r == "*" || r == resource) && (v == "*" || v == verb)
	})
}

// everywhere reports whether one of some roles is for all projects.
func (p *Policy) everywhere(roles []string) bool {
	return slices.ContainsFunc(roles, func(role string) bool { return p.Roles[role].Everywhere })
}
