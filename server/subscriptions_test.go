package server_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const (
	lcmSubscriptions  = "/vnflcm/v1/subscriptions"
	pkgmSubscriptions = "/vnfpkgm/v1/subscriptions"
)

// callback is a consumer that answers the test of its URI with a status.
func callback(t *testing.T, status int) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if request.URL.Path == "/for-who-logs-in" {
			if user, password, _ := request.BasicAuth(); user != "u" || password != "geheim" {
				response.WriteHeader(http.StatusUnauthorized)
				return
			}
		}
		response.Header().Set("Location", "/elsewhere")
		response.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestSubscriptionsAreManaged(t *testing.T) {
	t.Parallel()
	b, uri := setup(t), callback(t, http.StatusNoContent)
	const filter = `{"operationStates": ["COMPLETED", "FAILED"], "vnfInstanceSubscriptionFilter": {"vnfInstanceNames": ["b", "a"]}}`
	made := b.expect(http.StatusCreated, http.MethodPost, lcmSubscriptions, `{"callbackUri": "`+uri+`/for-who-logs-in", "filter": `+filter+`,
		"authentication": {"authType": ["BASIC"], "paramsBasic": {"userName": "u", "password": "geheim"}}}`)
	location := made.Header.Get("Location")
	read := b.expect(http.StatusOK, http.MethodGet, location, "")
	if string(read.body) != string(made.body) {
		t.Errorf("read %s, made %s", read.body, made.body)
	}
	if strings.Contains(string(read.body), "geheim") || strings.Contains(string(read.body), "authentication") {
		t.Errorf("the authentication is shown: %s", read.body)
	}
	// The same filter, in other words.
	again := b.expect(http.StatusSeeOther, http.MethodPost, lcmSubscriptions, `{"callbackUri": "`+uri+`/for-who-logs-in", "filter":
		{"operationTypes": [], "vnfInstanceSubscriptionFilter": {"vnfInstanceNames": ["a", "b", "a"]}, "operationStates": ["FAILED", "COMPLETED"]}}`)
	if again.Header.Get("Location") != location || len(again.body) > 0 {
		t.Errorf("Location %s, want %s; body %q", again.Header.Get("Location"), location, again.body)
	}
	b.expect(http.StatusCreated, http.MethodPost, lcmSubscriptions, `{"callbackUri": "`+uri+`"}`)
	b.expect(http.StatusCreated, http.MethodPost, pkgmSubscriptions, `{"callbackUri": "`+uri+`"}`)
	b.expect(http.StatusNotFound, http.MethodGet, strings.Replace(location, "vnflcm", "vnfpkgm", 1), "")
	b.expect(http.StatusNotFound, http.MethodDelete, strings.Replace(location, "vnflcm", "vnfpkgm", 1), "")
	for query, count := range map[string]int{
		"": 2, "?filter=(eq,filter/operationStates,FAILED)": 1, "?filter=(cont,callbackUri,logs)": 1, "?all_fields": 2,
		"?filter=(eq,filter/vnfInstanceSubscriptionFilter/vnfInstanceNames,c)": 0, "?exclude_fields=filter": 2,
	} {
		var listed []any
		if err := json.Unmarshal(b.expect(http.StatusOK, http.MethodGet, lcmSubscriptions+query, "").body, &listed); err != nil || len(listed) != count {
			t.Errorf("%s: %v, want %d", query, listed, count)
		}
	}
	b.expect(http.StatusNoContent, http.MethodDelete, location, "")
	b.expect(http.StatusNotFound, http.MethodDelete, location, "")
	b.expect(http.StatusNotFound, http.MethodGet, location, "")
	b.expect(http.StatusNotFound, http.MethodGet, lcmSubscriptions+"/none", "")
}

