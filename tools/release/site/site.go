// Package site makes a documentation site from the Markdown files of a repository. It starts at README.md and at the files of docs/, follows
// their links, and writes one page for each Markdown file, beside the images and data that they show. What else they link to, such as code, is
// linked on the forge, at the commit of the site.
//
// A page needs no network besides its own files, and no script. The script of the search page looks words up in an index that is made
// here; without it, that page lists all pages and their sections. Anchors are those of GitHub, so that links into a page work in both places.
//
// A link to a file or section that does not exist is an error, so that a release has no dead links. The same repository gives the same bytes.
package site

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// Options say how a site is made.
type Options struct {
	Name   string // of the project, for the head of each page
	Source string // the URL of the repository on its forge, such as https://github.com/acme/tool
	Ref    string // the commit or tag that links to other files have
	// Version is written at the end of each page; optional.
	Version string
}

// File is a file of a site. Name is its path, with slashes.
type File struct {
	Name    string
	Content []byte
}

// The folder with the documents, and the one with a list of them, by which pages are ordered.
const (
	docs     = "docs"
	contents = docs + "/README.md"
)

//go:embed page.html search.html site.css page.js search.js
var embedded embed.FS

var templates = template.Must(template.ParseFS(embedded, "*.html"))

// page is one Markdown file.
type page struct {
	source string // its path in the repository
	name   string // its path in the site
	title  string
	text   []byte
	tree   ast.Node
	// sections are the headings in their order, with the text below each.
	sections []section
	// links are those to pages, with the fragment, to be checked once all are read.
	links []link
}

type section struct {
	Anchor, Title string
	Level         int
	words         strings.Builder
}

type link struct{ page, fragment string }

// site is what is being made.
type site struct {
	Options
	repository fs.FS
	pages      map[string]*page  // by their path in the repository
	assets     map[string][]byte // by their path, which is the same in the repository and the site
	queue      []string
	errs       []error
}

// Build makes the site of a repository: its files, sorted by name. The error lists every link that leads nowhere.
func Build(repository fs.FS, o Options) ([]File, error) {
	s := &site{Options: o, repository: repository, pages: map[string]*page{}, assets: map[string][]byte{}, queue: []string{"README.md"}}
	err := fs.WalkDir(repository, docs, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && isPage(name) {
			s.queue = append(s.queue, name)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the documents: %w", err)
	}
	for len(s.queue) > 0 {
		name := s.queue[0]
		s.queue = s.queue[1:]
		if s.pages[name] != nil {
			continue
		}
		if err := s.read(name); err != nil {
			return nil, err
		}
	}
	s.checkFragments()
	if err := errors.Join(s.errs...); err != nil {
		return nil, err
	}
	return s.files()
}

func isPage(name string) bool { return strings.HasSuffix(name, ".md") }

// pageName is where a Markdown file is in the site. What a folder's README says is on the folder's first page.
func pageName(source string) string {
	folder, file := path.Split(source)
	if file == "README.md" {
		return folder + "index.html"
	}
	return strings.TrimSuffix(source, ".md") + ".html"
}

func (s *site) checkFragments() {
	for _, p := range s.ordered() {
		for _, l := range p.links {
			target := s.pages[l.page]
			if !slices.ContainsFunc(target.sections, func(h section) bool { return h.Anchor == l.fragment }) {
				s.errs = append(s.errs, fmt.Errorf("%s: link to %s#%s: no section has this anchor", p.source, l.page, l.fragment))
			}
		}
	}
}

// ordered are all pages, sorted by their path.
func (s *site) ordered() []*page {
	pages := make([]*page, 0, len(s.pages))
	for _, name := range slices.Sorted(maps.Keys(s.pages)) {
		pages = append(pages, s.pages[name])
	}
	return pages
}

func (s *site) files() ([]File, error) {
	files := []File{}
	for name, content := range s.assets {
		files = append(files, File{name, content})
	}
	groups := s.groups()
	for _, p := range s.ordered() {
		body, err := p.html()
		if err != nil {
			return nil, fmt.Errorf("render %s: %w", p.source, err)
		}
		content, err := s.execute("page.html", p.name, p.title, groups, s.around(groups, p, map[string]any{"Body": body, "Sections": p.outline(), "Edit": s.blob(p.source)}))
		if err != nil {
			return nil, err
		}
		files = append(files, File{p.name, content})
	}
	search, err := s.execute("search.html", "search.html", "Search", groups, map[string]any{"Pages": s.ordered()})
	if err != nil {
		return nil, err
	}
	index, err := s.index()
	if err != nil {
		return nil, err
	}
	files = append(files, File{"search.html", search}, File{"search-index.js", index})
	for _, name := range []string{"site.css", "page.js", "search.js"} {
		content, err := embedded.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files = append(files, File{name, content})
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return files, nil
}

// around adds the pages before and after a page, in the order of the navigation.
func (s *site) around(groups []group, at *page, data map[string]any) map[string]any {
	var before *page
	found := false
	for _, g := range groups {
		for _, p := range g.Pages {
			switch {
			case found:
				data["Next"] = p
				return data
			case p == at:
				found = true
				if before != nil {
					data["Previous"] = before
				}
			default:
				before = p
			}
		}
	}
	return data
}

// execute fills a template for the page with this name. Links in it are relative, so that a site can be in any folder, or on a disk.
func (s *site) execute(name, at, title string, groups []group, data map[string]any) ([]byte, error) {
	data["Name"], data["Title"], data["Version"], data["Groups"], data["At"] = s.Name, title, s.Version, groups, at
	data["Root"] = strings.Repeat("../", strings.Count(at, "/"))
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, name, data); err != nil {
		return nil, fmt.Errorf("write %s: %w", at, err)
	}
	return out.Bytes(), nil
}
