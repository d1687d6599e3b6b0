package external_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/drivertest"
	"vnfm/mgmtdriver/external"
)

// files is a VNF package.
type files fstest.MapFS

func (f files) Names(context.Context) ([]string, error) {
	return slices.Sorted(maps.Keys(f)), nil
}

func (f files) Open(_ context.Context, path string) (io.ReadCloser, error) {
	return fstest.MapFS(f).Open(path)
}

func testdata(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func start(t *testing.T, config external.Config) mgmtdriver.Driver {
	t.Helper()
	drivers, err := external.Start(t.Context(), map[string]string{"test": testdata(t, "driver")}, config)
	if err != nil {
		t.Fatal(err)
	}
	driver, err := drivers.Find("test")
	if err != nil {
		t.Fatal(err)
	}
	return driver
}

// asking is a call whose parameters tell the test driver what to do.
func asking(params map[string]any) *mgmtdriver.Call {
	return &mgmtdriver.Call{
		Hook:      mgmtdriver.InstantiateEnd,
		Operation: mgmtdriver.Operation{ID: "op", Type: "INSTANTIATE", Request: json.RawMessage(`{"flavourId":"simple"}`), AdditionalParams: params},
		Instance:  mgmtdriver.Instance{ID: "vnf", FlavourID: "simple"},
		After: []mgmtdriver.Vnfc{{ID: "vnfc", VduID: "worker", ServerID: "server", Ports: []mgmtdriver.Port{
			{Name: "worker_CP1", ID: "port", Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.5")}},
		}}},
		Package: files{"Scripts/a.sh": {Data: []byte("content")}, "Scripts/b.txt": {}, "Definitions/a.yaml": {}},
		Log:     slog.New(slog.DiscardHandler),
	}
}

// answering is a call that the test driver answers with a document.
func answering(document string) *mgmtdriver.Call {
	return asking(map[string]any{"do": "answer", "answer": base64.StdEncoding.EncodeToString([]byte(document))})
}

func do(t *testing.T, driver mgmtdriver.Driver, call *mgmtdriver.Call) (mgmtdriver.Result, error) {
	t.Helper()
	return driver.Steps(mgmtdriver.InstantiateEnd)[0].Do(t.Context(), call)
}

func TestAnswersOfAProgram(t *testing.T) {
	t.Parallel()
	driver := start(t, external.Config{})
	for _, row := range []struct {
		document string
		result   mgmtdriver.Result
		err      error
	}{
		{`{"result": "done"}`, mgmtdriver.Result{}, nil},
		{`{"result": "done", "output": {"a": 1}}`, mgmtdriver.Done(json.RawMessage(`{"a": 1}`)), nil},
		{`{"result": "wait", "afterSeconds": 0.5, "detail": "boots", "state": [7]}`,
			mgmtdriver.WaitFor(500*time.Millisecond, "boots").With(json.RawMessage(`[7]`)), nil},
		{`{"result": "wait", "detail": "boots"}`, mgmtdriver.Wait("boots"), nil},
		{`{"result": "wait", "afterSeconds": -1}`, mgmtdriver.Result{}, &mgmtdriver.Failure{Detail: "driver test asked to wait for -1 seconds"}},
		{`{"result": "fail", "title": "No node", "status": 504, "detail": "worker7 is away"}`, mgmtdriver.Result{},
			&mgmtdriver.Failure{Title: "No node", Status: 504, Detail: "worker7 is away"}},
		{`{"result": "fail", "status": 42}`, mgmtdriver.Result{}, &mgmtdriver.Failure{Detail: "driver test failed and does not say why"}},
		{`{"result": "soon"}`, mgmtdriver.Result{}, &mgmtdriver.Failure{Detail: `driver test answered the step with the result "soon"`}},
		{`{"result": "invalid"}`, mgmtdriver.Result{}, &mgmtdriver.Failure{Detail: `driver test answered the step with the result "invalid"`}},
		{`{}`, mgmtdriver.Result{}, &mgmtdriver.Failure{Detail: `driver test answered the step with the result ""`}},
	} {
		result, err := do(t, driver, answering(row.document))
		if diff := cmp.Diff(row.result, result, cmp.Comparer(func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })); diff != "" {
			t.Errorf("%s: result (-want +got):\n%s", row.document, diff)
		}
		if diff := cmp.Diff(row.err, err); diff != "" {
			t.Errorf("%s: error (-want +got):\n%s", row.document, diff)
		}
	}
	_, err := do(t, driver, answering(`{"result": "unavailable", "peer": "VM 10.0.0.5", "detail": "refused"}`))
	if !errors.As(err, new(*mgmtdriver.Unavailable)) || err.Error() != "VM 10.0.0.5 cannot be reached: refused" {
		t.Errorf("unavailable: %v", err)
	}
}

func TestWhatAProgramIsTold(t *testing.T) {
	t.Parallel()
	driver := start(t, external.Config{})
	call := asking(map[string]any{"do": "echo"})
	call.State, call.Outputs = json.RawMessage(`"kept"`), map[string]json.RawMessage{"instantiate_start/x": json.RawMessage(`1`)}
	result, err := do(t, driver, call)
	if err != nil {
		t.Fatal(err)
	}
	var told map[string]any
	if err := json.Unmarshal(result.Output.(json.RawMessage), &told); err != nil {
		t.Fatal(err)
	}
	if dir, _ := told["packageDir"].(string); dir == "" {
		t.Error("no directory of the package")
	} else if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory of the package is left behind: %v", err)
	}
	delete(told, "packageDir")
	want := map[string]any{
		"protocol": 1.0, "call": "step", "hook": "instantiate_end", "step": "first",
		"operation": map[string]any{"id": "op", "type": "INSTANTIATE", "request": map[string]any{"flavourId": "simple"},
			"additionalParams": map[string]any{"do": "echo"}},
		"instance": map[string]any{"id": "vnf", "name": "", "vnfdId": "", "flavourId": "simple"},
		"after": []any{map[string]any{"id": "vnfc", "vduId": "worker", "serverId": "server", "ports": []any{
			map[string]any{"name": "worker_CP1", "id": "port", "addresses": []any{"10.0.0.5"}},
		}}},
		"state": "kept", "outputs": map[string]any{"instantiate_start/x": 1.0},
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestProgramsThatMisbehave(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ do, detail string }{
		{"exit", "driver test ended with exit status 3: no such node"},
		{"crash", "driver test ended with signal: segmentation fault"},
		{"huge", "driver test wrote more than 1048576 bytes"},
		{"nothing", "driver test wrote 0 bytes that are not one JSON document"},
		{"leave", "driver test ended and left processes behind"},
		{"environment", "PATH="},
	} {
		t.Run(row.do, func(t *testing.T) {
			t.Parallel()
			_, err := do(t, start(t, external.Config{}), asking(map[string]any{"do": row.do}))
			var failure *mgmtdriver.Failure
			if !errors.As(err, &failure) || !strings.Contains(failure.Detail, row.detail) {
				t.Errorf("got %v, want a failure with %q", err, row.detail)
			}
			// What a shell sets by itself is all that there may be beside PATH.
			if row.do == "environment" && (strings.Contains(err.Error(), "HOME=") || strings.Contains(err.Error(), "USER=")) {
				t.Errorf("the program sees %v", err)
			}
		})
	}
	if _, err := do(t, start(t, external.Config{}), answering(`{"result": "done"} trailing`)); err == nil {
		t.Error("an answer followed by other words is taken")
	}
}

// alive reports whether a process exists and is not a zombie that nobody has waited for yet.
func alive(pid int) bool {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(status), ") Z ")
}

