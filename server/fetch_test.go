package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"vnfm/api/peer"
	"vnfm/server/servertest"
	"vnfm/vnfpkg"
)

// origin is a server that has a package. What it is asked, and how it fails, is counted by requests.
type origin struct {
	*httptest.Server
	content  []byte
	requests []http.Header
}

// serveFrom starts an origin. answer gets the number of the request, from 1.
func serveFrom(t *testing.T, content []byte, answer func(o *origin, number int, w http.ResponseWriter, r *http.Request)) *origin {
	t.Helper()
	o := &origin{content: content}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.requests = append(o.requests, r.Header)
		answer(o, len(o.requests), w, r)
	}))
	t.Cleanup(o.Close)
	return o
}

// whole answers with all of the content, or the range that is asked for.
func (o *origin) whole(w http.ResponseWriter, r *http.Request) {
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(o.content))
}

// half announces all of the content and sends one half.
func (o *origin) half(w http.ResponseWriter) {
	w.Header().Set("Content-Length", strconv.Itoa(len(o.content)))
	_, _ = w.Write(o.content[:len(o.content)/2])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// fetch asks for a package from an address and does what workers would. request has what is to be sent beside the address.
func (b *bench) fetch(address, request string) (path string) {
	b.t.Helper()
	path = b.expect(http.StatusCreated, http.MethodPost, packagesPath, `{}`).Header.Get("Location")
	b.expect(http.StatusAccepted, http.MethodPost, path+"/package_content/upload_from_uri", `{"addressInformation": "`+address+`"`+request+`}`)
	if got := b.states(path); got.OnboardingState != "UPLOADING" {
		b.t.Errorf("before the download the package is %v", got)
	}
	id := uuid.MustParse(path[strings.LastIndex(path, "/")+1:])
	if err := b.packages.Fetch(b.t.Context(), id); err != nil {
		b.t.Fatal(err)
	}
	if err := b.packages.Process(b.t.Context(), id); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func TestPackageFromAnAddress(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.packages.Downloads(vnfpkg.Downloads{Pause: time.Millisecond, Patience: 200 * time.Millisecond})
	type answer = func(o *origin, number int, w http.ResponseWriter, r *http.Request)
	tagged := func(tag string, then answer) answer {
		return func(o *origin, number int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", tag)
			then(o, number, w, r)
		}
	}
	whole := func(o *origin, _ int, w http.ResponseWriter, r *http.Request) { o.whole(w, r) }
	cutOnce := func(o *origin, number int, w http.ResponseWriter, r *http.Request) {
		if number == 1 {
			o.half(w)
		}
		o.whole(w, r)
	}
	status := func(status int) answer {
		return func(_ *origin, _ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
	}
	for _, row := range []struct {
		name     string
		answer   answer
		detail   string // "" = the package is onboarded
		requests int
		last     http.Header // of the last request
	}{
		{"all at once", whole, "", 1, http.Header{"Accept-Encoding": {"identity"}, "Authorization": nil, "Range": nil}},
		{"connection that is cut", tagged(`"a"`, cutOnce), "", 2, http.Header{"If-Range": {`"a"`}}},
		{"connection that is cut, of content with a date", func(o *origin, number int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Last-Modified", "Mon, 02 Jan 2023 15:04:05 GMT")
			if number == 1 {
				o.half(w)
			}
			http.ServeContent(w, r, "", time.Date(2023, 1, 2, 15, 4, 5, 0, time.UTC), bytes.NewReader(o.content))
		}, "", 2, http.Header{"If-Range": {"Mon, 02 Jan 2023 15:04:05 GMT"}}},
		{"connection that is cut, of a server without ranges", tagged(`"a"`, func(o *origin, number int, w http.ResponseWriter, r *http.Request) {
			if number == 1 {
				o.half(w)
			}
			_, _ = w.Write(o.content)
		}), "", 2, nil},
		{"part that does not repeat the tag", func(o *origin, number int, w http.ResponseWriter, r *http.Request) {
			if number == 1 {
				w.Header().Set("ETag", `"a"`)
				o.half(w)
			}
			r.Header.Del("If-Range")
			o.whole(w, r)
		}, "", 2, nil},
		{"connection that is cut, of content that changed", func(o *origin, number int, w http.ResponseWriter, r *http.Request) {
			tagged(fmt.Sprintf(`"%d"`, number), cutOnce)(o, number, w, r)
		}, "does not say that the content is still the same", 2, nil},
		{"connection that is cut, of content without a tag", cutOnce, "does not say that the content is still the same", 2, http.Header{"Range": nil}},
		{"weak tag", tagged(`W/"a"`, cutOnce), "does not say that the content is still the same", 2, nil},
		{"part that is another", tagged(`"a"`, func(o *origin, number int, w http.ResponseWriter, r *http.Request) {
			if number == 1 {
				o.half(w)
			}
			w.Header().Set("Content-Range", "bytes 0-9/10")
			w.WriteHeader(http.StatusPartialContent)
		}), "it answers 206", 2, nil},
		{"part that was not asked for", status(http.StatusPartialContent), "it answers 206", 1, nil},
		{"server that has a bad moment", func(o *origin, number int, w http.ResponseWriter, r *http.Request) {
			if number < 4 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			o.whole(w, r)
		}, "", 4, nil},
		{"server that is down", status(http.StatusServiceUnavailable), "it answers 503 Service Unavailable", 6, nil},
		{"server that sends nothing", func(_ *origin, _ int, w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, "nothing, or next to nothing, came for a while", 6, nil},
		{"server that sends next to nothing", tagged(`"a"`, func(o *origin, _ int, w http.ResponseWriter, r *http.Request) {
			var from int
			if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil {
				w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(o.content)-1, len(o.content)))
				w.WriteHeader(http.StatusPartialContent)
			}
			for ; r.Context().Err() == nil; from++ {
				_, _ = w.Write(o.content[from : from+1])
				_ = http.NewResponseController(w).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(20 * time.Millisecond):
				}
			}
		}), "nothing, or next to nothing, came for a while", 6, nil},
		{"nothing there", status(http.StatusNotFound), "it answers 404 Not Found", 1, nil},
		{"login that is refused", status(http.StatusUnauthorized), "it answers 401 Unauthorized", 1, nil},
		{"more than is allowed", func(_ *origin, _ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.FormatInt(1<<40, 10))
			w.WriteHeader(http.StatusOK)
		}, "larger than allowed", 1, nil},
		{"redirection", func(o *origin, number int, w http.ResponseWriter, r *http.Request) {
			if number == 1 {
				http.Redirect(w, r, "/elsewhere", http.StatusFound)
				return
			}
			o.whole(w, r)
		}, "", 2, nil},
		{"redirections without end", func(_ *origin, number int, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, fmt.Sprintf("/%d", number), http.StatusFound)
		}, "redirects more than 5 times", 6, nil},
		{"redirection to a file", func(_ *origin, _ int, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		}, "redirects to an address that is not followed", 1, nil},
		{"redirection to the metadata service", func(_ *origin, _ int, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
		}, "not one that this server calls", 1, nil},
		{"no package", func(_ *origin, _ int, w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("none")) }, "not a valid zip file", 1, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			in := *b
			in.t, in.client = t, servertest.Client(t)
			o := serveFrom(t, in.csar(single(row.name)), row.answer)
			pkg := in.fetch(o.URL+"/geheim/package", "")
			if len(o.requests) != row.requests {
				t.Errorf("%d requests, want %d", len(o.requests), row.requests)
			}
			for name, want := range row.last {
				if got := o.requests[len(o.requests)-1][name]; fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s of the last request is %v, want %v", name, got, want)
				}
			}
			in.expectFetched(pkg, o.content, row.detail)
		})
	}
}

