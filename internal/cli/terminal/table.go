package terminal

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Table aligns cells in columns as wide as a terminal displays them. It never wraps.
type Table struct {
	// Indent is written before each row.
	Indent string
	Rows   [][]Cell
}

// Cell is a text with a color. The table makes the text printable.
type Cell struct {
	Text  string
	paint func(string) string
}

// String returns the text as printed in a table.
func (c Cell) String() string {
	text := Printable(c.Text)
	if c.paint != nil {
		text = c.paint(text)
	}
	return text
}

// Plain returns a cell without color.
func Plain(text string) Cell { return Cell{Text: text} }

// Painted returns a cell in a style.
func Painted(paint func(string) string, text string) Cell { return Cell{text, paint} }

// Row adds a row. Rows can have different lengths.
func (t *Table) Row(cells ...Cell) { t.Rows = append(t.Rows, cells) }

// Write writes the rows. Columns are two spaces apart, and no line ends with a space.
func (t *Table) Write(w io.Writer) error {
	widths := t.widths()
	for _, row := range t.Rows {
		if _, err := fmt.Fprintln(w, strings.TrimRight(t.line(row, widths), " ")); err != nil {
			return err
		}
	}
	return nil
}

func (t *Table) line(row []Cell, widths []int) string {
	var b strings.Builder
	b.WriteString(t.Indent)
	gap := 0
	for i, c := range row {
		b.WriteString(strings.Repeat(" ", gap))
		gap = widths[i] - displayWidth(Printable(c.Text)) + 2
		b.WriteString(c.String())
	}
	return b.String()
}

// widths returns the width of each column. The last cell of a row does not count, because nothing follows it.
func (t *Table) widths() []int {
	var widths []int
	for _, row := range t.Rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if i < len(row)-1 {
				widths[i] = max(widths[i], displayWidth(Printable(c.Text)))
			}
		}
	}
	return widths
}

// displayWidth returns the number of terminal columns of s: two for most East Asian characters, none for combining marks.
func displayWidth(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me):
		case isWide(r):
			n += 2
		default:
			n++
		}
	}
	return n
}

func isWide(r rune) bool {
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return true
	}
	return false
}
