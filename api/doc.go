// Package api holds the types of what the interfaces send and receive, generated from the documents of package openapi.
//
// Documents that the server passes on as they are (instantiatedVnfInfo, vimConnectionInfo, resourceChanges) have the type any:
// their parts are in the OpenAPI documents but not here.
package api

//go:generate go tool oapi-codegen -config shared.gen.yaml ../openapi/shared.yaml
//go:generate go tool oapi-codegen -config vnfpkgm.gen.yaml ../openapi/vnfpkgm.yaml
//go:generate go tool oapi-codegen -config vnflcm.gen.yaml ../openapi/vnflcm.yaml
//go:generate go tool oapi-codegen -config vims.gen.yaml ../openapi/vims.yaml
//go:generate go tool oapi-codegen -config audit.gen.yaml ../openapi/audit.yaml
//go:generate go tool oapi-codegen -config health.gen.yaml ../openapi/health.yaml
//go:generate go tool oapi-codegen -config documents.gen.yaml ../openapi/documents.yaml