// expectFetched checks a package after its download, which has failed for a reason unless detail is "".
func (b *bench) expectFetched(pkg string, content []byte, detail string) {
	b.t.Helper()
	a := b.expect(http.StatusOK, http.MethodGet, pkg, "")
	var info struct{ OnboardingFailureDetails struct{ Detail string } }
	if err := json.Unmarshal(a.body, &info); err != nil {
		b.t.Fatal(err)
	}
	if strings.Contains(string(a.body), "geheim") {
		b.t.Errorf("the package tells a secret: %s", a.body)
	}
	if detail == "" {
		if got := b.states(pkg); got != (states{"ONBOARDED", "ENABLED", "NOT_IN_USE"}) {
			b.t.Fatalf("the package is %v: %s", got, a.body)
		}
		if got := b.expect(http.StatusOK, http.MethodGet, pkg+"/package_content", ""); !bytes.Equal(got.body, content) {
			b.t.Error("the content is not that of the address")
		}
		return
	}
	if got := b.states(pkg); got != (states{"CREATED", "DISABLED", "NOT_IN_USE"}) || !strings.Contains(info.OnboardingFailureDetails.Detail, detail) {
		b.t.Errorf("the package is %v: %s", got, a.body)
	}
	b.expect(http.StatusAccepted, http.MethodPost, pkg+"/package_content/upload_from_uri", `{"addressInformation": "http://127.0.0.1/"}`)
}

