package server_test

import (
	"bytes"
	"path"
	"slices"
	"testing"

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
		ofContent("no such package", "{packages}/{none}", 404, "{none}"),
		[]requirement{
			{"upload to no package", "PUT", "{packages}/{none}/package_content", "PK", zip, 404, nil, "{none}"},
			{"patch of no package", "PATCH", "{packages}/{none}", `{"operationalState": "DISABLED"}`, nil, 404, nil, "{none}"},
			{"deletion of no package", "DELETE", "{packages}/{none}", "", nil, 404, nil, "{none}"},
			{"upload", "PUT", "{package}/package_content", csar.String(), zip, 202, nil, ""},
			{"being processed", "GET", "{package}", "", nil, 200, []string{`onboardingState="PROCESSING"`, "-vnfdId"}, ""},
		}))
	if err := p.packages.Process(t.Context(), uuid.MustParse(path.Base(p.names["package"]))); err != nil {
		t.Fatal(err)
	}
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
		{"artifact", "GET", "{package}/artifacts/TOSCA-Metadata/TOSCA.meta", "", nil, 200, []string{"Accept-Ranges: bytes"}, ""},
		{"artifact that is not there", "GET", "{package}/artifacts/none", "", nil, 404, nil, "none"},
		{"disable", "PATCH", "{package}", `{"operationalState": "DISABLED"}`, []string{"Content-Type", "application/merge-patch+json"}, 200,
			[]string{`operationalState="DISABLED"`, "-userDefinedData", "-id"}, ""},
		{"enable", "PATCH", "{package}", `{"operationalState": "ENABLED"}`, nil, 200, []string{`operationalState="ENABLED"`}, ""},
	})
	p.names["vnfd"] = p.read("{package}")["vnfdId"].(string)
	p.names["instance"] = p.check(t, requirement{"instance", "POST", "{instances}", `{"vnfdId": "{vnfd}", "vnfInstanceName": "a", "metadata": {"k": "v"}}`, nil, 201,
		[]string{"Location: /vnflcm/v1/vnf_instances/.+", `instantiationState="NOT_INSTANTIATED"`, "-instantiatedVnfInfo", "-vimConnectionInfo", `vnfInstanceName="a"`,
			"-vnfInstanceDescription", `metadata={"k":"v"}`, "vnfProvider", "vnfProductName", "vnfSoftwareVersion", "vnfdVersion", "_links/self/href",
			"_links/instantiate/href", "-_links/terminate", "-_links/scale", "-_links/heal"}, ""}).Header.Get("Location")
	p.inOrder(t, slices.Concat([]requirement{
		{"deletion of the instance", "DELETE", "{instance}", "", nil, 204, nil, ""},
		{"disable what is not in use", "PATCH", "{package}", `{"operationalState": "DISABLED"}`, nil, 200, nil, ""},
		{"deletion", "DELETE", "{package}", "", nil, 204, nil, ""},
		{"deleted", "GET", "{package}", "", nil, 404, nil, ""},
	}, ofContent("deleted", "{package}", 404, "")))
}
