package main

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"vnfm/api/peer/peertest"
	"vnfm/lcm/heat/heattest"
)

// TestVimsBehindTLS has a cloud whose certificate is from an authority that this machine does not know.
func TestVimsBehindTLS(t *testing.T) {
	t.Parallel()
	cloud, err := heattest.New(heattest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	serving := httptest.NewUnstartedServer(cloud.Handler())
	serving.Config.ErrorLog = log.New(io.Discard, "", 0)
	serving.StartTLS()
	t.Cleanup(func() { serving.Close(); cloud.Close() })
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: serving.Certificate().Raw}))
	authURL, account := serving.URL+"/identity/v3", cloud.Account()
	vim := func(ca string, extra map[string]any) map[string]any {
		credentials := map[string]any{"username": account.User, "password": account.Password, "user_domain_name": account.Domain}
		if ca != "" {
			credentials["ssl_ca_cert"] = ca
		}
		return map[string]any{"vim": map[string]any{
			"name": fmt.Sprint("cloud-", len(ca), len(extra)), "type": "openstack", "auth_url": authURL, "auth_cred": credentials, "extra": extra,
			"vim_project": map[string]any{"name": account.Project, "project_domain_name": account.Domain},
		}}
	}
	c := newCluster(t, heattest.Options{})
	c.cloud = cloud
	p := c.serve()
	refused := func(p *process, method, path string, body any, words ...string) {
		t.Helper()
		var told struct{ Detail string }
		p.expect(http.StatusBadRequest, method, path, body, &told)
		for _, word := range words {
			if !strings.Contains(told.Detail, word) {
				t.Errorf("%s %s: %q does not tell %q", method, path, told.Detail, word)
			}
		}
	}
	refused(p, "POST", "/v1.0/vims", vim("", map[string]any{}), authURL, "certificate", "unknown authority")
	refused(p, "POST", "/v1.0/vims", vim("-----BEGIN CERTIFICATE-----\nAAAA", map[string]any{}), "/vim/auth_cred/ssl_ca_cert")
	refused(p, "POST", "/v1.0/vims", vim("", map[string]any{"ssl_ca_cert": "none"}), "/vim/extra/ssl_ca_cert")
	byExtra := p.expect(http.StatusCreated, "POST", "/v1.0/vims", vim("", map[string]any{"ssl_ca_cert": authority}), nil).Header.Get("Location")
	refused(p, "PUT", byExtra, map[string]any{"vim": map[string]any{"extra": map[string]any{"ssl_ca_cert": ""}}}, "unknown authority")
	refused(p, "PUT", byExtra, map[string]any{"vim": map[string]any{"extra": map[string]any{"ssl_ca_cert": nil}}}, "unknown authority")
	refused(p, "PUT", byExtra, map[string]any{"vim": map[string]any{"auth_cred": map[string]any{"cert_verify": "False"}}}, "/vim/auth_cred/cert_verify")
	registered := p.expect(http.StatusCreated, "POST", "/v1.0/vims", vim(authority, map[string]any{}), nil).Header.Get("Location")

	instance := c.instance(p)
	with := func(connection map[string]any) map[string]any {
		request := c.instantiation()
		connection["id"], connection["vimType"] = "cloud", "ETSINFV.OPENSTACK_KEYSTONE.V_3"
		request["vimConnectionInfo"] = []any{connection}
		return request
	}
	inline := func(trusted any) map[string]any {
		facts := map[string]any{"endpoint": authURL}
		if trusted != nil {
			facts["trustedCertificates"] = trusted
		}
		return with(map[string]any{"interfaceInfo": facts, "accessInfo": map[string]any{"username": account.User, "password": account.Password,
			"project": account.Project, "projectDomain": account.Domain, "userDomain": account.Domain}})
	}
	untrusted := p.expect(http.StatusAccepted, "POST", instance+"/instantiate", inline(nil), nil).Header.Get("Location")
	if failed := p.await(untrusted, "FAILED_TEMP"); !strings.Contains(failed.Error.Detail, authURL) || !strings.Contains(failed.Error.Detail, "unknown authority") {
		t.Errorf("the operation does not tell which VIM it was and why: %s", failed.Error.Detail)
	}
	p.expect(http.StatusOK, "POST", untrusted+"/fail", nil, nil)
	refused(p, "POST", instance+"/instantiate", inline([]any{"none"}), "/vimConnectionInfo/0/interfaceInfo/trustedCertificates")
	for _, request := range []map[string]any{
		inline([]any{base64.StdEncoding.EncodeToString([]byte(authority))}), with(map[string]any{"vimId": registered[strings.LastIndex(registered, "/")+1:]}),
	} {
		p.timed(instance+"/instantiate", request)
		p.timed(instance+"/terminate", map[string]any{"terminationType": "FORCEFUL"})
	}
	c.leaveNothing()

	trusting := c.serve("--vim-ca-file", peertest.File(t, authority))
	trusting.expect(http.StatusCreated, "POST", "/v1.0/vims", vim("", map[string]any{}), nil)
	if strings.Contains(trusting.log.String()+p.log.String(), "is not checked") {
		t.Error("the log warns of what was not asked for")
	}
}
