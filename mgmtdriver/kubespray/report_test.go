package kubespray

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const recapOfTwo = `
PLAY RECAP *********************************************************************
m1                         : ok=3    changed=2    unreachable=0    failed=%d    skipped=0    rescued=0    ignored=1
w1                         : ok=0    changed=0    unreachable=%d    failed=0    skipped=0    rescued=0    ignored=0

Saturday 21 November 2026  18:57:34 +0000 (0:00:01.000)       0:00:10.000 *****
===============================================================================
kubernetes/preinstall : Install packages ------------------------------- 8.00s
`

func recap(failed, unreachable string) string {
	return strings.NewReplacer("failed=%d", "failed="+failed, "unreachable=%d", "unreachable="+unreachable).Replace(recapOfTwo)
}

func TestReport(t *testing.T) {
	t.Parallel()
	known := map[string]string{"w1": "10.0.0.51"}
	for _, row := range []struct{ name, stdout, stderr, at, tells string }{
		{"a task that fails", "PLAY [all] ***\n\nTASK [a : b c] ***\n" +
			`fatal: [m1]: FAILED! => {"changed": true, "cmd": ["false"], "msg": "non-zero return code", "rc": 1, "stderr": "no space left\non device", "stdout": "x"}` +
			"\n" + recap("1", "0"), "", "TASK [a : b c]", "m1: TASK [a : b c]: non-zero return code: no space left on device"},
		{"a host that does not answer, and one that fails", "PLAY [all] ***\nTASK [one] ***\n" +
			`fatal: [w1]: UNREACHABLE! => {"changed": false, "msg": "Failed to connect to the host via ssh: timed out", "unreachable": true}` + "\nchanged: [m1]\n" +
			"RUNNING HANDLER [two] ***\n" + `fatal: [m1 -> localhost(127.0.0.1)]: FAILED! => {"msg": {"reason": 7}}` + "\n" + recap("1", "1"), "", "TASK [two]",
			"w1 (10.0.0.51): TASK [one]: unreachable: Failed to connect to the host via ssh: timed out\nm1: TASK [two]: map[reason:7]"},
		{"items of a loop", "TASK [loop] ***\nchanged: [m1] => (item=a)\n" + `failed: [m1] (item=b) => {"item": "b", "msg": "not b", "rc": 1}` + "\n" + recap("1", "0"), "",
			"TASK [loop]", "m1: TASK [loop]: not b"},
		{"what is ignored does not matter", "TASK [x] ***\n" + `fatal: [m1]: FAILED! => {"msg": "harmless"}` + "\n...ignoring\nTASK [y] ***\n" +
			`fatal: [m1]: FAILED! => {"msg": "bad"}` + "\n" + recap("1", "0"), "", "TASK [y]", "m1: TASK [y]: bad"},
		{"what is rescued does not matter", "TASK [x] ***\n" + `fatal: [m1]: FAILED! => {"msg": "rescued"}` + "\nTASK [y] ***\n" +
			`fatal: [w1]: UNREACHABLE! => {"msg": "gone"}` + "\n" + recap("0", "1"), "", "TASK [y]", "w1 (10.0.0.51): TASK [y]: unreachable: gone"},
		{"a result that is no JSON", "TASK [x] ***\nfatal: [m1]: FAILED! => {msg: \x1b[0;31mred\n" + recap("1", "0"), "", "TASK [x]", "m1: TASK [x]: {msg:  [0;31mred"},
		{"only the recap is left of the output", recap("2", "1"), "", "", "m1: 2 tasks have failed, unreachable 0 times\nw1 (10.0.0.51): 0 tasks have failed, unreachable 1 times"},
		{"Ansible itself", "", "ERROR! the playbook: nosuch.yml could not be found\n", "", "the playbook: nosuch.yml could not be found"},
		{"Ansible itself, since 2.19", "", "[ERROR]: Attempting to decrypt but no vault secrets found\nOrigin: x\n", "", "Attempting to decrypt but no vault secrets found"},
		{"a task that tells nothing", "TASK [x] ***\n" + `fatal: [m1]: FAILED! => {"censored": "the output has been hidden", "changed": false}` + "\n" + recap("1", "0"), "",
			"TASK [x]", "m1: TASK [x]: the output has been hidden"},
		{"all is well", "PLAY [p] ***\nTASK [x] ***\nok: [m1]\n" + recap("0", "0"), "", "TASK [x]", ""},
		{"a play has begun", "PLAY [Prepare nodes] ****\n", "", "PLAY [Prepare nodes]", ""},
		{"nothing yet", "", "", "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r := readReport(row.stdout, row.stderr)
			if diff := cmp.Diff(row.tells, r.tell(known)); diff != "" {
				t.Errorf("tells (-want +got):\n%s", diff)
			}
			if r.at() != row.at {
				t.Errorf("it is at %q, want %q", r.at(), row.at)
			}
		})
	}
}

func TestReportOfManyFailuresIsShort(t *testing.T) {
	t.Parallel()
	line := `fatal: [m1]: FAILED! => {"msg": "` + strings.Repeat("é", 2000) + `"}` + "\n"
	told := readReport("TASK [x] ***\n"+strings.Repeat(line, 500), "").tell(nil)
	if len(told) > 20*(mostMessage+100) || !strings.HasSuffix(told, "… and 480 more") {
		t.Errorf("%d bytes: … %s", len(told), told[max(0, len(told)-100):])
	}
}

func FuzzReport(f *testing.F) {
	f.Add("PLAY [p] ***\nTASK [x] ***\nfatal: [m1]: FAILED! => {\"msg\": \"m\"}\n...ignoring\n"+recap("1", "2"), "ERROR! no")
	f.Add("failed: [m1 -> w1] (item={'a': 1}) => {\"msg\": null}\n", "[ERROR]: x")
	f.Fuzz(func(t *testing.T, stdout, stderr string) {
		r := readReport(stdout, stderr)
		for _, f := range r.failures {
			if len(f.message) > mostMessage+len(" …") || strings.ContainsFunc(f.message, func(c rune) bool { return c < ' ' }) {
				t.Fatalf("%q has the message %q", stdout, f.message)
			}
		}
		if lines := strings.Count(r.tell(nil), "\n"); lines > mostFailures {
			t.Fatalf("%q tells %d lines", stdout, lines)
		}
		_ = r.at()
	})
}
