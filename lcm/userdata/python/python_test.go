package python

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"vnfm/vnfpkg"
)

// files are a package.
type files map[string]string

func (f files) Names() []string {
	var names []string
	for name := range f {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (f files) ReadFile(name string, maxBytes int64) ([]byte, error) {
	if int64(len(f[name])) > maxBytes {
		return nil, &vnfpkg.Invalid{File: name, Reason: "too large"}
	}
	return []byte(f[name]), nil
}

const head = `from tacker.vnfm.lcm_user_data.abstract_user_data import AbstractUserData
import os, sys

class Mine(AbstractUserData):
    @staticmethod
    def instantiate(base_hot_dict=None, vnfd_dict=None, inst_req_info=None, grant_info=None):
`

// method is a file whose class has a method instantiate with the given lines.
func method(lines ...string) files {
	return files{"UserData/x.py": head + "        " + strings.Join(lines, "\n        ") + "\n", "UserData/__init__.py": ""}
}

// run calls instantiate of the class Mine in UserData/x.py.
func run(t *testing.T, r *Runner, pkg Package) (map[string]any, error) {
	t.Helper()
	plain := Argument{Value: map[string]any{"heat_template": map[string]any{"resources": map[string]any{}}}}
	return r.Run(t.Context(), Script{pkg, "./UserData/x.py", "Mine"}, Call{Method: "instantiate", Arguments: [][]Argument{{
		plain, plain, {Kind: "InstantiateVnfRequest", Value: map[string]any{"flavourId": "simple"}}, {},
	}}})
}

// runners are runners with the best and with the least isolation that this host gives.
func runners(t *testing.T, config Config) map[string]*Runner {
	t.Helper()
	found := map[string]*Runner{}
	every := isolations()
	for _, i := range []isolation{every[0], every[len(every)-1]} {
		r := NewRunner(config)
		r.attempts = func() []isolation { return []isolation{i} }
		if _, err := run(t, r, method("return {'a': 1}")); errors.As(err, new(*Unable)) {
			t.Logf("%+v: %v", i, err)
			continue
		}
		found[fmt.Sprintf("account=%t,namespaces=%t", i.account, i.namespaces)] = r
	}
	if len(found) == 0 {
		t.Fatal("nothing can be run here")
	}
	return found
}

func TestScriptsComputeParameters(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		pkg  files
		want map[string]any
	}{
		{"values of all kinds", method("return {'n': 1, 'f': 1.5, 's': 'ä', 'b': True, 'z': None, 'l': (1, [2]), 'd': {3: {}}}"),
			map[string]any{"n": 1.0, "f": 1.5, "s": "ä", "b": true, "z": nil, "l": []any{1.0, []any{2.0}}, "d": map[string]any{"3": map[string]any{}}}},
		{"attributes of the request", method("r = inst_req_info",
			"return {'a': [r.flavour_id, r.instantiation_level_id, r.ext_virtual_links, r.additional_params, r.get('flavour_id'), r['flavour_id']]}"),
			map[string]any{"a": []any{"simple", nil, []any{}, map[string]any{}, "simple", "simple"}}},
		{"printing", method("print('x' * 100000); sys.stderr.write('y'); return {}"), map[string]any{}},
		{"the standard library", method("import ipaddress, re, copy, json, hashlib, datetime, collections, random, uuid, logging, textwrap",
			"return {'h': hashlib.sha256(b'').hexdigest()[:4], 'i': str(ipaddress.ip_address('10.0.0.1') + 1), 'u': len(str(uuid.uuid4()))}"),
			map[string]any{"h": "e3b0", "i": "10.0.0.2", "u": 36.0}},
		{"files of its own folder, modules of the package", files{
			"UserData/x.py":         head + "        from UserData.more import names\n        from . import more\n        import Scripts.part\n        return {'v': names + [open(os.path.join(os.path.dirname(__file__), 'data', 'v.txt')).read()]}\n",
			"UserData/more.py":      "names = ['a']\n",
			"UserData/data/v.txt":   "read",
			"Scripts/part.py":       "",
			"Files/images/disk.img": strings.Repeat("x", maxFileBytes+1),
		}, map[string]any{"v": []any{"a", "read"}}},
		{"a module that is named as one of ours", files{"UserData/x.py": head + "        import records, confine\n        return {'v': records.v + confine.v}\n",
			"records.py": "v = 1", "confine.py": "v = 2"}, map[string]any{"v": 3.0}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := run(t, NewRunner(Config{}), row.pkg)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestHooksPassTheParametersOn(t *testing.T) {
	t.Parallel()
	pkg := files{"UserData/x.py": `class Mine:
    def scale(base_hot, steps, parameters):
        parameters['n'] += steps
        return parameters if steps else None

    def heal(*arguments):
        return 'done'
`}
	calls := func(steps ...int) [][]Argument {
		var list [][]Argument
		for _, n := range steps {
			list = append(list, []Argument{{}, {Value: n}, {Kind: Parameters}})
		}
		return list
	}
	for _, row := range []struct {
		name, method string
		calls        [][]Argument
		want         any
		says         string
	}{
		{"one call", "scale", calls(2), 3.0, ""},
		{"several calls", "scale", calls(2, 3), 6.0, ""},
		{"an empty result keeps the parameters", "scale", calls(0), 1.0, ""},
		{"a class without the method", "operate", calls(1), 1, ""},
		{"a result that is no dict", "heal", calls(1), nil, "type str"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := NewRunner(Config{}).Run(t.Context(), Script{pkg, "UserData/x.py", "Mine"},
				Call{Method: row.method, Optional: true, Parameters: map[string]any{"n": 1}, Arguments: row.calls})
			if row.says != "" {
				if err == nil || !strings.Contains(err.Error(), row.says) {
					t.Errorf("error %v, want one that says %q", err, row.says)
				}
				return
			}
			if err != nil || got["n"] != row.want {
				t.Errorf("%v, %v, want n = %v", got, err, row.want)
			}
		})
	}
}

func TestWhatIsWrongWithAScriptIsSaid(t *testing.T) {
	t.Parallel()
	class := func(text string) files { return files{"UserData/x.py": text} }
	for _, row := range []struct {
		name string
		pkg  files
		says string
	}{
		{"an exception", method("x = {}", "raise ValueError('no such network: %s' % x)"), "ValueError: no such network: {} (UserData/x.py, line 8)"},
		{"an exception in a function of ours", method("from tacker.vnfm.lcm_user_data import utils", "utils.create_sw_image_dict(None)",
			"return utils.create_network_dict(None, {})"), "AttributeError: 'NoneType' object has no attribute 'ext_virtual_links' (UserData/x.py, line 9)"},
		{"an exception whose text fails", method("class E(Exception):", "    def __str__(self): raise E()", "raise E()"), "E"},
		{"the end of the process", method("sys.exit(3)"), "the script ends the process (SystemExit: 3) (UserData/x.py, line 7)"},
		{"the end of the process at once", method("print('last words', flush=True)", "os._exit(7)"), "without a result: exit status 7; its output ends with: last words"},
		{"no dict", method("return ['a']"), "not in dict format: instantiate returned a value of type list"},
		{"nothing", method("pass"), "not in dict format: instantiate returned a value of type NoneType"},
		{"a set in the result", method("return {'nfv': {'VDU': [{1}]}}"), "the result['nfv']['VDU'][0] is {1} of type set"},
		{"no number", method("return {'a': float('nan')}"), "the result['a'] is nan of type float"},
		{"a key that is no text", method("return {(1, 2): 3}"), "a key of type tuple"},
		{"a result that holds itself", method("a = {}", "a['a'] = a", "return a"), "RecursionError"},
		{"a huge result", method("return {'a': 'x' * (5 << 20)}"), "larger than"},
		{"a broken result", method("os.write(3, b'{')", "os._exit(0)"), "without a result"},
		{"no class", class("class Other: pass"), "the file has no class Mine"},
		{"no method", class("class Mine: pass"), "class Mine has no method instantiate"},
		{"an abstract method", class("from tacker.vnfm.lcm_user_data.abstract_user_data import AbstractUserData\nclass Mine(AbstractUserData): pass"),
			"NotImplementedError: the user data class has no method instantiate"},
		{"a wrong signature", class("class Mine:\n    @staticmethod\n    def instantiate(one): return {}"), "takes 1 positional argument but 4 were given"},
		{"a syntax error", class("x = 1\nclass Mine(:\n"), "SyntaxError: invalid syntax (UserData/x.py, line 2)"},
		{"a module that the host lacks", class("import no_such_module"), "ModuleNotFoundError: No module named 'no_such_module' (UserData/x.py, line 1)"},
		{"an attribute that the request lacks", method("return inst_req_info.flavor"), "'InstantiateVnfRequest' object has no attribute 'flavor'"},
		{"no file", files{}, "No module named 'UserData'"},
		{"too large a file in its folder", files{"UserData/x.py": "", "UserData/big": strings.Repeat("x", maxFileBytes+1)}, "UserData/big: too large"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := run(t, NewRunner(Config{}), row.pkg)
			var failed *Failed
			if !errors.As(err, &failed) || !strings.Contains(err.Error(), row.says) {
				t.Errorf("%v, error %v, want one that says %q", got, err, row.says)
			}
		})
	}
}

func TestPathsThatCannotBeImported(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"./UserData/x.py": "UserData.x", "UserData/a-b/x.py": "UserData.a-b.x", "x.py": "x",
		"../x.py": "", "UserData/../x.py": "", "/etc/x.py": "", "./UserData/v1.2/x.py": "", "UserData/x.txt": "", ".py": "", "": "", "./": "", "a//b.py": "",
	} {
		if got, err := Module(path); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", path, got, err)
		}
	}
}

