// Package heattest is an OpenStack in one process: Keystone, Heat, Nova, Neutron, Glance and Cinder behind one port, with a state machine
// of their own instead of machines. It answers as the real services do, down to the texts of their errors (the contract test compares it
// with recordings), and it adds what a test needs: delays, faults, counters of calls and a listing of everything that exists.
//
// Start it in a test:
//
//	cloud := heattest.Start(t, heattest.Options{})          // closed at the end of the test
//	auth := gophercloud.AuthOptions{
//		IdentityEndpoint: cloud.AuthURL(),                  // http://127.0.0.1:PORT/identity/v3
//		Username:         cloud.Account().User,             // nfv_user
//		Password:         cloud.Account().Password,         // devstack
//		TenantName:       cloud.Account().Project,          // nfv
//		DomainName:       cloud.Account().Domain,           // Default
//	}
//	net0 := cloud.NetworkID("net0")                         // also SubnetID, ImageID, FlavorID
//
// or outside of one:
//
//	cloud, err := heattest.New(heattest.Options{})
//	err = cloud.Listen(ctx, "127.0.0.1:5000")               // serves until Close
//	defer cloud.Close()
//
// Time. Every resource takes Options.Delays to be created, updated or deleted; nil is DefaultDelays (a few milliseconds), an empty map
// is "at once". A delay is a timer, never a loop, so that thousands of stacks wait cheaply:
//
//	cloud.SetDelays(heattest.Delays{"": {Create: time.Second}, "OS::Nova::Server": {Create: 10 * time.Second, Delete: time.Second}})
//
// Faults. They hold for the next Times requests (0 = until ClearFaults) whose method and path match:
//
//	cloud.Inject(heattest.Fault{Method: "GET", Path: `/orchestration/`, Times: 3, Status: 503})
//	cloud.Inject(heattest.Fault{Method: "POST", Path: `/stacks$`, Times: 1, LoseReply: true})  // the stack is made, the answer is lost
//	cloud.Inject(heattest.Fault{Path: `/compute/`, Times: 1, Hang: true})                      // no answer until the client gives up
//	cloud.Inject(heattest.Fault{Method: "PUT", Path: `/file$`, Times: 1, Delay: time.Minute})  // a slow upload of an image
//	cloud.FailResource(heattest.ResourceFault{Type: "OS::Nova::Server", Action: "CREATE", Times: 1, Reason: "Message: No valid host was found. ..."})
//	cloud.SetInstanceQuota(2)                               // the third server: "Quota exceeded for instances"
//	cloud.SetDown("orchestration", true)                    // connections are closed without an answer
//	cloud.RevokeTokens()                                    // every token is unknown from now on
//
// The same over HTTP, without a token, for other processes (see ControlPath): POST and DELETE /sim/faults, POST /sim/resource-faults,
// PUT /sim/delays, PUT /sim/quota, PUT /sim/down, POST /sim/tokens/revoke, GET /sim/calls, GET /sim/inventory.
//
// Observation:
//
//	cloud.Calls()["POST /orchestration/v1/{project}/stacks"]   // how often a route was called
//	cloud.Inventory()                                          // what exists: stacks, servers, ports, volumes, ...
//	cloud.Leaks()                                              // the same without what New made; empty after a clean terminate
//	cloud.DeleteServer(id)                                     // behind the stack's back
//	cloud.DeleteStack(name)                                    // behind the back of whoever made it
//	cloud.DeleteImage(id)                                      // the same with an image of Glance
//
// Machines. With Options.VMs every ACTIVE server is a reachable machine. The predefined subnets are then loopback networks (net0 is
// 127.10.0.0/16 instead of 10.10.0.0/24, and so on), each address is reserved on this computer against other processes, and the machine
// listens on all addresses of its ports and floating IPs:
//
//	cloud := heattest.Start(t, heattest.Options{VMs: &heattest.SSHVMs{Port: 2222, User: "ubuntu", Password: "ubuntu"}})
//
// A deleted server's endpoint is closed; a healed one comes back on the same address with a new host key. Addresses of subnets which a
// stack makes itself are those of its CIDR: reachable only when that lies within 127.0.0.0/8.
//
// What differs from the real services: delays are exact; a group changes all its members at once instead of one after the other;
// user data is not wrapped for cloud-init; parsers of JSON and YAML complain in their own words; IPv6, snapshots of stacks, software
// configuration and the functions yaql, filter, make_url and contains are missing (a template that uses them is refused by name).
// Types such as OS::Neutron::Router and OS::Neutron::SecurityGroup are remembered and have no effect.
package heattest
