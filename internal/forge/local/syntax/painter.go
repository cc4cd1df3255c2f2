package syntax

import (
	"context"
	"html/template"
	"path"
	"strings"
)

// Limits of highlighting, in bytes: of a text, of all texts of a page, and of a line.
const (
	MaxText = 32 << 10
	MaxPage = 256 << 10
	MaxLine = 1000
)

// Painter highlights the texts of one page. It is not safe for concurrent use.
type Painter struct {
	ctx  context.Context
	room int
}

// New returns a painter that leaves the rest plain when the context ends.
func New(ctx context.Context) *Painter { return &Painter{ctx: ctx, room: MaxPage} }

// Lines returns the lines of a text as HTML, without line ends. It returns nil if the text stays plain.
func (p *Painter) Lines(file, text string) []template.HTML {
	if len(text) > min(MaxText, p.room) || hasLongLine(text) || p.ctx.Err() != nil {
		return nil
	}
	l := languageOf(path.Base(file))
	if l == nil {
		return nil
	}
	p.room -= len(text)
	var w writer
	s := scanner{language: l, rest: text, start: true}
	for s.rest != "" {
		class, n := s.next()
		w.write(class, s.rest[:n])
		s.advance(n)
	}
	return w.end()
}

func hasLongLine(text string) bool {
	for line := range strings.Lines(text) {
		if len(line) > MaxLine {
			return true
		}
	}
	return false
}
