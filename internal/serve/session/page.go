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

// signInView is the data of the sign-in page.
type signInView struct {
	// To is the path to return to, Form the token of the form.
	To, Form string
	// Note is an error; empty on the first visit.
	Note string
	// Who is the current user.
	Who access.Identity
	// SignOn is the address of the issuer's sign-in, Issuer its host; empty without an issuer.
	SignOn, Issuer string
}

// signOutView is the data of the sign-out page.
type signOutView struct {
	Who  access.Identity
	Form string
}

// frame is the data of the layout.
type frame struct {
	Title, Style string
	Page         any
}

// policy allows only a style sheet, fonts, images and forms of this server.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// show renders and sends a page.
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
	// Other sites must not learn the address. Forms need a referrer of the same origin.
	h.Set("Referrer-Policy", "same-origin")
	w.WriteHeader(status)
	_, _ = text.WriteTo(w) // the client may be gone
}

func (s *Sessions) broken(w http.ResponseWriter, err error) {
	s.Log.Error("sign in", "error", err)
	http.Error(w, "internal error; see the server's log", http.StatusInternalServerError)
}

// sentence capitalizes a text and adds a full stop.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + strings.TrimRight(text[size:], ".") + "."
}

func setRetryAfter(h http.Header, wait time.Duration) {
	if wait > 0 {
		h.Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	}
}
