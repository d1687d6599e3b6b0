package server_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"vnfm/samples"
)

// names lists instances with a query and returns their names, in order.
func (b *bench) names(query string) string {
	b.t.Helper()
	a := b.expect(http.StatusOK, http.MethodGet, "/vnflcm/v1/vnf_instances?all_records=yes&"+query, "")
	var elements []struct{ VnfInstanceName string }
	if err := json.Unmarshal(a.body, &elements); err != nil {
		b.t.Fatal(err)
	}
	var names []string
	for _, element := range elements {
		names = append(names, element.VnfInstanceName)
	}
	return strings.Join(names, " ")
}

func TestFilters(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, vnfdID, _ := b.onboard()
	ids, descriptions := map[string]string{}, map[string]string{"b": "second"}
	for name, metadata := range map[string]string{
		"a": `{"site": "Paris, 3e", "rack": {"row": 7, "tags": ["x", "y"]}, "spare": true}`,
		"b": `{"site": "Lyon", "rack": {"row": 10}, "spare": false, "odd/name": "it's"}`,
		"c": `{}`,
	} {
		location := b.expect(http.StatusCreated, http.MethodPost, "/vnflcm/v1/vnf_instances",
			`{"vnfdId": "`+vnfdID+`", "vnfInstanceName": "`+name+`", "vnfInstanceDescription": "`+descriptions[name]+`", "metadata": `+metadata+`}`).Header.Get("Location")
		ids[name] = location[strings.LastIndex(location, "/")+1:]
	}
	for _, row := range []struct{ filter, want string }{
		{"(eq,vnfInstanceName,a)", "a"},
		{"(neq,vnfInstanceName,a)", "b c"},
		{"(in,vnfInstanceName,a,c,zz)", "a c"},
		{"(nin,vnfInstanceName,a,c)", "b"},
		{"(gt,vnfInstanceName,a);(lte,vnfInstanceName,b)", "b"},
		{"(gte,vnfInstanceName,b);(lt,vnfInstanceName,c)", "b"},
		{"(cont,vnfProductName,wo,xx)", "a b c"},
		{"(ncont,vnfProductName,wo)", ""},
		{"(eq,id," + ids["b"] + ")", "b"},
		{"(neq,id," + ids["b"] + ")", "a c"},
		{"(in,id," + ids["a"] + ",no-uuid)", "a"},
		{"(eq,id,no-uuid)", ""},
		{"(cont,id," + ids["c"][:13] + ")", "c"},
		{"(eq,vnfdId," + vnfdID + ")", "a b c"},
		{"(eq,instantiationState,NOT_INSTANTIATED)", "a b c"},
		{"(eq,instantiationState,INSTANTIATED)", ""},
		{"(eq,instantiatedVnfInfo/vnfcResourceInfo/computeResource/resourceId,x)", ""},
		{"(eq,metadata/site,'Paris, 3e')", "a"},
		{"(in,metadata/site,Lyon,'Paris, 3e')", "a b"},
		{"(neq,metadata/site,Lyon)", "a"},
		{"(cont,metadata/site,yo)", "b"},
		{"(ncont,metadata/site,yo)", "a"},
		{"(eq,metadata/rack/row,7)", "a"},
		{"(gt,metadata/rack/row,7)", "b"},
		{"(lt,metadata/rack/row,10)", "a"},
		{"(eq,metadata/rack/tags,y)", "a"},
		{"(eq,metadata/spare,true)", "a"},
		{"(neq,metadata/spare,true)", "b"},
		{"(eq,metadata/odd~1name,'it''s')", "b"},
		{`(eq,metadata/no"such,"'x)`, "400"},
		{`(eq,metadata/no"such\,x)`, ""},
		{"(neq,metadata/none,x)", ""},
		{"(eq,metadata/@key,site)", "a b"},
		{"(in,metadata/@key,'odd/name',rows)", "b"},
		{"(cont,metadata/rack/@key,tag)", "a"},
		{"(eq,metadata/~bkey,site)", ""},
		{"(neq,vnfInstanceDescription,x)", "b"},
		{"(ncont,vnfInstanceDescription,x)", "b"},
		{"(eq,vnfInstanceDescription,)", ""},
		{"(eq,metadata/rack/row,1e-99999)", ""},
		{"(eq,metadata/rack/row,0e999999999999)", ""},
		{"(in,metadata/rack/row,7e0,1e308)", "a"},
	} {
		query := "filter=" + url.QueryEscape(row.filter)
		if row.want == "400" {
			b.expect(http.StatusBadRequest, http.MethodGet, "/vnflcm/v1/vnf_instances?"+query, "")
			continue
		}
		got := strings.Fields(b.names(query))
		slices.Sort(got)
		if strings.Join(got, " ") != row.want {
			t.Errorf("%s: %v, want %s", row.filter, got, row.want)
		}
	}
	// Semicolons, commas and parentheses are legal as they are, and two parameters are two conditions.
	if got := b.names("filter=(eq,vnfInstanceName,a);(eq,vnfdId," + vnfdID + ")"); got != "a" {
		t.Errorf("raw semicolon: %q", got)
	}
	if got := b.names("filter=(eq,vnfInstanceName,a)&filter=(eq,vnfInstanceName,b)"); got != "" {
		t.Errorf("two filters: %q", got)
	}
}

