package output

import (
	"fmt"
	"strings"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// maxName bounds the name of an object in a message.
const maxName = 63

// Message returns the message of a problem with its object, unless the message names it.
func Message(p fleet.Problem) string {
	if p.Object.Name == "" || len(p.Object.Name) > maxName || mentions(p.Message, p.Object.Name) {
		return p.Message
	}
	return fmt.Sprintf("%s %s: %s", p.Object.Kind, p.Object.Name, p.Message)
}

// mentions reports whether text contains name as a separate word, not as part of a path or another name.
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

// SeverityCell returns a severity in its color.
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

// InBrackets returns a position in brackets, to be appended to a message.
func InBrackets(p fleet.Position) string {
	if p.File == "" {
		return ""
	}
	return "  (" + Position(p) + ")"
}

// Position returns file and line, with the repository unless that is the control plane.
func Position(p fleet.Position) string {
	if IsOtherRepository(p.Source) {
		return p.Source + ": " + p.String()
	}
	return p.String()
}

// WithPosition adds a position to a message. If the message names the file, only the line is added.
func WithPosition(message string, p fleet.Position) string {
	if p.File == "" || !strings.Contains(message, p.File) {
		return message + InBrackets(p)
	}
	if strings.Contains(message, p.String()) {
		return message
	}
	return strings.Replace(message, p.File, p.String(), 1)
}

// IsOtherRepository reports whether a source is another repository. Branches of the control plane are plain names.
func IsOtherRepository(source string) bool {
	return strings.HasPrefix(source, ".") || strings.HasPrefix(source, "/") || strings.Contains(source, ":")
}
