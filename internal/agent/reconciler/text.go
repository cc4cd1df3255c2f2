package reconciler

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/text/revisions"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// readable is how much of a message is processed: far more than is reported, so that the cut does not hide credentials
// from [secret.Redact].
const readable = 64 << 10

// message returns a message that can be reported: one line of limited length, without credentials.
func message(text string) string { return line(redact(text), hub.MaxMessage) }

// address returns a URL that can be reported.
func address(url string) string { return line(redact(url), hub.MaxAddress) }

// redact removes credentials. It skips texts that cannot contain any, because redaction is slow.
func redact(text string) string {
	text = text[:min(len(text), readable)]
	if !strings.ContainsAny(text, "@?#") {
		return text
	}
	return secret.Redact(text)
}

// line returns a text on one line, without control characters, cut at a limit in bytes.
func line(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	text = strings.Join(strings.Fields(text), " ")
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

// folder returns a path relative to the root of the repository, which is "".
func folder(p string) string {
	return line(strings.TrimPrefix(path.Clean("/"+p), "/"), hub.MaxAddress)
}

// branch returns the name of a branch.
func branch(ref string) string { return line(strings.TrimPrefix(ref, "refs/heads/"), hub.MaxAddress) }

func tag(name string) string { return line("refs/tags/"+name, hub.MaxAddress) }

// revision returns the hash in a revision of any format, or the whole text if there is none.
func revision(text string) string {
	r := revisions.Parse(text)
	if r.Hash != "" {
		return r.Hash
	}
	return line(r.Name, hub.MaxName)
}

// join joins the non-empty parts of a message.
func join(parts ...string) string {
	var all []string
	for _, part := range parts {
		if part != "" {
			all = append(all, part)
		}
	}
	return strings.Join(all, "; ")
}