func TestFiltersThatAreWrong(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const instances, opOccs, packages = "/vnflcm/v1/vnf_instances", "/vnflcm/v1/vnf_lcm_op_occs", "/vnfpkgm/v1/vnf_packages"
	for _, row := range []struct{ path, filter, detail string }{
		{instances, "(eq,id", "character 7"},
		{instances, "", "filter"},
		{instances, "(eq,id,a);(is,id,a)", "character 12"},
		{instances, "(eq,none,a)", "no attribute none"},
		{instances, "(eq,id,a);(eq,instantiatedVnfInfo/none,a)", "character 11: there is no attribute instantiatedVnfInfo/none"},
		{instances, "(eq,metadata,a)", "not a simple attribute"},
		{instances, "(eq,instantiatedVnfInfo/@key,a)", "no map instantiatedVnfInfo"},
		{instances, "(eq,metadata/@key/a,b)", "no map metadata"},
		{instances, "(eq,@key,b)", "no map"},
		{instances, "(eq,_links/self/href,a)", "links cannot"},
		{instances, "(eq,instantiationState,ASLEEP)", "INSTANTIATED"},
		{instances, "(eq,instantiatedVnfInfo/scaleStatus/scaleLevel,many)", "not a number"},
		{instances, "(cont,instantiatedVnfInfo/scaleStatus/scaleLevel,1)", "for texts"},
		{opOccs, "(gt,startTime,yesterday)", "not a time"},
		{opOccs, "(gt,startTime,0000-01-01T00:00:00Z)", "not a time"},
		{opOccs, "(gt,startTime,9999-12-31T23:59:59-23:59)", "not a time"},
		{opOccs, "(eq,isAutomaticInvocation,maybe)", "true or false"},
		{instances, "(gt,instantiatedVnfInfo/scaleStatus/scaleLevel,1e-99999)", "not a number"},
		{instances, "(eq,instantiatedVnfInfo/scaleStatus/scaleLevel,0e999999999999)", "not a number"},
		{instances, "(eq,vnfInstanceName,\x00)", "UTF-8"},
		{instances, "(neq,metadata/\x00,a)", "UTF-8"},
		{instances, "(eq,vnfInstanceName,\xff)", "UTF-8"},
		{instances, "(in,metadata/a" + strings.Repeat(",1", 501) + ")", "more than 500 values"},
		{instances, strings.Repeat("(eq,id,a);", 500) + "(eq,id,a)", "more than 500 values"},
		{instances, strings.Repeat("(neq,id,a);", 50) + "(neq,id,a)", "more than 50 expressions other than"},
		{packages, "(eq,vnfInstanceName,a)", "no attribute"},
	} {
		a := b.expect(http.StatusBadRequest, http.MethodGet, row.path+"?filter="+url.QueryEscape(row.filter), "")
		if detail := a.detail(t); !strings.Contains(detail, row.detail) {
			t.Errorf("%s: %q does not say %q", row.filter, detail, row.detail)
		}
	}
}

