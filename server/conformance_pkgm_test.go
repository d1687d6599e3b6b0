package server_test

import (
	"bytes"
	"os"
	"path"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/uuid"

	"vnfm/samples"
	"vnfm/vnfpkg"
)

// ofContent makes a requirement of everything that is read of a package's content.
func ofContent(name, pkg string, status int, detail string) []requirement {
	var rows []requirement
	for _, what := range []string{"vnfd", "package_content", "artifacts/TOSCA-Metadata/TOSCA.meta"} {
		rows = append(rows, requirement{name + ": " + what, "GET", pkg + "/" + what, "", nil, status, nil, detail})
	}
	return rows
}

func TestLifeOfAPackage(t *testing.T) {
	t.Parallel()
	p := &place{setup(t), map[string]string{"none": uuid.NewString(), "packages": "/vnfpkgm/v1/vnf_packages", "instances": "/vnflcm/v1/vnf_instances"}}
	var csar bytes.Buffer
	if err := vnfpkg.BuildFS(t.Context(), samples.Topology(), &csar); err != nil {
		t.Fatal(err)
	}
	zip := []string{"Content-Type", "application/zip"}
	create := requirement{"create", "POST", "{packages}", `{"userDefinedData": {"a": 1}}`, nil, 201, []string{"Location: /vnfpkgm/v1/vnf_packages/[0-9a-f-]{36}",
		`onboardingState="CREATED"`, `operationalState="DISABLED"`, `usageState="NOT_IN_USE"`, "-vnfdId", "-checksum", "-softwareImages",
		"_links/self/href", "_links/packageContent/href", "-_links/vnfd"}, ""}
	p.names["package"] = p.check(t, create).Header.Get("Location")
	p.inOrder(t, slices.Concat(
		ofContent("before there is content", "{package}", 409, "ONBOARDED"),
		ofContent("no such package", "{packages}/{none}", 404, "{none}"),
		[]requirement{
			{"upload to no package", "PUT", "{packages}/{none}/package_content", "PK", zip, 404, nil, "{none}"},
			{"patch of no package", "PATCH", "{packages}/{none}", `{"operationalState": "DISABLED"}`, nil, 404, nil, "{none}"},
			{"deletion of no package", "DELETE", "{packages}/{none}", "", nil, 404, nil, "{none}"},
			{"state of what is not onboarded", "PATCH", "{package}", `{"operationalState": "ENABLED"}`, nil, 409, nil, "ONBOARDED"},
			{"VNFD of what is not onboarded", "POST", "{instances}", `{"vnfdId": "b"}`, nil, 422, nil, "/vnfdId"},
			{"upload", "PUT", "{package}/package_content", csar.String(), zip, 202, nil, ""},
			{"being processed", "GET", "{package}", "", nil, 200, []string{`onboardingState="PROCESSING"`, "-vnfdId"}, ""},
			{"upload while it is processed", "PUT", "{package}/package_content", "PK", zip, 409, nil, "PROCESSING"},
		},
		ofContent("while it is processed", "{package}", 409, "ONBOARDED")))
	process := func() {
		t.Helper()
		if err := p.packages.Process(t.Context(), uuid.MustParse(path.Base(p.names["package"]))); err != nil {
			t.Fatal(err)
		}
	}
	process()
	p.inOrder(t, []requirement{
		{"onboarded", "GET", "{package}", "", nil, 200, []string{`onboardingState="ONBOARDED"`, `operationalState="ENABLED"`, `usageState="NOT_IN_USE"`, "vnfdId", "vnfProvider",
			"vnfProductName", "vnfSoftwareVersion", "vnfdVersion", "checksum/algorithm", "checksum/hash", "softwareImages/imagePath", "softwareImages/createdAt",
			"additionalArtifacts/artifactPath", "additionalArtifacts/checksum/hash", `userDefinedData={"a":1}`, "_links/vnfd/href", "-onboardingFailureDetails"}, ""},
		{"list without the large attributes", "GET", "{packages}", "", nil, 200, []string{"-softwareImages", "-additionalArtifacts", "-userDefinedData", "vnfdId"}, ""},
		{"list with all attributes", "GET", "{packages}?all_fields", "", nil, 200, []string{"softwareImages", "additionalArtifacts", "userDefinedData"}, ""},
		{"list with listed attributes", "GET", "{packages}?fields=softwareImages/name,userDefinedData", "", nil, 200,
			[]string{"softwareImages/name", "-softwareImages/provider/x", "userDefinedData", "-additionalArtifacts"}, ""},
		{"list without some attributes", "GET", "{packages}?exclude_fields=userDefinedData", "", nil, 200, []string{"softwareImages", "-userDefinedData"}, ""},
		{"list by an attribute in a list", "GET", "{packages}?filter=(eq,softwareImages/containerFormat,BARE);(neq,onboardingState,CREATED)", "", nil, 200, []string{"id"}, ""},
		{"content", "GET", "{package}/package_content", "", nil, 200, []string{"Content-Type: application/zip", "Accept-Ranges: bytes", "Etag: \".+\""}, ""},
		{"VNFD of several files as a zip file", "GET", "{package}/vnfd", "", []string{"Accept", "text/plain, application/zip"}, 200, []string{"Content-Type: application/zip"}, ""},
		{"VNFD of several files as text", "GET", "{package}/vnfd", "", []string{"Accept", "text/plain"}, 406, nil, "application/zip"},
		{"artifact", "GET", "{package}/artifacts/TOSCA-Metadata/TOSCA.meta", "", nil, 200, []string{"Accept-Ranges: bytes"}, ""},
		{"artifact that is not there", "GET", "{package}/artifacts/none", "", nil, 404, nil, "none"},
		{"deletion of what is enabled", "DELETE", "{package}", "", nil, 409, nil, "ENABLED"},
		{"state that it has", "PATCH", "{package}", `{"operationalState": "ENABLED"}`, nil, 409, nil, "ENABLED"},
		{"disable", "PATCH", "{package}", `{"operationalState": "DISABLED"}`, []string{"Content-Type", "application/merge-patch+json"}, 200,
			[]string{`operationalState="DISABLED"`, "-userDefinedData", "-id"}, ""},
	})
	p.names["vnfd"] = p.read("{package}")["vnfdId"].(string)
	p.inOrder(t, []requirement{
		{"VNFD of a disabled package", "POST", "{instances}", `{"vnfdId": "{vnfd}"}`, nil, 422, nil, "/vnfdId"},
		{"enable", "PATCH", "{package}", `{"operationalState": "ENABLED"}`, nil, 200, []string{`operationalState="ENABLED"`}, ""},
	})
	p.names["instance"] = p.check(t, requirement{"instance", "POST", "{instances}", `{"vnfdId": "{vnfd}", "vnfInstanceName": "a", "metadata": {"k": "v"}}`, nil, 201,
		[]string{"Location: /vnflcm/v1/vnf_instances/.+", `instantiationState="NOT_INSTANTIATED"`, "-instantiatedVnfInfo", "-vimConnectionInfo", `vnfInstanceName="a"`,
			"-vnfInstanceDescription", `metadata={"k":"v"}`, "vnfProvider", "vnfProductName", "vnfSoftwareVersion", "vnfdVersion", "_links/self/href",
			"_links/instantiate/href", "-_links/terminate", "-_links/scale", "-_links/heal"}, ""}).Header.Get("Location")
	p.inOrder(t, []requirement{
		{"in use", "GET", "{package}", "", nil, 200, []string{`usageState="IN_USE"`}, ""},
		{"disable what is in use", "PATCH", "{package}", `{"operationalState": "DISABLED"}`, nil, 200, nil, ""},
		{"deletion of what is in use", "DELETE", "{package}", "", nil, 409, nil, "IN_USE"},
	})
	p.inOrder(t, []requirement{
		{"last instance is deleted", "DELETE", "{instance}", "", nil, 204, nil, ""},
		{"not in use", "GET", "{package}", "", nil, 200, []string{`usageState="NOT_IN_USE"`}, ""},
	})
	first := p.names["package"]
	p.names["package"] = p.check(t, create).Header.Get("Location")
	p.inOrder(t, []requirement{{"upload of a VNFD that is there", "PUT", "{package}/package_content", csar.String(), zip, 202, nil, ""}})
	process()
	p.inOrder(t, []requirement{{"one package of a VNFD", "GET", "{package}", "", nil, 200, []string{`onboardingState="CREATED"`, "onboardingFailureDetails/detail", "-vnfdId"}, ""}})
	p.names["package"] = first
	p.inOrder(t, slices.Concat([]requirement{
		{"deletion", "DELETE", "{package}", "", nil, 204, nil, ""},
		{"deleted", "GET", "{package}", "", nil, 404, nil, ""},
	}, ofContent("deleted", "{package}", 404, "")))

	// Without the types in the package the VNFD is one file.
	vnfd, err := os.ReadFile("../vnfpkg/testdata/single/small.yaml")
	if err != nil {
		t.Fatal(err)
	}
	vnfd = bytes.ReplaceAll(vnfd, []byte("etsi_nfv/"), []byte("https://forge.etsi.org/types/"))
	p.names["package"], _, _ = p.onboardTree(fstest.MapFS{"small.yaml": {Data: vnfd}})
	p.inOrder(t, []requirement{
		{"VNFD of one file as text", "GET", "{package}/vnfd", "", []string{"Accept", "text/plain"}, 200, []string{"Content-Type: text/plain.*"}, ""},
		{"VNFD of one file as the client prefers", "GET", "{package}/vnfd", "", []string{"Accept", "application/zip;q=0.1, text/*"}, 200, []string{"Content-Type: text/plain.*"}, ""},
		{"VNFD of one file as a zip file", "GET", "{package}/vnfd", "", []string{"Accept", "application/zip"}, 200, []string{"Content-Type: application/zip"}, ""},
	})
}
