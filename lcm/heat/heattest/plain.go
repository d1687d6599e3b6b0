package heattest

import (
	"crypto/rand"
	"math/big"
	"strings"

	"vnfm/lcm/heat/heattest/hotlang"
)

// noneKind is OS::Heat::None: takes everything, does nothing.
func noneKind() *kind {
	return &kind{
		update:     func(*Cloud, *resource, object, object) error { return nil },
		attributes: func(*Cloud, *resource) object { return object{} },
		attribute:  func(*Cloud, *resource, string, []any) (any, []any, error) { return nil, nil, nil },
	}
}

// valueKind is OS::Heat::Value.
func valueKind() *kind {
	return &kind{
		properties: map[string]property{"value": {typ: "any", required: true}, "type": {typ: "string"}},
		update:     func(*Cloud, *resource, object, object) error { return nil },
		attributes: func(_ *Cloud, r *resource) object { return object{"value": r.properties["value"]} },
	}
}

// randomStringKind is OS::Heat::RandomString; of its properties length, character_classes and sequence only length has an effect.
func randomStringKind() *kind {
	return &kind{
		properties: map[string]property{
			"length": {typ: "integer", bounded: true, least: 1, replace: true}, "character_classes": {typ: "list", replace: true},
			"character_sequences": {typ: "list", replace: true}, "salt": {typ: "string", replace: true}, "sequence": {typ: "string", replace: true},
		},
		create: func(_ *Cloud, r *resource) error {
			length, ok := r.properties["length"].(int)
			if !ok {
				length = 32
			}
			value, err := randomText(length)
			if err != nil {
				return err
			}
			r.physical, r.metadata = r.physicalName, object{"value": value}
			return nil
		},
		reference:  func(r *resource) any { return r.metadata["value"] },
		attributes: func(_ *Cloud, r *resource) object { return object{"value": hotlang.Text(r.metadata["value"])} },
	}
}

func randomText(length int) (string, error) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	var b strings.Builder
	for range length {
		i, err := rand.Int(rand.Reader, big.NewInt(int64(len(alphabet))))
		if err != nil {
			return "", err
		}
		b.WriteByte(alphabet[i.Int64()])
	}
	return b.String(), nil
}
