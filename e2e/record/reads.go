package main

import (
	"context"
	"fmt"
	"os"
)

// identity records logging in, the catalog and what discovery asks for; it leaves the recorder logged in as the owner.
func (r *recorder) identity(ctx context.Context) error {
	login := func(name string, want int, body any) (*exchange, error) {
		r.token = ""
		return r.rec(ctx, name, want, "identity", "POST", "/v3/auth/tokens", body)
	}
	for _, c := range []struct {
		name string
		want int
		body any
	}{
		{"identity-token-wrong-password", 401, passwordAuth(account{owner.user, "wrong", owner.project})},
		{"identity-token-unknown-user", 401, passwordAuth(account{"nobody", "devstack", owner.project})},
		{"identity-token-unknown-project", 401, passwordAuth(account{owner.user, "devstack", "nowhere"})},
		{"identity-token-empty-body", 400, object{}},
		{"identity-token-not-json", 400, "{"},
	} {
		if _, err := login(c.name, c.want, c.body); err != nil {
			return err
		}
	}
	x, err := login("identity-token-create", 201, passwordAuth(owner))
	if err != nil {
		return err
	}
	r.use(x)
	for _, c := range [][2]string{
		{"identity-version-v3", "/v3"}, {"identity-version-v3-slash", "/v3/"}, {"identity-regions", "/v3/regions"},
		{"identity-region", "/v3/regions/RegionOne"}, {"identity-catalog", "/v3/auth/catalog"}, {"identity-projects", "/v3/auth/projects"},
	} {
		if _, err := r.get(ctx, c[0], "identity", c[1]); err != nil {
			return err
		}
	}
	if _, err := r.rec(ctx, "identity-versions", 300, "identity", "GET", "/", nil); err != nil {
		return err
	}
	if _, err := r.rec(ctx, "identity-region-unknown", 404, "identity", "GET", "/v3/regions/RegionNone", nil); err != nil {
		return err
	}
	for _, c := range [][2]string{{"identity-token-validate", "GET"}, {"identity-token-check", "HEAD"}} {
		headers := map[string]string{"X-Subject-Token": r.token}
		if _, err := r.recWith(ctx, c[0], 200, "identity", request{Method: c[1], Path: "/v3/auth/tokens", Headers: headers}); err != nil {
			return err
		}
	}
	headers := map[string]string{"X-Subject-Token": "nonsense"}
	_, err = r.recWith(ctx, "identity-token-validate-unknown", 404, "identity", request{Method: "GET", Path: "/v3/auth/tokens", Headers: headers})
	return err
}

// images records Glance: reading, and the life of an image that is uploaded.
func (r *recorder) images(ctx context.Context) error {
	x, err := r.get(ctx, "image-list", "image", "/v2/images")
	if err != nil {
		return err
	}
	id := first(x.list("images"), "id", object{"name": "cirros-0.5.2-x86_64-disk"})
	for _, c := range [][2]string{
		{"image-list-by-name", "/v2/images?name=cirros-0.5.2-x86_64-disk"}, {"image-list-limit", "/v2/images?limit=1"},
		{"image-show", "/v2/images/" + id},
	} {
		if _, err := r.get(ctx, c[0], "image", c[1]); err != nil {
			return err
		}
	}
	x, err = r.rec(ctx, "image-create", 201, "image", "POST", "/v2/images", object{
		"name": "rec-image", "container_format": "bare", "disk_format": "raw", "min_disk": 1, "min_ram": 256, "visibility": "private",
	})
	if err != nil {
		return err
	}
	path := "/v2/images/" + x.str("id")
	upload := request{Method: "PUT", Path: path + "/file", Body: "content", Headers: map[string]string{"Content-Type": "application/octet-stream"}}
	if _, err := r.recWith(ctx, "image-upload", 204, "image", upload); err != nil {
		return err
	}
	if _, err := r.get(ctx, "image-show-uploaded", "image", path); err != nil {
		return err
	}
	if _, err := r.rec(ctx, "image-delete", 204, "image", "DELETE", path, nil); err != nil {
		return err
	}
	_, err = r.rec(ctx, "image-show-deleted", 404, "image", "GET", path, nil)
	return err
}

