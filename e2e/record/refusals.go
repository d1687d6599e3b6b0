package main

import (
	"context"
	"strings"
)

// minimal is a template with one resource.
func minimal(kind string, properties string) string {
	return "heat_template_version: 2021-04-16\nresources:\n  r:\n    type: " + kind + "\n    properties: " + properties + "\n"
}

// refusals records what Heat refuses at once, without making a stack.
func (r *recorder) refusals(ctx context.Context) error {
	server := "{flavor: m1.tiny, image: cirros-0.5.2-x86_64-disk, networks: [{network: net0}]}"
	with := func(old, replacement string) object {
		return object{"template": minimal("OS::Nova::Server", strings.Replace(server, old, replacement, 1))}
	}
	for _, c := range []struct {
		name string
		body object
	}{
		{"unknown-flavor", with("m1.tiny", "nope")},
		{"unknown-image", with("cirros-0.5.2-x86_64-disk", "nope")},
		{"unknown-network", with("net0", "nope")},
		{"unknown-key", with("networks", "key_name: nope, networks")},
		{"unknown-property", with("networks", "nope: 1, networks")},
		{"missing-property", with("flavor: m1.tiny, ", "")},
		{"unknown-reference", with("{network: net0}", "{port: {get_resource: nope}}")},
		{"unknown-type", object{"template": minimal("OS::Nova::Nope", "{}")}},
		{"unknown-subnet", object{"template": minimal("OS::Neutron::Port", "{network: net0, fixed_ips: [{subnet: nope}]}")}},
		{"bad-address", object{"template": minimal("OS::Neutron::Port", "{network: net0, fixed_ips: [{ip_address: nope}]}")}},
		{"missing-file", object{"template": minimal("nope.yaml", "{}")}},
		{"nested-missing-parameter", object{
			"template": minimal("n.yaml", "{}"),
			"files":    object{"n.yaml": "heat_template_version: 2021-04-16\nparameters:\n  p: {type: string}\n"},
		}},
		{"nested-unknown-parameter", object{
			"template": minimal("n.yaml", "{nope: 1}"), "files": object{"n.yaml": "heat_template_version: 2021-04-16\n"},
		}},
		{"duplicate-name", object{"template": "heat_template_version: 2021-04-16\nparameters:\n  a: {type: string, default: x}\nresources:\n  a: {type: OS::Heat::RandomString}\n"}},
		{"missing-parameter", object{"template": "heat_template_version: 2021-04-16\nparameters:\n  p: {type: string}\n"}},
		{"unknown-parameter", object{"template": "heat_template_version: 2021-04-16\n", "parameters": object{"nope": 1}}},
		{"parameters-null", object{"template": "heat_template_version: 2021-04-16\n", "parameters": nil}},
		{"parameter-not-json", object{"template": "heat_template_version: 2021-04-16\nparameters:\n  p: {type: json}\n", "parameters": object{"p": "{"}}},
		{"parameter-not-number", object{"template": "heat_template_version: 2021-04-16\nparameters:\n  p: {type: number}\n", "parameters": object{"p": "x"}}},
		{"parameter-out-of-range", object{
			"template":   "heat_template_version: 2021-04-16\nparameters:\n  p: {type: number, constraints: [{range: {min: 1, max: 3}}]}\n",
			"parameters": object{"p": 4},
		}},
		{"bad-version", object{"template": "heat_template_version: 2012-01-01\n"}},
		{"no-version", object{"template": "resources: {}\n"}},
		{"unknown-section", object{"template": "heat_template_version: 2021-04-16\nnope: {}\n"}},
		{"undeclared-parameter", object{"template": minimal("OS::Heat::Value", "{value: {get_param: nope}}")}},
		{"not-yaml", object{"template": "a: [\n"}},
		{"not-a-map", object{"template": "just text"}},
		{"no-template", object{}},
		{"bad-timeout", object{"template": "heat_template_version: 2021-04-16\n", "timeout_mins": "x"}},
	} {
		c.body["stack_name"] = "rec-refused"
		if _, err := r.rec(ctx, "heat-refused-"+c.name, 400, "orchestration", "POST", "/stacks", c.body); err != nil {
			return err
		}
	}
	if err := r.refusedForms(ctx); err != nil {
		return err
	}
	return r.acceptedAtFirst(ctx, with)
}

// refusedForms records bodies that are wrong before the template is looked at, and the template that makes Heat itself fail.
func (r *recorder) refusedForms(ctx context.Context) error {
	circle := "heat_template_version: 2021-04-16\nresources:\n  a: {type: OS::Heat::RandomString, depends_on: b}\n  b: {type: OS::Heat::RandomString, depends_on: a}\n"
	if _, err := r.rec(ctx, "heat-refused-circular", 500, "orchestration", "POST", "/stacks", object{"stack_name": "rec-refused", "template": circle}); err != nil {
		return err
	}
	empty := "heat_template_version: 2021-04-16\n"
	for _, c := range []struct {
		name string
		body any
	}{
		{"no-name", object{"template": empty}}, {"bad-name", object{"stack_name": "1 x", "template": empty}}, {"not-json", "{"}, {"json-list", "[]"},
	} {
		if _, err := r.rec(ctx, "heat-refused-"+c.name, 400, "orchestration", "POST", "/stacks", c.body); err != nil {
			return err
		}
	}
	return nil
}

// acceptedAtFirst records what Heat finds out only when it makes the nested stack.
func (r *recorder) acceptedAtFirst(ctx context.Context, with func(old, replacement string) object) error {
	body := object{"stack_name": "rec-nested-unknown-flavor", "template": minimal("n.yaml", "{}"), "files": object{"n.yaml": with("m1.tiny", "nope")["template"]}}
	if err := r.failedStack(ctx, "nested-unknown-flavor", body); err != nil {
		return err
	}
	return r.accepted(ctx)
}

// accepted records the smallest stack there can be, the validation of a template, and what a member without the role admin may not do.
func (r *recorder) accepted(ctx context.Context) error {
	template := "heat_template_version: 2021-04-16\nparameters:\n  p: {type: string, default: x, description: a text}\n"
	if _, err := r.rec(ctx, "heat-template-validate", 200, "orchestration", "POST", "/validate", object{"template": template}); err != nil {
		return err
	}
	x, err := r.rec(ctx, "heat-empty-stack-create", 201, "orchestration", "POST", "/stacks", object{"stack_name": "rec-empty", "template": template})
	if err != nil {
		return err
	}
	path := "/stacks/rec-empty/" + x.str("stack", "id")
	if _, err := r.settled(ctx, path); err != nil {
		return err
	}
	if _, err := r.get(ctx, "heat-empty-stack-show", "orchestration", path); err != nil {
		return err
	}
	if err := r.discard(ctx, path); err != nil {
		return err
	}
	others := &recorder{client: &client{authURL: r.authURL}, dir: r.dir, names: r.names}
	if err := others.login(ctx, member); err != nil {
		return err
	}
	_, err = others.rec(ctx, "heat-refused-not-authorized", 403, "orchestration", "POST", "/stacks", object{
		"stack_name": "rec-refused", "template": minimal("OS::Cinder::VolumeType", "{name: rec-type}"),
	})
	r.surprises = append(r.surprises, others.surprises...)
	return err
}
