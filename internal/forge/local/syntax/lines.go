package syntax

import (
	"html/template"
	"strings"

	"github.com/alecthomas/chroma/v2"
)

// writer writes parts of lines. Adjacent parts with the same class become one span.
type writer struct {
	lines []template.HTML
	line  strings.Builder
	class string
}

func (w *writer) token(t chroma.Token) {
	for i, part := range strings.Split(t.Value, "\n") {
		if i > 0 {
			w.endLine()
		}
		w.write(classOf(t.Type), part)
	}
}

// end returns all lines, including a last one without line end unless it is empty.
func (w *writer) end() []template.HTML {
	if w.line.Len() > 0 {
		w.endLine()
	}
	return w.lines
}

func (w *writer) write(class, text string) {
	if text == "" {
		return
	}
	if class != w.class {
		w.endSpan()
		if w.class = class; class != "" {
			w.line.WriteString(`<span class="` + class + `">`)
		}
	}
	w.line.WriteString(template.HTMLEscapeString(text))
}

func (w *writer) endSpan() {
	if w.class != "" {
		w.line.WriteString("</span>")
	}
	w.class = ""
}

func (w *writer) endLine() {
	w.endSpan()
	w.lines = append(w.lines, template.HTML(w.line.String())) //nolint:gosec // write escapes all text
	w.line.Reset()
}

// classOf returns the class of a token. Languages have many kinds of tokens, but readers distinguish few colors.
func classOf(t chroma.TokenType) string {
	switch {
	case t.InSubCategory(chroma.CommentPreproc), t == chroma.NameDecorator, t == chroma.NameEntity:
		return "c-meta"
	case t.InCategory(chroma.Comment):
		return "c-comment"
	case t.InCategory(chroma.Keyword), t == chroma.OperatorWord, t == chroma.GenericHeading, t == chroma.GenericSubheading:
		return "c-keyword"
	case t.InSubCategory(chroma.LiteralString):
		return "c-string"
	case t.InSubCategory(chroma.LiteralNumber), t == chroma.LiteralDate:
		return "c-number"
	case t.InSubCategory(chroma.NameFunction), t.InSubCategory(chroma.NameBuiltin), t.InSubCategory(chroma.NameVariable),
		t == chroma.NameTag, t == chroma.NameAttribute, t == chroma.NameProperty, t == chroma.NameClass, t == chroma.NameKeyword:
		return "c-name"
	}
	return ""
}
