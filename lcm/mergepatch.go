package lcm

import "maps"

// mergePatch applies a JSON merge patch to an object (RFC 7396): null removes an attribute, objects are merged. What a client gives back
// of a secret as it was shown, ***, leaves the secret as it is.
func mergePatch(target, patch map[string]any) map[string]any {
	merged := maps.Clone(target)
	if merged == nil {
		merged = map[string]any{}
	}
	for name, value := range patch {
		if value == nil {
			delete(merged, name)
			continue
		}
		if repeated(name, value) && merged[name] != nil {
			continue
		}
		switch given := value.(type) {
		case map[string]any:
			former, _ := merged[name].(map[string]any)
			value = mergePatch(former, given)
		case []any: // replaces the former one
			value = withSecrets(given, merged[name])
		}
		merged[name] = value
	}
	return merged
}

// repeated reports whether a value is a secret as it was shown.
func repeated(name string, value any) bool { return value == any(Masked) && SecretName(name) }

// withSecrets returns what replaces a former value with the secrets put back that it repeats in the same place.
func withSecrets(value, former any) any {
	switch value := value.(type) {
	case map[string]any:
		known, _ := former.(map[string]any)
		whole := make(map[string]any, len(value))
		for name, element := range value {
			if repeated(name, element) && known[name] != nil {
				whole[name] = known[name]
			} else {
				whole[name] = withSecrets(element, known[name])
			}
		}
		return whole
	case []any:
		known, _ := former.([]any)
		whole := make([]any, len(value))
		for i, element := range value {
			if i < len(known) {
				element = withSecrets(element, known[i])
			}
			whole[i] = element
		}
		return whole
	}
	return value
}
