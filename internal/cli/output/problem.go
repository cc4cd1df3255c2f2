package output

import (
	"fmt"
	"strings"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// maxName is the longest name that says something to people; messages quote longer ones in part.
const maxName = 63

// Sentence says what is wrong with what: most messages leave out the object they are about.
func Sentence(p fleet.Problem) string {
	if p.Object.Name == "" || len(p.Object.Name) > maxName || mentions(p.Message, p.Object.Name) {
		return p.Message
	}
	return fmt.Sprintf("%s %s: %s", p.Object.Kind, p.Object.Name, p.Message)
}

// mentions reports whether a text has a name in it as a word of its own, not as a part of a path or of another name.
func mentions(text, name string) bool {
	for {
		before, after, found := strings.Cut(text, name)
		if !found {
			return false
		}
		if !strings.ContainsAny(last(before), wordBytes) && !strings.ContainsAny(first(after), wordBytes+"/") {
			return true
		}
		text = after
	}
}

const wordBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

func first(s string) string { return s[:min(1, len(s))] }

func last(s string) string { return s[max(0, len(s)-1):] }

// SeverityCell names how bad a problem is.
func SeverityCell(s terminal.Style, severity fleet.Severity) terminal.Cell {
	switch severity {
	case fleet.SeverityError:
		return terminal.Painted(s.Red, "error")
	case fleet.SeverityWarning:
		return terminal.Painted(s.Yellow, "warning")
	default:
		return terminal.Painted(s.Dim, "notice")
	}
}

// At is where something is, in brackets and apart from what is said about it.
func At(p fleet.Position) string {
	if p.File == "" {
		return ""
	}
	return "  (" + Where(p) + ")"
}

// Where names a place, and its repository unless that is the control plane.
func Where(p fleet.Position) string {
	if IsElsewhere(p.Source) {
		return p.Source + ": " + p.String()
	}
	return p.String()
}

// Placed says where something is. A message that names the file already only gets the line.
func Placed(message string, p fleet.Position) string {
	if p.File == "" || !strings.Contains(message, p.File) {
		return message + At(p)
	}
	if strings.Contains(message, p.String()) {
		return message
	}
	return strings.Replace(message, p.File, p.String(), 1)
}

// IsElsewhere tells another repository from a branch of the control plane, which is called by its name alone.
func IsElsewhere(source string) bool {
	return strings.HasPrefix(source, ".") || strings.HasPrefix(source, "/") || strings.Contains(source, ":")
}
