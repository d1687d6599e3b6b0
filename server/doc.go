// Package server is the HTTP interface: ETSI NFV-SOL 003 /vnflcm/v1 and /vnfpkgm/v1, the VIM registry /v1.0/vims, and the health of
// the process.
//
// Routes are a table (routes.go) that has to be the same set as the documents of package openapi. A request passes, in this order,
// through: recovery and logging, the Version header, routing, content negotiation, validation against its document, and a handler
// that decodes it, calls one function of the domain, and writes the answer. Errors become problem documents in problem.go alone.
//
//	api, err := server.New(server.Config{Manager: manager, Vims: vims, Packages: packages, Ready: store.Ready})
//	err = api.Serve(ctx, listener)
package server
