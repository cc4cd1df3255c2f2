package web

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"

	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// Frame shows what handlers of other packages make, as one of the pages.
type Frame struct{ site *site }

// Frame returns the frame of the pages.
func (p *Pages) Frame() *Frame { return &Frame{newSite(p)} }

// Template reads the template of a main part, which defines "main" and sees a page as .Page and the role of who looks as .Role.
// It has the words and parts of the pages, and panics when it does not parse: it is embedded, and tests execute it.
// Read all templates before the first page is shown.
func (f *Frame) Template(files fs.FS, name string) *template.Template {
	return template.Must(template.Must(f.site.templates.frame.Clone()).ParseFS(files, name))
}

// Main is the main part of a page.
type Main struct {
	Status int    // required
	Title  string // required
	// Section is the address of the place in the navigation that it belongs to; empty for none.
	Section  string
	Template *template.Template // required
	Page     any
}

// Show sends a page to somebody.
func (f *Frame) Show(w http.ResponseWriter, r *http.Request, who access.Identity, m Main) {
	var main bytes.Buffer
	err := m.Template.ExecuteTemplate(&main, "page", body{Page: m.Page, Role: who.Role})
	var whole []byte
	if err == nil {
		whole, err = f.site.templates.layout(f.site.frame(r, who, m.Title, m.Section, main.Bytes()))
	}
	if err != nil {
		f.Refuse(w, r, who, fmt.Errorf("show page %q: %w", m.Title, err))
		return
	}
	setHeaders(w.Header())
	w.Header().Set("Cache-Control", "no-store") // it has the token of a form
	send(w, r, m.Status, htmlType, "", whole, nil)
}

// Refuse says what is wrong, as every page does.
func (f *Frame) Refuse(w http.ResponseWriter, r *http.Request, who access.Identity, err error) {
	setHeaders(w.Header())
	f.site.refuse(w, r, who, err)
}
