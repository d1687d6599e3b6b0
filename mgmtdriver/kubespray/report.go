package kubespray

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// report is what a run of a playbook has told, or the end of it.
type report struct {
	play, task string // the last that were begun
	failures   []hostFailure
	recap      map[string]hostRecap // by host; empty until the run ends
	errs       []string             // of Ansible itself
}

// hostFailure is a task that has failed on a host.
type hostFailure struct {
	host, task, message string
	unreachable         bool
}

// hostRecap counts tasks of a host.
type hostRecap struct{ ok, changed, unreachable, failed int }

var (
	playLine  = regexp.MustCompile(`^PLAY \[(.*)\] \**\s*$`)
	taskLine  = regexp.MustCompile(`^(?:TASK|RUNNING HANDLER) \[(.*)\] \**\s*$`)
	fatalLine = regexp.MustCompile(`^(?:fatal|failed): \[([^\]\s]+)(?: -> [^\]]*)?\]:? ?(?:\(item=.*?\) )?(?:=> |(FAILED|UNREACHABLE)! => )(.*)$`)
	recapLine = regexp.MustCompile(`^(\S+)\s*: ok=(\d+)\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)\b`)
	errorLine = regexp.MustCompile(`^(?:ERROR! |\[ERROR\]: )(.+)$`)
)

// readReport reads what ansible-playbook has written with its default callback. Failures that did not matter, since they were ignored or
// rescued, are left out as far as the recap tells.
func readReport(stdout, stderr string) *report {
	r := &report{recap: map[string]hostRecap{}}
	for line := range strings.Lines(stdout) {
		line = strings.TrimRight(line, "\r\n")
		if parts := playLine.FindStringSubmatch(line); parts != nil {
			r.play, r.task = parts[1], ""
		} else if parts := taskLine.FindStringSubmatch(line); parts != nil {
			r.task = parts[1]
		} else if parts := fatalLine.FindStringSubmatch(line); parts != nil {
			r.failures = append(r.failures, hostFailure{host: parts[1], task: r.task, message: messageIn(parts[3]), unreachable: parts[2] == "UNREACHABLE"})
		} else if line == "...ignoring" && len(r.failures) > 0 {
			last := r.failures[len(r.failures)-1]
			// Items of a loop fail one by one and are ignored together.
			r.failures = slices.DeleteFunc(r.failures, func(f hostFailure) bool { return f.host == last.host && f.task == last.task })
		} else if parts := recapLine.FindStringSubmatch(line); parts != nil {
			r.recap[parts[1]] = hostRecap{ok: number(parts[2]), changed: number(parts[3]), unreachable: number(parts[4]), failed: number(parts[5])}
		}
	}
	for _, output := range []string{stdout, stderr} {
		for line := range strings.Lines(output) {
			if parts := errorLine.FindStringSubmatch(strings.TrimRight(line, "\r\n")); parts != nil {
				r.errs = append(r.errs, parts[1])
			}
		}
	}
	if len(r.recap) > 0 {
		r.failures = slices.DeleteFunc(r.failures, func(f hostFailure) bool {
			known, ok := r.recap[f.host]
			return ok && known.failed+known.unreachable == 0
		})
	}
	return r
}

func number(digits string) int {
	n, _ := strconv.Atoi(digits) // the expression has seen to that
	return n
}

// mostMessage bounds what is told of one failure.
const mostMessage = 600

// messageIn is what the result of a task says to people.
func messageIn(result string) string {
	var found struct {
		Msg      any    `json:"msg"`
		Stderr   string `json:"stderr"`
		Stdout   string `json:"stdout"`
		Censored string `json:"censored"` // of a task that may have secrets in its result
	}
	text := result
	if json.Unmarshal([]byte(result), &found) == nil {
		if text, _ = found.Msg.(string); text == "" && found.Msg != nil {
			text = fmt.Sprint(found.Msg)
		}
		for _, more := range []string{found.Stderr, found.Stdout, found.Censored} {
			if more = strings.TrimSpace(more); more != "" && !strings.Contains(text, more) {
				text = strings.TrimPrefix(text+": "+more, ": ")
				break
			}
		}
	}
	text = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "�"))
	text = strings.TrimSpace(text)
	if len(text) > mostMessage {
		text = strings.ToValidUTF8(text[:mostMessage], "") + " …"
	}
	return text
}

// at is where the run is, for people; "" before it has begun.
func (r *report) at() string {
	switch {
	case r.task != "":
		return "TASK [" + r.task + "]"
	case r.play != "":
		return "PLAY [" + r.play + "]"
	default:
		return ""
	}
}

// mostFailures bounds how many failures are told.
const mostFailures = 20

// tell says which hosts have failed and why, a line each; "" if the report does not tell. addresses are those of the hosts.
func (r *report) tell(addresses map[string]string) string {
	var lines []string
	told := map[string]bool{}
	name := func(host string) string {
		told[host] = true
		if address := addresses[host]; address != "" {
			return host + " (" + address + ")"
		}
		return host
	}
	for _, f := range r.failures {
		line := name(f.host)
		if f.task != "" {
			line += ": TASK [" + f.task + "]"
		}
		if f.unreachable {
			line += ": unreachable"
		}
		lines = append(lines, line+": "+f.message)
	}
	hosts := make([]string, 0, len(r.recap))
	for host, counts := range r.recap {
		if counts.failed+counts.unreachable > 0 && !told[host] {
			hosts = append(hosts, host)
		}
	}
	slices.Sort(hosts)
	for _, host := range hosts {
		lines = append(lines, fmt.Sprintf("%s: %d tasks have failed, unreachable %d times", name(host), r.recap[host].failed, r.recap[host].unreachable))
	}
	if len(lines) == 0 {
		lines = r.errs
	}
	if len(lines) > mostFailures {
		lines = append(lines[:mostFailures:mostFailures], fmt.Sprintf("… and %d more", len(lines)-mostFailures))
	}
	return strings.Join(lines, "\n")
}
