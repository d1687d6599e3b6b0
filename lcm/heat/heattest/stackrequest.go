package heattest

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"

	"vnfm/lcm/heat/heattest/hotlang"
)

// request is the body of a create or update.
type request struct {
	source
	body object
}

// readRequest reads template, files, environment and parameters. On an update with existing, what is missing comes from base.
func (c *Cloud) readRequest(body object, base *stack, existing bool) (*request, error) {
	req := &request{body: body}
	if existing {
		req.source = base.source
		req.given = maps.Clone(base.given)
	}
	if req.given == nil {
		req.given = map[string]any{}
	}
	if err := req.readTemplate(body); err != nil {
		return nil, err
	}
	files, given := body["files"].(object)
	if given || req.files == nil {
		req.files = map[string]string{}
	}
	for name, content := range files {
		s, isText := content.(string)
		if !isText {
			s = hotlang.PythonJSON(content)
		}
		req.files[name] = s
	}
	if err := req.readEnvironment(body["environment"]); err != nil {
		return nil, err
	}
	maps.Copy(req.given, child(body, "parameters"))
	cleared, _ := body["clear_parameters"].([]any)
	for _, name := range cleared {
		delete(req.given, hotlang.Text(name))
	}
	values, err := req.tmpl.ParameterValues(req.given, req.defaults, c.customConstraint)
	if err != nil {
		return nil, err
	}
	req.values = values
	return req, nil
}

func (req *request) readTemplate(body object) error {
	var err error
	switch t := body["template"].(type) {
	case string:
		req.tmpl, err = hotlang.Parse(t)
	case object:
		req.tmpl, err = hotlang.ParseDocument(t)
	default:
		if req.tmpl == nil {
			return heatFailure(http.StatusBadRequest, "HTTPBadRequest", "No template specified")
		}
	}
	return err
}

func (req *request) readEnvironment(given any) error {
	if s, isText := given.(string); isText {
		doc, err := hotlang.DecodeYAML(s)
		if err != nil {
			return heatFailure(http.StatusBadRequest, "HTTPBadRequest", "Environment not in valid format: "+err.Error())
		}
		given = doc
	}
	if given == nil {
		return nil
	}
	env, isMap := given.(object)
	if !isMap {
		return heatFailure(http.StatusBadRequest, "HTTPBadRequest", "Environment not in valid format: The environment is not a valid YAML mapping data type.")
	}
	maps.Copy(req.given, child(env, "parameters"))
	if defaults := child(env, "parameter_defaults"); len(defaults) > 0 {
		req.defaults = defaults
	}
	for typ, target := range child(env, "resource_registry") {
		if s, isText := target.(string); isText {
			req.registry = maps.Clone(req.registry)
			if req.registry == nil {
				req.registry = map[string]string{}
			}
			req.registry[typ] = s
		}
	}
	return nil
}

// readBody decodes a body; nil and an error otherwise.
func readBody(w http.ResponseWriter, r *http.Request) (object, error) {
	body, err := decode(w, r)
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrongType):
		return nil, malformed()
	case err != nil:
		return nil, heatFailure(http.StatusBadRequest, "HTTPBadRequest", err.Error())
	}
	return body, nil
}

// malformed is Heat's answer to JSON that is not what it expects.
func malformed() error {
	return heatFailure(http.StatusBadRequest, "HTTPBadRequest", heatExplanations[http.StatusBadRequest])
}

func checkOptions(body object) error {
	if value, given := body["timeout_mins"]; given && value != nil {
		if n, err := hotlang.Number(value); err != nil || n == 0 {
			return heatFailure(http.StatusBadRequest, "HTTPBadRequest", "Only integer is acceptable by 'timeout_mins'.")
		}
	}
	if value, given := body["parameters"]; given {
		if _, isMap := value.(object); !isMap {
			return malformed()
		}
	}
	return nil
}

func (s *stack) takeOptions(body object) {
	if minutes, given := body["timeout_mins"].(int); given {
		s.timeoutMinutes = minutes
	}
	if disable, given := body["disable_rollback"].(bool); given {
		s.disableRollback = disable
	}
	switch tags := body["tags"].(type) {
	case string:
		s.tags = strings.Split(tags, ",")
	case []any:
		s.tags = nil
		for _, t := range tags {
			s.tags = append(s.tags, hotlang.Text(t))
		}
	}
}

// asHeatFailure makes an answer of what is wrong with a request.
func asHeatFailure(err error) error {
	var f *failure
	if errors.As(err, &f) {
		return err
	}
	var invalid *hotlang.Invalid
	if errors.As(err, &invalid) {
		switch invalid.Type {
		case "CircularDependencyException": // Heat (Zed) forgets to translate this one, and the text with it
			f := heatFailure(http.StatusInternalServerError, "RemoteError", invalid.Message)
			delete(child(f.body.(object), "error"), "message")
			return f
		case "ValueError":
			return heatFailure(http.StatusBadRequest, "HTTPBadRequest", "Template not in valid format: "+invalid.Message)
		case "Forbidden":
			return heatFailure(http.StatusForbidden, invalid.Type, invalid.Message)
		}
		return heatFailure(http.StatusBadRequest, invalid.Type, invalid.Message)
	}
	return heatFailure(http.StatusBadRequest, "StackValidationFailed", err.Error())
}

var heatExplanations = map[int]string{
	http.StatusBadRequest: "The server could not comply with the request since it is either malformed or otherwise incorrect.",
	http.StatusNotFound:   "The resource could not be found.",
	http.StatusConflict:   "There was a conflict when trying to complete your request.",
	http.StatusForbidden:  "Access was denied to this resource.",

	http.StatusInternalServerError: "The server has either erred or is incapable of performing the requested operation.",
}

func heatFailure(status int, typ, message string) *failure {
	return &failure{status: status, message: message, body: object{"code": status, "title": http.StatusText(status), "explanation": heatExplanations[status],
		"error": object{"type": typ, "traceback": nil, "message": message}}}
}

func stackNotFound(name string) *failure {
	return heatFailure(http.StatusNotFound, "EntityNotFound", "The Stack ("+name+") could not be found.")
}
