package server_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
)

func TestModificationOfAnInstance(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, vnfdID, _ := b.onboard()
	path := b.instance(vnfdID)
	tag := b.expect(http.StatusOK, http.MethodGet, path, "").Header.Get("ETag")
	changed := b.expect(http.StatusAccepted, http.MethodPatch, path, `{"vnfInstanceName": "new", "metadata": {"password": "geheim"}}`,
		"Content-Type", "application/merge-patch+json", "If-Match", tag)
	if len(changed.body) > 0 {
		t.Errorf("the answer has the body %s", changed.body)
	}
	opOcc := changed.Header.Get("Location")
	under := b.expect(http.StatusOK, http.MethodGet, opOcc, "")
	if !strings.Contains(string(under.body), `"operation":"MODIFY_INFO"`) || bytes.Contains(under.body, []byte("geheim")) ||
		!strings.Contains(string(under.body), opOcc+"/cancel") {
		t.Errorf("operation: %s", under.body)
	}
	b.expect(http.StatusConflict, http.MethodPatch, path, `{"vnfInstanceName": "newer"}`)
	b.expect(http.StatusAccepted, http.MethodPost, opOcc+"/cancel", `{"cancelMode": "GRACEFUL"}`)
	pending := b.expect(http.StatusOK, http.MethodGet, opOcc, "")
	if !strings.Contains(string(pending.body), `"isCancelPending":true`) || !strings.Contains(string(pending.body), `"cancelMode":"GRACEFUL"`) {
		t.Errorf("operation being cancelled: %s", pending.body)
	}
}
