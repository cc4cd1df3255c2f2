package terminal

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Style colors text. The zero value does nothing.
type Style struct{ On bool }

// Bold is for headings.
func (s Style) Bold(text string) string { return s.paint("1", text) }

// Dim is for details.
func (s Style) Dim(text string) string { return s.paint("2", text) }

// Red is for errors and removals.
func (s Style) Red(text string) string { return s.paint("31", text) }

// Green is for success and additions.
func (s Style) Green(text string) string { return s.paint("32", text) }

// Yellow is for progress and warnings.
func (s Style) Yellow(text string) string { return s.paint("33", text) }

func (s Style) paint(code, text string) string {
	if !s.On || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Heads returns the header of a table.
func (s Style) Heads(names ...string) []Cell {
	cells := make([]Cell, len(names))
	for i, name := range names {
		cells[i] = Painted(s.Dim, name)
	}
	return cells
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// columns returns the width of the terminal w; 80 if unknown.
func columns(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}
