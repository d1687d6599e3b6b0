// Package external runs management drivers that the operator of the server brings as programs of their own. A program is named in the
// server's configuration, never by a package.
//
//	drivers, err := external.Start(ctx, map[string]string{"inventory": "/opt/inventory-driver"}, external.Config{})
//
// The program is started for every call, reads one JSON document from its standard input and writes one to its standard output;
// docs/management-drivers.md describes them. It runs with the rights of the server and an environment of PATH alone, in a process
// group of its own that is killed when its time is over.
package external
