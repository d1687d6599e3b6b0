// Package userdata computes the Heat parameters of a VNF from its VNFD and the request, as LCM-operation user data classes of VNF
// packages do. The classes that most packages bring are known and run here, in Go; any other is run as the package has it, in Python.
//
//	choice, err := userdata.Choose(csar, request.AdditionalParams)
//	if choice.Native() {
//		parameters, err = userdata.Compute(userdata.Request{Top: top, Flavour: flavour, Instantiate: request})
//	} else {
//		parameters, err = scripts.Compute(ctx, choice, baseHOT, planRequest)
//	}
package userdata

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"vnfm/lcm"
	"vnfm/vnfpkg"
)

// Request is what parameters are computed from.
type Request struct {
	Top         *yaml.Node   // the top HOT
	Nested      []*yaml.Node // the other HOTs
	Flavour     *vnfpkg.Flavour
	Instantiate *lcm.InstantiateRequest
}

// Compute returns the parameters for the top HOT, as all the known classes do: the parameter nfv, with what the templates read of it,
// flavor and image of VDUs from the VNFD, network and fixed_ips of connection points from the request; every other parameter of the top
// HOT is the additionalParams of that name.
func Compute(request Request) (map[string]any, error) {
	parameters := map[string]any{}
	declared := Parameters(request.Top)
	for name, value := range request.Instantiate.AdditionalParams {
		if slices.Contains(declared, name) && name != "nfv" {
			parameters[name] = value
		}
	}
	if !slices.Contains(declared, "nfv") {
		return parameters, nil
	}
	vdus, cps := map[string]any{}, map[string]any{}
	for _, used := range references(append([]*yaml.Node{request.Top}, request.Nested...)) {
		switch used.kind {
		case "VDU":
			values, err := vduValues(request.Flavour, used.name)
			if err != nil {
				return nil, err
			}
			vdus[used.name] = values
		case "CP":
			values := cpValues(request.Instantiate, used.name)
			if used.property == "network" && values["network"] == nil {
				return nil, &lcm.InvalidRequest{Attribute: "/extVirtualLinks",
					Detail: fmt.Sprintf("connection point %s of flavour %s needs a network", used.name, request.Flavour.ID)}
			}
			cps[used.name] = values
		}
	}
	parameters["nfv"] = map[string]any{"VDU": vdus, "CP": cps}
	return parameters, nil
}

func vduValues(flavour *vnfpkg.Flavour, name string) (map[string]any, error) {
	values := map[string]any{}
	var image *vnfpkg.Image
	if vdu, ok := flavour.Vdu(name); ok {
		image = vdu.Image
		if vdu.Flavor != "" {
			values["flavor"] = vdu.Flavor
		}
	} else if storage, ok := flavour.Storage(name); ok {
		image = storage.Image
	} else {
		return nil, &lcm.InvalidRequest{Attribute: "/flavourId", Detail: fmt.Sprintf(
			"a template of flavour %s uses the VDU %q, which the VNFD lacks", flavour.ID, name)}
	}
	if image != nil {
		values["image"] = image.Name
	}
	return values, nil
}

func cpValues(request *lcm.InstantiateRequest, name string) map[string]any {
	values := map[string]any{"fixed_ips": []any{}}
	for _, link := range request.ExtVirtualLinks {
		for _, cp := range link.ExtCps {
			if cp.CpdID == name {
				values["network"] = link.ResourceID
				values["fixed_ips"] = fixedIPs(cp)
			}
		}
	}
	return values
}

// fixedIPs returns what OS::Neutron::Port takes for the addresses that a request asks for.
func fixedIPs(cp lcm.VnfExtCpData) []any {
	ips := []any{}
	for _, config := range cp.CpConfig {
		for _, protocol := range config.CpProtocolData {
			if protocol.IPOverEthernet == nil {
				continue
			}
			for _, address := range protocol.IPOverEthernet.IPAddresses {
				for _, fixed := range address.FixedAddresses {
					ips = append(ips, fixedIP(fixed, address.SubnetID))
				}
				if len(address.FixedAddresses) == 0 && address.SubnetID != "" {
					ips = append(ips, fixedIP("", address.SubnetID))
				}
			}
		}
	}
	return ips
}

func fixedIP(address, subnet string) map[string]any {
	ip := map[string]any{}
	if address != "" {
		ip["ip_address"] = address
	}
	if subnet != "" {
		ip["subnet"] = subnet
	}
	return ip
}
