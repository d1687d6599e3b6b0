//go:build e2e

package e2e

import (
	"encoding/json"
	"testing"
)

// TestChanges brings a VNF to another level, moves a connection point to another network, and changes the flavour.
func TestChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	f := setup(t)
	completed(t, operate(t, f.instanceID, "instantiate", f.request))

	completed(t, operate(t, f.instanceID, "scale_to_level", map[string]any{"instantiationLevelId": "instantiation_level_2"}))
	if all := workers(t, f.instanceID); len(all) != 2 {
		t.Errorf("%d workers at instantiation level 2", len(all))
	}

	network, subnet := f.cloud.network(t, "net_mgmt")
	request, err := json.Marshal(map[string]any{"extVirtualLinks": []any{map[string]any{"id": "moved", "resourceId": network, "extCps": []any{
		map[string]any{"cpdId": "controller_CP2", "cpConfig": []any{map[string]any{"cpProtocolData": []any{map[string]any{
			"layerProtocol":  "IP_OVER_ETHERNET",
			"ipOverEthernet": map[string]any{"ipAddresses": []any{map[string]any{"type": "IPV4", "numDynamicAddresses": 1, "subnetId": subnet}}},
		}}}}},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	openstack(t, "vnflcm", "change-ext-conn", f.instanceID, writeFile(t, "connect.json", string(request)))
	completed(t, lastOperation(t, f.instanceID, "CHANGE_EXT_CONN"))

	completed(t, operate(t, f.instanceID, "change_flavour", map[string]any{"newFlavourId": "large"}))
	info := read[vnfInstance](t, instancePath(f.instanceID)).InstantiatedVnfInfo
	if info.FlavourID != "large" || len(workers(t, f.instanceID)) != 2 {
		t.Errorf("after the change the flavour is %s with %d workers", info.FlavourID, len(workers(t, f.instanceID)))
	}
}