func TestSubscriptionsThatCannotBe(t *testing.T) {
	t.Parallel()
	b := setup(t)
	good, moved := callback(t, http.StatusNoContent), callback(t, http.StatusFound)
	with := func(rest string) string { return `{"callbackUri": "` + good + `", ` + rest + `}` }
	for name, row := range map[string]struct {
		path, body string
		status     int
		attribute  string
	}{
		"no callback":           {lcmSubscriptions, `{}`, 400, "callbackUri"},
		"no URI":                {lcmSubscriptions, `{"callbackUri": "here"}`, 400, "/callbackUri"},
		"another scheme":        {lcmSubscriptions, `{"callbackUri": "file:///etc/passwd"}`, 400, "/callbackUri"},
		"a password in the URI": {lcmSubscriptions, `{"callbackUri": "http://u:p@consumer/"}`, 400, "/callbackUri"},
		"no host":               {lcmSubscriptions, `{"callbackUri": "http://:9/"}`, 400, "/callbackUri"},
		"a fragment":            {lcmSubscriptions, `{"callbackUri": "` + good + `#x"}`, 400, "/callbackUri"},
		"a name with a colon": {lcmSubscriptions, with(`"authentication": {"authType": ["BASIC"], "paramsBasic": {"userName": "a:b", "password": "c"}}`), 400,
			"/authentication/paramsBasic/userName"},
		"a metadata service":        {lcmSubscriptions, `{"callbackUri": "http://169.254.169.254/"}`, 400, "/callbackUri"},
		"nobody there":              {lcmSubscriptions, `{"callbackUri": "http://127.0.0.1:9/"}`, 422, "/callbackUri"},
		"a callback that redirects": {pkgmSubscriptions, `{"callbackUri": "` + moved + `"}`, 422, "/callbackUri"},
		"a callback that refuses":   {lcmSubscriptions, `{"callbackUri": "` + good + `/for-who-logs-in"}`, 422, "/callbackUri"},
		"an unknown type":           {lcmSubscriptions, with(`"filter": {"notificationTypes": ["Other"]}`), 400, "notificationTypes"},
		"a type of the other API":   {lcmSubscriptions, with(`"filter": {"notificationTypes": ["VnfPackageChangeNotification"]}`), 400, "notificationTypes"},
		"an unknown state":          {lcmSubscriptions, with(`"filter": {"operationStates": ["OTHER"]}`), 400, "operationStates"},
		"an unknown attribute":      {lcmSubscriptions, with(`"filter": {"vnfdId": ["x"]}`), 400, "vnfdId"},
		"of the packages too":       {pkgmSubscriptions, with(`"filter": {"vnfdIds": ["x"]}`), 400, "vnfdIds"},
		"no way to authenticate":    {lcmSubscriptions, with(`"authentication": {}`), 400, "authType"},
		"an unknown way":            {lcmSubscriptions, with(`"authentication": {"authType": ["NONE"]}`), 400, "authType"},
		"BASIC without a password":  {lcmSubscriptions, with(`"authentication": {"authType": ["BASIC"]}`), 400, "/authentication/paramsBasic"},
		"OAuth2 without a client": {lcmSubscriptions, with(`"authentication": {"authType": ["OAUTH2_CLIENT_CREDENTIALS"]}`), 400,
			"/authentication/paramsOauth2ClientCredentials"},
		"OAuth2 without an endpoint": {lcmSubscriptions, with(`"authentication": {"authType": ["OAUTH2_CLIENT_CREDENTIALS"],
			"paramsOauth2ClientCredentials": {"clientId": "c", "clientPassword": "p", "tokenEndpoint": "there"}}`), 400, "tokenEndpoint"},
		"a certificate that is not there": {lcmSubscriptions, with(`"authentication": {"authType": ["TLS_CERT"]}`), 422, "/authentication/authType"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := b.do(http.MethodPost, row.path, row.body)
			if detail := a.detail(t); a.StatusCode != row.status || !strings.Contains(detail, row.attribute) {
				t.Errorf("%s %q, want %d that names %s", a.Status, detail, row.status, row.attribute)
			}
		})
	}
	for _, path := range []string{lcmSubscriptions, pkgmSubscriptions} {
		if a := b.expect(http.StatusOK, http.MethodGet, path, ""); string(a.body) != "[]\n" {
			t.Errorf("%s lists %s", path, a.body)
		}
	}
}
