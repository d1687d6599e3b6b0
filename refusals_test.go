package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// refusals sends requests that are refused, with a secret next to the mistake or as the mistake.
func (s *secretive) refusals(t *testing.T) {
	t.Helper()
	instance := s.create(s.p, s.vnfd)
	pkg := s.p.expect(http.StatusCreated, http.MethodPost, "/vnfpkgm/v1/vnf_packages", map[string]any{}, nil).Header.Get("Location")
	const vims, subscriptions = "/v1.0/vims", "/vnflcm/v1/subscriptions"
	m, fetch := mark("refused"), pkg+"/package_content/upload_from_uri"
	vim := func(url, credentials string) string {
		return `{"vim": {"name": "v", "type": "openstack", "auth_url": "` + url + `", "vim_project": {"name": "p"}, "auth_cred": ` + credentials + `}}`
	}
	inline := func(access string) string {
		return `{"flavourId": "simple", "vimConnectionInfo": [{"id": "a", "vimType": "openstack", "interfaceInfo": {"endpoint": "` + s.cloud.AuthURL() + `"}, "accessInfo": ` + access + `}]}`
	}
	for _, row := range []struct{ name, method, path, body string }{
		{"JSON that ends in a secret", "POST", vims, `{"vim": {"auth_cred": {"password": "` + m},
		{"JSON that breaks off after it", "POST", vims, `{"vim": {"auth_cred": {"password": "` + m + `"`},
		{"a secret without quotes", "POST", vims, `{"vim": {"auth_cred": {"password": ` + m + `}}}`},
		{"a secret as a name of an attribute", "POST", vims, `{"vim": {"name": "v"}, "` + m + `": 1}`},
		{"a secret behind the JSON", "POST", vims, `{"vim": {}} ` + m},
		{"a secret with NUL", "POST", vims, vim("http://127.0.0.1:1", `{"username": "u", "password": "`+m+`\u0000"}`)},
		{"a secret where an object belongs", "POST", vims, vim("http://127.0.0.1:1", `"`+m+`"`)},
		{"a wrong password", "POST", vims, vim(s.cloud.AuthURL(), `{"username": "nfv_user", "password": "`+m+`"}`)},
		{"a password in the address", "POST", vims, vim("http://user:"+m+"@127.0.0.1:1/v3", `{"username": "u", "password": "p"}`)},
		{"a password in an address that is none", "POST", vims, vim("http://user:"+m+"@127.0.0.1:port/v3", `{"username": "u", "password": "p"}`)},
		{"an address out of reach", "POST", vims, vim("http://127.0.0.1:1", `{"username": "u", "password": "`+m+`"}`)},
		{"a type of VIM", "POST", vims, strings.Replace(vim("http://127.0.0.1:1", `{"password": "`+m+`"}`), "openstack", "cloud", 1)},
		{"inline access of another type", "POST", instance + "/instantiate", inline(`"` + m + `"`)},
		{"parameters of another type", "POST", instance + "/instantiate", `{"flavourId": "simple", "additionalParams": "` + m + `"}`},
		{"no flavour beside a secret", "POST", instance + "/instantiate", `{"flavourId": "none", "additionalParams": {"password": "` + m + `"}}`},
		{"operation in the wrong state", "POST", instance + "/terminate", `{"terminationType": "FORCEFUL", "additionalParams": {"password": "` + m + `"}}`},
		{"termination type", "POST", instance + "/terminate", `{"terminationType": "` + m + `"}`},
		{"modification", "PATCH", instance, `{"vimConnectionInfo": [{"id": "a", "vimType": 7, "accessInfo": {"password": "` + m + `"}}]}`},
		{"callback with a password", "POST", subscriptions, `{"callbackUri": "http://user:` + m + `@127.0.0.1:1/"}`},
		{"callback that is no address", "POST", subscriptions, `{"callbackUri": "http://127.0.0.1:` + m + `/"}`},
		{"callback with a token out of reach", "POST", subscriptions, `{"callbackUri": "http://127.0.0.1:1/?token=` + m + `"}`},
		{"password of a number", "POST", subscriptions, `{"callbackUri": "http://127.0.0.1:1/", "authentication": {"authType": ["BASIC"], "paramsBasic": {"userName": "u", "password": ["` + m + `"]}}}`},
		{"way of authentication", "POST", subscriptions, `{"callbackUri": "http://127.0.0.1:1/", "authentication": {"authType": ["` + m + `"], "paramsBasic": {"password": "` + m + `"}}}`},
		{"token endpoint", "POST", subscriptions, `{"callbackUri": "http://127.0.0.1:1/", "authentication": {"authType": ["OAUTH2_CLIENT_CREDENTIALS"],
			"paramsOauth2ClientCredentials": {"clientId": "c", "clientPassword": "` + m + `", "tokenEndpoint": "http://127.0.0.1:1/` + m + `"}}}`},
		{"address of content", "POST", fetch, `{"addressInformation": "ftp://user:` + m + `@127.0.0.1/` + m + `"}`},
		{"address of content that is none", "POST", fetch, `{"addressInformation": "http://user:` + m + `@127.0.0.1:port/"}`},
		{"password without a user", "POST", fetch, `{"addressInformation": "http://127.0.0.1/", "password": "` + m + `"}`},
		{"password of another type", "POST", fetch, `{"addressInformation": "http://127.0.0.1/", "userName": "u", "password": {"` + m + `": "` + m + `"}}`},
		{"both logins", "POST", fetch, `{"addressInformation": "http://127.0.0.1/", "userName": "u", "password": "` + m + `",
			"paramsOauth2ClientCredentials": {"clientId": "c", "clientPassword": "` + m + `", "tokenEndpoint": "http://127.0.0.1/"}}`},
		{"unknown package", "POST", "/vnfpkgm/v1/vnf_packages/" + uuid.NewString() + "/package_content/upload_from_uri",
			`{"addressInformation": "http://127.0.0.1/` + m + `", "userName": "u", "password": "` + m + `"}`},
		{"filter that cannot be read", "GET", "/vnflcm/v1/vnf_instances?filter=(eq,vnfInstanceName,'" + m, ""},
		{"unknown parameter", "GET", "/vnflcm/v1/vnf_instances?access_token=" + m, ""},
		{"query that cannot be read", "GET", "/vnflcm/v1/vnf_instances?access_token=" + m + "%zz", ""},
		{"marker", "GET", "/vnflcm/v1/vnf_instances?nextpage_opaque_marker=" + m, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := *s.p
			p.t = t
			contentType := "application/json"
			if row.method == http.MethodPatch {
				contentType = "application/merge-patch+json"
			}
			response := p.send(row.method, row.path, contentType, strings.NewReader(row.body), nil)
			if response.StatusCode < http.StatusBadRequest {
				t.Errorf("%s", response.Status)
			}
		})
	}
}
