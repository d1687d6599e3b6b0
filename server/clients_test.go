package server_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"vnfm/server"
	"vnfm/vnfpkg"
)

// contentStore is a real one until a reader takes the place of what it reads.
type contentStore struct {
	vnfpkg.ContentStore
	replace atomic.Pointer[func(vnfpkg.ContentReader) vnfpkg.ContentReader]
}

// patient is a configuration with that much patience with clients.
func patient(patience time.Duration) func(*server.Config) {
	return func(config *server.Config) { config.Patience = patience }
}

func (s *contentStore) OpenContent(ctx context.Context, id uuid.UUID) (vnfpkg.ContentReader, error) {
	return s.replaced(s.ContentStore.OpenContent(ctx, id))
}

func (s *contentStore) OpenCSAR(ctx context.Context, id uuid.UUID) (vnfpkg.ContentReader, error) {
	return s.replaced(s.ContentStore.OpenCSAR(ctx, id))
}

func (s *contentStore) replaced(reader vnfpkg.ContentReader, err error) (vnfpkg.ContentReader, error) {
	if replace := s.replace.Load(); err == nil && replace != nil {
		return (*replace)(reader), nil
	}
	return reader, err
}

// losing is an archive of which the database loses the content of the entries: what can be read is the directory, which begins at
// an offset, and the headers that are read to check it.
type losing struct {
	vnfpkg.ContentReader
	directory int64
}

func (l losing) ReadAt(p []byte, offset int64) (int, error) {
	const entryHeaderBytes = 30
	if len(p) > entryHeaderBytes && (offset+int64(len(p)) <= l.directory || offset == 0 && int64(len(p)) == l.Size()) {
		return 0, errors.New("the database has gone")
	}
	return l.ContentReader.ReadAt(p, offset)
}

func TestAnswersThatBreakOffAreNotTakenForWhole(t *testing.T) {
	t.Parallel()
	store := &contentStore{}
	b := setupOn(t, func(s vnfpkg.ContentStore) vnfpkg.ContentStore { store.ContentStore = s; return store }, func(*server.Config) {})
	pkg, _, archive := b.onboard()
	directory := bytes.Index(archive, []byte("PK\x01\x02"))
	lose := func(reader vnfpkg.ContentReader) vnfpkg.ContentReader { return losing{reader, int64(directory)} }
	store.replace.Store(&lose)
	for _, path := range []string{"/package_content", "/vnfd", "/artifacts/TOSCA-Metadata/TOSCA.meta"} {
		if answer, err := whole(b.url + pkg + path); err == nil {
			t.Errorf("%s seems to be answered: %.200s", path, answer)
		}
	}
}

// whole is what a client takes for the whole of a file.
func whole(address string) (string, error) {
	response, err := http.Get(address)
	if err != nil {
		return "", err // cut off before the first byte
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", errors.New(response.Status)
	}
	content, err := io.ReadAll(response.Body)
	return response.Status + " " + string(content), err
}

// endless is content larger than any socket buffers; it tells when it is closed.
type endless struct {
	vnfpkg.ContentReader
	closed chan<- struct{}
}

func (endless) ReadAt(p []byte, _ int64) (int, error) { return len(p), nil }

func (endless) Size() int64 { return 1 << 40 }

func (e endless) Close() error {
	close(e.closed)
	return e.ContentReader.Close()
}

func TestClientsThatTakeNothingHoldNothing(t *testing.T) {
	t.Parallel()
	store := &contentStore{}
	b := setupOn(t, func(s vnfpkg.ContentStore) vnfpkg.ContentStore { store.ContentStore = s; return store }, patient(200*time.Millisecond))
	pkg, _, _ := b.onboard()
	closed := make(chan struct{})
	replace := func(reader vnfpkg.ContentReader) vnfpkg.ContentReader { return endless{reader, closed} }
	store.replace.Store(&replace)
	b.send("GET " + pkg + "/package_content HTTP/1.1\r\nHost: vnfm\r\n\r\n")
	<-closed
}

func TestClientsThatSendNothingHoldNothing(t *testing.T) {
	t.Parallel()
	b := setupOn(t, nil, patient(200*time.Millisecond))
	pkg := b.expect(http.StatusCreated, http.MethodPost, "/vnfpkgm/v1/vnf_packages", `{}`).Header.Get("Location")
	for _, request := range []string{
		"PUT " + pkg + "/package_content HTTP/1.1\r\nHost: vnfm\r\nContent-Type: application/zip\r\nContent-Length: 100\r\n\r\nPK",
		"POST /vnflcm/v1/vnf_instances HTTP/1.1\r\nHost: vnfm\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
	} {
		answer, err := io.ReadAll(b.send(request))
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400") {
			t.Errorf("%.40s: %.100s %v", request, answer, err)
		}
	}
	if a := b.expect(http.StatusOK, http.MethodGet, pkg, ""); !strings.Contains(string(a.body), `"onboardingState":"CREATED"`) {
		t.Errorf("after an upload that fell silent: %s", a.body)
	}
}

func TestPatienceBeginsAnewWithEveryRequest(t *testing.T) {
	t.Parallel()
	const patience = 200 * time.Millisecond
	b := setupOn(t, nil, patient(patience))
	path := b.expect(http.StatusCreated, http.MethodPost, "/vnfpkgm/v1/vnf_packages", `{}`).Header.Get("Location")
	for range 2 {
		time.Sleep(2 * patience)
		b.expect(http.StatusOK, http.MethodPatch, path, `{"userDefinedData": {"a": 1}}`)
	}
	time.Sleep(2 * patience)
	b.expect(http.StatusNoContent, http.MethodDelete, path, "")
}

// send sends a request as it is, and leaves the connection open until the test ends.
func (b *bench) send(request string) net.Conn {
	b.t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { connection.Close() })
	if _, err := io.WriteString(connection, request); err != nil {
		b.t.Fatal(err)
	}
	return connection
}
