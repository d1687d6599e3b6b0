package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"vnfm/api/peer/peertest"
	"vnfm/lcm"
	"vnfm/lcm/grant/granttest"
	"vnfm/lcm/heat/heattest"
	"vnfm/mgmtdriver/drivertest"
	"vnfm/mgmtdriver/kubernetes/kubetest"
	"vnfm/mgmtdriver/ssh/sshtest"
	"vnfm/samples"
)

// secretive is a server all of whose secrets are marked, and what can be read of it.
type secretive struct {
	*cluster
	*evidence
	p         *process
	nfvo      *granttest.NFVO
	collector *spans
	vnfd      string // of the package whose driver is talkative

	booting sync.Mutex
	boot    func(...netip.Addr) sshtest.Handler // of the machines that are made now
}

// talkative is a driver that tells all that it hears: first in its log, and at the end also in its failure.
const talkative = `#!/bin/sh
input=$(cat)
case "$input" in
*'"call":"describe"'*) echo '{"protocol": 1, "check": true, "hooks": {"instantiate_end": ["tell"], "terminate_start": ["tell"]}}' ;;
*'"call":"check"'*) echo "$input" >&2; echo '{"result": "done"}' ;;
*'"hook":"terminate_start"'*) sleep 0.1; echo '{"result": "done", "output": "` + markSign + `output"}' ;;
*) echo "$input" >&2; echo "cannot log in with $(echo "$input" | grep -o '[g]eheim4711[A-Za-z-]*' | tr '\n' ' ')" >&2; exit 1 ;;
esac
`

func newSecretive(t *testing.T) *secretive {
	t.Helper()
	s := &secretive{evidence: &evidence{t: t}, nfvo: granttest.Start(t), collector: startCollector(t)}
	s.cluster = newCluster(t, heattest.Options{
		Account: heattest.Account{Password: mark("vim")},
		VMs: &heattest.SSHVMs{User: "ubuntu", Password: mark("vm"), Handler: func(m heattest.Machine) sshtest.Handler {
			s.booting.Lock()
			defer s.booting.Unlock()
			return s.machine(s.boot(m.Addresses...))
		}},
	})
	s.machines(kubetest.New(kubetest.Options{}).Boot)
	program := filepath.Join(t.TempDir(), "talkative")
	drivertest.Script(t, program, talkative)
	certificate, key, _ := peertest.Certificate(t)
	s.alsoFile(key)
	s.p = s.serve(append(s.packagesOfNFVO(t), "--log-level", "debug", "--mgmt-driver", "talkative="+program, "--node-ssh-port", fmt.Sprint(sshtest.DefaultPort),
		"--grant-url", s.nfvo.URL(), "--grant-username", "vnfm", "--grant-password-file", peertest.File(t, mark("nfvo")),
		"--callback-cert-file", certificate, "--callback-key-file", key, "--otlp-endpoint", s.collector.URL)...)
	s.p.client.Transport = s.through(s.p.client.Transport)
	s.watch(s.p)
	return s
}

// machines says what the machines are that are made from now on.
func (s *secretive) machines(boot func(...netip.Addr) sshtest.Handler) {
	s.booting.Lock()
	defer s.booting.Unlock()
	s.boot = boot
}

// connection is the VIM with its password in the request.
func (s *secretive) connection() map[string]any {
	account := s.cloud.Account()
	return map[string]any{"id": "inline", "vimType": "ETSINFV.OPENSTACK_KEYSTONE.V_3", "interfaceInfo": map[string]any{"endpoint": s.cloud.AuthURL()},
		"accessInfo": map[string]any{"username": account.User, "password": account.Password, "project": account.Project,
			"projectDomain": account.Domain, "userDomain": account.Domain}}
}

