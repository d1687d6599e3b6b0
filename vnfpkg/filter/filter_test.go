package filter_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfm/vnfpkg/filter"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, text string
		want       []filter.Expression
	}{
		{"one comparison", "(eq,id,a)", []filter.Expression{{filter.Eq, []string{"id"}, []string{"a"}, 0}}},
		{"two, both to hold", "(eq,id,a);(gt,size,5)", []filter.Expression{
			{filter.Eq, []string{"id"}, []string{"a"}, 0}, {filter.Gt, []string{"size"}, []string{"5"}, 10},
		}},
		{"several values", "(in,a/b,x,y)", []filter.Expression{{filter.In, []string{"a", "b"}, []string{"x", "y"}, 0}}},
		{"quotes", "(cont,a,'b, (c); d','it''s')", []filter.Expression{{filter.Cont, []string{"a"}, []string{"b, (c); d", "it's"}, 0}}},
		{"blanks and an opening parenthesis", "(eq,a,b (c)", []filter.Expression{{filter.Eq, []string{"a"}, []string{"b (c"}, 0}}},
		{"empty values", "(in,a,,'')", []filter.Expression{{filter.In, []string{"a"}, []string{"", ""}, 0}}},
		{"escaped names", "(eq,metadata/a~1b~0c~ad~be,1)", []filter.Expression{{filter.Eq, []string{"metadata", "a/b~c,d@e"}, []string{"1"}, 0}}},
	} {
		got, err := filter.Parse(row.text)
		if diff := cmp.Diff(row.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", row.name, err, diff)
		}
	}
}

func TestFiltersThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		text   string
		offset int
		detail string
	}{
		{"", 0, "missing"},
		{"eq,id,a", 0, "instead of"},
		{"(equals,id,a)", 1, "not an operator"},
		{"(eq)", 3, "instead of"},
		{"(eq,id)", 6, "value is missing"},
		{"(eq,,a)", 4, "empty"},
		{"(eq,a//b,c)", 4, "empty"},
		{"(eq,id,a,b)", 10, "one value"},
		{"(eq,id,a", 8, "missing"},
		{"(eq,id,a)x", 9, "instead of"},
		{"(eq,id,a);", 10, "missing"},
		{"(eq,id,'a)", 10, "closing quote"},
		{"(eq,id,it's)", 7, "quotes"},
		{"(eq,id,\xff)", 0, "UTF-8"},
		{"(eq,a\x00,b)", 0, "NUL"},
	} {
		_, err := filter.Parse(row.text)
		var syntax *filter.SyntaxError
		if !errors.As(err, &syntax) || syntax.Offset != row.offset || !strings.Contains(syntax.Detail, row.detail) {
			t.Errorf("%.30q: %v, want %q at %d", row.text, err, row.detail, row.offset)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"(eq,id,a)", "(in,a/b,'x,''y',z);(lt,c,1)", "(cont,a~1b,')')", "((eq,,)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		expressions, err := filter.Parse(text)
		if (err == nil) != (len(expressions) > 0) {
			t.Errorf("%q: %d expressions and %v", text, len(expressions), err)
		}
		var syntax *filter.SyntaxError
		if err != nil && (!errors.As(err, &syntax) || syntax.Offset > len(text)) {
			t.Errorf("%q: %v", text, err)
		}
	})
}
