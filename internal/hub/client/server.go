package client

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/kalypso-io/kalypso/internal/text/secret"
	"github.com/kalypso-io/kalypso/internal/text/secret/secretfile"
)

// ParseServer parses the address of a server: an HTTP or HTTPS URL without credentials, query and fragment.
func ParseServer(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, fmt.Errorf("%q is not a server address: want a URL like https://kalypso.example.com", secret.Redact(text))
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q is more than a server address: remove credentials and query; the token belongs in a file", secret.Redact(text))
	}
	return u, nil
}

// ReadToken reads a file that holds one token and nothing else.
func ReadToken(file string) (secret.Value, error) {
	text, err := secretfile.Read(file)
	if err != nil {
		return secret.Value{}, fmt.Errorf("read the token: %w", err)
	}
	return ParseToken(string(text), file)
}

// ParseToken checks that text is one token. The error names from, where the text was found, never the text.
func ParseToken(text, from string) (secret.Value, error) {
	token := strings.TrimSpace(text)
	if token == "" {
		return secret.Value{}, fmt.Errorf("read the token: %s is empty", from)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return secret.Value{}, fmt.Errorf("read the token: %s must contain one token and nothing else", from)
	}
	return secret.New(token), nil
}
