// Package secret keeps credentials out of errors, logs, pages and files.
//
// A credential is a [Value] from the moment it is read; it does not print, and is revealed only where it is sent.
// Messages of other systems, which may quote a URL or a header, go through [Scrub] before they are shown.
package secret

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
)

// Value is a password, token or key. It does not print, in any format and nested in any value.
// The zero value means no secret.
type Value struct {
	// A pointer, because fmt prints strings in unexported fields regardless of methods.
	text *string
}

// New returns a secret. An empty text gives the zero value.
func New(text string) Value {
	if text == "" {
		return Value{}
	}
	return Value{&text}
}

// Reveal returns the secret in plain text. Call it only to send the secret.
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
// It keeps the user of host:path forms ("git@host:path"), which is not secret.
func Redact(text string) string { return redact(text, "") }

// Mask is like [Redact], but replaces the removed parts by "***", so that the text is recognizably incomplete.
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

// shown is the maximum length of a scrubbed message, in characters.
const shown = 300

// Scrub makes the message of another system safe to show: on one line, limited in length, without credentials in URLs,
// and without the given secrets, also URL-encoded.
func Scrub(text string, secrets ...Value) string {
	return shorten(Line(Hider(secrets...)(text)), shown)
}

// Hider returns a function that replaces credentials in a text: the given secrets in any spelling in which they travel,
// and those in URLs.
func Hider(secrets ...Value) func(text string) string {
	var pairs []string
	for _, v := range secrets {
		s := v.Reveal()
		if len(s) < 4 {
			continue // a very short secret would garble the text, and protects nothing
		}
		for _, spelling := range []string{s, url.QueryEscape(s), url.PathEscape(s), inJSON(s)} {
			pairs = append(pairs, spelling, hidden)
		}
	}
	known := strings.NewReplacer(pairs...)
	return func(text string) string { return Redact(known.Replace(text)) }
}

// inJSON returns a text as it is in a JSON string.
func inJSON(s string) string {
	quoted, err := json.Marshal(s)
	if err != nil {
		return s
	}
	return string(quoted[1 : len(quoted)-1])
}

// Line returns a text on one line, without control characters.
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
