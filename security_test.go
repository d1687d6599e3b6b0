package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// Every defence that docs/security.md promises has the test that it names.
func TestDefencesAreTested(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	sources, err := exec.CommandContext(t.Context(), "grep", "-rhoE", "--include=*_test.go", `^func (Test|Fuzz)\w+\(`, ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`\b(Test|Fuzz)[A-Z]\w+`).FindAllString(string(document), -1)
	if len(named) < 40 {
		t.Errorf("only %d tests are named", len(named))
	}
	for _, name := range named {
		if !strings.Contains(string(sources), "func "+name+"(") {
			t.Errorf("there is no %s", name)
		}
	}
}
