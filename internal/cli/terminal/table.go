package terminal

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Table aligns cells in columns, measured as a terminal shows them. It never wraps.
type Table struct {
	// Indent is written before each row.
	Indent string
	Rows   [][]Cell
}

// Cell is a piece of text and how it is painted. The text may come from a repository: the table makes it printable.
type Cell struct {
	Text  string
	paint func(string) string
}

// String is the cell outside of a table.
func (c Cell) String() string {
	text := Printable(c.Text)
	if c.paint != nil {
		text = c.paint(text)
	}
	return text
}

// Plain is a cell as it is.
func Plain(text string) Cell { return Cell{Text: text} }

// Painted is a cell in a style.
func Painted(paint func(string) string, text string) Cell { return Cell{text, paint} }

// Row adds a row. Rows may have different lengths.
func (t *Table) Row(cells ...Cell) { t.Rows = append(t.Rows, cells) }

// Write shows the rows. Columns are two spaces apart, and no line ends with a space.
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
		text := Printable(c.Text)
		gap = widths[i] - displayWidth(text) + 2
		if c.paint != nil {
			text = c.paint(text)
		}
		b.WriteString(text)
	}
	return b.String()
}

// widths returns the width of each column. The last cell of a row may be as long as it likes,
// because nothing is aligned after it.
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

// displayWidth returns the number of columns a terminal uses for s:
// two for most East Asian characters, none for marks that combine with the character before them.
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
