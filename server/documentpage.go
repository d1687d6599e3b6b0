package server

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed" // for the page and its style
	"encoding/base64"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"
)

var (
	//go:embed documentpage.html
	pageSource string
	//go:embed documentpage.css
	pageStyle string

	pages = template.Must(template.New("pages").Parse(pageSource))
)

// pagePolicy lets a browser load nothing, run nothing, and take the page's own style only.
func pagePolicy() string {
	digest := sha256.Sum256([]byte(pageStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// writePage answers with a page that needs nothing but itself.
func writePage(c echo.Context, name string, shown any) error {
	var page bytes.Buffer
	err := pages.ExecuteTemplate(&page, name, map[string]any{
		"Style": template.CSS(pageStyle), //nolint:gosec // a file of ours
		"Shown": shown,
	})
	if err != nil {
		return err
	}
	header := c.Response().Header()
	header.Set(echo.HeaderContentSecurityPolicy, pagePolicy())
	header.Set(echo.HeaderXContentTypeOptions, "nosniff")
	return c.Blob(http.StatusOK, mediaHTML+"; charset=utf-8", page.Bytes())
}

// documentPage is what the page of a document shows.
type documentPage struct {
	Name, Title, Description, Version string
	Resources                         []resourceView
	Schemas                           []schemaView
}

type resourceView struct {
	Path    string
	Methods []methodView
}

type methodView struct {
	Method, ID, Description string
	Parameters              []attributeView
	Bodies                  []contentView
	Responses               []responseView
}

type responseView struct {
	Status, Description string
	Headers             []string
	Contents            []contentView
}

type contentView struct {
	MediaType string
	Type      typeView
}

type schemaView struct {
	Name, Description, Rules string
	Type                     typeView
	Attributes               []attributeView
}

// attributeView is an attribute of a data type, or a parameter of a method.
type attributeView struct {
	Name, In, Description, Rules string
	Required                     bool
	Type                         typeView
}

// typeView is a type in words, with a link if it has a name.
type typeView struct{ Text, Name, Link string }

func pageOf(d document) documentPage {
	page := documentPage{Name: d.name, Title: d.content.Info.Title, Description: d.content.Info.Description, Version: d.content.Info.Version}
	for _, path := range d.content.Paths.InMatchingOrder() {
		page.Resources = append(page.Resources, resourceOf(path, d.content.Paths.Value(path)))
	}
	slices.SortFunc(page.Resources, func(a, b resourceView) int { return cmp.Compare(a.Path, b.Path) })
	if d.content.Components == nil {
		return page
	}
	for _, name := range slices.Sorted(maps.Keys(d.content.Components.Schemas)) {
		schema := d.content.Components.Schemas[name].Value
		page.Schemas = append(page.Schemas, schemaView{
			Name: name, Description: schema.Description, Rules: rulesOf(schema), Type: typeOf(&openapi3.SchemaRef{Value: schema}),
			Attributes: attributesIn("", schema),
		})
	}
	return page
}

func resourceOf(path string, item *openapi3.PathItem) resourceView {
	resource := resourceView{Path: path}
	operations := item.Operations()
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		operation := operations[method]
		if operation == nil {
			continue
		}
		view := methodView{Method: method, ID: operation.OperationID, Description: operation.Description}
		for _, parameter := range append(slices.Clone(item.Parameters), operation.Parameters...) {
			p := parameter.Value
			view.Parameters = append(view.Parameters, attributeView{
				Name: p.Name, In: p.In, Description: p.Description, Required: p.Required, Type: typeOf(p.Schema), Rules: rulesOf(p.Schema.Value),
			})
		}
		if body := operation.RequestBody; body != nil {
			view.Bodies = contentsOf(body.Value.Content, "")
		}
		responses := operation.Responses.Map()
		for _, status := range slices.Sorted(maps.Keys(responses)) {
			view.Responses = append(view.Responses, responseOf(status, responses[status]))
		}
		resource.Methods = append(resource.Methods, view)
	}
	return resource
}

func responseOf(status string, response *openapi3.ResponseRef) responseView {
	// What a response of another document refers to is in that document.
	file, _, _ := strings.Cut(response.Ref, "#")
	view := responseView{Status: status, Contents: contentsOf(response.Value.Content, file)}
	if response.Value.Description != nil {
		view.Description = *response.Value.Description
	}
	view.Headers = slices.Sorted(maps.Keys(response.Value.Headers))
	return view
}

func contentsOf(content openapi3.Content, file string) []contentView {
	var contents []contentView
	for _, mediaType := range slices.Sorted(maps.Keys(content)) {
		schema := content[mediaType].Schema
		view := contentView{MediaType: mediaType}
		if schema != nil {
			if strings.HasPrefix(schema.Ref, "#") {
				schema = &openapi3.SchemaRef{Ref: file + schema.Ref, Value: schema.Value}
			}
			view.Type = typeOf(schema)
		}
		contents = append(contents, view)
	}
	return contents
}

// attributesIn are the attributes of an object, those of nested objects that have no name behind their own.
func attributesIn(prefix string, schema *openapi3.Schema) []attributeView {
	var attributes []attributeView
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		ref := schema.Properties[name]
		attributes = append(attributes, attributeView{
			Name: prefix + name, Description: ref.Value.Description, Required: slices.Contains(schema.Required, name),
			Type: typeOf(ref), Rules: rulesOf(ref.Value),
		})
		if inside, _ := unlisted(ref.Value); ref.Ref == "" && (inside == ref.Value || ref.Value.Items.Ref == "") {
			attributes = append(attributes, attributesIn(prefix+name+"/", inside)...)
		}
	}
	return attributes
}

// typeOf tells a type in words; one with a name is linked to.
func typeOf(ref *openapi3.SchemaRef) typeView {
	if file, name, ok := strings.Cut(ref.Ref, "#/components/schemas/"); ok {
		link := "#schema-" + name
		if file != "" {
			link = documentsPath + "/" + strings.TrimSuffix(file, yamlExtension) + link
		}
		return typeView{Name: name, Link: link}
	}
	schema := ref.Value
	switch {
	case len(schema.AllOf) > 0:
		return typeOf(schema.AllOf[0])
	case len(schema.OneOf) > 0:
		var texts []string
		for _, choice := range schema.OneOf {
			view := typeOf(choice)
			texts = append(texts, view.Text+view.Name)
		}
		return typeView{Text: strings.Join(texts, " or ")}
	case schema.Type.Is(openapi3.TypeArray):
		view := typeOf(schema.Items)
		view.Text = "list of " + view.Text
		return view
	case schema.Type == nil:
		return typeView{Text: "any"}
	case schema.Format != "":
		return typeView{Text: schema.Format}
	}
	return typeView{Text: strings.Join(schema.Type.Slice(), " or ")}
}

// rulesOf are what values have to keep to.
func rulesOf(schema *openapi3.Schema) string {
	var rules []string
	add := func(there bool, format string, values ...any) {
		if there {
			rules = append(rules, fmt.Sprintf(format, values...))
		}
	}
	for _, value := range schema.Enum {
		rules = append(rules, fmt.Sprint(value))
	}
	if len(rules) > 0 {
		rules = []string{strings.Join(rules, " | ")}
	}
	add(schema.Nullable, "or null")
	add(schema.Min != nil, "≥ %v", value(schema.Min))
	add(schema.Max != nil, "≤ %v", value(schema.Max))
	add(schema.MinLength > 0, "length ≥ %d", schema.MinLength)
	add(schema.MaxLength != nil, "length ≤ %d", value(schema.MaxLength))
	add(schema.MinItems > 0, "≥ %d elements", schema.MinItems)
	add(schema.MinProps > 0, "≥ %d attributes", schema.MinProps)
	add(schema.Pattern != "", "as %s", schema.Pattern)
	return strings.Join(rules, ", ")
}

func value[T any](pointer *T) (zero T) {
	if pointer == nil {
		return zero
	}
	return *pointer
}
