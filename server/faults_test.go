package server_test

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestBodiesThatEndEarlyAreTheClientsMistake(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pkg := b.expect(http.StatusCreated, http.MethodPost, "/vnfpkgm/v1/vnf_packages", `{}`).Header.Get("Location")
	for _, row := range []struct{ name, request string }{
		{"JSON that is cut off", "POST /vnflcm/v1/vnf_instances HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"vnfdId\""},
		{"chunks that are none", "POST /vnflcm/v1/vnf_instances HTTP/1.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"},
		{"upload that is cut off", "PUT " + pkg + "/package_content HTTP/1.1\r\nContent-Type: application/zip\r\nContent-Length: 100\r\n\r\nPK"},
	} {
		t.Run(row.name, func(t *testing.T) {
			connection, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer connection.Close()
			if _, err := io.WriteString(connection, strings.Replace(row.request, "\r\n", "\r\nHost: vnfm\r\n", 1)); err != nil {
				t.Fatal(err)
			}
			if err := connection.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			response, err := http.ReadResponse(bufio.NewReader(connection), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if response.StatusCode != http.StatusBadRequest {
				t.Errorf("status %s, want 400", response.Status)
			}
		})
	}
	if a := b.expect(http.StatusOK, http.MethodGet, pkg, ""); !strings.Contains(string(a.body), `"onboardingState":"CREATED"`) {
		t.Errorf("after an upload that was cut off: %s", a.body)
	}
}

func TestMarkersThatNoPageHasGiven(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, microseconds := range []uint64{0, 1<<63 - 1, 1 << 63, 1<<64 - 1} {
		id := uuid.New()
		marker := base64.RawURLEncoding.EncodeToString(append(binary.BigEndian.AppendUint64(nil, microseconds), id[:]...))
		for _, list := range []string{"/vnflcm/v1/vnf_instances", "/vnflcm/v1/vnf_lcm_op_occs", "/vnfpkgm/v1/vnf_packages"} {
			a := b.do(http.MethodGet, list+"?nextpage_opaque_marker="+marker, "")
			if a.StatusCode != http.StatusOK && a.StatusCode != http.StatusBadRequest {
				t.Errorf("%s after %d: %s", list, microseconds, a.Status)
			}
		}
	}
}

func TestQueriesThatCannotBeReadAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, list := range []string{"/vnflcm/v1/vnf_instances", "/vnfpkgm/v1/vnf_packages", "/v1.0/vims"} {
		b.expect(http.StatusBadRequest, http.MethodGet, list+"?all_records=%zz", "")
	}
}

func TestMetricsHoldNothingThatClientsChoose(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := uuid.NewString()
	b.expect(http.StatusMethodNotAllowed, http.MethodPut, "/vnflcm/v1/vnf_instances/"+id, "")
	b.expect(http.StatusNotFound, http.MethodGet, "/none/a:"+id, "")
	b.expect(http.StatusMethodNotAllowed, "ODD", "/vnflcm/v1/vnf_instances", "")
	b.expect(http.StatusNotFound, http.MethodGet, "/vnflcm/v1/vnf_instances/"+id, "")
	metrics := string(b.expect(http.StatusOK, http.MethodGet, "/metrics", "").body)
	for _, chosen := range []string{id, "ODD"} {
		if strings.Contains(metrics, chosen) {
			t.Errorf("metrics have a label with %s", chosen)
		}
	}
	if want := `method="GET",route="/vnflcm/v1/vnf_instances/:vnfInstanceId",status="404"`; !strings.Contains(metrics, want) {
		t.Errorf("metrics lack %s", want)
	}
}

func TestPackagePatches(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pkg := b.expect(http.StatusCreated, http.MethodPost, "/vnfpkgm/v1/vnf_packages", `{"userDefinedData": {"a": 1}}`).Header.Get("Location")
	for _, row := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"adds a key", `{"userDefinedData": {"b": 2}}`, 200, `{"userDefinedData":{"b":2}}`},
		{"removes a key", `{"userDefinedData": {"b": null}}`, 200, `{"userDefinedData":{"b":null}}`},
		{"removes the last key", `{"userDefinedData": {"a": null}}`, 200, `{"userDefinedData":{"a":null}}`},
		{"changes nothing", `{"userDefinedData": {}}`, 400, ``},
		{"only knows an attribute that we do not", `{"colour": "red"}`, 400, ``},
	} {
		a := b.do(http.MethodPatch, pkg, row.body, "Content-Type", "application/merge-patch+json")
		if a.StatusCode != row.status || row.want != "" && strings.TrimSpace(string(a.body)) != row.want {
			t.Errorf("%s: %s %s, want %d %s", row.name, a.Status, a.body, row.status, row.want)
		}
	}
}

func TestAnswersToManyMistakesStaySmall(t *testing.T) {
	t.Parallel()
	b := setup(t)
	links := strings.TrimSuffix(strings.Repeat(`{},`, 100_000), ",")
	a := b.expect(http.StatusBadRequest, http.MethodPost, "/vnflcm/v1/vnf_instances/"+uuid.NewString()+"/instantiate",
		`{"flavourId": "simple", "extVirtualLinks": [`+links+`]}`)
	if len(a.body) > 10_000 {
		t.Errorf("a problem document of %d bytes", len(a.body))
	}
}

func TestNumbersThatNobodyCanHold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, number := range []string{"1e400", "-1e400", "1e-400", strings.Repeat("9", 400)} {
		a := b.do(http.MethodPost, "/vnfpkgm/v1/vnf_packages", fmt.Sprintf(`{"userDefinedData": {"a": %s}}`, number))
		if a.StatusCode != http.StatusBadRequest && a.StatusCode != http.StatusCreated {
			t.Errorf("%.10s…: %s", number, a.Status)
		}
	}
}

func TestUnicodeOfAllKinds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, text := range []string{`\ud800`, "\xff\xfe", `\u2028`, "😀"} {
		a := b.do(http.MethodPost, "/vnfpkgm/v1/vnf_packages", `{"userDefinedData": {"a`+text+`": "`+text+`"}}`)
		if a.StatusCode != http.StatusBadRequest && a.StatusCode != http.StatusCreated {
			t.Errorf("%q: %s", text, a.Status)
		}
		if !json.Valid(a.body) {
			t.Errorf("%q: not JSON: %s", text, a.body)
		}
	}
}
