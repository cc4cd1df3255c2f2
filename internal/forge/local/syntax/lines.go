package syntax

import (
	"html/template"
	"strings"
)

// The classes of text.
const (
	plain   = ""
	comment = "c-comment"
	keyword = "c-keyword"
	quoted  = "c-string"
	number  = "c-number"
	name    = "c-name"
)

// writer writes parts of lines. Adjacent parts with the same class become one span.
type writer struct {
	lines []template.HTML
	line  strings.Builder
	class string
}

func (w *writer) write(class, text string) {
	for i, part := range strings.Split(text, "\n") {
		if i > 0 {
			w.endLine()
		}
		w.part(class, part)
	}
}

// end returns all lines, including a last one without line end unless it is empty.
func (w *writer) end() []template.HTML {
	if w.line.Len() > 0 {
		w.endLine()
	}
	return w.lines
}

func (w *writer) part(class, text string) {
	if text == "" {
		return
	}
	if class != w.class {
		w.endSpan()
		if w.class = class; class != plain {
			w.line.WriteString(`<span class="` + class + `">`)
		}
	}
	w.line.WriteString(template.HTMLEscapeString(text))
}

func (w *writer) endSpan() {
	if w.class != plain {
		w.line.WriteString("</span>")
	}
	w.class = plain
}

func (w *writer) endLine() {
	w.endSpan()
	w.lines = append(w.lines, template.HTML(w.line.String())) //nolint:gosec // write escapes all text
	w.line.Reset()
}
