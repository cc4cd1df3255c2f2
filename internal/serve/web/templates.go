package web

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/text/look"
	"github.com/kalypso-io/kalypso/internal/text/visible"
)

//go:embed pages
var files embed.FS

// templates has the template of each page by name. Each is parsed when it is first shown: parsing all of them takes longer than most requests.
type templates struct {
	// shared is what all pages have. It is never executed, because what was executed cannot be cloned.
	shared *template.Template
	frame  func() *template.Template
	pages  map[string]func() *template.Template
}

// parse reads the embedded templates. Tests execute each of them.
func parse(p *Pages) templates {
	shared := template.Must(look.Add(template.New("layout.html").Funcs(functions(p)).Option("missingkey=error")).
		ParseFS(files, "pages/layout.html", "pages/parts.html", "pages/needs.html"))
	t := templates{shared: shared, pages: map[string]func() *template.Template{}}
	t.frame = sync.OnceValue(func() *template.Template { return template.Must(shared.Clone()) })
	names := []string{"failure"}
	for _, one := range routes {
		names = append(names, one.name)
	}
	for _, name := range names {
		t.pages[name] = sync.OnceValue(func() *template.Template { return t.with(files, path.Join("pages", name, "page.html")) })
	}
	return t
}

// with returns what all pages have, with a template.
func (t templates) with(files fs.FS, name string) *template.Template {
	return template.Must(template.Must(t.shared.Clone()).ParseFS(files, name))
}

// main renders the main part of a page. It completes before anything is sent, so that no page is cut off.
func (t templates) main(name string, data body) ([]byte, error) {
	var out bytes.Buffer
	if err := t.pages[name]().ExecuteTemplate(&out, "page", data); err != nil {
		return nil, fmt.Errorf("show page %q: %w", name, err)
	}
	return markInvisible(&out), nil
}

// markInvisible marks characters that browsers do not show in a rendered page, such as bidirectional controls,
// so that no text can mislead its reader.
func markInvisible(made *bytes.Buffer) []byte { return []byte(visible.Text(made.String())) }

// layout renders the whole page.
func (t templates) layout(data frame) ([]byte, error) {
	var out bytes.Buffer
	if err := t.frame().ExecuteTemplate(&out, "layout.html", data); err != nil {
		return nil, fmt.Errorf("show layout: %w", err)
	}
	return markInvisible(&out), nil
}

// functions are the functions of templates.
func functions(p *Pages) template.FuncMap {
	return template.FuncMap{
		"ago":        func(t time.Time) string { return ago(p.now().Sub(t)) },
		"moment":     moment,
		"stamp":      func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"short":      short,
		"line":       line,
		"whatIf":     fleet.ReadableWhatIf,
		"links":      isLink,
		"local":      func(address string) bool { return strings.HasPrefix(address, "/") && !strings.HasPrefix(address, "//") },
		"reach":      p.repositoryURL,
		"hash":       isHash,
		"tone":       tone,
		"symbol":     symbol,
		"word":       label,
		"count":      count,
		"number":     number,
		"brief":      brief,
		"repository": repositoryName,
		"clocked":    func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05") }, // for inputs
		"clock":      func(t time.Time) string { return t.UTC().Format("15:04:05") },
		"at":         func(t time.Time) string { return t.UTC().Format("2 Jan 15:04:05") },
		"lines":      lines,
		"diffLines":  diffLines,
		"reason":     reasonOf,
		"clusterOf":  func(title string) string { name, _, _ := strings.Cut(title, "/"); return name },
		"ringActions": func() map[string]string {
			return map[string]string{"promote": "Promote", "skip": "Skip", "abort": "Abort", "rollback": "Roll back"}
		},
		"periods": func() []string { return figuresDays },
		"lasting": func(seconds float64) string { return duration(time.Duration(seconds * float64(time.Second))) },
		"percent": func(part float64) string { return fmt.Sprintf("%.0f%%", part*100) },
	}
}
