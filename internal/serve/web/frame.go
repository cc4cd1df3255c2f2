package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"

	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// Frame shows pages of other packages in the layout of this one.
type Frame struct{ site *site }

// Frame returns the layout for pages of other packages.
func (p *Pages) Frame() *Frame { return &Frame{newSite(p)} }

// Template reads a template that defines "main". Its data is .Page, and .Role is the user's role.
// It can use the functions and parts of the pages. Template panics if it does not parse: it is embedded, and tests execute it.
func (f *Frame) Template(files fs.FS, name string) *template.Template {
	return f.site.templates.with(files, name)
}

// Main is the main part of a page.
type Main struct {
	Status int    // required
	Title  string // required
	// Section is the address of the current navigation entry; empty for none.
	Section  string
	Template *template.Template // required
	Page     any
	// Value is what clients get that ask for JSON. Optional.
	Value any
}

// Show sends a page to a user.
func (f *Frame) Show(w http.ResponseWriter, r *http.Request, who access.Identity, m Main) {
	if m.Value != nil && wantsJSON(r) {
		f.showValue(w, r, who, m)
		return
	}
	var main bytes.Buffer
	err := m.Template.ExecuteTemplate(&main, "page", body{Page: m.Page, Role: who.Role})
	var whole []byte
	if err == nil {
		around := f.site.frame(r, who, m.Title, m.Section, main.Bytes())
		f.site.addInbox(r, who, around.Places)
		whole, err = f.site.templates.layout(around)
	}
	if err != nil {
		f.Refuse(w, r, who, fmt.Errorf("show page %q: %w", m.Title, err))
		return
	}
	setHeaders(w.Header())
	w.Header().Set("Cache-Control", "no-store") // it contains a form's token
	send(w, r, m.Status, htmlType, "", whole, nil)
}

func (f *Frame) showValue(w http.ResponseWriter, r *http.Request, who access.Identity, m Main) {
	text, err := json.Marshal(m.Value)
	if err != nil {
		f.Refuse(w, r, who, fmt.Errorf("encode page %q: %w", m.Title, err))
		return
	}
	setHeaders(w.Header())
	w.Header().Set("Cache-Control", "no-store")
	send(w, r, m.Status, "application/json", "", text, nil)
}

// Refuse sends an error page, or a problem as JSON.
func (f *Frame) Refuse(w http.ResponseWriter, r *http.Request, who access.Identity, err error) {
	setHeaders(w.Header())
	f.site.refuse(w, r, who, err)
}

// Forms protects the forms of pages with the user's session.
type Forms interface {
	// FormToken returns the token for forms; empty if no user is signed in.
	FormToken(r *http.Request) string
	// CheckForm returns an error if the form is not one of the request's session.
	CheckForm(r *http.Request) error
	// Tell stores a message for the next page.
	Tell(w http.ResponseWriter, text string)
}
