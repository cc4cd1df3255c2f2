package git

import "github.com/kalypso-io/kalypso/internal/text/secret"

// Secret is a password or token. It does not print; the zero value is none.
type Secret = secret.Value

// NewSecret hides a text; an empty one is no secret.
func NewSecret(text string) Secret { return secret.New(text) }
