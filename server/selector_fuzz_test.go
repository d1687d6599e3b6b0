package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfm/vnfpkg/filter"
)

// partOf reports whether a value is another one with attributes taken out, and nothing else.
func partOf(value, whole any) bool {
	switch value := value.(type) {
	case map[string]any:
		object, ok := whole.(map[string]any)
		for name, inside := range value {
			if found, has := object[name]; !has || !partOf(inside, found) {
				return false
			}
		}
		return ok
	case []any:
		list, ok := whole.([]any)
		return ok && slices.EqualFunc(value, list, partOf)
	}
	return cmp.Equal(value, whole)
}

// valuesAt are those of an attribute, in every element of the lists on the way.
func valuesAt(value any, path []string) []any {
	switch value := value.(type) {
	case []any:
		if len(path) == 0 {
			return []any{value}
		}
		var found []any
		for _, element := range value {
			found = append(found, valuesAt(element, path)...)
		}
		return found
	case map[string]any:
		if len(path) > 0 {
			if inside, ok := value[path[0]]; ok {
				return valuesAt(inside, path[1:])
			}
			return nil
		}
	}
	if len(path) > 0 {
		return nil
	}
	return []any{value}
}

func FuzzSelectors(f *testing.F) {
	validator, err := newValidator()
	if err != nil {
		f.Fatal(err)
	}
	large := []string{"vnfConfigurableProperties", "vimConnectionInfo", "instantiatedVnfInfo", "metadata", "extensions"}
	instances := validator.collectionOf("/vnflcm/v1/vnf_instances", large)
	info, err := os.ReadFile("../lcm/testdata/instantiated_vnf_info.json")
	if err != nil {
		f.Fatal(err)
	}
	instance := func() (element map[string]any) {
		document := `{"id": "a", "vnfdId": "b", "vnfProvider": "c", "vnfProductName": "d", "vnfSoftwareVersion": "e", "vnfdVersion": "f",
			"instantiationState": "INSTANTIATED", "_links": {"self": {"href": "g"}, "heal": {"href": "h"}}, "vnfInstanceName": "i",
			"metadata": {"x": {"y": 1, "z": [{"y": 2}, {"u": 3}]}, "u/v,t": 4, "": 5}, "instantiatedVnfInfo": ` + string(info) + `}`
		if err := json.Unmarshal([]byte(document), &element); err != nil {
			f.Fatal(err)
		}
		return element
	}
	for _, query := range []string{
		"", "all_fields", "exclude_default", "fields=metadata/x/z/y,_links/heal", "fields=metadata/u~1v~at&exclude_default",
		"exclude_fields=vnfInstanceName,metadata/x", "exclude-fields=instantiatedVnfInfo/vnfcResourceInfo/metadata", "fields=a//b", "fields=none",
		"fields=instantiatedVnfInfo/vnfcResourceInfo/computeResource/resourceId,instantiatedVnfInfo/scaleStatus",
		"exclude_fields=id", "all_fields&fields=id", "fields=metadata/x&fields=metadata/x/z", "exclude_fields=_links/heal", "fields=%zz", "fields=metadata/@key", "exclude_fields=metadata/%00",
	} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, text string) {
		query, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		selector, err := instances.selectorOf(query)
		var told *problem
		if err != nil {
			if !errors.As(err, &told) || told.status != http.StatusBadRequest {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		whole := instance()
		applied, err := selector.apply(whole)
		got, ok := applied.(map[string]any)
		if err != nil || !ok || !partOf(got, whole) {
			t.Fatalf("%q shows what is not there: %v, %v", text, applied, err)
		}
		if again, err := selector.apply(got); err != nil || !cmp.Equal(got, again) {
			t.Errorf("%q: a second time changes something: %v, %v", text, again, err)
		}
		for _, name := range instances.element.Required {
			if got[name] == nil {
				t.Errorf("%q leaves out %s, which is mandatory", text, name)
			}
		}
		paths := func(parameters ...string) (paths [][]string) {
			for _, parameter := range parameters {
				for _, list := range query[parameter] {
					for name := range strings.SplitSeq(list, ",") {
						path, err := filter.ParsePath(name)
						if err != nil {
							t.Errorf("%q is accepted with %q: %v", text, name, err)
						}
						paths = append(paths, path)
					}
				}
			}
			return paths
		}
		for _, path := range paths(fieldsParameter) {
			if diff := cmp.Diff(valuesAt(whole, path), valuesAt(got, path)); diff != "" {
				t.Errorf("%q does not show %v: %s", text, path, diff)
			}
		}
		for _, path := range paths(excludeFieldsParameter, clientExcludeParameter) {
			if found := valuesAt(got, path); len(found) > 0 {
				t.Errorf("%q shows %v: %v", text, path, found)
			}
		}
	})
}
