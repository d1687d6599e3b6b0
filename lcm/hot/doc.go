// Package hot translates the topology of a VNFD (SOL001) into a Heat Orchestration Template, for VNF packages that bring no
// template of their own. It is pure computation: no VIM is called, and the same request gives the same bytes.
//
//	template, err := hot.Translate(hot.Request{
//		Flavour:     flavour,
//		Instantiate: request,          // the networks and addresses of the external connection points
//		ScaleLevels: levels,
//		Images:      glanceIDs,        // of flavour.Images(), once they are uploaded
//		Flavors:     flavorNames,      // chosen with hot.ChooseFlavor, or granted
//	})
//
// An operation that changes the VNF translates again with the new scale levels or connections, and updates the stack.
//
// # What becomes what
//
// Resources have the names of the node templates, in the innermost template that makes them, so that what Heat reports is
// found in the VNFD again.
//
//   - Vdu.Compute: OS::Nova::Server; without a flavor to use, OS::Nova::Flavor "<vdu>_flavor" (which Nova lets only
//     administrators make, by default).
//   - VduCp: OS::Neutron::Port, unless the request gives an existing port.
//   - VnfVirtualLink: OS::Neutron::Net, and "<link>_subnet" for each of its subnets ("<link>_subnet2" and on), unless
//     the request gives an existing network.
//   - Vdu.VirtualBlockStorage: OS::Cinder::Volume and "<storage>_attachment", or the boot volume of a VDU without an image.
//   - Affinity and anti-affinity rules of scope nfvi_node: OS::Nova::ServerGroup of the rule's name, or "<rule>_<group>".
//   - A scaling aspect: OS::Heat::AutoScalingGroup of its name with members "<aspect>.hot.yaml", and the policies
//     "<aspect>_scale_out" and "<aspect>_scale_in" if all steps are of the same size. A member holds one of each VDU of the
//     aspect, or as many as keep their proportion.
//   - A VDU that has not exactly one instance and no aspect: OS::Heat::ResourceGroup "<vdu>_group".
//
// What depends on the request comes as the parameter nfv, {VDU: {name: {flavor, image, zone}}, CP: {name: {network,
// fixed_ips, mac_address, port}}}, which is also what templates in packages use.
//
// What the VNFD asks for and Heat cannot give is refused with [Untranslatable]; what only concerns the quality of service is
// listed in [Template].Notes.
package hot