// resources records what Nova, Neutron and Cinder say of a stack's servers, ports and volumes.
func (r *recorder) resources(ctx context.Context, serverID, portID, volumeID string) error {
	port, err := r.get(ctx, "network-port-show", "network", "/v2.0/ports/"+portID)
	if err != nil {
		return err
	}
	netID := port.str("port", "network_id")
	reads := []struct{ name, service, path string }{
		{"compute-server-show", "compute", "/servers/" + serverID},
		{"compute-server-list", "compute", "/servers"},
		{"compute-server-list-detail", "compute", "/servers/detail"},
		{"compute-server-list-by-name", "compute", "/servers?name=master"},
		{"compute-server-addresses", "compute", "/servers/" + serverID + "/ips"},
		{"compute-server-interfaces", "compute", "/servers/" + serverID + "/os-interface"},
		{"compute-server-volumes", "compute", "/servers/" + serverID + "/os-volume_attachments"},
		{"compute-server-groups", "compute", "/os-server-groups"},
		{"compute-flavor-list", "compute", "/flavors"},
		{"compute-flavor-list-detail", "compute", "/flavors/detail"},
		{"compute-flavor-show", "compute", "/flavors/1"},
		{"compute-zones", "compute", "/os-availability-zone"},
		{"compute-limits", "compute", "/limits"},
		{"compute-keypairs", "compute", "/os-keypairs"},
		{"network-list", "network", "/v2.0/networks"},
		{"network-list-by-name", "network", "/v2.0/networks?name=net0"},
		{"network-show", "network", "/v2.0/networks/" + netID},
		{"network-subnet-list", "network", "/v2.0/subnets"},
		{"network-subnet-list-of-network", "network", "/v2.0/subnets?network_id=" + netID},
		{"network-port-list-of-server", "network", "/v2.0/ports?device_id=" + serverID},
		{"network-port-list-empty", "network", "/v2.0/ports?device_id=nobody"},
		{"volume-show", "volumev3", "/volumes/" + volumeID},
		{"volume-list", "volumev3", "/volumes"},
		{"volume-list-detail", "volumev3", "/volumes/detail"},
	}
	for _, c := range reads {
		if _, err := r.get(ctx, c.name, c.service, c.path); err != nil {
			return err
		}
	}
	subnet := port.list("port", "fixed_ips")[0]["subnet_id"].(string)
	if _, err := r.get(ctx, "network-subnet-show", "network", "/v2.0/subnets/"+subnet); err != nil {
		return err
	}
	for _, version := range []string{"2.60", "2.93"} {
		headers := map[string]string{"OpenStack-API-Version": "compute " + version}
		if _, err := r.recWith(ctx, "compute-server-show-"+version, 200, "compute", request{Method: "GET", Path: "/servers/" + serverID, Headers: headers}); err != nil {
			return err
		}
	}
	headers := map[string]string{"OpenStack-API-Version": "compute 2.999"}
	_, err = r.recWith(ctx, "compute-microversion-unknown", 406, "compute", request{Method: "GET", Path: "/servers/" + serverID, Headers: headers})
	return err
}

// someReads are one path of each service; unknown is one that does not exist there.
var someReads = []struct{ service, path, unknown string }{
	{"identity", "/v3/regions", "/v3/projects/nothing"},
	{"orchestration", "/stacks", "/stacks/nothing"},
	{"compute", "/servers", "/servers/nothing"},
	{"network", "/v2.0/networks", "/v2.0/networks/nothing"},
	{"image", "/v2/images", "/v2/images/nothing"},
	{"volumev3", "/volumes", "/volumes/nothing"},
}

// wrongTokens records for each service a request with a bad token, with none, with a revoked one, for a resource and for a path that do
// not exist. The recorder is logged out after it.
func (r *recorder) wrongTokens(ctx context.Context) error {
	good := r.token
	for _, s := range someReads {
		for _, c := range [][2]string{{"unknown-resource", s.unknown}, {"unknown-path", "/v2/no/such/path"}} {
			if err := r.any(ctx, s.service+"-"+c[0], s.service, c[1]); err != nil {
				return err
			}
		}
	}
	for _, s := range someReads {
		for _, c := range [][2]string{{"bad-token", "nonsense"}, {"no-token", ""}} {
			r.token = c[1]
			if _, err := r.rec(ctx, s.service+"-"+c[0], 401, s.service, "GET", s.path, nil); err != nil {
				return err
			}
		}
	}
	r.token = good
	revoke := request{Method: "DELETE", Path: "/v3/auth/tokens", Headers: map[string]string{"X-Subject-Token": good}}
	if _, err := r.recWith(ctx, "identity-token-revoke", 204, "identity", revoke); err != nil {
		return err
	}
	_, err := r.rec(ctx, "identity-revoked-token", 401, "identity", "GET", "/v3/regions", nil)
	return err
}

// any records a GET whatever its status is.
func (r *recorder) any(ctx context.Context, name, service, path string) error {
	x, err := r.do(ctx, service, request{Method: "GET", Path: path})
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%3d  %s\n", x.Response.Status, name)
	return r.write(name, x)
}
