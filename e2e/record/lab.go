package main

import (
	"context"
	"fmt"
	"os"
)

// lab is the project that the recordings are made in, so that neither quotas nor listings meet anybody else's resources.
type lab struct {
	admin     *client
	projectID string
	userIDs   []string
	flavorID  string // of rec.huge, which no host can hold
}

// Accounts of the lab: owner has the roles admin, member and heat_stack_owner, member lacks the first.
var (
	owner  = account{"rec_owner", "devstack", "recordings"}
	member = account{"rec_member", "devstack", "recordings"}
)

func newLab(ctx context.Context, admin *client) (*lab, error) {
	l := &lab{admin: admin}
	x, err := admin.must(ctx, "identity", "POST", "/v3/projects", object{"project": object{"name": owner.project, "domain_id": "default"}})
	if err != nil {
		return nil, err
	}
	l.projectID = x.str("project", "id")
	roles, err := admin.must(ctx, "identity", "GET", "/v3/roles", nil)
	if err != nil {
		return nil, err
	}
	for who, granted := range map[account][]string{
		owner: {"admin", "member", "heat_stack_owner"}, member: {"member", "heat_stack_owner"},
	} {
		if err := l.addUser(ctx, who, roles, granted); err != nil {
			return nil, err
		}
	}
	x, err = admin.must(ctx, "compute", "POST", "/flavors", object{"flavor": object{"name": "rec.huge", "vcpus": 1, "ram": 100_000_000, "disk": 1}})
	if err != nil {
		return nil, err
	}
	l.flavorID = x.str("flavor", "id")
	return l, nil
}

func (l *lab) addUser(ctx context.Context, who account, roles *exchange, granted []string) error {
	x, err := l.admin.must(ctx, "identity", "POST", "/v3/users", object{"user": object{"name": who.user, "password": who.password, "domain_id": "default"}})
	if err != nil {
		return err
	}
	userID := x.str("user", "id")
	l.userIDs = append(l.userIDs, userID)
	for _, name := range granted {
		for _, role := range roles.list("roles") {
			if role["name"] != name {
				continue
			}
			path := fmt.Sprintf("/v3/projects/%s/users/%s/roles/%s", l.projectID, userID, role["id"])
			if _, err := l.admin.must(ctx, "identity", "PUT", path, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// setInstanceQuota limits the servers of the project.
func (l *lab) setInstanceQuota(ctx context.Context, instances int) error {
	_, err := l.admin.must(ctx, "compute", "PUT", "/os-quota-sets/"+l.projectID, object{"quota_set": object{"instances": instances, "force": true}})
	return err
}

// remove deletes project, users and flavor; what cannot be deleted is named on standard error.
func (l *lab) remove(ctx context.Context) {
	paths := []string{"/v3/projects/" + l.projectID}
	for _, id := range l.userIDs {
		paths = append(paths, "/v3/users/"+id)
	}
	for _, path := range paths {
		if _, err := l.admin.must(ctx, "identity", "DELETE", path, nil); err != nil {
			fmt.Fprintln(os.Stderr, "record:", err)
		}
	}
	if _, err := l.admin.must(ctx, "compute", "DELETE", "/flavors/"+l.flavorID, nil); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
	}
}
