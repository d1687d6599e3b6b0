package hot

// limit is a property of SOL001 that has no counterpart in a template.
type limit struct {
	path   []string
	refuse bool // the VNF may not work without it; else it is noted
}

func refused(path ...string) limit { return limit{path, true} }

func noted(path ...string) limit { return limit{path, false} }

// The limits of each kind of node template.
var (
	vduLimits = []limit{
		refused("nfvi_constraints"),
	}
	cpLimits = []limit{
		refused("trunk_mode"), refused("allowed_address_data"), noted("bitrate_requirement"),
	}
	linkLimits = []limit{
		noted("vl_profile", "max_bitrate_requirements"), noted("vl_profile", "min_bitrate_requirements"),
		noted("vl_profile", "qos"), noted("vl_profile", "service_availability"),
	}
	storageLimits = []limit{
		refused("virtual_block_storage_data", "rdma_enabled"), refused("virtual_block_storage_data", "vdu_storage_requirements"),
	}
	// The limits of the capability virtual_compute, for VDUs whose flavor is not named.
	computeLimits = []limit{
		refused("logical_node"), refused("compute_requirements"), refused("virtual_memory", "vdu_mem_requirements"),
		refused("virtual_memory", "hugepages_requirements"), refused("virtual_cpu", "vdu_cpu_requirements"),
		refused("virtual_cpu", "virtual_cpu_pinning", "virtual_cpu_pinning_rule"),
		noted("virtual_memory", "virtual_mem_oversubscription_policy"),
		noted("virtual_cpu", "virtual_cpu_oversubscription_policy"),
		noted("virtual_cpu", "virtual_cpu_clock"), noted("virtual_cpu", "cpu_architecture"),
	}
	diskLimits = []limit{refused("rdma_enabled"), refused("vdu_storage_requirements")}

	policyLimits = map[string]limit{
		"tosca.policies.nfv.SecurityGroupRule":                     refused(),
		"tosca.policies.nfv.VirtualLinkInstantiationLevels":        noted(),
		"tosca.policies.nfv.VirtualLinkBitrateInitialDelta":        noted(),
		"tosca.policies.nfv.VirtualLinkBitrateScalingAspectDeltas": noted(),
	}
)
