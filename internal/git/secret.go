package git

import "github.com/kalypso-io/kalypso/internal/text/secret"

// Secret is a password or token. It does not print. The zero value is no secret.
type Secret = secret.Value

// NewSecret returns a secret with a text. An empty text is no secret.
func NewSecret(text string) Secret { return secret.New(text) }
