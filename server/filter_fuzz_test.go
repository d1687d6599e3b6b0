package server_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"vnfm/samples"
	"vnfm/vnfpkg/filter"
)

// ids lists with a filter and returns the ids, in order; refused is true if the filter is.
func (b *bench) ids(t *testing.T, list, text string) (ids []string, refused bool) {
	t.Helper()
	recorder := httptest.NewRecorder()
	address := list + "?all_records=yes&filter=" + url.QueryEscape(text)
	b.server.Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, nil))
	if recorder.Code == http.StatusBadRequest && strings.Contains(recorder.Body.String(), "filter") {
		return nil, true
	}
	var elements []struct{ ID string }
	if err := json.Unmarshal(recorder.Body.Bytes(), &elements); err != nil || recorder.Code != http.StatusOK {
		t.Fatalf("%s %q: %d %s", list, text, recorder.Code, recorder.Body)
	}
	for _, element := range elements {
		ids = append(ids, element.ID)
	}
	return ids, false
}

// write is the filter with one expression, as it is read.
func write(expression filter.Expression, operator filter.Operator) string {
	names := make([]string, len(expression.Path))
	for i, name := range expression.Path {
		names[i] = strings.NewReplacer(filter.Key, "@key", "~", "~0", "/", "~1", ",", "~a", "@", "~b").Replace(name)
	}
	text := "(" + string(operator) + "," + strings.Join(names, "/")
	for _, value := range expression.Values {
		text += ",'" + strings.ReplaceAll(value, "'", "''") + "'"
	}
	return text + ")"
}

// FuzzFilters lists with filters from strangers: whatever is not refused, PostgreSQL can carry out, and operators mean what they say.
func FuzzFilters(f *testing.F) {
	b := setup(f)
	_, vnfdID, _ := b.onboard()
	b.onboardTree(samples.Topology())
	b.registerVim()
	b.instantiated(vnfdID)
	b.expect(http.StatusCreated, http.MethodPost, "/vnflcm/v1/vnf_instances", `{"vnfdId": "`+vnfdID+`", "vnfInstanceName": "it's, (1)",
		"metadata": {"a": [1, "x", null, {"b": true}], "b": {"c": 1.5e3}, "odd/~,@\"": "y", "time": "2026-01-01T00:00:00Z", "empty": ""}}`)
	for _, text := range []string{
		"(eq,id,a)", "(in,vnfInstanceName,'it''s, (1)',y)", "(cont,metadata/a,x);(gt,metadata/b/c,1e3)", "(neq,metadata/a/b,true)",
		"(lte,instantiatedVnfInfo/scaleStatus/scaleLevel,1)", "(eq,metadata/odd~1~0~a~b\",y)", "(gt,startTime,2026-01-01T00:00:00+23:59)",
		"(nin,isCancelPending,true,false)", "(ncont,id,a,'')", "(gte,softwareImages/createdAt,0001-01-01T00:00:00Z)", "(lt,metadata/empty,)",
		"(eq,instantiatedVnfInfo/vnfcResourceInfo/vnfcCpInfo/cpProtocolInfo/ipOverEthernet/ipAddresses/type,IPV4)",
		"(in,operationParams/additionalParams/admin/password,***)", "(cont,resourceChanges/affectedVnfcs/vduId,work)", "(eq,metadata/a,null)",
		"(gt,metadata/b/c,-0.0e-308)", "(eq,metadata/*,y)", `(eq,metadata/$"[*]\,y)`, "(lt,metadata/time,9)", "(eq,softwareImages/size,1e5)",
		"(eq,metadata/@key,b)", "(nin,metadata/a/@key,b)", "(cont,metadata/~bkey,b);(neq,extensions/@key,a)", "(eq,id/@key,a)", "(in,filter/operationStates,FAILED)",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, list := range []string{"/vnflcm/v1/vnf_instances", "/vnflcm/v1/vnf_lcm_op_occs", "/vnfpkgm/v1/vnf_packages", lcmSubscriptions, pkgmSubscriptions} {
			found, refused := b.ids(t, list, text)
			expressions, err := filter.Parse(text)
			if refused || err != nil {
				continue
			}
			var together []string
			for i, expression := range expressions {
				single, refused := b.ids(t, list, write(expression, expression.Operator))
				if refused {
					t.Fatalf("%s %q is refused when it is written in another way", list, text)
				}
				if i == 0 {
					together = single
				}
				together = slices.DeleteFunc(together, func(id string) bool { return !slices.Contains(single, id) })
				same := map[filter.Operator]filter.Operator{filter.Eq: filter.In, filter.Neq: filter.Nin}[expression.Operator]
				if same == "" {
					continue
				}
				if other, _ := b.ids(t, list, write(expression, same)); !slices.Equal(single, other) {
					t.Fatalf("%s %q finds %v, and as %s %v", list, text, single, same, other)
				}
			}
			if !slices.Equal(found, together) {
				t.Fatalf("%s %q finds %v, its expressions one by one %v", list, text, found, together)
			}
		}
	})
}