// TestHostileScripts runs what attacks the server with every isolation that the host gives; a script that achieves something says so.
func TestHostileScripts(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	pid := os.Getpid()
	for name, body := range map[string]string{
		"reads /etc/shadow":             "open('/etc/shadow').read()",
		"reads /etc/passwd":             "open('/etc/passwd').read()",
		"reads a file of the server":    fmt.Sprintf("open(%q).read()", secret),
		"lists directories":             "os.listdir('/'), os.listdir('/tmp')",
		"reads the server's variables":  fmt.Sprintf("open('/proc/%d/environ').read()", pid),
		"reads its own process":         "open('/proc/self/maps').read()",
		"writes into the package":       "open(__file__, 'a').write('x')",
		"makes a file in the package":   "open(os.path.dirname(__file__) + '/new.py', 'w')",
		"makes a file elsewhere":        "open('/tmp/new', 'w')",
		"makes a directory":             "os.mkdir(os.path.dirname(__file__) + '/new')",
		"removes the script":            "os.unlink(__file__)",
		"changes the script's mode":     "os.chmod(__file__, 0o777)",
		"changes a file's mode":         fmt.Sprintf("os.chmod(%q, 0)", secret),
		"links":                         "os.symlink('/etc/shadow', '/tmp/link')",
		"kills the server":              fmt.Sprintf("os.kill(%d, 9)", pid),
		"kills its parent":              "os.kill(os.getppid() or 1, 9)",
		"kills everything":              "os.kill(-1, 9)",
		"signals through a descriptor":  "import fcntl; r, w = os.pipe(); fcntl.fcntl(r, 10, 9); fcntl.fcntl(r, fcntl.F_SETOWN, os.getppid())",
		"limits the server":             fmt.Sprintf("import resource; resource.prlimit(%d, resource.RLIMIT_NOFILE, (0, 0))", pid),
		"raises its own limits":         "import resource; resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
		"connects":                      fmt.Sprintf("import socket; socket.create_connection(%q.rsplit(':', 1), 1)", listener.Addr()),
		"makes a Unix socket":           "import socket; socket.socket(socket.AF_UNIX)",
		"forks":                         "os.fork()",
		"starts a thread":               "import threading; threading.Thread(target=print).start()",
		"runs a program":                "import subprocess; subprocess.run(['/bin/true'])",
		"runs a shell":                  "assert os.system('true') == 0",
		"becomes another program":       "os.execv('/bin/true', ['true'])",
		"becomes root":                  "os.setuid(0)",
		"mounts":                        "import ctypes; assert ctypes.CDLL(None).mount(b'none', b'/tmp', b'tmpfs', 0, None) == 0",
		"traces the server":             fmt.Sprintf("import ctypes; assert ctypes.CDLL(None).ptrace(16, %d, 0, 0) == 0", pid),
		"makes a user namespace":        "import ctypes; assert ctypes.CDLL(None).unshare(0x10000000) == 0",
		"takes the filter away":         "import ctypes; assert ctypes.CDLL(None).prctl(22, 0, 0, 0, 0) == 0",
		"uses memory without end":       "x = [bytearray(1 << 20) for _ in range(1 << 20)]",
		"has variables of the server's": "assert {k: v for k, v in os.environ.items() if k != 'LC_CTYPE'}",
	} {
		for isolation, r := range runners(t, Config{TimeLimit: 20 * time.Second}) {
			t.Run(name+"/"+isolation, func(t *testing.T) {
				t.Parallel()
				got, err := run(t, r, method(body, "return {'achieved': 1}"))
				var failed *Failed
				if !errors.As(err, &failed) || regexp.MustCompile("^(Name|ModuleNotFound|Syntax|Attribute)Error").MatchString(err.Error()) {
					t.Errorf("the script has achieved it, or has not tried: %v, %v", got, err)
				}
			})
		}
	}
}