func TestLoginsWherePackagesAre(t *testing.T) {
	t.Parallel()
	b := setup(t)
	csar := b.csar(single("vnfd"))
	tokens := 0
	guarded := serveFrom(t, csar, func(o *origin, _ int, w http.ResponseWriter, r *http.Request) {
		name, password, _ := r.BasicAuth()
		switch {
		case r.URL.Path == "/token" && name == "client" && password == "geheim" && r.FormValue("grant_type") == "client_credentials":
			tokens++
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"access_token": "token-%d", "token_type": "Bearer"}`, tokens)
		case name == "me" && password == "geheim", r.Header.Get("Authorization") == "Bearer token-2":
			o.whole(w, r)
		default:
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	open := serveFrom(t, csar, func(o *origin, _ int, w http.ResponseWriter, r *http.Request) { o.whole(w, r) })
	leads := serveFrom(t, csar, func(_ *origin, number int, w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, open.URL, http.StatusFound)
	})
	oauth2 := func(password, endpoint string) string {
		return `, "paramsOauth2ClientCredentials": {"clientId": "client", "clientPassword": "` + password + `", "tokenEndpoint": "` + endpoint + `"}`
	}
	const basic = `, "userName": "me", "password": "geheim"`
	for _, row := range []struct{ what, address, login, detail string }{
		{"none", guarded.URL, "", "401"},
		{"name and password", guarded.URL, basic, ""},
		{"wrong password", guarded.URL, `, "userName": "me", "password": "none"`, "401"},
		{"token, the first of which is not accepted", guarded.URL, oauth2("geheim", guarded.URL+"/token"), ""},
		{"no token", guarded.URL, oauth2("none", guarded.URL+"/token"), "its token endpoint gives no token: 401"},
		{"token endpoint that must not be called", guarded.URL, oauth2("geheim", "http://169.254.169.254/geheim"), "not one that this server calls"},
		{"server that redirects", leads.URL, basic, ""},
	} {
		t.Log(row.what)
		pkg := b.fetch(row.address, row.login)
		b.expectFetched(pkg, csar, row.detail)
		if row.detail == "" {
			b.expect(http.StatusOK, http.MethodPatch, pkg, `{"operationalState": "DISABLED"}`)
			b.expect(http.StatusNoContent, http.MethodDelete, pkg, "")
		}
	}
	if len(leads.requests) != 1 || leads.requests[0].Get("Authorization") == "" {
		t.Errorf("requests to the server that redirects: %v", leads.requests)
	}
	if len(open.requests) != 1 || open.requests[0].Get("Authorization") != "" {
		t.Errorf("requests to the server that was redirected to: %v", open.requests)
	}
}

func TestAddressesThatMustNotBeFetchedFrom(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.packages.Downloads(vnfpkg.Downloads{Policy: peer.Policy{Deny: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}})
	o := serveFrom(t, nil, func(*origin, int, http.ResponseWriter, *http.Request) {})
	b.expectFetched(b.fetch(o.URL, ""), nil, "127.0.0.1 is not one that this server calls")
	if len(o.requests) > 0 {
		t.Error("the address was called")
	}
}

func TestRequestsForContentFromAnAddress(t *testing.T) {
	t.Parallel()
	b := setup(t)
	created := b.expect(http.StatusCreated, http.MethodPost, packagesPath, `{}`).Header.Get("Location")
	uploading := b.expect(http.StatusCreated, http.MethodPost, packagesPath, `{}`).Header.Get("Location")
	const good = `{"addressInformation": "http://127.0.0.1:9/"}`
	b.expect(http.StatusAccepted, http.MethodPost, uploading+"/package_content/upload_from_uri", good)
	onboarded, _, _ := b.onboard()
	for _, row := range []struct {
		name, pkg, body string
		status          int
		detail          string
	}{
		{"nothing", created, `{}`, 400, "addressInformation"},
		{"no URI", created, `{"addressInformation": "http://[::1"}`, 400, "/addressInformation"},
		{"path", created, `{"addressInformation": "/etc/passwd"}`, 400, "/addressInformation"},
		{"file", created, `{"addressInformation": "file:///etc/passwd"}`, 400, "/addressInformation"},
		{"no host", created, `{"addressInformation": "https:///a"}`, 400, "/addressInformation"},
		{"login in the address", created, `{"addressInformation": "https://me:geheim@host/"}`, 400, "/addressInformation: must not have a user name"},
		{"password alone", created, `{"addressInformation": "http://host", "password": "geheim"}`, 400, "/userName"},
		{"name with a colon", created, `{"addressInformation": "http://host", "userName": "a:b"}`, 400, "/userName"},
		{"two logins", created, `{"addressInformation": "http://host", "userName": "a", "paramsOauth2ClientCredentials":
			{"clientId": "a", "clientPassword": "geheim", "tokenEndpoint": "http://host"}}`, 400, "/paramsOauth2ClientCredentials"},
		{"token endpoint", created, `{"addressInformation": "http://host", "paramsOauth2ClientCredentials":
			{"clientId": "a", "clientPassword": "geheim", "tokenEndpoint": "host"}}`, 400, "/paramsOauth2ClientCredentials/tokenEndpoint"},
		{"half of the credentials", created, `{"addressInformation": "http://host", "paramsOauth2ClientCredentials": {"clientId": "a"}}`, 400, "tokenEndpoint"},
		{"download under way", uploading, good, 409, "UPLOADING"},
		{"onboarded", onboarded, good, 409, "ONBOARDED"},
		{"unknown", packagesPath + "/" + uuid.NewString(), good, 404, "can not find"},
	} {
		a := b.expect(row.status, http.MethodPost, row.pkg+"/package_content/upload_from_uri", row.body)
		if detail := a.detail(t); !strings.Contains(detail, row.detail) || strings.Contains(detail, "geheim") {
			t.Errorf("%s: %s", row.name, detail)
		}
	}
	b.expect(http.StatusConflict, http.MethodPut, uploading+"/package_content", "PK", "Content-Type", "application/zip")
	b.expect(http.StatusConflict, http.MethodDelete, uploading, "")
	b.expect(http.StatusUnsupportedMediaType, http.MethodPost, created+"/package_content/upload_from_uri", good, "Content-Type", "text/plain")
	b.expect(http.StatusMethodNotAllowed, http.MethodGet, created+"/package_content/upload_from_uri", "")
}

func TestDownloadsThatEndWithoutContent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	slow := serveFrom(t, make([]byte, 1000), func(o *origin, _ int, w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(o.content)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	for _, row := range []struct {
		name   string
		source vnfpkg.Source
		detail string
	}{
		{"server that never comes to an end", vnfpkg.Source{URL: slow.URL}, "it took too long, after 1000 bytes"},
		{"NFVO that is configured no more", vnfpkg.Source{URL: slow.URL, NFVO: true}, "not configured any more"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			in := *b
			in.t, in.client = t, servertest.Client(t)
			pkg := in.expect(http.StatusCreated, http.MethodPost, packagesPath, `{}`).Header.Get("Location")
			id := uuid.MustParse(pkg[strings.LastIndex(pkg, "/")+1:])
			if err := b.packages.UploadFrom(t.Context(), id, &row.source); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			if err := b.packages.Fetch(ctx, id); err != nil {
				t.Errorf("the download is to be tried again: %v", err)
			}
			in.expectFetched(pkg, nil, row.detail)
		})
	}
}
