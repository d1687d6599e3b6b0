package main

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"vnfm/mgmtdriver/kubernetes/kubetest"
	"vnfm/mgmtdriver/kubespray/spraytest"
	"vnfm/mgmtdriver/registry/registrytest"
	"vnfm/mgmtdriver/ssh/sshtest"
	"vnfm/samples"
)

// telling is what a command writes that fails, with secrets.
func telling(secrets ...string) string {
	return "E: proxy " + proxied() + " refuses " + strings.Join(secrets, " and ")
}

// proxied is a proxy with a password.
func proxied() string { return "http://user:" + mark("proxy") + "@proxy:8080" }

// params are those of a request of a sample, with the passwords of machines in the place of the sample's.
func (s *secretive) params(t *testing.T, source fs.FS, file, parameter string, replace ...string) (request, installation map[string]any) {
	t.Helper()
	content, err := fs.ReadFile(source, "params/"+file)
	if err != nil {
		t.Fatal(err)
	}
	replace = append(replace, "NETWORK_ID", s.cloud.NetworkID("net0"), "EXTERNAL_ID", s.cloud.NetworkID("net1"),
		`password": "ubuntu"`, `password": "`+mark("vm")+`"`, `"password": "ansible"`, `"password": "`+mark("ansible")+`"`)
	if err := json.Unmarshal([]byte(strings.NewReplacer(replace...).Replace(string(content))), &request); err != nil {
		t.Fatal(err)
	}
	request["vimConnectionInfo"] = []any{s.connection()}
	installation, _ = request["additionalParams"].(map[string]any)[parameter].(map[string]any)
	installation["proxy"] = map[string]any{"http_proxy": proxied(), "https_proxy": proxied()}
	return request, installation
}

// begin starts a task of an instance.
func (s *secretive) begin(instance, task string, body any) string {
	s.p.t.Helper()
	return s.p.expect(http.StatusAccepted, http.MethodPost, instance+"/"+task, body, nil).Header.Get("Location")
}

// stumble carries an operation out that fails some times.
func (s *secretive) stumble(location string, times int) {
	s.p.t.Helper()
	for range times {
		s.p.await(location, "FAILED_TEMP")
		s.nodes(location)
		s.p.expect(http.StatusAccepted, http.MethodPost, location+"/retry", nil, nil)
	}
	s.p.await(location, "COMPLETED")
}

// end terminates a VNF.
func (s *secretive) end(instance string) {
	s.p.t.Helper()
	s.stumble(s.begin(instance, "terminate", map[string]any{"terminationType": "FORCEFUL"}), 0)
}

const clusterParameter = "k8s_cluster_installation_param"

// login is what nodes say to a private registry.
func login() []any {
	return []any{map[string]any{"connection_type": "1", "server": "safe.example", "username": "user", "password": mark("registry")}}
}

// kubernetes makes a cluster of nodes with Docker, which fail on the way, and scales it.
func (s *secretive) kubernetes(t *testing.T, vnfdID string) {
	t.Helper()
	world := kubetest.New(kubetest.Options{Docker: true, Password: mark("registry")})
	s.machines(world.Boot)
	instance := s.create(s.p, vnfdID)
	request, params := s.params(t, samples.Kubernetes(), "simple_kubernetes_param_file.json", clusterParameter)
	params["private_registry_connection_info"] = login()
	world.Fail(kubetest.Fault{Command: "script join", Times: 1, Stderr: telling(mark("vm"), "abcdef.0123456789abcdef")})
	world.Fail(kubetest.Fault{Command: "docker login", Times: 1, Stderr: telling(mark("registry"))})
	s.also("abcdef.0123456789abcdef") // as kubeadm makes them
	s.stumble(s.begin(instance, "instantiate", request), 2)
	s.stumble(s.begin(instance, "scale", map[string]any{"type": "SCALE_OUT", "aspectId": "worker_instance"}), 0)
	s.end(instance)
	s.also(world.Secrets()...)
}

// storage makes a cluster of nodes with containerd and a storage server, which fails on the way.
func (s *secretive) storage(t *testing.T, vnfdID string) {
	t.Helper()
	world := kubetest.New(kubetest.Options{Password: mark("registry")})
	s.machines(world.Boot)
	instance := s.create(s.p, vnfdID)
	request, params := s.params(t, samples.Kubernetes(), "storage_kubernetes_param_file.json", clusterParameter)
	params["private_registry_connection_info"] = login()
	world.Fail(kubetest.Fault{Command: "mkfs.ext4", Times: 1, Stderr: telling(mark("vm"))})
	world.Fail(kubetest.Fault{Command: "exportfs -ra", Times: 1, Stderr: telling(mark("vm"))})
	s.stumble(s.begin(instance, "instantiate", request), 2)
	s.end(instance)
	s.also(world.Secrets()...)
}

// registry makes a private registry, on a machine where installing and loading fail.
func (s *secretive) registry(t *testing.T) {
	t.Helper()
	world := registrytest.New(registrytest.Options{})
	s.machines(world.Boot)
	tree := copied(t, samples.PrivateRegistry())
	tree["Files/images/private_registry.tar"] = &fstest.MapFile{Data: registrytest.Archive("registry:latest")}
	instance := s.create(s.p, s.onboard(s.p, tree))
	request, params := s.params(t, tree, "private_registry_param_file.json", "private_registry_installation_param")
	params["image_path"] = "Files/images/private_registry.tar"
	world.Fail(registrytest.Fault{Command: "install-docker.sh", Times: 1, Stderr: telling(mark("vm"))})
	world.Fail(registrytest.Fault{Command: "docker load", Times: 1, Stderr: telling(mark("vm"))})
	s.stumble(s.begin(instance, "instantiate", request), 2)
	s.end(instance)
}

// kubespray has an Ansible server make a cluster with a load balancer, and both fail on the way.
func (s *secretive) kubespray(t *testing.T) {
	t.Helper()
	world := spraytest.New(spraytest.Options{})
	s.machines(world.Boot)
	ansible := sshtest.Start(t, sshtest.Options{User: "ansible", Password: mark("ansible"), Handler: s.machine(world.Ansible())})
	instance := s.create(s.p, s.onboard(s.p, samples.Kubespray()))
	request, _ := s.params(t, samples.Kubespray(), "instantiate.json", clusterParameter, "ANSIBLE_ADDRESS", ansible.AddrPort().Addr().String())
	world.FailTask(spraytest.Fault{Book: "cluster.yml", Message: telling(mark("vm"), mark("ansible")), Times: 1})
	world.Fail(kubetest.Fault{Command: "install_external_lb.sh", Times: 1, Stderr: telling(mark("vm"))})
	s.stumble(s.begin(instance, "instantiate", request), 2)
	s.stumble(s.begin(instance, "scale", map[string]any{"type": "SCALE_OUT", "aspectId": "worker_instance"}), 0)
	s.end(instance)
	if len(world.Passwords()) < 2 {
		t.Errorf("playbooks were given the passwords %q", world.Passwords())
	}
	s.also(append(world.Secrets(), world.Passwords()...)...)
}

// copied is a package that can be changed.
func copied(t *testing.T, source fs.FS) fstest.MapFS {
	t.Helper()
	tree := fstest.MapFS{}
	err := fs.WalkDir(source, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(source, name)
		tree[name] = &fstest.MapFile{Data: content}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
