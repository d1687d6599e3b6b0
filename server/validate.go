package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/labstack/echo/v4"
)

// validator checks requests against the OpenAPI documents. Routing is echo's: what it has matched is looked up here.
type validator struct {
	documents []document
	routes    map[string]*routers.Route // by method and echo path
}

func newValidator() (*validator, error) {
	documents, err := loadDocuments()
	if err != nil {
		return nil, err
	}
	v := &validator{documents: documents, routes: map[string]*routers.Route{}}
	for _, document := range documents {
		for path, item := range document.content.Paths.Map() {
			for method, operation := range item.Operations() {
				v.routes[method+" "+echoPath(path)] = &routers.Route{
					Spec: document.content, Path: path, PathItem: item, Method: method, Operation: operation,
				}
			}
		}
	}
	return v, nil
}

// echoPath is the path of a document as echo writes it; an artifact's path is the rest of the URI.
func echoPath(path string) string {
	elements := strings.Split(path, "/")
	for i, element := range elements {
		switch {
		case element == "{artifactPath}":
			elements[i] = "*"
		case strings.HasPrefix(element, "{"):
			elements[i] = ":" + strings.Trim(element, "{}")
		}
	}
	return strings.Join(elements, "/")
}

const bodyKey = "body"

// body is the validated JSON body of a request.
func body(c echo.Context) json.RawMessage {
	content, _ := c.Get(bodyKey).([]byte)
	return content
}

// validate checks the parameters and the body of a request that has been routed.
func (s *Server) validate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		route := s.validator.routes[matched(c)]
		if route == nil {
			return next(c)
		}
		// What Go cannot read it leaves out of the values, and a list without its filter would be the wrong answer.
		query, err := url.ParseQuery(c.Request().URL.RawQuery)
		if err != nil {
			return badRequest("the query cannot be read: " + err.Error())
		}
		input := &openapi3filter.RequestValidationInput{
			Request:     c.Request(),
			PathParams:  map[string]string{},
			QueryParams: query,
			Route:       route,
			Options:     &openapi3filter.Options{MultiError: true, SkipSettingDefaults: true, ExcludeRequestBody: true},
		}
		for i, name := range c.ParamNames() {
			if name == "*" {
				name = "artifactPath"
			}
			input.PathParams[name] = c.ParamValues()[i]
		}
		if err := readBody(c, route.Operation.RequestBody, input.Options); err != nil {
			return err
		}
		if err := openapi3filter.ValidateRequest(c.Request().Context(), input); err != nil {
			return badRequest(explain(err))
		}
		return next(c)
	}
}

// readBody reads a JSON body, so that it can be validated and then decoded. Other bodies are left to the handler as a stream.
func readBody(c echo.Context, expected *openapi3.RequestBodyRef, options *openapi3filter.Options) error {
	if expected == nil {
		return nil
	}
	content := expected.Value.Content
	mediaType := mediaTypeOf(c)
	if content[mediaType] == nil {
		types := make([]string, 0, len(content))
		for name := range content {
			types = append(types, name)
		}
		return &problem{http.StatusUnsupportedMediaType, "the body must be of the media type " + strings.Join(types, " or ")}
	}
	if mediaType != mediaJSON && mediaType != mediaMergePatch {
		return nil
	}
	request := c.Request()
	request.Body = http.MaxBytesReader(c.Response(), request.Body, maxJSONBytes)
	read, err := io.ReadAll(request.Body)
	if err != nil {
		return err
	}
	values, err := checkJSON(read)
	if err != nil {
		return badRequest("the body is not JSON: " + err.Error())
	}
	options.MultiError = values <= maxListedValues
	request.Body = io.NopCloser(bytes.NewReader(read))
	// kin-openapi decodes by the media type, and knows merge patches by another name.
	request.Header.Set(echo.HeaderContentType, mediaType)
	options.ExcludeRequestBody = false
	c.Set(bodyKey, read)
	return nil
}

const (
	maxJSONDepth  = 64
	maxJSONValues = 100_000 // each takes a hundred times the memory that it takes on the wire
	// maxListedValues is up to which number of values all mistakes are looked for, and not only the first: each takes kilobytes.
	maxListedValues = 2000
)