func TestScriptsThatDoNotEnd(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, body, says string }{
		{"an endless loop", "while True: pass", "has not ended within 1s"},
		{"an endless loop that ignores signals", "import signal; [signal.signal(s, signal.SIG_IGN) for s in range(1, 32) if s not in (9, 19)]\n        while True: pass", "has not ended within 1s"},
		{"a long sleep", "print('going to bed', flush=True); import time; time.sleep(3600)", "has not ended within 1s; its output ends with: going to bed"},
		{"a loop in C", "'a' * 40 == __import__('re').match('(a*)*b', 'a' * 40)", "has not ended within 1s"},
	} {
		for isolation, r := range runners(t, Config{TimeLimit: time.Second}) {
			t.Run(row.name+"/"+isolation, func(t *testing.T) {
				t.Parallel()
				_, err := run(t, r, method(row.body, "return {}"))
				var failed *Failed
				if !errors.As(err, &failed) || !strings.Contains(err.Error(), row.says) {
					t.Errorf("error %v, want one that says %q", err, row.says)
				}
			})
		}
	}
	t.Run("endless output", func(t *testing.T) {
		t.Parallel()
		_, err := run(t, NewRunner(Config{}), method("while True: print('x' * 10000)"))
		if err == nil || !strings.Contains(err.Error(), "prints more than") || len(err.Error()) > 1000 {
			t.Errorf("error %v", err)
		}
	})
}

