package server_test

import (
	"encoding/json"
	"net/http"
	"path"

	"github.com/google/uuid"
)

// registerVim makes the simulated OpenStack the default VIM.
func (b *bench) registerVim() {
	b.t.Helper()
	account := b.cloud.Account()
	b.expect(http.StatusCreated, http.MethodPost, "/v1.0/vims", b.json(map[string]any{"vim": map[string]any{
		"name": "cloud", "type": "openstack", "auth_url": b.cloud.AuthURL(), "is_default": true,
		"vim_project": map[string]any{"name": account.Project, "project_domain_name": account.Domain},
		"auth_cred":   map[string]any{"username": account.User, "password": account.Password, "user_domain_name": account.Domain},
	}}))
}

func (b *bench) json(value any) string {
	b.t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(encoded)
}

// link is a network of the cloud with the connection points that are on it.
func (b *bench) link(network string, cpds ...string) map[string]any {
	cps := make([]any, len(cpds))
	for i, cpd := range cpds {
		address := map[string]any{"type": "IPV4", "numDynamicAddresses": 1, "subnetId": b.cloud.SubnetID(network)}
		cps[i] = map[string]any{"cpdId": cpd, "cpConfig": []any{map[string]any{"cpProtocolData": []any{map[string]any{
			"layerProtocol": "IP_OVER_ETHERNET", "ipOverEthernet": map[string]any{"ipAddresses": []any{address}},
		}}}}}
	}
	return map[string]any{"id": network, "resourceId": b.cloud.NetworkID(network), "extCps": cps}
}

// instantiation is a request for the package that onboard uploads.
func (b *bench) instantiation() string {
	b.t.Helper()
	return b.json(map[string]any{
		"flavourId":        "simple",
		"extVirtualLinks":  []any{b.link("net0", "controller_CP1", "worker_CP1"), b.link("net1", "controller_CP2", "worker_CP2")},
		"additionalParams": map[string]any{"admin": map[string]any{"password": "streng-geheim"}},
	})
}

// start starts an operation and returns the path of its occurrence.
func (b *bench) start(instance, task, body string) string {
	b.t.Helper()
	return b.expect(http.StatusAccepted, http.MethodPost, instance+"/"+task, body).Header.Get("Location")
}

// carryOut brings an operation as far as it comes by itself, as a worker would.
func (b *bench) carryOut(opOcc string) {
	b.t.Helper()
	for {
		again, err := b.engine.Run(b.t.Context(), uuid.MustParse(path.Base(opOcc)))
		if err != nil {
			b.t.Fatal(err)
		}
		if again == nil {
			return
		}
	}
}

// instantiated is an instance with resources.
func (b *bench) instantiated(vnfdID string) string {
	b.t.Helper()
	instance := b.instance(vnfdID)
	b.carryOut(b.start(instance, "instantiate", b.instantiation()))
	return instance
}
