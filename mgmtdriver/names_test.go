package mgmtdriver_test

import (
	"errors"
	"testing"

	"vnfm/mgmtdriver"
)

func TestNamesAreCheckedAgainstThePackage(t *testing.T) {
	t.Parallel()
	call := &mgmtdriver.Call{
		Vdus:      []mgmtdriver.Vdu{{ID: "worker", AspectID: "workers"}, {ID: "master", AspectID: "masters"}},
		PortNames: []string{"master_CP1", "vip_CP", "master_CP1"},
	}
	for _, row := range []struct {
		name  string
		call  *mgmtdriver.Call
		check func(*mgmtdriver.Call, string, string) error
		value string
		says  string // "" = it is accepted
	}{
		{"an aspect", call, (*mgmtdriver.Call).CheckAspect, "workers", ""},
		{"another aspect", call, (*mgmtdriver.Call).CheckAspect, "worker", `the VNFD scales no VDU by an aspect "worker"; there are masters, workers`},
		{"a VDU that is not scaled may be in any group", &mgmtdriver.Call{Vdus: []mgmtdriver.Vdu{{ID: "a"}}}, (*mgmtdriver.Call).CheckAspect, "group", ""},
		{"a port", call, (*mgmtdriver.Call).CheckPort, "vip_CP", ""},
		{"another port", call, (*mgmtdriver.Call).CheckPort, "vip",
			`the VNF package has neither a connection point nor, in its Heat templates, a port or a floating IP "vip"; there are master_CP1, vip_CP`},
		{"nothing is known", &mgmtdriver.Call{}, (*mgmtdriver.Call).CheckPort, "any", ""},
	} {
		err := row.check(row.call, "/additionalParams/x", row.value)
		var invalid *mgmtdriver.Invalid
		switch {
		case row.says == "" && err != nil:
			t.Errorf("%s: %v", row.name, err)
		case row.says != "" && (!errors.As(err, &invalid) || invalid.Attribute != "/additionalParams/x" || invalid.Detail != row.says):
			t.Errorf("%s: got %v", row.name, err)
		}
	}
}
