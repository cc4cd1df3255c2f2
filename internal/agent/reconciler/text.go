package reconciler

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// readable is how much of a message is looked at: far more than is reported, so that no cut
// hides from [secret.Redact] what makes a credential recognisable.
const readable = 64 << 10

// message makes a text fit to report: one line, not too long, without the credentials of URLs.
func message(text string) string { return line(redact(text), hub.MaxMessage) }

// address makes a URL fit to report.
func address(url string) string { return line(redact(url), hub.MaxAddress) }

// redact takes out what hardly any text has, and looking for it takes long.
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

// folder writes a path relative to the root of the repository, which is "".
func folder(p string) string {
	return line(strings.TrimPrefix(path.Clean("/"+p), "/"), hub.MaxAddress)
}

// branch returns a branch by its name.
func branch(ref string) string { return line(strings.TrimPrefix(ref, "refs/heads/"), hub.MaxAddress) }

func tag(name string) string { return line("refs/tags/"+name, hub.MaxAddress) }

// revision writes the hash that a revision has, whoever wrote it and however, or all of it when it has none.
func revision(text string) string {
	r := comply.ParseRevision(text)
	if r.Hash != "" {
		return r.Hash
	}
	return line(r.Name, hub.MaxName)
}

// join joins the parts of a message that are not empty.
func join(parts ...string) string {
	var all []string
	for _, part := range parts {
		if part != "" {
			all = append(all, part)
		}
	}
	return strings.Join(all, "; ")
}
