package local

import (
	"bytes"
	"html"
	"html/template"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	ours "github.com/kalypso-io/kalypso/internal/text/markdown"
	"github.com/kalypso-io/kalypso/internal/text/visible"
)

// markdown renders untrusted text. It keeps HTML for folding ("details", "summary"), small print ("sub") and
// line breaks, removes comments such as markers, and escapes all other HTML.
// Our own texts separate characters so that forges find no mentions. Nothing is marked there, since no mentions are parsed.
func markdown(text string) template.HTML {
	m := goldmark.New(
		goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify, extension.TaskList),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(tamedHTML{}, 1))),
	)
	var out bytes.Buffer
	if err := m.Convert([]byte(visible.Text(ours.Rejoin(text))), &out); err != nil {
		return template.HTML("<pre>" + html.EscapeString(text) + "</pre>") //nolint:gosec // escaped
	}
	return template.HTML(strings.ReplaceAll(accessible(out.String()), "\u200b", "&#8203;")) //nolint:gosec // goldmark escapes, and tamedHTML allows little
}

// headings matches the tags of headings.
var headings = regexp.MustCompile(`<(/?)h([1-6])\b`)

// accessible makes rendered Markdown fit below the first heading of a page: its own headings begin with the second level, a head of a table
// without text is no head, and tables can be scrolled with the keyboard.
func accessible(text string) string {
	least := 7
	for _, found := range headings.FindAllStringSubmatch(text, -1) {
		least = min(least, int(found[2][0]-'0'))
	}
	text = headings.ReplaceAllStringFunc(text, func(tag string) string {
		level := min(6, int(tag[len(tag)-1]-'0')-least+2)
		return tag[:len(tag)-1] + string(rune('0'+level))
	})
	return strings.NewReplacer("<th></th>", "<td></td>", "<table>", `<table tabindex="0">`).Replace(text)
}

// tamedHTML renders HTML in Markdown.
type tamedHTML struct{}

// RegisterFuncs handles both kinds of nodes that contain HTML.
func (t tamedHTML) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHTMLBlock, t.block)
	r.Register(ast.KindRawHTML, t.inline)
}

func (tamedHTML) block(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	block := n.(*ast.HTMLBlock) //nolint:errcheck,forcetypeassert // registered for this kind
	text := block.Lines().Value(source)
	if block.HasClosure() {
		text = append(text, block.ClosureLine.Value(source)...)
	}
	_, err := w.WriteString(tame(string(text)))
	return ast.WalkContinue, err
}

func (tamedHTML) inline(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkSkipChildren, nil
	}
	_, err := w.WriteString(tame(string(n.(*ast.RawHTML).Segments.Value(source)))) //nolint:errcheck,forcetypeassert // registered for this kind
	return ast.WalkSkipChildren, err
}

var (
	htmlComment = regexp.MustCompile(`(?s)<!--.*?(-->|$)`)
	harmless    = regexp.MustCompile(`</?(details|summary|sub)>|<details open>|<br ?/?>`)
)

// tame escapes all HTML except harmless elements without attributes. It removes comments.
func tame(text string) string {
	text = htmlComment.ReplaceAllString(text, "")
	var out strings.Builder
	for {
		at := harmless.FindStringIndex(text)
		if at == nil {
			return out.String() + html.EscapeString(text)
		}
		out.WriteString(html.EscapeString(text[:at[0]]))
		out.WriteString(text[at[0]:at[1]])
		text = text[at[1]:]
	}
}
