package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// table aligns cells in columns, measured as a terminal shows them. It never wraps.
type table struct {
	// indent is written before each row.
	indent string
	rows   [][]cell
}

// cell is a piece of text and how it is painted. The text may come from a repository: the table makes it printable.
type cell struct {
	text  string
	paint func(string) string
}

// String is the cell outside of a table.
func (c cell) String() string {
	text := printable(c.text)
	if c.paint != nil {
		text = c.paint(text)
	}
	return text
}

// plain is a cell as it is.
func plain(text string) cell { return cell{text: text} }

// painted is a cell in a style.
func painted(paint func(string) string, text string) cell { return cell{text, paint} }

// row adds a row. Rows may have different lengths.
func (t *table) row(cells ...cell) { t.rows = append(t.rows, cells) }

// write shows the rows. Columns are two spaces apart, and no line ends with a space.
func (t *table) write(w io.Writer) error {
	widths := t.widths()
	for _, row := range t.rows {
		if _, err := fmt.Fprintln(w, strings.TrimRight(t.line(row, widths), " ")); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) line(row []cell, widths []int) string {
	var b strings.Builder
	b.WriteString(t.indent)
	gap := 0
	for i, c := range row {
		b.WriteString(strings.Repeat(" ", gap))
		text := printable(c.text)
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
func (t *table) widths() []int {
	var widths []int
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if i < len(row)-1 {
				widths[i] = max(widths[i], displayWidth(printable(c.text)))
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
