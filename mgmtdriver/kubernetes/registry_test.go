package kubernetes_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io/fs"
	"math/big"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/drivertest"
	"vnfm/mgmtdriver/kubernetes/kubetest"
)

// certificate is one of an authority, in PEM form.
func certificate(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true}
	content, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: content}))
}

// add adds a file to the package.
func (b *bed) add(name, content string) {
	b.T.Helper()
	all := fstest.MapFS{name: {Data: []byte(content)}}
	names, err := drivertest.Files{FS: b.Files}.Names(b.T.Context())
	for _, there := range names {
		if err == nil {
			var data []byte
			data, err = fs.ReadFile(b.Files, there)
			all[there] = &fstest.MapFile{Data: data}
		}
	}
	if err != nil {
		b.T.Fatal(err)
	}
	b.Files = all
}

// registries are those of a request.
func registries(more ...map[string]any) func(map[string]any) {
	return func(p map[string]any) {
		list := []any{map[string]any{"connection_type": "0", "server": "10.0.0.9:5000"}}
		for _, r := range more {
			list = append(list, r)
		}
		p["private_registry_connection_info"] = list
	}
}

// asked are the questions to registries, of which each is answered in a way of its own.
type asked struct {
	mu      sync.Mutex
	answers map[string]kubetest.Answer // by URL; others are answered with 200
	seen    []kubetest.Asked
}

func (a *asked) answer(of kubetest.Asked) kubetest.Answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen = append(a.seen, of)
	if answer, ok := a.answers[of.URL]; ok {
		return answer
	}
	return kubetest.Answer{Status: 200}
}

// Every new node tries whether it can use the registries, as its runtime will.
func TestRegistriesAreTried(t *testing.T) {
	t.Parallel()
	authority := certificate(t)
	questions := &asked{}
	b := newBed(t, setting{masters: 1, workers: 1, world: kubetest.Options{Registry: questions.answer}, change: func(p map[string]any) {
		registries(map[string]any{"connection_type": "1", "server": "safe.example", "username": "me", "password": `geheim"\nof`, "certificate_path": "Files/ca.crt"},
			map[string]any{"connection_type": "1", "server": "near.example"})(p)
		p["proxy"] = map[string]any{"http_proxy": "http://proxy:3128", "https_proxy": "http://u:geheim-proxy@proxy:3129", "k8s_node_cidr": "10.0.0.0/8", "no_proxy": "near.example"}
	}})
	b.add("Files/ca.crt", authority)
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	want := []kubetest.Asked{
		{URL: "http://10.0.0.9:5000/v2/"},
		{URL: "https://safe.example/v2/", User: `me:geheim"\nof`, Proxy: "http://u:geheim-proxy@proxy:3129", Authority: authority},
		{URL: "https://near.example/v2/"},
	}
	count := func() map[kubetest.Asked]int {
		found := map[kubetest.Asked]int{}
		for _, of := range questions.seen {
			found[of]++
		}
		questions.seen = nil
		return found
	}
	expect := func(what string, times int) {
		t.Helper()
		all := map[kubetest.Asked]int{}
		for _, of := range want {
			all[of] = times
		}
		if diff := cmp.Diff(all, count()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	expect("instantiated", 2)
	b.ScaleOut("52")
	b.Must(mgmtdriver.ScaleEnd)
	expect("scaled out", 1)
	b.Healed("51")
	expect("healed", 1)
	if log := b.Log.String(); strings.Contains(log, "geheim-proxy") || strings.Contains(log, "nof") {
		t.Errorf("the log tells secrets:\n%s", log)
	}
}

// What is wrong with a registry fails the operation, and names the node and the registry.
func TestRegistriesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	safe := map[string]any{"connection_type": "1", "server": "safe.example", "username": "me", "password": "geheim-registry"}
	const url, realm = "https://safe.example/v2/", "https://login.example/token?account=me&service=safe"
	bearer := func(realm string) kubetest.Answer {
		return kubetest.Answer{Status: 401, Challenge: `Bearer realm="` + realm + `",service="safe"`}
	}
	for _, row := range []struct {
		name    string
		answers map[string]kubetest.Answer
		says    []string // none: it can be used
	}{
		{"a wrong login", map[string]kubetest.Answer{url: {Status: 401, Challenge: `Basic realm="x"`}},
			[]string{"master11 (127.", "Failed to login Docker private registry", "https://safe.example refuses the login of me"}},
		{"a login that may not", map[string]kubetest.Answer{url: {Status: 403}}, []string{"refuses the login of me"}},
		{"another authority", map[string]kubetest.Answer{url: {Error: "curl: (60) SSL certificate problem: unable to get local issuer certificate\nMore details here"}},
			[]string{"master11 (127.", "https://safe.example cannot be used: curl: (60) SSL certificate problem"}},
		{"nobody answers", map[string]kubetest.Answer{"http://10.0.0.9:5000/v2/": {Error: "curl: (7) Failed to connect to 10.0.0.9 port 5000"}},
			[]string{"master11 (127.", "http://10.0.0.9:5000 cannot be used: curl: (7)"}},
		{"another server", map[string]kubetest.Answer{url: {Status: 404}}, []string{"with status 404, which a registry does not"}},
		{"a registry that wants a login of the pods", map[string]kubetest.Answer{"http://10.0.0.9:5000/v2/": {Status: 401}}, nil},
		{"a token is given", map[string]kubetest.Answer{url: bearer("https://login.example/token"), realm: {Status: 200}}, nil},
		{"a token is refused", map[string]kubetest.Answer{url: bearer("https://login.example/token"), realm: {Status: 401}}, []string{"refuses the login of me"}},
		{"tokens are out of reach", map[string]kubetest.Answer{url: bearer("https://login.example/token"), realm: {Error: "curl: (6) Could not resolve host"}}, nil},
		{"a token over HTTP", map[string]kubetest.Answer{url: bearer("http://login.example/token"), strings.Replace(realm, "https", "http", 1): {Status: 401}}, nil},
		{"no curl", map[string]kubetest.Answer{url: {Error: kubetest.NoCurl}}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			questions := &asked{answers: row.answers}
			b := newBed(t, setting{masters: 1, workers: 1, world: kubetest.Options{Registry: questions.answer}, change: registries(safe)})
			b.Instantiate()
			if row.says == nil {
				b.Must(mgmtdriver.InstantiateEnd)
				return
			}
			b.fails(mgmtdriver.InstantiateEnd, row.says...)
		})
	}
}

func TestCertificatesAreChecked(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"no PEM": "kind: ServiceAccount\n", "another thing": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
		"nothing in it": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, setting{masters: 1, workers: 1,
				change: registries(map[string]any{"connection_type": "1", "server": "safe.example", "certificate_path": "Files/ca.crt"})})
			b.add("Files/ca.crt", content)
			b.Begin("INSTANTIATE", "{}")
			expectInvalid(t, b.Driver.Check(t.Context(), b.Asked(mgmtdriver.InstantiateEnd)), "/private_registry_connection_info/1/certificate_path",
				"The certificate_path(path:Files/ca.crt) in the additionalParams is invalid")
		})
	}
}
