package main

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

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
	p     *process
	world *kubetest.World
	nfvo  *granttest.NFVO
	vnfd  string // of the package whose driver is talkative
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
	s := &secretive{evidence: &evidence{t: t}, nfvo: granttest.Start(t)}
	s.world = kubetest.New(kubetest.Options{Docker: true, Password: mark("registry")})
	s.cluster = newCluster(t, heattest.Options{
		Account: heattest.Account{Password: mark("vim")},
		VMs: &heattest.SSHVMs{User: "ubuntu", Password: mark("vm"),
			Handler: s.machines(func(m heattest.Machine) sshtest.Handler { return s.world.Boot(m.Addresses...) })},
	})
	program := filepath.Join(t.TempDir(), "talkative")
	drivertest.Script(t, program, talkative)
	certificate, key, _ := peertest.Certificate(t)
	s.p = s.serve("--log-level", "debug", "--mgmt-driver", "talkative="+program, "--node-ssh-port", fmt.Sprint(sshtest.DefaultPort),
		"--grant-url", s.nfvo.URL(), "--grant-username", "vnfm", "--grant-password-file", peertest.File(t, mark("nfvo")),
		"--callback-cert-file", certificate, "--callback-key-file", key)
	s.p.client.Transport = s.through(s.p.client.Transport)
	s.watch(s.p)
	return s
}

// consumer takes notifications, and repeats what it was sent to whoever asks for a token.
func (s *secretive) consumer(t *testing.T, tokens bool) *httptest.Server {
	t.Helper()
	consumer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, _ := io.ReadAll(r.Body)
		switch {
		case r.URL.Path == "/token" && tokens:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"access_token": %q, "token_type": "Bearer", "expires_in": 3600}`, mark("access"))
			return
		case r.URL.Path == "/token":
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error": "invalid_client", "error_description": "no client %s"}`, r.Header.Get("Authorization"))
			return
		case r.Method == http.MethodPost:
			s.add("notifications", content)
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(consumer.Close)
	return consumer
}

// subscribe subscribes in every way that the standard knows, also to who gives no tokens.
func (s *secretive) subscribe(t *testing.T) {
	t.Helper()
	good, bad := s.consumer(t, true), s.consumer(t, false)
	oauth := func(of *httptest.Server) map[string]any {
		return map[string]any{"authType": []string{"OAUTH2_CLIENT_CREDENTIALS"}, "paramsOauth2ClientCredentials": map[string]any{
			"clientId": "vnfm", "clientPassword": mark("client"), "tokenEndpoint": of.URL + "/token"}}
	}
	for name, authentication := range map[string]map[string]any{
		"basic": {"authType": []string{"BASIC"}, "paramsBasic": map[string]any{"userName": "me", "password": mark("basic")}},
		"oauth": oauth(good), "tls": {"authType": []string{"TLS_CERT"}},
	} {
		for _, of := range []string{"vnflcm", "vnfpkgm"} {
			s.p.expect(http.StatusCreated, http.MethodPost, "/"+of+"/v1/subscriptions",
				map[string]any{"callbackUri": good.URL + "/" + name, "authentication": authentication}, nil)
		}
	}
	s.p.expect(http.StatusUnprocessableEntity, http.MethodPost, "/vnflcm/v1/subscriptions",
		map[string]any{"callbackUri": bad.URL, "authentication": oauth(bad)}, nil)
}

// fetch has packages fetched, with every login, from servers that repeat what they are sent.
func (s *secretive) fetch(t *testing.T) {
	t.Helper()
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, r.Header.Get("Authorization")+" does not open "+r.URL.String(), http.StatusForbidden)
	}))
	t.Cleanup(origin.Close)
	for _, login := range []map[string]any{
		{}, {"userName": "me", "password": mark("origin")},
		{"paramsOauth2ClientCredentials": map[string]any{"clientId": "vnfm", "clientPassword": mark("client"), "tokenEndpoint": origin.URL + "/" + mark("token")}},
	} {
		login["addressInformation"] = origin.URL + "/" + mark("path") + "?sig=" + mark("query")
		pkg := s.p.expect(http.StatusCreated, http.MethodPost, "/vnfpkgm/v1/vnf_packages", map[string]any{}, nil).Header.Get("Location")
		s.p.expect(http.StatusAccepted, http.MethodPost, pkg+"/package_content/upload_from_uri", login, nil)
		s.p.until("refused", func() bool {
			var info packageInfo
			s.p.call(http.MethodGet, pkg, nil, &info)
			return info.OnboardingFailureDetails != nil
		})
	}
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
	tree := fstest.MapFS{}
	source := samples.Scripted()
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

// kubernetes makes a cluster, whose nodes fail on the way, and scales it.
func (s *secretive) kubernetes(t *testing.T) {
	t.Helper()
	k := &kubernetesCluster{cluster: s.cluster, p: s.p, world: s.world, flavour: "simple"}
	k.instance = s.create(s.p, s.onboard(s.p, samples.Kubernetes()))
	request := k.instantiation()
	params, _ := request["additionalParams"].(map[string]any)["k8s_cluster_installation_param"].(map[string]any)
	for _, group := range []string{"master_node", "worker_node"} {
		params[group].(map[string]any)["password"] = mark("vm") //nolint:forcetypeassert // the sample's
	}
	params["proxy"] = map[string]any{"http_proxy": "http://user:" + mark("proxy") + "@proxy:8080", "https_proxy": "http://user:" + mark("proxy") + "@proxy:8080"}
	params["private_registry_connection_info"] = []any{map[string]any{"connection_type": "1", "server": "safe.example", "username": "user",
		"password": mark("registry")}}
	k.world.Fail(kubetest.Fault{Command: "script join", Times: 1, Stderr: "E: proxy http://user:" + mark("proxy") + "@proxy:8080 refuses " + mark("vm")})
	location := k.begin("instantiate", request)
	s.p.await(location, "FAILED_TEMP")
	s.p.expect(http.StatusAccepted, http.MethodPost, location+"/retry", nil, nil)
	s.p.await(location, "COMPLETED")
	k.do("scale", k.params("scale-out.json"))
	k.do("terminate", k.params("terminate.json"))
}

// list reads all that the API shows.
func (s *secretive) list() {
	for _, path := range []string{
		"/v1.0/vims", "/vnflcm/v1/vnf_instances?all_fields", "/vnflcm/v1/vnf_lcm_op_occs?all_fields", "/vnflcm/v1/subscriptions",
		"/vnfpkgm/v1/subscriptions", "/vnfpkgm/v1/vnf_packages?all_fields", "/metrics",
	} {
		s.p.expect(http.StatusOK, http.MethodGet, path, nil, nil)
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
	s.operate(t)
	s.script(t)
	s.kubernetes(t)
	s.list()
	s.refusals(t)
	s.dump(s.database)
	s.p.terminate()
	s.add("log", []byte(s.p.log.String()))
	s.check("answers", "refusals", "notifications", "commands on machines", "processes", "database", "log")
}