// operate carries operations out whose parameters, drivers and failures hold secrets.
func (s *secretive) operate(t *testing.T) {
	t.Helper()
	s.vnfd = s.onboard(s.p, withDriver(t, "talkative", "instantiate_end", "terminate_start"))
	instance := s.create(s.p, s.vnfd)
	request := s.instantiation()
	request["vimConnectionInfo"] = []any{s.connection()}
	request["additionalParams"] = map[string]any{"admin": map[string]any{"password": mark("admin")}, "api_token": mark("token"),
		"proxy": "http://user:" + mark("proxy") + "@proxy:8080"}
	begin := func(task string, body any) string {
		t.Helper()
		return s.p.expect(http.StatusAccepted, http.MethodPost, instance+"/"+task, body, nil).Header.Get("Location")
	}
	wrong := s.connection()
	wrong["accessInfo"].(map[string]any)["password"] = mark("wrong") //nolint:forcetypeassert // made above
	request["vimConnectionInfo"] = []any{wrong}
	refused := begin("instantiate", request)
	s.p.await(refused, "FAILED_TEMP", "ROLLED_BACK")
	s.p.call(http.MethodPost, refused+"/fail", nil, nil)
	request["vimConnectionInfo"] = []any{s.connection()}
	s.cloud.FailResource(heattest.ResourceFault{Type: "OS::Nova::Server", Action: "CREATE", Times: 1,
		Reason: "Property error: user_data: " + mark("admin") + " is not allowed with " + mark("vim")})
	location := begin("instantiate", request)
	s.p.await(location, "FAILED_TEMP")
	s.p.expect(http.StatusAccepted, http.MethodPost, location+"/retry", nil, nil)
	s.p.await(location, "FAILED_TEMP") // the driver
	s.p.expect(http.StatusOK, http.MethodPost, location+"/fail", nil, nil)
	s.p.expect(http.StatusOK, http.MethodGet, location, nil, nil)
	s.p.await(begin("terminate", map[string]any{"terminationType": "FORCEFUL", "additionalParams": map[string]any{"password": mark("end")}}), "COMPLETED")
}

// script has a user data script fail that tells what it was given.
func (s *secretive) script(t *testing.T) {
	t.Helper()
	tree := copied(t, samples.Scripted())
	const begin = "        initial = "
	file := tree["UserData/pool.py"]
	file.Data = []byte(strings.Replace(string(file.Data), begin, "        raise ValueError('wrong: %r' % inst_req_info.additional_params)\n"+begin, 1))
	instance := s.create(s.p, s.onboard(s.p, tree))
	var request map[string]any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(tree["params/instantiate.json"].Data), "NETWORK_ID", s.cloud.NetworkID("net0"))), &request); err != nil {
		t.Fatal(err)
	}
	request["additionalParams"].(map[string]any)["db_password"] = mark("script") //nolint:forcetypeassert // the sample's
	location := s.p.expect(http.StatusAccepted, http.MethodPost, instance+"/instantiate", request, nil).Header.Get("Location")
	if failed := s.p.await(location, "FAILED_TEMP"); failed.Error == nil || !strings.Contains(failed.Error.Detail, "wrong: ") {
		t.Errorf("the script fails with %+v", failed.Error)
	}
}

// list reads all that the API shows.
func (s *secretive) list() {
	for _, path := range []string{
		"/v1.0/vims", "/vnflcm/v1/vnf_instances?all_fields", "/vnflcm/v1/vnf_lcm_op_occs?all_fields", "/vnflcm/v1/subscriptions",
		"/vnfpkgm/v1/subscriptions", "/vnfpkgm/v1/vnf_packages?all_fields", "/metrics", "/audit/v1/events", "/openapi",
	} {
		s.p.expect(http.StatusOK, http.MethodGet, path, nil, nil)
	}
	var operations []struct{ ID string }
	s.p.expect(http.StatusOK, http.MethodGet, "/vnflcm/v1/vnf_lcm_op_occs?all_records=yes&fields=id", nil, &operations)
	for _, of := range operations {
		path := "/vnflcm/v1/vnf_lcm_op_occs/" + of.ID
		s.p.expect(http.StatusOK, http.MethodGet, path, nil, nil)
		s.nodes(path)
	}
}

// nodes reads what the nodes of an operation have written.
func (s *secretive) nodes(operation string) {
	var logs []struct{ Lines string }
	s.p.expect(http.StatusOK, http.MethodGet, operation+"/node_logs", nil, &logs)
	for _, log := range logs {
		s.add("node logs", []byte(log.Lines))
	}
}

func TestSecretsAreNowhereToBeRead(t *testing.T) {
	t.Parallel()
	s := newSecretive(t)
	s.registerVim(s.p)
	s.nfvo.Fill(func(_ *lcm.GrantRequest, g *lcm.Grant) {
		g.AdditionalParams = map[string]any{"grant_password": mark("grant")}
	})
	s.subscribe(t)
	s.fetch(t)
	s.obtain(t)
	s.operate(t)
	s.script(t)
	cluster := s.onboard(s.p, samples.Kubernetes())
	s.kubernetes(t, cluster)
	s.storage(t, cluster)
	s.registry(t)
	s.kubespray(t)
	s.list()
	s.refusals(t)
	s.p.terminate()
	s.add("log", []byte(s.p.log.String()))
	s.callers(t)
	s.tls(t)
	s.dump(s.database)
	s.collector.mu.Lock()
	defer s.collector.mu.Unlock()
	s.add("traces", s.collector.raw.Bytes())
	s.check("answers", "refusals", "notifications", "commands on machines", "processes", "database", "log", "node logs", "traces")
}
