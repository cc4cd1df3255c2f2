package web

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"path"
	"time"

	"github.com/kalypso-io/kalypso/internal/text/visible"
)

//go:embed pages
var files embed.FS

// templates are the pages by name, each with what all of them share.
type templates struct {
	frame *template.Template
	pages map[string]*template.Template
}

// parse reads the templates. They are embedded, and tests execute each of them: one that does not parse is never built.
func parse(p *Pages) templates {
	shared := template.Must(template.New("layout.html").Funcs(functions(p)).Option("missingkey=error").
		ParseFS(files, "pages/layout.html", "pages/parts.html"))
	t := templates{frame: shared, pages: map[string]*template.Template{}}
	names := []string{"failure"}
	for _, one := range routes {
		names = append(names, one.name)
	}
	for _, name := range names {
		t.pages[name] = template.Must(template.Must(shared.Clone()).ParseFS(files, path.Join("pages", name, "page.html")))
	}
	return t
}

// main executes the main part of a page. It is executed completely before anything is sent, so that no page ends in its middle.
func (t templates) main(name string, data body) ([]byte, error) {
	var out bytes.Buffer
	if err := t.pages[name].ExecuteTemplate(&out, "page", data); err != nil {
		return nil, fmt.Errorf("show page %q: %w", name, err)
	}
	return shown(&out), nil
}

// shown is what a template made, with marks wherever it has something that browsers do not show, in whatever text that came:
// nothing on a page reads otherwise than it is.
func shown(made *bytes.Buffer) []byte { return []byte(visible.Text(made.String())) }

// layout executes what is around the main part.
func (t templates) layout(data frame) ([]byte, error) {
	var out bytes.Buffer
	if err := t.frame.ExecuteTemplate(&out, "layout.html", data); err != nil {
		return nil, fmt.Errorf("show layout: %w", err)
	}
	return shown(&out), nil
}

// functions are what templates can say.
func functions(p *Pages) template.FuncMap {
	return template.FuncMap{
		"ago":     func(t time.Time) string { return ago(p.now().Sub(t)) },
		"moment":  moment,
		"stamp":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"short":   short,
		"line":    line,
		"links":   isLink,
		"reach":   p.reach,
		"hash":    isHash,
		"tone":    tone,
		"symbol":  symbol,
		"word":    word,
		"count":   count,
		"clock":   func(t time.Time) string { return t.UTC().Format("15:04:05") },
		"at":      func(t time.Time) string { return t.UTC().Format("2 Jan 15:04:05") },
		"lines":   lines,
		"reason":  reasonOf,
		"periods": func() []string { return periods },
		"lasting": func(seconds float64) string { return lasting(time.Duration(seconds * float64(time.Second))) },
		"percent": func(part float64) string { return fmt.Sprintf("%.0f %%", part*100) },
	}
}
