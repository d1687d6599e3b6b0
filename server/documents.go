package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"

	"vnfm/api"
	"vnfm/openapi"
)

const (
	documentsPath  = "/openapi"
	sharedDocument = "shared.yaml"
	yamlExtension  = ".yaml"
)

// document is one of the OpenAPI documents.
type document struct {
	name    string // without extension
	source  []byte // YAML
	content *openapi3.T
}

// loadDocuments reads all documents, those with paths first.
func loadDocuments() ([]document, error) {
	var documents []document
	for _, file := range append(openapi.Documents(), sharedDocument) {
		loader := openapi3.NewLoader()
		loader.IsExternalRefsAllowed = true
		loader.ReadFromURIFunc = func(_ *openapi3.Loader, location *url.URL) ([]byte, error) {
			return openapi.Files.ReadFile(location.Path)
		}
		content, err := loader.LoadFromURI(&url.URL{Path: file})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		source, err := openapi.Files.ReadFile(file)
		if err != nil {
			return nil, err
		}
		documents = append(documents, document{name: file[:len(file)-len(yamlExtension)], source: source, content: content})
	}
	return documents, nil
}

func (s *Server) listDocuments(c echo.Context) error {
	list := api.DocumentList{Documents: []api.Document{}}
	for _, d := range s.validator.documents {
		info := d.content.Info
		list.Documents = append(list.Documents, api.Document{
			Name: d.name, Title: info.Title, Description: info.Description, Version: info.Version, Href: documentsPath + "/" + d.name,
		})
	}
	if accepted(c)[0] == mediaHTML {
		return writePage(c, "index", struct {
			Title string
			api.DocumentList
		}{"Interfaces of the VNF manager", list})
	}
	return c.JSON(http.StatusOK, list)
}

// readDocument answers with a document in the form that its name's extension allows and the client prefers.
func (s *Server) readDocument(c echo.Context) error {
	name := c.Param("documentName")
	extension := path.Ext(name)
	forms := map[string][]string{"": {mediaYAML, mediaJSON, mediaHTML}, yamlExtension: {mediaYAML, mediaJSON}, ".json": {mediaJSON}}[extension]
	at := slices.IndexFunc(s.validator.documents, func(d document) bool { return d.name+extension == name })
	if at < 0 || forms == nil {
		return echo.ErrNotFound
	}
	d := s.validator.documents[at]
	chosen := slices.IndexFunc(accepted(c), func(offer string) bool { return slices.Contains(forms, offer) })
	if chosen < 0 {
		return notAcceptable(forms)
	}
	switch accepted(c)[chosen] {
	case mediaHTML:
		return writePage(c, "document", pageOf(d))
	case mediaJSON:
		encoded, err := d.json()
		if err != nil {
			return err
		}
		return c.Blob(http.StatusOK, mediaJSON, encoded)
	default:
		return c.Blob(http.StatusOK, mediaYAML, d.source)
	}
}

// json is the document in JSON. What it refers to is in JSON as well.
func (d document) json() ([]byte, error) {
	encoded, err := json.Marshal(d.content)
	return bytes.ReplaceAll(encoded, []byte(yamlExtension+"#/"), []byte(".json#/")), err
}
