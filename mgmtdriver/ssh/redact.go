package ssh

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
)

const masked = "***"

// Secret is a text that prints as ***, also in logs and in JSON. string(s) is the text itself.
type Secret string

// String implements [fmt.Stringer].
func (Secret) String() string { return masked }

// Format implements [fmt.Formatter], for every verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(masked)) }

// LogValue implements [slog.LogValuer].
func (Secret) LogValue() slog.Value { return slog.StringValue(masked) }

// MarshalJSON implements [json.Marshaler].
func (Secret) MarshalJSON() ([]byte, error) { return json.Marshal(masked) }

// leastSecret is the length below which a text is not taken for a secret: masking it would make every message unreadable.
const leastSecret = 4

// Redactor removes secrets from what people read: commands, outputs and errors. The zero value knows none; nil removes nothing. It may be used
// by many goroutines.
type Redactor struct {
	mu       sync.RWMutex
	words    []string
	replacer *strings.Replacer
}

// NewRedactor returns a redactor that knows secrets.
func NewRedactor(secrets ...Secret) *Redactor {
	r := &Redactor{}
	r.Add(secrets...)
	return r
}

// Add makes further secrets known, such as a token that a command has printed. Texts of less than 4 bytes are left out. A secret is
// recognized as it is, quoted for a shell, in JSON and in a URL, and each of its lines is, too.
func (r *Redactor) Add(secrets ...Secret) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, secret := range secrets {
		for _, line := range append(strings.Split(string(secret), "\n"), string(secret)) {
			r.words = append(r.words, forms(strings.TrimSpace(line))...)
		}
	}
	r.words = slices.DeleteFunc(r.words, func(word string) bool { return len(word) < leastSecret })
	// A secret that contains another one goes first.
	slices.SortFunc(r.words, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	r.words = slices.Compact(r.words)
	var pairs []string
	for _, word := range r.words {
		pairs = append(pairs, word, masked)
	}
	r.replacer = strings.NewReplacer(pairs...)
}

// forms are the ways in which a secret may be written.
func forms(secret string) []string {
	inJSON, _ := json.Marshal(secret) // a string always can be
	return []string{
		secret, strings.ReplaceAll(secret, "'", `'\''`), string(inJSON[1 : len(inJSON)-1]), url.QueryEscape(secret), url.PathEscape(secret),
	}
}

// Redact returns text without the secrets.
func (r *Redactor) Redact(text string) string {
	if r == nil {
		return text
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.replacer == nil {
		return text
	}
	return r.replacer.Replace(text)
}