func TestEndOfTheContextKillsTheScript(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := NewRunner(Config{}).Run(ctx, Script{method("while True: pass"), "UserData/x.py", "Mine"},
		Call{Method: "instantiate", Arguments: [][]Argument{{{}, {}, {}, {}}}})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// passable is a directory of the test that every account can pass through.
func passable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestNothingIsLeftBehind(t *testing.T) {
	dir := passable(t)
	t.Setenv("TMPDIR", dir)
	if _, err := run(t, NewRunner(Config{}), method("return {}")); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestArchivesCannotReachOutOfThePlace(t *testing.T) {
	t.Parallel()
	escaped := "/tmp/" + uuid.NewString() + ".py"
	for _, name := range []string{"../../.." + escaped, "UserData/../../../../.." + escaped} {
		_, err := run(t, NewRunner(Config{}), files{"UserData/x.py": "", name: "x"})
		if err == nil {
			t.Errorf("%s was taken", name)
		}
		if _, err := os.Stat(escaped); err == nil {
			t.Errorf("%s exists", escaped)
			os.Remove(escaped)
		}
	}
}

func TestHostsThatCannotRunScripts(t *testing.T) {
	t.Run("no Python", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		_, err := findInterpreter(nil)
		if !errors.As(err, new(*Unable)) || !strings.Contains(err.Error(), "install Python 3") {
			t.Errorf("error %v, want one that tells what to install", err)
		}
	})
	t.Run("no filter of system calls", func(t *testing.T) {
		r := NewRunner(Config{})
		script := Script{method("return {}"), "UserData/x.py", "Mine"}
		interpreter, err := findInterpreter(systemPythons)
		if err != nil {
			t.Fatal(err)
		}
		place, err := newPlace(script)
		if err != nil {
			t.Fatal(err)
		}
		defer place.remove()
		broken := task{Root: place.root, Module: "UserData.x", Class: "Mine", Method: "instantiate", Filter: []byte("no filter"), Limits: map[string]int64{}, Calls: [][]Argument{{}}}
		_, err = r.try(t.Context(), interpreter, place, broken, isolation{})
		if !errors.As(err, new(*Unable)) || !strings.Contains(err.Error(), "seccomp") {
			t.Errorf("error %v, want a refusal", err)
		}
	})
}

// TestOrdinaryUser runs the tests of this package once more as an ordinary user if they run as root.
func TestOrdinaryUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("all tests run as an ordinary user already")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := passable(t)
	copied := filepath.Join(dir, "tests")
	// Another process copies it, or a child that is forked meanwhile would keep it open for writing.
	if output, err := exec.CommandContext(t.Context(), "cp", program, copied).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	cmd := exec.CommandContext(t.Context(), copied, "-test.run", "TestScripts|TestHostile|TestHooks|TestArchives", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=/tmp"}
	const nobody = 65534
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, lines(output, "FAIL", "_test.go"))
	}
	if !bytes.Contains(output, []byte("--- PASS: TestHostileScripts/forks/")) {
		t.Errorf("the tests have not been run: %s", output)
	}
}

func lines(output []byte, words ...string) string {
	var found []string
	for line := range strings.Lines(string(output)) {
		if slices.ContainsFunc(words, func(word string) bool { return strings.Contains(line, word) }) {
			found = append(found, line)
		}
	}
	return strings.Join(found, "")
}
