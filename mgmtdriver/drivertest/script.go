package drivertest

import (
	"os/exec"
	"strings"
	"testing"
)

// Script writes an executable file that can be run at once. Another process writes it: a child that this one forks meanwhile for
// something else would keep it open for writing, and then it cannot be run.
func Script(tb testing.TB, path, content string) {
	tb.Helper()
	const script = `mkdir -p "$(dirname "$1")" && cat > "$1" && chmod 755 "$1"`
	write := exec.CommandContext(tb.Context(), "sh", "-c", script, "sh", path) //nolint:gosec // the path of a test
	write.Stdin = strings.NewReader(content)
	if output, err := write.CombinedOutput(); err != nil {
		tb.Fatalf("write %s: %v: %s", path, err, output)
	}
}
