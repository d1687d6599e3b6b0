package kube_test

import (
	"io/fs"
	"os"
	"testing"

	"vnfm/samples"
)

// The driver brings the account of the administrator for packages that do not.
func TestManifestOfTheSampleIsThatOfTheDriver(t *testing.T) {
	t.Parallel()
	sample, err := fs.ReadFile(samples.Kubernetes(), "Scripts/create_admin_token.yaml")
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile("create_admin_token.yaml")
	if err != nil || string(sample) != string(own) {
		t.Errorf("they differ, %v", err)
	}
}
