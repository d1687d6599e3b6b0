package ui

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"
)

// Everybody who looks at the same looks at one view, whatever is in the address besides.
func TestWhatIsAskedOfPages(t *testing.T) {
	t.Parallel()
	const from = "after=1700000000000000.6f1e0c4e-9d0e-4e53-9f0c-0c2a3b7d9a11"
	instances, operations := page{action: readInstances, asks: asksFrom}, page{action: readOperations, asks: asksFrom | asksState}
	for name, row := range map[string]struct {
		of    page
		query string
		want  string // of the query; "-": there is none such
	}{
		"nothing":                      {operations, "", ""},
		"a state":                      {operations, "state=FAILED", "state=FAILED"},
		"what is under way":            {operations, "state=UNDER_WAY", "state=UNDER_WAY"},
		"a state that there is not":    {operations, "state=LATE", "-"},
		"a row":                        {operations, from, from},
		"a row in other words":         {instances, "after=%2B1700000000000000.%7B6F1E0C4E-9D0E-4E53-9F0C-0C2A3B7D9A11%7D&x=1", from},
		"a row that there cannot be":   {instances, "after=yesterday", "-"},
		"a state of what has none":     {instances, "state=1", ""},
		"a row of what is not a list":  {page{}, from, ""},
		"something that no page knows": {operations, "x=1", ""},
		"what only streams have":       {operations, "seen=a.b", ""},
	} {
		c := echo.New().NewContext(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/ui?"+row.query, nil), nil)
		asked, err := row.of.asked(c)
		if got := asked.query().Encode(); (err != nil) != (row.want == "-") || err == nil && got != row.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, row.want)
		}
	}
}