func TestHangingProgramIsKilledWithItsChildren(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		config external.Config
		cancel bool
	}{
		{"when its time is over", external.Config{StepTime: 500 * time.Millisecond}, false},
		{"when the operation is stopped", external.Config{}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			driver := start(t, row.config)
			file := filepath.Join(t.TempDir(), "pid")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				_, err := driver.Steps(mgmtdriver.InstantiateEnd)[0].Do(ctx, asking(map[string]any{"do": "hang", "file": file}))
				ended <- err
			}()
			child := 0
			for child == 0 {
				if t.Context().Err() != nil {
					t.Fatal("the program does not start")
				}
				content, _ := os.ReadFile(file)
				child, _ = strconv.Atoi(strings.TrimSpace(string(content)))
				time.Sleep(10 * time.Millisecond)
				if len(ended) > 0 && child == 0 {
					t.Skip("this machine is too slow to start the program in its time")
				}
			}
			if row.cancel {
				cancel()
			}
			err := <-ended
			if row.cancel != errors.Is(err, context.Canceled) || row.cancel == errors.As(err, new(*mgmtdriver.Failure)) {
				t.Errorf("got %v", err)
			}
			for alive(child) {
				if t.Context().Err() != nil {
					t.Fatalf("process %d lives on", child)
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
}

func TestFilesOfThePackage(t *testing.T) {
	t.Parallel()
	driver := start(t, external.Config{})
	_, err := do(t, driver, asking(map[string]any{"do": "package"}))
	if err == nil || !strings.Contains(err.Error(), "./Scripts/a.sh\ncontent") || strings.Contains(err.Error(), "b.txt") {
		t.Errorf("the program sees %v", err)
	}
	call := asking(nil)
	call.Package = files{"Scripts/a.sh": {Data: make([]byte, 64<<20)}, "Scripts/b.sh": {Data: []byte("x")}}
	if _, err := do(t, driver, call); err == nil || !strings.Contains(err.Error(), "more than 67108864 bytes") {
		t.Errorf("a package that is too large: %v", err)
	}
}

func TestComplaintsAreLoggedWithinBounds(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	call := asking(map[string]any{"do": "complain"})
	call.Log = slog.New(slog.NewTextHandler(&log, nil))
	if _, err := do(t, start(t, external.Config{}), call); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(log.String(), "complaint"); lines != 100 || !strings.Contains(log.String(), "left out") {
		t.Errorf("%d lines are logged", lines)
	}
}

func TestChecks(t *testing.T) {
	t.Parallel()
	driver := start(t, external.Config{})
	if err := driver.Check(t.Context(), asking(nil)); err != nil {
		t.Error(err)
	}
	var invalid *mgmtdriver.Invalid
	err := driver.Check(t.Context(), answering(`{"result": "invalid", "attribute": "/additionalParams/size", "detail": "too large"}`))
	if !errors.As(err, &invalid) || invalid.Error() != "/additionalParams/size: too large" {
		t.Errorf("invalid: %v", err)
	}
	if err := driver.Check(t.Context(), answering(`{"result": "fail", "detail": "no"}`)); !errors.As(err, new(*mgmtdriver.Failure)) {
		t.Errorf("fail: %v", err)
	}
	if err := driver.Check(t.Context(), answering(`{"result": "wait"}`)); !errors.As(err, new(*mgmtdriver.Failure)) {
		t.Errorf("wait: %v", err)
	}
}

func TestProgramsThatCannotBeDrivers(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, program, reason string }{
		{"a", "driver", "is not an absolute path"},
		{"vnflcm_noop", testdata(t, "driver"), "the name is taken"},
		{"a", "/no/such/file", "cannot be run"},
		{"a", testdata(t, "garbage"), "not one JSON document"},
		{"a", testdata(t, "future"), "version 2 of the protocol"},
		{"a", testdata(t, "misspelt"), `no hook "instantiate_ende"`},
		{"a", testdata(t, "slash"), `"a/b" does not match`},
		{"a", testdata(t, "silent"), "did not answer within 1s"},
	} {
		_, err := external.Start(t.Context(), map[string]string{row.name: row.program}, external.Config{CheckTime: time.Second})
		if err == nil || !strings.Contains(err.Error(), row.reason) || !strings.Contains(err.Error(), row.name) {
			t.Errorf("%s=%s: got %v, want %q", row.name, row.program, err, row.reason)
		}
	}
}

// TestInventoryDriver runs the example through the conformance suite.
func TestInventoryDriver(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "inventory-driver")
	if output, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "vnfm/samples/inventory-driver").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	drivertest.Run(t, drivertest.Suite{
		Hooks: []mgmtdriver.Hook{mgmtdriver.InstantiateEnd, mgmtdriver.ScaleEnd, mgmtdriver.ScaleStart, mgmtdriver.HealEnd},
		New:   func(t *testing.T) drivertest.World { t.Helper(); return inventory(t, program) },
		Refused: []drivertest.Refused{{
			Name: "account with a line break", Hook: mgmtdriver.InstantiateEnd, Attribute: "/additionalParams/inventory_user",
			Change: func(call *mgmtdriver.Call) {
				call.Operation.AdditionalParams = map[string]any{"inventory_user": "ubuntu\n[all:vars]"}
			},
		}},
	})
}

// inventory is the example with a directory of its own.
func inventory(t *testing.T, program string) drivertest.World {
	t.Helper()
	dir := t.TempDir()
	script := filepath.Join(t.TempDir(), "driver")
	drivertest.Script(t, script, "#!/bin/sh\nexec "+program+" -dir "+dir+"\n")
	drivers, err := external.Start(t.Context(), map[string]string{"inventory": script}, external.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return drivertest.World{
		Driver: drivers["inventory"],
		Call: func(mgmtdriver.Hook) *mgmtdriver.Call {
			call := asking(nil)
			call.Instance.AdditionalParams = map[string]any{"inventory_user": "ubuntu"}
			return call
		},
		State: func() any {
			content := map[string]string{}
			err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
				if err != nil || entry.IsDir() {
					return err
				}
				read, err := os.ReadFile(filepath.Join(dir, name))
				content[name] = string(read)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return content
		},
	}
}
