package servertest

import (
	"encoding/json"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// Notifications checks notifications against the OpenAPI documents.
type Notifications struct{ documents []*openapi3.T }

// LoadNotifications loads the documents of the interfaces with notifications.
func LoadNotifications(tb testing.TB) *Notifications {
	tb.Helper()
	return &Notifications{[]*openapi3.T{Document(tb, "vnflcm.yaml"), Document(tb, "vnfpkgm.yaml")}}
}

// Check fails the test on a notification that the documents do not allow.
func (n *Notifications) Check(tb testing.TB, content []byte) {
	tb.Helper()
	var notification map[string]any
	if err := json.Unmarshal(content, &notification); err != nil {
		tb.Errorf("notification %q: %v", content, err)
		return
	}
	kind, _ := notification["notificationType"].(string)
	for _, document := range n.documents {
		if schema := document.Components.Schemas[kind]; schema != nil {
			if err := schema.Value.VisitJSON(notification, openapi3.MultiErrors()); err != nil {
				tb.Errorf("%s: %v: %s", kind, err, content)
			}
			return
		}
	}
	tb.Errorf("notification of an unknown type: %s", content)
}