// TestEveryAttributeHasAColumn filters by every attribute that the documents have, so that none is forgotten in SQL.
func TestEveryAttributeHasAColumn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for path, filters := range map[string][]string{
		"/vnflcm/v1/vnf_instances": {
			"(eq,vnfInstanceDescription,a)", "(eq,vnfSoftwareVersion,a)", "(eq,vnfdVersion,a)", "(eq,vnfPkgId,a)", "(eq,vimConnectionInfo/vimId,a)",
			"(eq,extensions/a,b)", "(eq,vnfConfigurableProperties/a,b)", "(gte,instantiatedVnfInfo/scaleStatus/scaleLevel,1)",
			"(eq,instantiatedVnfInfo/extCpInfo/cpProtocolInfo/ipOverEthernet/ipAddresses/isDynamic,true)",
			"(neq,instantiatedVnfInfo/extCpInfo/cpProtocolInfo/ipOverEthernet/ipAddresses/isDynamic,true)",
			"(eq,instantiatedVnfInfo/vnfcResourceInfo/storageResourceIds,a)", "(neq,instantiatedVnfInfo/vnfState,STOPPED)",
		},
		"/vnflcm/v1/vnf_lcm_op_occs": {
			"(eq,id,a)", "(eq,operationState,COMPLETED)", "(gt,stateEnteredTime,2026-01-01T00:00:00Z)", "(in,startTime,2026-01-01T00:00:00Z)",
			"(gt,startTime,2026-01-01T00:00:00+23:59)", "(lt,startTime,'2026-01-01T00:00:00,5Z')",
			"(eq,vnfInstanceId,a)", "(eq,operation,HEAL)", "(eq,isAutomaticInvocation,false)", "(neq,isCancelPending,true)", "(eq,cancelMode,GRACEFUL)",
			"(eq,operationParams/flavourId,a)", "(gt,error/status,400)", "(eq,resourceChanges/affectedVnfcs/changeType,ADDED)",
			"(eq,changedInfo/vnfdId,a)", "(eq,changedExtConnectivity/resourceHandle/resourceId,a)",
		},
		"/vnfpkgm/v1/vnf_packages": {
			"(eq,id,a)", "(eq,vnfdId,a)", "(eq,vnfProvider,a)", "(eq,vnfProductName,a)", "(eq,vnfSoftwareVersion,a)", "(eq,vnfdVersion,a)",
			"(eq,checksum/hash,a)", "(gt,softwareImages/size,5)", "(eq,softwareImages/checksum/algorithm,a)", "(cont,additionalArtifacts/artifactPath,a)",
			"(eq,onboardingState,CREATED)", "(eq,operationalState,ENABLED)", "(eq,usageState,IN_USE)", "(eq,userDefinedData/a,b)",
			"(eq,onboardingFailureDetails/status,400)",
		},
	} {
		for _, filter := range filters {
			if a := b.expect(http.StatusOK, http.MethodGet, path+"?filter="+url.QueryEscape(filter), ""); strings.TrimSpace(string(a.body)) != "[]" {
				t.Errorf("%s %s: %s", path, filter, a.body)
			}
		}
	}
}

// TestFiltersBySoftwareImages has times that are written in several ways, and a package without images.
func TestFiltersBySoftwareImages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.onboard() // has no image
	path, _, _ := b.onboardTree(samples.Topology())
	b.expect(http.StatusCreated, http.MethodPost, "/vnfpkgm/v1/vnf_packages", `{}`)
	var pkg struct {
		SoftwareImages []struct{ CreatedAt time.Time }
	}
	if err := json.Unmarshal(b.expect(http.StatusOK, http.MethodGet, path, "").body, &pkg); err != nil || len(pkg.SoftwareImages) == 0 {
		t.Fatal(pkg, err)
	}
	created := pkg.SoftwareImages[0].CreatedAt.In(time.FixedZone("", 7200)).Format(time.RFC3339Nano)
	for _, row := range []struct {
		filter string
		want   int
	}{
		{"(eq,softwareImages/createdAt," + created + ")", 1},
		{"(in,softwareImages/createdAt," + created + ")", 1},
		{"(gte,softwareImages/createdAt," + created + ")", 1},
		{"(gt,softwareImages/createdAt," + created + ")", 0},
		{"(neq,softwareImages/createdAt," + created + ")", 0},
		{"(gt,softwareImages/createdAt,0001-01-01T00:00:00Z)", 1},
		{"(eq,softwareImages/containerFormat,BARE)", 1},
	} {
		var found []any
		a := b.expect(http.StatusOK, http.MethodGet, "/vnfpkgm/v1/vnf_packages?filter="+url.QueryEscape(row.filter), "")
		if err := json.Unmarshal(a.body, &found); err != nil || len(found) != row.want {
			t.Errorf("%s: %d packages and %v, want %d", row.filter, len(found), err, row.want)
		}
	}
}

