package site

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	extensions "github.com/yuin/goldmark/extension/ast"
)

// dialect is GitHub's Markdown, without HTML: a document that has HTML is an error.
var dialect = goldmark.New(
	goldmark.WithExtensions(extension.GFM),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(wide{}, 1))),
)

// read parses a Markdown file, and turns its links into those of the site.
func (s *site) read(source string) error {
	content, err := fs.ReadFile(s.repository, source)
	if err != nil {
		return fmt.Errorf("read a document: %w", err)
	}
	p := &page{source: source, name: pageName(source), text: content}
	p.tree = dialect.Parser().Parse(text.NewReader(content), parser.WithContext(parser.NewContext(parser.WithIDs(anchors{}))))
	s.pages[source] = p
	err = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			s.visit(p, n)
		}
		return ast.WalkContinue, nil
	})
	if p.title == "" {
		p.title = source
	}
	return err
}

// visit takes what one node says to the page, and changes its link.
func (s *site) visit(p *page, n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		title := plain(n, p.text)
		if p.title == "" {
			p.title = title
		}
		id, _ := n.AttributeString("id")
		anchor, _ := id.([]byte)
		p.sections = append(p.sections, section{Anchor: string(anchor), Title: title, Level: n.Level})
	case *ast.Link:
		n.Destination = s.follow(p, n.Destination, false)
	case *ast.Image:
		n.Destination = s.follow(p, n.Destination, true)
	case *ast.HTMLBlock, *ast.RawHTML:
		s.errs = append(s.errs, fmt.Errorf("%s: HTML is not shown: write Markdown, or code", p.source))
	case *ast.Text:
		p.say(n.Value(p.text))
		if n.SoftLineBreak() || n.HardLineBreak() {
			p.say([]byte{' '})
		}
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		p.say(append([]byte{' '}, n.Lines().Value(p.text)...))
	default:
		if n.Type() == ast.TypeBlock {
			p.say([]byte{' '})
		}
	}
}

// say adds text to the section in which it is.
func (p *page) say(text []byte) {
	if len(p.sections) > 0 {
		p.sections[len(p.sections)-1].words.Write(text)
	}
}

// plain is the text of a node.
func plain(n ast.Node, source []byte) string {
	var out strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			out.Write(t.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return out.String()
}

// follow returns what a link is in the site. A shown file is in the site, so that no page makes a request elsewhere.
func (s *site) follow(p *page, destination []byte, shown bool) []byte {
	target, err := url.Parse(string(destination))
	if err == nil && target.IsAbs() && !shown {
		return destination
	}
	if err == nil && target.Host == "" && !target.IsAbs() {
		if target.Path == "" {
			p.links = append(p.links, link{p.source, target.Fragment})
			return destination
		}
		var to string
		if to, err = s.lead(p, path.Join(path.Dir(p.source), target.Path), target.Fragment, shown); err == nil {
			return []byte(to)
		}
	} else if err == nil {
		err = errors.New("it is not in the repository, and a page requests nothing else")
	}
	s.errs = append(s.errs, fmt.Errorf("%s: link to %s: %w", p.source, destination, err))
	return destination
}

// lead returns the link from a page to a file or folder of the repository.
func (s *site) lead(p *page, name, fragment string, shown bool) (string, error) {
	info, err := fs.Stat(s.repository, name)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		readme := path.Join(name, "README.md")
		if _, err := fs.Stat(s.repository, readme); err != nil {
			return s.Source + "/tree/" + s.Ref + "/" + name, nil
		}
		name = readme
	}
	hash := ""
	if fragment != "" {
		hash = "#" + fragment
	}
	switch {
	case isPage(name):
		s.queue = append(s.queue, name)
		if fragment != "" {
			p.links = append(p.links, link{name, fragment})
		}
		return relative(p.name, pageName(name)) + hash, nil
	case shown || strings.HasPrefix(name, docs+"/"):
		if s.assets[name], err = fs.ReadFile(s.repository, name); err != nil {
			return "", err
		}
		return relative(p.name, name), nil
	default:
		return s.blob(name) + hash, nil
	}
}

// blob is the address of a file on the forge.
func (s *site) blob(name string) string { return s.Source + "/blob/" + s.Ref + "/" + name }

// relative is the link from one file of the site to another.
func relative(from, to string) string {
	a, b := strings.Split(from, "/"), strings.Split(to, "/")
	for len(a) > 1 && len(b) > 1 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	return strings.Repeat("../", len(a)-1) + strings.Join(b, "/")
}

func (p *page) html() (template.HTML, error) {
	var out bytes.Buffer
	if err := dialect.Renderer().Render(&out, p.text, p.tree); err != nil {
		return "", err
	}
	return template.HTML(out.String()), nil //nolint:gosec // goldmark escapes, and documents have no HTML
}

// anchors gives headings the anchors that GitHub gives them, each only once.
type anchors map[string]int

// Generate returns the anchor of a heading.
func (a anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	slug := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsMark(r), unicode.IsNumber(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(unmarked(string(value))))
	n, taken := a[slug]
	a[slug] = n + 1
	if taken {
		slug += "-" + strconv.Itoa(n)
	}
	return []byte(slug)
}

// unmarked is a heading without the destinations of its links, which are not in its anchor.
func unmarked(heading string) string {
	for {
		begin := strings.Index(heading, "](")
		if begin < 0 {
			return heading
		}
		end := strings.IndexByte(heading[begin:], ')')
		if end < 0 {
			return heading
		}
		heading = heading[:begin] + heading[begin+end+1:]
	}
}

// Put takes an anchor that a document sets itself.
func (a anchors) Put(value []byte) { a[string(value)]++ }

// wide renders tables and code in boxes that scroll by themselves, also with the keyboard.
type wide struct{}

// RegisterFuncs handles tables and code.
func (wide) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(extensions.KindTable, func(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
		markup := "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"table\"><table>\n"
		if !entering {
			markup = "</table></div>\n"
		}
		_, err := w.WriteString(markup)
		return ast.WalkContinue, err
	})
	code := func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		_, err := w.WriteString("<pre tabindex=\"0\"><code>" + template.HTMLEscapeString(string(n.Lines().Value(source))) + "</code></pre>\n")
		return ast.WalkContinue, err
	}
	r.Register(ast.KindCodeBlock, code)
	r.Register(ast.KindFencedCodeBlock, code)
}
