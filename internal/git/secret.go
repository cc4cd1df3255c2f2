package git

import (
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
)

// Secret is a password or token. It does not print, in no format and at no depth of other values; the zero value is none.
type Secret struct {
	// A pointer, because fmt prints strings in unexported fields whatever methods their type has.
	text *string
}

// NewSecret hides a text; an empty one is no secret.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&text}
}

// Reveal returns the text, to be sent to where it belongs.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s.text == nil }

const hidden = "***"

// Format writes "***" for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// String returns "***".
func (s Secret) String() string { return hidden }

// MarshalText returns "***", for JSON and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// What follows "//" up to the last "@" before the path is user information: a password may itself contain an "@".
// A query may carry a token whatever its name, so nothing of it is shown.
var (
	userInfo   = regexp.MustCompile(`//[^/\s"']*@`)
	urlQuery   = regexp.MustCompile(`(://[^\s"'?#]*)[?#][^\s"']*`)
	userOfHost = regexp.MustCompile(`^[^/@\s]*:[^/@]*@`)
)

// Redact returns a URL, or any text with URLs in it, without user information and queries.
// The user of host:path forms ("git@host:path") stays: it is a name everybody knows.
func Redact(text string) string {
	text = userInfo.ReplaceAllString(text, "//")
	text = urlQuery.ReplaceAllString(text, "$1")
	if !strings.Contains(text, "//") {
		text = userOfHost.ReplaceAllString(text, "")
	}
	return text
}

// scrub makes the text of somebody else's error safe to show: on one line, not too long, without URLs' credentials
// and without the given secrets in any spelling in which they travel.
func scrub(text string, secrets ...Secret) string {
	for _, secret := range secrets {
		s := secret.Reveal()
		// A very short secret would garble the text and is none worth the name.
		if len(s) < 4 {
			continue
		}
		for _, spelling := range []string{s, url.QueryEscape(s), url.PathEscape(s)} {
			text = strings.ReplaceAll(text, spelling, hidden)
		}
	}
	return shorten(printable(Redact(text)), 300)
}

// printable replaces control characters: servers' messages go to terminals.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	return strings.Join(strings.Fields(text), " ")
}

func shorten(text string, limit int) string {
	if r := []rune(text); len(r) > limit {
		return string(r[:limit]) + "..."
	}
	return text
}
