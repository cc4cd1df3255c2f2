package syntax

import (
	"context"
	"html/template"
	"path"
	"strings"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
)

// Limits of highlighting, in bytes: of a text, of all texts of a page, and of a line.
const (
	MaxText = 32 << 10
	MaxPage = 256 << 10
	MaxLine = 1000
)

// maxPart is how many bytes lexers get at once, in whole lines: their time grows with its square.
// A token that spans lines, such as a comment, may lose its color where the next part begins.
const maxPart = 1024

// Painter highlights the texts of one page. It is not safe for concurrent use.
type Painter struct {
	ctx    context.Context
	room   int
	lexers map[string]chroma.Lexer // by file name; nil for unknown languages
}

// New returns a painter that leaves the rest plain when the context ends.
func New(ctx context.Context) *Painter {
	return &Painter{ctx: ctx, room: MaxPage, lexers: map[string]chroma.Lexer{}}
}

// Lines returns the lines of a text as HTML, without line ends. It returns nil if the text stays plain.
func (p *Painter) Lines(file, text string) []template.HTML {
	if len(text) > min(MaxText, p.room) || hasLongLine(text) || p.ctx.Err() != nil {
		return nil
	}
	lexer := p.lexer(path.Base(file))
	if lexer == nil {
		return nil
	}
	p.room -= len(text)
	var w writer
	for _, part := range parts(text) {
		tokens, ok := p.tokens(lexer, part)
		if !ok {
			return nil
		}
		for _, t := range tokens {
			w.token(t)
		}
	}
	return w.end()
}

// parts splits a text into parts of whole lines.
func parts(text string) []string {
	var all []string
	from, to := 0, 0
	for line := range strings.Lines(text) {
		if to > from && to+len(line)-from > maxPart {
			all, from = append(all, text[from:to]), to
		}
		to += len(line)
	}
	return append(all, text[from:])
}

func hasLongLine(text string) bool {
	for line := range strings.Lines(text) {
		if len(line) > MaxLine {
			return true
		}
	}
	return false
}

// lexer finds the lexer for a file. The lookup is slow, so lexers are cached by name.
func (p *Painter) lexer(name string) chroma.Lexer {
	if known, ok := p.lexers[name]; ok {
		return known
	}
	found := lexers.Match(name)
	if path.Ext(name) == ".tpl" { // of a chart, the most common use here
		found = lexers.Get("go-text-template")
	}
	p.lexers[name] = found
	return found
}

// tokens splits a part of a text. ok is false if the tokens do not add up to the text, or if the context ended.
func (p *Painter) tokens(lexer chroma.Lexer, text string) (tokens []chroma.Token, ok bool) {
	// Iterators are documented to panic on errors.
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	next, err := lexer.Tokenise(&chroma.TokeniseOptions{State: "root"}, text)
	if err != nil {
		return nil, false
	}
	rest := text
	for t := next(); t != chroma.EOF && rest != ""; t = next() {
		if t.Value == rest+"\n" { // some lexers end the last line
			t.Value = rest
		}
		after, same := strings.CutPrefix(rest, t.Value)
		if !same || p.ctx.Err() != nil {
			return nil, false
		}
		rest = after
		tokens = append(tokens, t)
	}
	return tokens, rest == ""
}
