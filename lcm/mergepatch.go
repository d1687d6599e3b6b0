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
		if value == any(Masked) && SecretName(name) && merged[name] != nil {
			continue
		}
		if object, ok := value.(map[string]any); ok {
			former, _ := merged[name].(map[string]any)
			value = mergePatch(former, object)
		}
		merged[name] = value
	}
	return merged
}
