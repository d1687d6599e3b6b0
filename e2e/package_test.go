//go:build e2e

package e2e

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPackages is the life of a package without an instance.
func TestPackages(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	csar := buildPackage(t)
	made := openstackJSON[map[string]any](t, "vnf", "package", "create", "--user-data", "owner=me")
	id := made["ID"].(string)
	t.Cleanup(func() { removePackage(t, id) })
	if made["Onboarding State"] != "CREATED" || made["Operational State"] != "DISABLED" {
		t.Errorf("the new package is %v", made)
	}

	// The upload has Content-Type and Accept application/zip, and a Content-Length.
	openstack(t, "vnf", "package", "upload", "--path", csar, id)
	pkg := onboarded(t, id)
	refused(t, "vnf", "package", "upload", "--path", csar, id)

	shown := openstackJSON[map[string]any](t, "vnf", "package", "show", id)
	if shown["VNFD ID"] != pkg.VnfdID || empty(shown["Checksum"]) || empty(shown["Additional Artifacts"]) {
		t.Errorf("the package is shown as %v", shown)
	}
	if list := openstack(t, "vnf", "package", "list"); !strings.Contains(list, id) {
		t.Errorf("the package is not in the list\n%s", list)
	}

	t.Run("content", func(t *testing.T) { downloads(t, id, csar) })
	t.Run("update", func(t *testing.T) {
		if out := openstack(t, "vnf", "package", "update", "--user-data", "owner=you", id); !strings.Contains(out, "you") {
			t.Errorf("update printed %s", out)
		}
		refused(t, "vnf", "package", "delete", id) // it is ENABLED
		if out := openstack(t, "vnf", "package", "update", "--operational-state", "DISABLED", id); !strings.Contains(out, "DISABLED") {
			t.Errorf("update printed %s", out)
		}
		refused(t, "vnf", "package", "update", "--operational-state", "DISABLED", id)
		refused(t, "vnflcm", "create", pkg.VnfdID)
	})
	if out := openstack(t, "vnf", "package", "delete", id); !strings.Contains(out, "deleted successfully") {
		t.Errorf("delete printed %q", out)
	}
	refused(t, "vnf", "package", "show", id)
}

// downloads fetches the package, its VNFD and every file that a user may fetch as an artifact.
func downloads(t *testing.T, id, csar string) {
	t.Helper()
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole.zip")
	openstack(t, "vnf", "package", "download", "--file", whole, id)
	if !bytes.Equal(readFile(t, whole), readFile(t, csar)) {
		t.Error("the package is not what was uploaded")
	}

	// --type both sends Accept: text/plain,application/zip.
	for _, kind := range []string{"application/zip", "both"} {
		vnfd := filepath.Join(dir, "vnfd.zip")
		openstack(t, "vnf", "package", "download", "--vnfd", "--type", kind, "--file", vnfd, id)
		archive, err := zip.OpenReader(vnfd)
		if err != nil {
			t.Fatalf("the VNFD as %s: %v", kind, err)
		}
		if len(archive.File) == 0 {
			t.Errorf("the VNFD as %s is empty", kind)
		}
		archive.Close()
	}
	refused(t, "vnf", "package", "download", "--vnfd", "--type", "text/plain", id) // it has more than one file

	// An artifact is asked for with Accept: application/json, whatever it is.
	path, content := someArtifact(t, csar)
	artifact := filepath.Join(dir, "artifact")
	openstack(t, "vnf", "package", "artifact", "download", "--file", artifact, id, path)
	if !bytes.Equal(readFile(t, artifact), content) {
		t.Errorf("artifact %s is not what the package holds", path)
	}
	refused(t, "vnf", "package", "artifact", "download", "--file", artifact, id, "no/such/file")
	refused(t, "vnf", "package", "artifact", "download", "--file", artifact, id, "../../etc/passwd")
}

// someArtifact is a HOT template of the CSAR: a text, which the client writes as it is.
func someArtifact(t *testing.T, csar string) (path string, content []byte) {
	t.Helper()
	archive, err := zip.OpenReader(csar)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	for _, file := range archive.File {
		if !strings.HasPrefix(file.Name, "BaseHOT/") || !strings.HasSuffix(file.Name, ".yaml") {
			continue
		}
		reader, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		return file.Name, content
	}
	t.Fatal("the package has no BaseHOT")
	return "", nil
}

// TestPackageThatIsNone uploads what is no package: it goes back to CREATED with a reason, and can be uploaded again.
func TestPackageThatIsNone(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	id := openstackJSON[map[string]any](t, "vnf", "package", "create")["ID"].(string)
	t.Cleanup(func() { removePackage(t, id) })
	openstack(t, "vnf", "package", "upload", "--path", writeFile(t, "none.csar", "this is not a zip archive"), id)
	eventually(t, "the package is CREATED again, with a reason", func() bool {
		pkg := read[vnfPackage](t, packagePath(id))
		return pkg.OnboardingState == "CREATED" && pkg.OnboardingFailureDetails != nil
	})
	openstack(t, "vnf", "package", "upload", "--path", buildPackage(t), id)
	eventually(t, "the package is ONBOARDED", func() bool { return read[vnfPackage](t, packagePath(id)).OnboardingState == "ONBOARDED" })
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
