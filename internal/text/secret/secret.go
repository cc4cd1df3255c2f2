// Package secret keeps credentials out of what people and programs read: errors, logs, pages, files.
//
// A credential is a [Value] from the moment it is read; it does not print, and is revealed only where it is sent. Text of others, which may quote a URL or a header we sent, goes through [Scrub] before it is shown.
package secret

import (
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
)

// Value is a password, token or key. It does not print, in no format and at no depth of other values.
// The zero value is none.
type Value struct {
	// A pointer, because fmt prints texts in unexported fields whatever methods their type has.
	text *string
}

// New hides a text; an empty one is no secret.
func New(text string) Value {
	if text == "" {
		return Value{}
	}
	return Value{&text}
}

// Reveal returns the text, to be sent to where it belongs.
func (v Value) Reveal() string {
	if v.text == nil {
		return ""
	}
	return *v.text
}

// IsZero reports whether there is no secret.
func (v Value) IsZero() bool { return v.text == nil }

const hidden = "***"

// Format writes "***" for every verb.
func (Value) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// String returns "***".
func (Value) String() string { return hidden }

// MarshalText returns "***", for JSON and YAML.
func (Value) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// What follows "//" up to the last "@" before the path is user information: a password may itself contain an "@".
// A query or a fragment may carry a token whatever its name, so nothing of it is shown.
var (
	userInfo   = regexp.MustCompile(`//[^/\s"']*@`)
	urlQuery   = regexp.MustCompile(`(://[^\s"'?#]*)[?#][^\s"']*`)
	userOfHost = regexp.MustCompile(`^[^/@\s]*:[^/@\s]*@`)
)

// Redact returns a URL, or any text with URLs in it, without user information, queries and fragments.
// The user of host:path forms ("git@host:path") stays: it is a name everybody knows.
func Redact(text string) string { return redact(text, "") }

// Mask is Redact for what people decide by: what is left out leaves "***" in its place, so that nobody takes the rest for the whole.
func Mask(text string) string { return redact(text, hidden) }

func redact(text, left string) string {
	user, query := left, left
	if left != "" {
		user, query = left+"@", "?"+left
	}
	text = userInfo.ReplaceAllString(text, "//"+user)
	text = urlQuery.ReplaceAllString(text, "${1}"+query)
	if !strings.Contains(text, "//") {
		text = userOfHost.ReplaceAllString(text, user)
	}
	return text
}

// shown is how many characters of somebody else's message are worth reading.
const shown = 300

// Scrub makes somebody else's text safe to show: on one line, not too long, without URLs' credentials
// and without the given secrets in any spelling in which they travel.
func Scrub(text string, secrets ...Value) string {
	for _, v := range secrets {
		s := v.Reveal()
		// A very short secret would garble the text and is none worth the name.
		if len(s) < 4 {
			continue
		}
		for _, spelling := range []string{s, url.QueryEscape(s), url.PathEscape(s)} {
			text = strings.ReplaceAll(text, spelling, hidden)
		}
	}
	return shorten(Line(Redact(text)), shown)
}

// Line returns a text on one line, without control characters, since servers' messages go to terminals.
func Line(text string) string {
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
