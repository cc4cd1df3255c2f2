package git

import (
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
)

// Secret is a password or token. It does not print, in no format; convert it to string where it is sent.
type Secret string

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
	urlQuery   = regexp.MustCompile(`(://[^\s"'?]*)\?[^\s"']*`)
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
	for _, s := range secrets {
		// A very short secret would garble the text and is none worth the name.
		if len(s) < 4 {
			continue
		}
		for _, spelling := range []string{string(s), url.QueryEscape(string(s)), url.PathEscape(string(s))} {
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
