package site

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
)

// group is a part of the navigation: a section of the table of contents, with the pages that it links to.
type group struct {
	Title string
	Pages []*page
}

// Has reports whether the group has the page with this name.
func (g group) Has(name string) bool {
	return slices.ContainsFunc(g.Pages, func(p *page) bool { return p.name == name })
}

// groups reads the navigation from the table of contents.
func (s *site) groups() []group {
	p := s.pages[contents]
	if p == nil {
		return nil
	}
	first := group{Title: "Start"}
	for _, name := range []string{"README.md", contents} {
		if p := s.pages[name]; p != nil {
			first.Pages = append(first.Pages, p)
		}
	}
	groups := []group{first}
	for n := p.tree.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			if h.Level == 2 {
				groups = append(groups, group{Title: plain(h, p.text)})
			}
			continue
		}
		_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if l, ok := n.(*ast.Link); ok && entering {
				s.enter(&groups[len(groups)-1], p, string(l.Destination))
			}
			return ast.WalkContinue, nil
		})
	}
	commands := group{Title: "Commands"}
	for _, p := range s.ordered() {
		if strings.HasPrefix(p.source, docs+"/cli/") {
			commands.Pages = append(commands.Pages, p)
		}
	}
	groups = append(groups, commands)
	return slices.DeleteFunc(groups, func(g group) bool { return len(g.Pages) == 0 })
}

// enter adds the page that a link leads to, once.
func (s *site) enter(g *group, from *page, destination string) {
	destination, _, _ = strings.Cut(destination, "#")
	for _, p := range s.pages {
		if relative(from.name, p.name) == destination && !slices.Contains(g.Pages, p) {
			g.Pages = append(g.Pages, p)
		}
	}
}

// Source is the path of a page in the repository.
func (p *page) Source() string { return p.source }

// Name is the path of a page in the site.
func (p *page) Name() string { return p.name }

// Title is the first heading of a page.
func (p *page) Title() string { return p.title }

// Sections are the headings of a page below its title, down to the third level.
func (p *page) Sections() []section { return p.outline() }

func (p *page) outline() []section {
	var outline []section
	for i, h := range p.sections {
		if i > 0 && h.Level <= 3 {
			outline = append(outline, section{Anchor: h.Anchor, Title: h.Title, Level: h.Level})
		}
	}
	return outline
}

// excerptLength is how many characters of a section a search shows.
const excerptLength = 160

// index is a script that sets what the search page looks words up in. It is a script and not a document, because pages on a disk cannot
// request documents.
func (s *site) index() ([]byte, error) {
	var index struct {
		Sections [][4]string      `json:"sections"` // link, title of the page, title of the section, beginning of its text
		Lengths  []int            `json:"lengths"`  // how many different words a section has
		Words    map[string][]int `json:"words"`    // the sections that have a word, by their numbers
	}
	index.Words = map[string][]int{}
	for _, p := range s.ordered() {
		for i, h := range p.sections {
			at := p.name
			if i > 0 {
				at += "#" + h.Anchor
			}
			text := strings.Join(strings.Fields(h.words.String()), " ")
			seen := map[string]bool{}
			for _, word := range words(p.title + " " + text) {
				if !seen[word] {
					seen[word] = true
					index.Words[word] = append(index.Words[word], len(index.Sections))
				}
			}
			index.Lengths = append(index.Lengths, len(seen))
			index.Sections = append(index.Sections, [4]string{at, p.title, h.Title, excerpt(text, h.Title)})
		}
	}
	text, err := json.Marshal(index)
	if err != nil {
		return nil, err
	}
	return append(append([]byte("const searchIndex = "), text...), ";\n"...), nil
}

// excerpt is the beginning of a section's text, whose own title is left out.
func excerpt(text, title string) string {
	text = strings.TrimSpace(strings.TrimPrefix(text, title))
	if runes := []rune(text); len(runes) > excerptLength {
		text = string(runes[:excerptLength]) + "…"
	}
	return text
}

// words are the words of a text as they are looked up: lower case, letters and digits, at least two characters, at most 40.
func words(text string) []string {
	all := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	return slices.DeleteFunc(all, func(word string) bool { return len(word) < 2 || len(word) > 40 })
}
