package hotlang

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Text is str(v) of Python for scalars; maps and lists become JSON as Heat writes it (", " and ": " between items).
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int:
		return strconv.Itoa(v)
	case float64:
		s := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		return s
	case []any, map[string]any:
		return PythonJSON(v)
	}
	return fmt.Sprint(v)
}

// PythonJSON is json.dumps(v) of Python with sorted keys.
func PythonJSON(v any) string {
	var b strings.Builder
	writeJSON(&b, v)
	return b.String()
}

func writeJSON(b *strings.Builder, v any) {
	switch v := v.(type) {
	case map[string]any:
		b.WriteByte('{')
		for i, k := range SortedKeys(v) {
			if i > 0 {
				b.WriteString(", ")
			}
			writeJSON(b, k)
			b.WriteString(": ")
			writeJSON(b, v[k])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			writeJSON(b, v[i])
		}
		b.WriteByte(']')
	case float64:
		b.WriteString(Text(v))
	default:
		raw, err := json.Marshal(v)
		if err != nil {
			raw, _ = json.Marshal(fmt.Sprint(v))
		}
		b.Write(raw)
	}
}

// Repr is repr(v) of Python, as Heat's errors quote values.
func Repr(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case string:
		if strings.Contains(v, "'") && !strings.Contains(v, `"`) {
			return `"` + v + `"`
		}
		return "'" + strings.ReplaceAll(v, "'", `\'`) + "'"
	case []any:
		items := make([]string, len(v))
		for i := range v {
			items[i] = Repr(v[i])
		}
		return "[" + strings.Join(items, ", ") + "]"
	case map[string]any:
		items := make([]string, 0, len(v))
		for _, k := range SortedKeys(v) {
			items = append(items, Repr(k)+": "+Repr(v[k]))
		}
		return "{" + strings.Join(items, ", ") + "}"
	}
	return Text(v)
}

// SortedKeys are the keys of m in order.
func SortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
