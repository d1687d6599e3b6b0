package lcm

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// merged is MergePatch of RFC 7396, clause 2, as it is written there.
func merged(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	former, _ := target.(map[string]any)
	result := map[string]any{}
	for name, value := range former {
		result[name] = value
	}
	for name, value := range changes {
		if value == nil {
			delete(result, name)
		} else {
			result[name] = merged(result[name], value)
		}
	}
	return result
}

// holds reports whether a value, at any depth, is one of those that are found.
func holds(value any, found func(name string, value any) bool) bool {
	switch value := value.(type) {
	case map[string]any:
		for name, inside := range value {
			if found(name, inside) || holds(inside, found) {
				return true
			}
		}
	case []any:
		for _, inside := range value {
			if found("", inside) || holds(inside, found) {
				return true
			}
		}
	}
	return false
}

func FuzzMergePatch(f *testing.F) {
	// The cases of RFC 7396, appendix A, whose target and patch are objects.
	for _, row := range [][2]string{
		{`{"a":"b"}`, `{"a":"c"}`}, {`{"a":"b"}`, `{"b":"c"}`}, {`{"a":"b"}`, `{"a":null}`}, {`{"a":"b","b":"c"}`, `{"a":null}`},
		{`{"a":["b"]}`, `{"a":"c"}`}, {`{"a":"c"}`, `{"a":["b"]}`}, {`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`}, {`{"e":null}`, `{"a":1}`}, {`{}`, `{"a":{"bb":{"ccc":null}}}`},
		{`{"a":{"password":"b"}}`, `{"a":{"password":"***"}}`}, {`{"password":{"a":1}}`, `{"password":{"a":"***"}}`},
		{`{"password":"***"}`, `{"password":null}`}, {`{}`, `{"password":"***"}`}, {`null`, `{"a":1}`},
		{`{"a":[{"password":{"b":1},"c":2}]}`, `{"a":[{"password":"***","c":3}]}`},
	} {
		f.Add([]byte(row[0]), []byte(row[1]))
	}
	f.Fuzz(func(t *testing.T, encodedTarget, encodedPatch []byte) {
		var target, patch, targetBefore, patchBefore map[string]any
		if json.Unmarshal(encodedTarget, &target) != nil || json.Unmarshal(encodedPatch, &patch) != nil {
			return
		}
		_, _ = json.Unmarshal(encodedTarget, &targetBefore), json.Unmarshal(encodedPatch, &patchBefore)
		got := mergePatch(target, patch)
		if diff := cmp.Diff(targetBefore, target) + cmp.Diff(patchBefore, patch); diff != "" {
			t.Fatalf("merging changes what is merged: %s", diff)
		}
		if !holds(patch, func(_ string, value any) bool { return value == Masked }) {
			var from any = target
			if diff := cmp.Diff(merged(from, patch), any(got)); diff != "" {
				t.Fatalf("not what RFC 7396 says: %s", diff)
			}
		}
		if diff := cmp.Diff(got, mergePatch(got, patch)); diff != "" {
			t.Fatalf("a second time changes something: %s", diff)
		}
		// What is shown can be given back. Null removes what it stands for.
		if holds(target, func(_ string, value any) bool { return value == nil }) || target == nil {
			return
		}
		shown, _ := Mask(target).(map[string]any)
		if diff := cmp.Diff(target, mergePatch(target, shown)); diff != "" {
			t.Fatalf("giving back what is shown changes something: %s", diff)
		}
	})
}
