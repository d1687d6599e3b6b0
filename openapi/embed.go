// Package openapi holds the OpenAPI 3.0 documents of the interfaces: the single source of their routes, of the types in
// package api, and of the validation of requests and, in tests, of responses.
//
// The documents refer to each other by file name, so they are loaded from [Files]:
//
//	loader := openapi3.NewLoader()
//	loader.IsExternalRefsAllowed = true
//	loader.ReadFromURIFunc = func(_ *openapi3.Loader, location *url.URL) ([]byte, error) {
//		return openapi.Files.ReadFile(location.Path)
//	}
//	document, err := loader.LoadFromURI(&url.URL{Path: "vnflcm.yaml"})
package openapi

import "embed"

// Files are the documents.
//
//go:embed *.yaml
var Files embed.FS

// Documents returns the names of the documents that have paths, in the order of the interfaces: VNF package management and VNF
// lifecycle management (SOL003 10 and 5), the VIM registry, health, the documents themselves.
func Documents() []string {
	return []string{"vnfpkgm.yaml", "vnflcm.yaml", "vims.yaml", "audit.yaml", "health.yaml", "documents.yaml"}
}
