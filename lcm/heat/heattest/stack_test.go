package heattest_test

import (
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stacks"

	"vnfm/lcm/heat/heattest"
)

const vnfTemplate = `
heat_template_version: 2013-05-23
description: one VNF
parameters:
  nfv: {type: json}
resources:
  worker_instance:
    type: OS::Heat::AutoScalingGroup
    properties:
      min_size: 1
      max_size: 3
      desired_capacity: 2
      resource:
        type: worker.yaml
        properties:
          flavor: {get_param: [nfv, VDU, worker, flavor]}
          image: {get_param: [nfv, VDU, worker, image]}
          net: {get_param: [nfv, CP, worker_CP, network]}
  worker_instance_scale_out:
    type: OS::Heat::ScalingPolicy
    properties: {adjustment_type: change_in_capacity, scaling_adjustment: 1, auto_scaling_group_id: {get_resource: worker_instance}}
  worker_instance_scale_in:
    type: OS::Heat::ScalingPolicy
    properties: {adjustment_type: change_in_capacity, scaling_adjustment: -1, auto_scaling_group_id: {get_resource: worker_instance}}
  master:
    type: OS::Nova::Server
    properties:
      flavor: m1.tiny
      image: ubuntu
      networks: [{port: {get_resource: master_CP}}]
      block_device_mapping_v2: [{volume_id: {get_resource: master_volume}, boot_index: -1}]
  master_CP: {type: OS::Neutron::Port, properties: {network: net0}}
  master_volume: {type: OS::Cinder::Volume, properties: {size: 1}}
outputs:
  master_ip: {value: {get_attr: [master, first_address]}}
`

const workerTemplate = `
heat_template_version: 2013-05-23
parameters: {flavor: {type: string}, image: {type: string}, net: {type: string}}
resources:
  worker:
    type: OS::Nova::Server
    properties: {flavor: {get_param: flavor}, image: {get_param: image}, networks: [{port: {get_resource: worker_CP}}]}
  worker_CP: {type: OS::Neutron::Port, properties: {network: {get_param: net}}}
`

func vnfBody(name string) stackBody {
	return stackBody{
		"stack_name": name, "template": vnfTemplate, "files": map[string]any{"worker.yaml": workerTemplate}, "timeout_mins": 10, "disable_rollback": true,
		"parameters": map[string]any{"nfv": map[string]any{
			"VDU": map[string]any{"worker": map[string]any{"flavor": "m1.tiny", "image": "ubuntu"}},
			"CP":  map[string]any{"worker_CP": map[string]any{"network": "net0"}},
		}},
	}
}

func TestStackLivesAndDies(t *testing.T) {
	t.Parallel()
	b := setup(t, heattest.Options{})
	s := b.create(vnfBody("vnf-1"))
	if s.Status != "CREATE_COMPLETE" {
		t.Fatalf("stack is %s: %s", s.Status, s.StatusReason)
	}
	for _, r := range b.resources("vnf-1", s.ID) {
		t.Log(r.Name, r.Type, r.Status, r.PhysicalID)
	}
	if err := stacks.Delete(t.Context(), b.heat, "vnf-1", s.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if s = b.settle("vnf-1", s.ID); s.Status != "DELETE_COMPLETE" {
		t.Fatalf("stack is %s: %s", s.Status, s.StatusReason)
	}
	if leaks := b.cloud.Leaks(); len(leaks) > 0 {
		t.Errorf("left behind: %v", leaks)
	}
}