func TestSelectors(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, vnfdID, _ := b.onboard()
	b.expect(http.StatusCreated, http.MethodPost, "/vnflcm/v1/vnf_instances",
		`{"vnfdId": "`+vnfdID+`", "vnfInstanceName": "a", "vnfInstanceDescription": "b", "metadata": {"x": {"y": 1, "z": 2}, "w": 3, "u/v,t": 4}}`)
	const mandatory = "_links id instantiationState vnfProductName vnfProvider vnfSoftwareVersion vnfdId vnfdVersion"
	for _, row := range []struct{ query, want, metadata string }{
		{"", mandatory + " vnfInstanceDescription vnfInstanceName vnfPkgId", ""},
		{"exclude_default", mandatory + " vnfInstanceDescription vnfInstanceName vnfPkgId", ""},
		{"all_fields", mandatory + " metadata vnfInstanceDescription vnfInstanceName vnfPkgId", `{"u/v,t":4,"w":3,"x":{"y":1,"z":2}}`},
		{"fields=metadata", mandatory + " metadata", `{"u/v,t":4,"w":3,"x":{"y":1,"z":2}}`},
		{"fields=metadata/u~1v~at,_links", mandatory + " metadata", `{"u/v,t":4}`},
		{"fields=vnfInstanceName,metadata/x/y", mandatory + " metadata vnfInstanceName", `{"x":{"y":1}}`},
		{"exclude_default&fields=metadata/w", mandatory + " metadata vnfInstanceDescription vnfInstanceName vnfPkgId", `{"w":3}`},
		{"exclude_fields=vnfInstanceName,metadata/x,metadata/u~1v~at", mandatory + " metadata vnfInstanceDescription vnfPkgId", `{"w":3}`},
		{"exclude-fields=metadata,vnfPkgId", mandatory + " vnfInstanceDescription vnfInstanceName", ""},
	} {
		a := b.expect(http.StatusOK, http.MethodGet, "/vnflcm/v1/vnf_instances?"+row.query, "")
		var elements []map[string]json.RawMessage
		if err := json.Unmarshal(a.body, &elements); err != nil || len(elements) != 1 {
			t.Fatalf("%s: %s %v", row.query, a.body, err)
		}
		var names []string
		for name := range elements[0] {
			names = append(names, name)
		}
		want := strings.Fields(row.want)
		slices.Sort(want)
		slices.Sort(names)
		if !slices.Equal(names, want) || string(elements[0]["metadata"]) != row.metadata {
			t.Errorf("%q shows %v and metadata %s, want %v and %s", row.query, names, elements[0]["metadata"], want, row.metadata)
		}
	}
	for _, query := range []string{
		"all_fields&exclude_default", "fields=id&exclude_fields=metadata", "exclude_default&exclude_fields=metadata", "fields=none",
		"fields=", "exclude_fields=id", "exclude_fields=metadata&exclude-fields=metadata", "all_fields&fields=id", "fields=id,,metadata", "fields=metadata//x", "exclude_fields=_links",
		"fields=metadata/@key",
	} {
		b.expect(http.StatusBadRequest, http.MethodGet, "/vnflcm/v1/vnf_instances?"+query, "")
	}
	a := b.expect(http.StatusBadRequest, http.MethodGet, "/vnflcm/v1/vnf_lcm_op_occs?exclude_fields=error/detail", "")
	if detail := a.detail(t); !strings.Contains(detail, "mandatory") {
		t.Error(detail)
	}
}
