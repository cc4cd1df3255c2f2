package ingest

import (
	"path"
	"strings"
	"unicode/utf8"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/text/revisions"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// readable is how much of a text is looked at: more than is kept, so that no cut hides from [secret.Redact] what makes
// a credential recognisable.
const readable = 64 << 10

// message makes a text of a cluster fit to keep and to show. A text that is too long loses its middle:
// errors begin with what failed and end with the cause.
func message(text string) string {
	text = text[:min(len(text), readable)]
	if strings.ContainsAny(text, "@?#") { // hardly any text has one, and looking for credentials takes long
		text = secret.Redact(text)
	}
	return withoutMiddle(oneLine(text, readable), hub.MaxMessage)
}

// withoutMiddle cuts a text that is longer than limit bytes in the middle.
func withoutMiddle(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const mark = " ... "
	head := (limit - len(mark)) / 2
	tail := len(text) - (limit - len(mark) - head)
	for !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + mark + text[tail:]
}

// oneLine returns a text on one line, without characters that change how others are shown, cut at a limit in bytes.
func oneLine(text string, limit int) string {
	if !plain(text) {
		text = secret.Line(strings.Map(visible, text))
	}
	if len(text) <= limit {
		return text
	}
	const mark = "..."
	end := limit - len(mark)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}

// plain says whether a text is of printable ASCII, which most are.
func plain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] >= 0x7f {
			return false
		}
	}
	return true
}

// visible drops what turns the direction of text around, and makes spaces of what ends a line.
func visible(c rune) rune {
	switch {
	case c == 0x2028 || c == 0x2029:
		return ' '
	case c >= 0x202a && c <= 0x202e, c >= 0x2066 && c <= 0x2069, c == 0x200e, c == 0x200f, c == 0x061c, c == 0xfeff:
		return -1
	}
	return c
}

// folder writes a path relative to the root of the repository, which is "".
func folder(p string) string {
	return oneLine(strings.TrimPrefix(path.Clean("/"+p), "/"), hub.MaxAddress)
}

// ref returns a branch by its name.
func ref(name string) string { return oneLine(strings.TrimPrefix(name, "refs/heads/"), hub.MaxAddress) }

// revision returns the hash in a revision, in any of the forms that tools write, or all of it if it has none.
func revision(text string) string {
	r := revisions.Parse(text)
	if r.Hash != "" {
		return r.Hash
	}
	return oneLine(r.Name, hub.MaxName)
}
