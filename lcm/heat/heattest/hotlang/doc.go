// Package hotlang reads and evaluates the Heat Orchestration Template language as Heat (Zed) does: sections, parameters with their
// constraints, conditions and intrinsic functions, with Heat's own words in errors. It knows nothing about resource types; who evaluates
// a template gives a Scope that answers for parameters, resources, attributes and files.
//
//	tmpl, err := hotlang.Parse(text)                     // *Invalid when Heat would answer 400
//	values, err := tmpl.ParameterValues(given, nil, check)
//	props, err := tmpl.Eval(tmpl.Resources["vm"].Properties, scope)
package hotlang
