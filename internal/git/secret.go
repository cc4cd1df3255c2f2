package git

import (
	"fmt"

	"github.com/kalypso-io/kalypso/internal/secret"
)

// Secret is a password or token. It does not print, in no format and at no depth of other values; the zero value is none.
type Secret struct {
	// A pointer, because fmt prints strings in unexported fields whatever methods their type has.
	value *secret.Value
}

// NewSecret hides a text; an empty one is no secret.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	value := secret.Value(text)
	return Secret{&value}
}

// Reveal returns the text, to be sent to where it belongs.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return string(*s.value)
}

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s.value == nil }

// Format writes "***" for every verb.
func (Secret) Format(f fmt.State, verb rune) { secret.Value("").Format(f, verb) }

// String returns "***".
func (Secret) String() string { return secret.Value("").String() }

// MarshalText returns "***", for JSON and YAML.
func (Secret) MarshalText() ([]byte, error) { return secret.Value("").MarshalText() }

// scrub makes the text of somebody else's error safe to show; see [secret.Scrub].
func scrub(text string, secrets ...Secret) string {
	values := make([]secret.Value, len(secrets))
	for i, s := range secrets {
		values[i] = secret.Value(s.Reveal())
	}
	return secret.Scrub(text, values...)
}
