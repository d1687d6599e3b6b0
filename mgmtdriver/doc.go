// Package mgmtdriver is the contract between the lifecycle management and the management drivers, which act on the VMs of a VNF
// before and after its resources change.
//
// A VNFD names a driver for each hook that it wants (SOL001 6.7, interface Vnflcm of the VNF node). A [Driver] answers with a list
// of [Step]s for each [Hook]; the engine of package lcm carries them out as steps of the operation, so they survive crashes, can be
// seen, and are resumed by a retry. In order of use:
//
//	drivers := mgmtdriver.Drivers{"my-driver": driver}
//	driver, err := drivers.Find(name)            // when a package is onboarded and when a request arrives
//	err = driver.Check(ctx, call)                // when a request arrives: nothing has been done yet
//	for _, step := range driver.Steps(hook) {    // in the operation
//		result, err := step.Do(ctx, call)
//	}
//
// Package drivertest checks that a driver keeps the contract.
package mgmtdriver
