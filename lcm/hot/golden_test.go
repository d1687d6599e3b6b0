package hot_test

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfm/lcm/hot"
	"vnfm/vnfpkg"
)

var update = flag.Bool("update", false, "write the golden templates")

func TestTranslateGolden(t *testing.T) {
	t.Parallel()
	for _, row := range golden {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			request := row.request(t, named)
			template, err := hot.Translate(request)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, filepath.Join("testdata", row.name+".golden"), written(t, template))

			// The same after the flavour was stored and read again.
			stored, err := json.Marshal(request.Flavour)
			if err != nil {
				t.Fatal(err)
			}
			request.Flavour = &vnfpkg.Flavour{}
			if err := json.Unmarshal(stored, request.Flavour); err != nil {
				t.Fatal(err)
			}
			again, err := hot.Translate(request)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(template, again); diff != "" {
				t.Errorf("the stored flavour gives another template (-first +second):\n%s", diff)
			}
			if err := hot.Check(request.Flavour); err != nil {
				t.Errorf("check: %v", err)
			}
		})
	}
}

// written is everything of a template as one text.
func written(t *testing.T, template *hot.Template) string {
	t.Helper()
	var out strings.Builder
	out.WriteString("# top\n" + template.Top)
	for _, name := range slices.Sorted(maps.Keys(template.Files)) {
		out.WriteString("\n# " + name + "\n" + template.Files[name])
	}
	parameters, err := json.MarshalIndent(template.Parameters, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	out.WriteString("\n# parameters\n" + string(parameters) + "\n")
	for _, note := range template.Notes {
		out.WriteString("\n# note: " + note.Node + ": " + note.Detail)
	}
	return out.String()
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