// checkJSON accepts exactly one JSON value without duplicate names, of which different readers take different ones. It returns of how many
// values it consists.
func checkJSON(content []byte) (values int, err error) {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	if err := checkValue(decoder, maxJSONDepth, &values); err != nil {
		if errors.Is(err, io.EOF) {
			return 0, io.ErrUnexpectedEOF
		}
		return 0, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("something follows the value at byte %d", decoder.InputOffset())
	}
	return values, nil
}

// checkValue counts what it reads in values.
func checkValue(decoder *json.Decoder, depth int, values *int) error {
	if *values++; *values > maxJSONValues {
		return fmt.Errorf("it has more than %d values", maxJSONValues)
	}
	token, err := decoder.Token()
	if err != nil {
		return err
	}
	delimiter, ok := token.(json.Delim)
	if !ok {
		return checkScalar(token, decoder)
	}
	if depth == 0 {
		return fmt.Errorf("nested deeper than %d values", maxJSONDepth)
	}
	names := map[string]bool{}
	for decoder.More() {
		if delimiter == '{' {
			token, err := decoder.Token()
			if err != nil {
				return err
			}
			name, _ := token.(string)
			if err := checkScalar(token, decoder); err != nil {
				return err
			}
			if names[name] {
				return fmt.Errorf("the name %q occurs twice in an object at byte %d", name, decoder.InputOffset())
			}
			names[name] = true
		}
		if err := checkValue(decoder, depth-1, values); err != nil {
			return err
		}
	}
	_, err = decoder.Token()
	return err
}

// checkScalar refuses the one character that PostgreSQL cannot store, and numbers that are too large.
func checkScalar(token json.Token, decoder *json.Decoder) error {
	switch token := token.(type) {
	case string:
		if strings.ContainsRune(token, 0) {
			return fmt.Errorf("the character U+0000 before byte %d cannot be stored", decoder.InputOffset())
		}
	case json.Number:
		if _, err := token.Float64(); err != nil {
			return fmt.Errorf("the number %.40s before byte %d is too large", token, decoder.InputOffset())
		}
	}
	return nil
}

// maxMistakes are as many as a client is told of at once.
const maxMistakes = 10

// explain says what is wrong with a request, each mistake with the JSON pointer of the attribute or the name of the parameter.
func explain(err error) string {
	found := mistakes(err)
	if more := len(found) - maxMistakes; more > 0 {
		found = append(found[:maxMistakes], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(found, "; ")
}

func mistakes(err error) []string {
	// errors.As would look through the error that names a parameter, at what is wrong with it.
	if several, ok := err.(openapi3.MultiError); ok { //nolint:errorlint // see above
		var found []string
		for _, one := range several {
			found = append(found, mistakes(one)...)
		}
		return found
	}
	var request *openapi3filter.RequestError
	if errors.As(err, &request) {
		switch {
		case request.Parameter != nil:
			return []string{fmt.Sprintf("%s parameter %s: %s", request.Parameter.In, request.Parameter.Name, reason(request.Err, request.Reason))}
		case request.Err != nil:
			return mistakes(request.Err)
		}
		return []string{request.Reason}
	}
	var schema *openapi3.SchemaError
	if !errors.As(err, &schema) {
		return []string{err.Error()}
	}
	var choices openapi3.MultiError
	if errors.As(schema.Origin, &choices) { // none of several forms
		return []string{strings.Join(mistakes(choices), ", or ")}
	}
	return []string{pointer(schema.JSONPointer()) + ": " + reasonOf(schema)}
}

// pointer is the JSON pointer of an attribute, RFC 6901; that of the whole would be empty.
func pointer(names []string) string {
	if len(names) == 0 {
		return "the body"
	}
	var text strings.Builder
	for _, name := range names {
		text.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	}
	return text.String()
}

func reason(err error, otherwise string) string {
	var schema *openapi3.SchemaError
	if errors.As(err, &schema) {
		return reasonOf(schema)
	}
	return otherwise
}

func reasonOf(schema *openapi3.SchemaError) string {
	if schema.Reason != "" {
		return schema.Reason
	}
	return "does not fit the rule " + schema.SchemaField
}
