// Package access says on whose behalf something is done. The store shows nobody the rows of projects that are not theirs:
//
//	ctx = access.With(request.Context(), &access.Caller{User: "ann", Project: "p1", Roles: []string{"member"}})
//	instances, more, err := store.Instances(ctx, page) // those of p1
//
// A context without a caller is the VNF manager itself, or a server that asks nobody who they are.
package access

import (
	"cmp"
	"context"
	"slices"
)

// Caller is who has sent a request.
type Caller struct {
	User    string // id, for the audit
	Name    string // for people; "" = the id
	Project string // that the caller acts for, and that what it makes belongs to
	Roles   []string
	// Everywhere lets the caller see and change what belongs to other projects.
	Everywhere bool
}

// String names the caller for people.
func (c *Caller) String() string { return cmp.Or(c.Name, c.User) }

// Sees reports whether what belongs to a project is there for the caller; nil sees everything.
func (c *Caller) Sees(project string) bool { return c == nil || c.Everywhere || c.Project == project }

type key struct{}

// With returns a context on behalf of a caller.
func With(ctx context.Context, caller *Caller) context.Context {
	return context.WithValue(ctx, key{}, caller)
}

// Of returns the caller; nil if there is none.
func Of(ctx context.Context) *Caller {
	caller, _ := ctx.Value(key{}).(*Caller)
	return caller
}

// Project returns the project of the caller; "" if there is none.
func Project(ctx context.Context) string {
	if caller := Of(ctx); caller != nil {
		return caller.Project
	}
	return ""
}

// Within confines what is done to one project, whoever the caller is: an operation on a VNF uses packages and VIMs of the VNF's project. The
// project "", that of what was made without authentication, confines nothing.
func Within(ctx context.Context, project string) context.Context {
	if project == "" {
		return ctx
	}
	caller := Of(ctx)
	if caller == nil {
		caller = &Caller{}
	}
	confined := *caller
	confined.Roles = slices.Clone(caller.Roles)
	confined.Project, confined.Everywhere = project, false
	return With(ctx, &confined)
}

// Denied says that the caller may not do something.
type Denied struct{ Detail string }

// Error implements error.
func (e *Denied) Error() string { return e.Detail }
