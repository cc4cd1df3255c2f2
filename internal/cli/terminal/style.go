package terminal

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Style paints text. The zero value paints nothing.
type Style struct{ On bool }

// Bold is for what an answer is about.
func (s Style) Bold(text string) string { return s.paint("1", text) }

// Dim is for what is there for those who look for it.
func (s Style) Dim(text string) string { return s.paint("2", text) }

// Red is for what went wrong, and for what goes away.
func (s Style) Red(text string) string { return s.paint("31", text) }

// Green is for what is as it should be, and for what is new.
func (s Style) Green(text string) string { return s.paint("32", text) }

// Yellow is for what is under way, and for what somebody should look at.
func (s Style) Yellow(text string) string { return s.paint("33", text) }

func (s Style) paint(code, text string) string {
	if !s.On || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Heads are the names of columns.
func (s Style) Heads(names ...string) []Cell {
	cells := make([]Cell, len(names))
	for i, name := range names {
		cells[i] = Painted(s.Dim, name)
	}
	return cells
}

// IsTerminal reports whether a person watches w.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// columns returns the width of the terminal behind w; 80 when nobody knows.
func columns(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}
