package session

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kalypso-io/kalypso/internal/serve/access"
)

//go:embed pages
var files embed.FS

var templates = template.Must(template.ParseFS(files, "pages/*.html"))

// signInView is the page to sign in.
type signInView struct {
	// To is where to go afterwards, and Form the token of the form.
	To, Form string
	// Note says why this page is shown again; empty the first time.
	Note string
	// Who is signed in already.
	Who access.Identity
	// SignOn leads to the issuer at the host Issuer; empty where there is none.
	SignOn, Issuer string
}

// signOutView is the page to sign out.
type signOutView struct {
	Who  access.Identity
	Form string
}

// frame is what is around the pages.
type frame struct {
	Title, Style string
	Page         any
}

// policy lets a page do nothing but show itself and send its form.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// show sends a page, which is made completely before.
func (s *Sessions) show(w http.ResponseWriter, status int, name, title string, page any) {
	var text bytes.Buffer
	if err := templates.ExecuteTemplate(&text, name+".html", frame{title, s.Style, page}); err != nil {
		s.broken(w, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	// The issuer, and whoever a link leads to, need not know where somebody comes from. Forms need it to be told from others'.
	h.Set("Referrer-Policy", "same-origin")
	w.WriteHeader(status)
	_, _ = text.WriteTo(w) // whoever asked may be gone
}

func (s *Sessions) broken(w http.ResponseWriter, err error) {
	s.Log.Error("sign in", "error", err)
	http.Error(w, "something broke; the log of the server knows more", http.StatusInternalServerError)
}

// sentence begins with a capital letter and ends with a full stop.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + strings.TrimRight(text[size:], ".") + "."
}

func setRetryAfter(h http.Header, wait time.Duration) {
	if wait > 0 {
		h.Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	}
}
