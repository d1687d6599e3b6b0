package lcm

import (
	"encoding/json"
	"log/slog"
	"regexp"
	"strings"

	"vnfm/mgmtdriver/ssh"
)

// Masked stands in place of a secret wherever somebody can read it.
const Masked = "***"

// Secret is a string that prints, logs and marshals as ***.
type Secret string

// String hides the secret from fmt.
func (Secret) String() string { return Masked }

// GoString hides the secret from %#v.
func (Secret) GoString() string { return Masked }

// LogValue hides the secret from slog.
func (Secret) LogValue() slog.Value { return slog.StringValue(Masked) }

// MarshalJSON hides the secret from JSON. What has to be stored is sealed as a string.
func (Secret) MarshalJSON() ([]byte, error) { return json.Marshal(Masked) }

// secretWords are parts of attribute names whose values nobody may read.
var secretWords = []string{
	"password", "passwd", "passphrase", "secret", "token", "credential", "private_key", "privatekey", "ssl_ca_key", "apikey", "api_key",
}

// publicNames contain one of secretWords and yet hold no secret: addresses.
var publicNames = map[string]bool{"oidc_token_url": true, "tokenendpoint": true, "token_endpoint": true}

// SecretName reports whether an attribute of that name holds a secret.
func SecretName(name string) bool {
	name = strings.ToLower(name)
	if publicNames[name] {
		return false
	}
	for _, word := range secretWords {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// Redact returns a text without the secrets that [Mask] would mask in JSON-like values.
func Redact(text string, values ...any) string { return redactor(values...).Redact(text) }

// redactor knows the secrets in JSON-like values.
func redactor(values ...any) *ssh.Redactor {
	known := &ssh.Redactor{}
	for _, value := range values {
		known.Add(secrets(value, false, nil)...)
	}
	return known
}

// secrets appends the strings under secret names, at any depth, and the passwords in URLs to found.
func secrets(value any, secret bool, found []ssh.Secret) []ssh.Secret {
	switch value := value.(type) {
	case map[string]any:
		for name, element := range value {
			found = secrets(element, secret || SecretName(name), found)
		}
	case []any:
		for _, element := range value {
			found = secrets(element, secret, found)
		}
	case string:
		if secret && value != "" {
			found = append(found, ssh.Secret(value))
		}
		for _, parts := range urlPassword.FindAllStringSubmatch(value, -1) {
			found = append(found, ssh.Secret(parts[2]))
		}
	}
	return found
}

// urlPassword finds the password in a URL, such as that of a proxy.
var urlPassword = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://[^/@:\s]*:)([^/\s]+)@`)

// Mask returns a copy of a JSON-like value in which every value under a secret name, at any depth, is replaced by ***, and so is the password
// in every URL.
func Mask(value any) any {
	switch value := value.(type) {
	case map[string]any:
		masked := make(map[string]any, len(value))
		for name, element := range value {
			if SecretName(name) && element != nil {
				masked[name] = Masked
			} else {
				masked[name] = Mask(element)
			}
		}
		return masked
	case []any:
		masked := make([]any, len(value))
		for i, element := range value {
			masked[i] = Mask(element)
		}
		return masked
	case string:
		return urlPassword.ReplaceAllString(value, "${1}"+Masked+"@")
	default:
		return value
	}
}
