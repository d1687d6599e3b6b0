// Package lcm is the lifecycle management of VNF instances as ETSI GS NFV-SOL 003 v2.6.1, clause 5, defines it: the VNF
// instances, their operation occurrences and the VIMs they run on.
//
// Three things make it up:
//
//   - [Manager] and [VimRegistry] are what the northbound API calls: they check a request against the VNFD and the state of
//     the instance, and record an operation occurrence. They return at once.
//   - [Engine] carries operations out. An operation is an ordered list of [Step]s; the engine runs them one after the other,
//     commits each result, and can be killed at any moment: the next run goes on with the step that was not committed.
//   - The interfaces in store.go, infra.go and grant.go name what lcm needs of a database, of an infrastructure driver and of an
//     NFVO. Package store, package lcm/heat and package lcm/grant implement them.
//
// In order of use:
//
//	manager := lcm.NewManager(store, store, packages, vims, driver, drivers)
//	instance, err := manager.CreateInstance(ctx, lcm.CreateRequest{VnfdID: id})
//	operation, err := manager.Instantiate(ctx, instance.ID, request)
//	// in a worker, any number of times, in any process:
//	outcome, err := engine.Run(ctx, operation.ID)
package lcm
