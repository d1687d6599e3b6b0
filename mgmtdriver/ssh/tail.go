package ssh

import (
	"regexp"
	"slices"
	"strings"

	"vnfm/mgmtdriver"
)

const (
	tailLines = 20       // that are shown of a job
	tailBytes = 64 << 10 // of each output that are looked at for them
)

// showing returns a function that shows the last lines of jobs to people.
func (h *Host) showing(call *mgmtdriver.Call) func(*Job, Progress) {
	if call.NodeLogs == nil {
		return func(*Job, Progress) {}
	}
	return func(job *Job, progress Progress) {
		log := mgmtdriver.NodeLog{
			Node: h.String(), VnfcID: h.target.VnfcID, Job: strings.TrimPrefix(job.ID, jobPrefix(call)), State: progress.state(),
			Lines: func() string { return lastLines(progress, h.secrets) },
		}
		call.NodeLogs.Show(log)
	}
}

func (p *Progress) state() mgmtdriver.JobState {
	switch {
	case p.Phase == JobRunning:
		return mgmtdriver.JobRunning
	case p.Phase == JobEnded && p.Status == 0:
		return mgmtdriver.JobDone
	default:
		return mgmtdriver.JobFailed
	}
}

// lastLines are the last lines of both outputs of a job. If both are long, each has half of them; that of errors is at the end.
func lastLines(p Progress, secrets *Redactor) string {
	out, errs := wholeLines(p.Stdout, p.Phase, secrets), wholeLines(p.Stderr, p.Phase, secrets)
	errs = errs[max(0, len(errs)-max(tailLines-len(out), tailLines/2)):]
	out = out[max(0, len(out)-(tailLines-len(errs))):]
	return strings.Join(slices.Concat(out, errs), "\n")
}

// wholeLines are the lines of the end of an output, without secrets. What may be a part of a line is left out, since half a secret would not be
// recognized: the first line of an output that has reached its limit, whose beginning was cut off, and the last one while the job runs, but for
// what it has written over already to show its progress.
func wholeLines(output string, phase Phase, secrets *Redactor) []string {
	limit := endedBytes
	if phase == JobRunning {
		limit = runningBytes
	}
	cut := len(output) >= limit
	if len(output) > tailBytes {
		output, cut = output[len(output)-tailBytes:], true
	}
	if cut {
		begin := strings.IndexAny(output, "\r\n") + 1
		output = "…\n" + output[begin:]
		if begin == 0 {
			output = "…\n"
		}
	}
	if phase == JobRunning {
		output = output[:strings.LastIndexAny(output, "\r\n")+1]
	}
	var lines []string
	for line := range strings.Lines(secrets.Redact(legible(output))) {
		// What shows its progress writes over its line.
		parts := strings.Split(strings.TrimRight(line, "\r\n"), "\r")
		line = strings.TrimRight(parts[len(parts)-1], " \t")
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// escapes are the control sequences of terminals (ECMA-48), such as those for colours.
var escapes = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])`)

// legible is an output as valid UTF-8 and without control characters but those for the ends of lines, and tabs.
func legible(output string) string {
	return strings.Map(func(r rune) rune {
		if (r < ' ' && r != '\n' && r != '\t' && r != '\r') || (r >= 0x7f && r < 0xa0) {
			return -1
		}
		return r
	}, escapes.ReplaceAllString(strings.ToValidUTF8(output, "�"), ""))
}
