package hotlang

import (
	"crypto/md5"  //nolint:gosec // Heat's
	"crypto/sha1" //nolint:gosec // Heat's
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// substitute puts value where the placeholder stands: alone it keeps its type, inside a text it becomes text.
func substitute(v any, placeholder string, value any) any {
	switch v := v.(type) {
	case string:
		if v == placeholder {
			return value
		}
		return strings.ReplaceAll(v, placeholder, Text(value))
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = substitute(v[i], placeholder, value)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[Text(substitute(k, placeholder, value))] = substitute(v[k], placeholder, value)
		}
		return out
	}
	return v
}

func replaceText(name string, arg any) (any, error) {
	m, _ := arg.(map[string]any)
	params, ok := m["params"].(map[string]any)
	template, hasTemplate := m["template"]
	if !ok || !hasTemplate {
		return nil, invalid(`"%s" syntax should be {"template": ..., "params": {...}}`, name)
	}
	keys := SortedKeys(params)
	sort.SliceStable(keys, func(i, j int) bool { return len(keys[i]) > len(keys[j]) }) // the longest placeholder wins
	pairs := make([]string, 0, 2*len(keys))
	for _, k := range keys {
		if name != "str_replace" && !strings.Contains(Text(template), k) {
			return nil, invalid("The following params were not found in the template: %s", k)
		}
		if k != "" {
			pairs = append(pairs, k, Text(params[k]))
		}
	}
	return strings.NewReplacer(pairs...).Replace(Text(template)), nil
}

func join(arg any) (any, error) {
	list, ok := arg.([]any)
	if !ok || len(list) < 2 {
		return nil, invalid(`Incorrect arguments to "list_join" should be: "list_join" : [ <delimiter>, [ <string 1>, <string 2> ... ], ...]`)
	}
	var words []string
	for _, part := range list[1:] {
		items, ok := part.([]any)
		if !ok && part != nil {
			return nil, invalid("Incorrect arguments to \"list_join\": items to join must be a list")
		}
		for _, item := range items {
			words = append(words, Text(item))
		}
	}
	return strings.Join(words, Text(list[0])), nil
}

func split(arg any) (any, error) {
	list, ok := arg.([]any)
	if !ok || len(list) < 2 || len(list) > 3 {
		return nil, invalid(`Incorrect arguments to "str_split" should be: "str_split" : [ <delimiter>, <string> ] or [ <delimiter>, <string>, <index> ]`)
	}
	out := []any{}
	for _, word := range strings.Split(Text(list[1]), Text(list[0])) {
		out = append(out, word)
	}
	if len(list) < 3 {
		return out, nil
	}
	i, err := strconv.Atoi(Text(list[2]))
	if err != nil || i < 0 || i >= len(out) {
		return nil, invalid("Incorrect index to \"str_split\" should be between 0 and %d", len(out)-1)
	}
	return out[i], nil
}

func digest(arg any) (any, error) {
	list, ok := arg.([]any)
	if !ok || len(list) != 2 {
		return nil, invalid(`Arguments to "digest" must be of the form: [algorithm, value]`)
	}
	data := []byte(Text(list[1]))
	switch Text(list[0]) {
	case "md5":
		sum := md5.Sum(data) //nolint:gosec // Heat's
		return hex.EncodeToString(sum[:]), nil
	case "sha1":
		sum := sha1.Sum(data) //nolint:gosec // Heat's
		return hex.EncodeToString(sum[:]), nil
	case "sha256":
		sum := sha256.Sum256(data)
		return hex.EncodeToString(sum[:]), nil
	case "sha512":
		sum := sha512.Sum512(data)
		return hex.EncodeToString(sum[:]), nil
	}
	return nil, invalid("Algorithm must be one of %s", "md5, sha1, sha256, sha512")
}

func mergeMaps(arg any) (any, error) {
	list, ok := arg.([]any)
	if !ok {
		return nil, invalid(`Incorrect arguments to "map_merge" should be: "map_merge": [{<key1>: <value1>}, ...]`)
	}
	out := map[string]any{}
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok && item != nil {
			return nil, invalid("Incorrect arguments to \"map_merge\": items to merge must be maps")
		}
		maps.Copy(out, m)
	}
	return out, nil
}

func replaceMap(arg any) (any, error) {
	list, ok := arg.([]any)
	if !ok || len(list) != 2 {
		return nil, invalid(`Incorrect arguments to "map_replace" should be: "map_replace": [{<map>}, {keys: {...}, values: {...}}]`)
	}
	in, _ := list[0].(map[string]any)
	rules, _ := list[1].(map[string]any)
	keys, _ := rules["keys"].(map[string]any)
	values, _ := rules["values"].(map[string]any)
	out := make(map[string]any, len(in))
	for k, v := range in {
		if replacement, ok := keys[k]; ok {
			k = Text(replacement)
		}
		if s, ok := v.(string); ok {
			if replacement, ok := values[s]; ok {
				v = replacement
			}
		}
		out[k] = v
	}
	return out, nil
}

func concat(arg any, unique bool) (any, error) {
	lists, _ := arg.([]any)
	out := []any{}
	for _, l := range lists {
		items, ok := l.([]any)
		if !ok && l != nil {
			return nil, invalid("Incorrect arguments to \"list_concat\": items to concat must be lists")
		}
		for _, item := range items {
			if unique && slices.ContainsFunc(out, func(o any) bool { return Equal(o, item) }) {
				continue
			}
			out = append(out, item)
		}
	}
	return out, nil
}
