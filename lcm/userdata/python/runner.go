package python

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// Config are the limits of a [Runner]; the zero value of each means its default.
type Config struct {
	TimeLimit   time.Duration // of one run; default 45 s
	MemoryBytes int64         // address space of one run; default 512 MiB
	AtOnce      int           // runs at the same time; default the number of processors, and at least 4
}

// Runner runs scripts. Its methods may be called concurrently.
type Runner struct {
	config   Config
	slots    chan struct{}
	attempts func() []isolation
}

// The limit of time is as long as a run of an operation lasts, since a step has to end within a minute.
const (
	defaultTimeLimit   = 45 * time.Second
	defaultMemoryBytes = 512 << 20
)

// NewRunner returns a runner. It needs python3 only when something is run.
func NewRunner(config Config) *Runner {
	if config.TimeLimit == 0 {
		config.TimeLimit = defaultTimeLimit
	}
	if config.MemoryBytes == 0 {
		config.MemoryBytes = defaultMemoryBytes
	}
	if config.AtOnce == 0 {
		config.AtOnce = max(4, runtime.NumCPU())
	}
	return &Runner{config: config, slots: make(chan struct{}, config.AtOnce), attempts: isolations}
}

// Script is a class in a file of a package.
type Script struct {
	Package Package
	File    string // path in the package that [Module] accepts
	Class   string
}

// Call tells what is called of a class.
type Call struct {
	Method     string
	Optional   bool           // the class may lack the method, and the method may answer nothing: the parameters stay as they are
	Parameters map[string]any // what the arguments of kind [Parameters] begin with
	Arguments  [][]Argument   // of one call after the other; each gets the parameters that the one before has returned
}

// Argument is an argument of a call.
type Argument struct {
	// Kind is nil for plain data, a name of bootstrap/records.py for an object of that kind, []any{name} for a list of them and
	// map[string]any{"*": kind} for a mapping to them.
	Kind  any `json:"kind,omitempty"`
	Value any `json:"value"`
}

// Parameters is the kind of the argument that holds the present parameters.
const Parameters = "parameters"

// Failed says that the script is to blame.
type Failed struct {
	Message string // the script's own, with the file and the line
	Output  string // the end of what it has printed
}

func (e *Failed) Error() string {
	if e.Output == "" {
		return e.Message
	}
	return fmt.Sprintf("%s; its output ends with: %s", e.Message, e.Output)
}

// Unable says that this host cannot run scripts, at all or confined.
type Unable struct{ Reason string }

func (e *Unable) Error() string { return "user data scripts cannot be run on this host: " + e.Reason }

// ErrBusy is returned when as many scripts run as may run at once, and none has ended for a while.
var ErrBusy = errors.New("too many user data scripts are running")

const patience = 10 * time.Second

// Run calls the method of a class and returns the parameters that result. *[Failed], *[Unable], [ErrBusy], or the error of ctx, whose
// end kills the script.
func (r *Runner) Run(ctx context.Context, script Script, call Call) (map[string]any, error) {
	module, err := Module(script.File)
	if err != nil {
		return nil, &Failed{Message: err.Error()}
	}
	interpreter, err := findInterpreter(systemPythons)
	if err != nil {
		return nil, err
	}
	if len(filter()) == 0 {
		return nil, &Unable{"there is no filter of system calls for the architecture " + runtime.GOARCH}
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-timer.C:
		return nil, ErrBusy
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	place, err := newPlace(script)
	if err != nil {
		return nil, err
	}
	defer place.remove()
	return r.run(ctx, interpreter, place, task{
		Root: place.root, Module: module, Class: script.Class,
		Method: call.Method, Optional: call.Optional, Parameters: call.Parameters, Calls: call.Arguments,
	})
}

// systemPythons come before what PATH finds: every account can read them.
var systemPythons = []string{"/usr/bin/python3", "/usr/local/bin/python3"}

func findInterpreter(preferred []string) (string, error) {
	for _, path := range preferred {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	path, err := exec.LookPath("python3")
	if err != nil {
		return "", &Unable{"python3 is not installed; install Python 3 with its standard library (Debian and Ubuntu: apt-get install python3)"}
	}
	return path, nil
}

// Module returns the name under which a file of a package is imported, the package's root being the root of all modules: UserData.x for
// ./UserData/x.py. An error says what is wrong with the path.
func Module(file string) (string, error) {
	path := strings.TrimPrefix(file, "./")
	stem, ok := strings.CutSuffix(path, ".py")
	if !ok {
		return "", fmt.Errorf("%q is not the path of a .py file", file)
	}
	for part := range strings.SplitSeq(stem, "/") {
		if part == "" || strings.Contains(part, ".") {
			return "", fmt.Errorf("%q is not a path that Python can import: names of folders and of the file have no dots and are not empty", file)
		}
	}
	return strings.ReplaceAll(stem, "/", "."), nil
}
