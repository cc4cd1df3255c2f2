package web

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/text/look"
)

// pageResult is what a page shows.
type pageResult struct {
	// title is the title of the browser's window. // required
	title string
	// value is the page as JSON. // required
	value any
	// view is the template's data; nil means value.
	view any
	// command is the equivalent command line; empty if there is none.
	command string
	// concerns are address prefixes of the API. An event with one of them means that the page may have changed.
	concerns []string
	// summary is a line that screen readers announce when it changes.
	summary string
	// to redirects; empty for no redirect.
	to string
	// status is the HTTP status; 0 means 200.
	status int
	// failed is the error to send as JSON in place of value; optional.
	failed error
	// again is when the client should reload; zero means never.
	again time.Duration
}

// renderedPage is a page that is ready to be sent.
type renderedPage struct {
	page page
	*pageResult
	// json is the value, and main the main part of the page.
	json, main []byte
	// mainZipped is main, compressed.
	mainZipped []byte
	jsonTag    string
	mainTag    string
}

// body is the data of a page's template.
type body struct {
	Page any
	Role access.Role
	// Scoped means that the user has roles in workspaces only: pages of the platform's promotions and of the past do not exist.
	Scoped bool
	// Command, Concerns and Summary are those of the pageResult.
	Command, Concerns, Summary string
}

// frame is the data of the layout.
type frame struct {
	look.Shell
	// Notice is a message that is shown once; empty for none.
	Notice string
	// Style and Script are the addresses of static files.
	Style, Script string
	Main          template.HTML
	// Tag is the ETag of the main part, for the script that keeps it up to date; empty if it never changes.
	Tag string
}

// make renders a page.
func (t templates) make(p page, a *pageResult, q *pageRequest) (*renderedPage, error) {
	m := &renderedPage{page: p, pageResult: a}
	if a.to != "" {
		return m, nil
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(a.value); err != nil {
		return nil, err
	}
	m.json, m.jsonTag = text.Bytes(), tagOf(text.Bytes())
	view := a.view
	if view == nil {
		view = a.value
	}
	main, err := t.main(p.name, body{view, q.role, q.observer.Scoped(), a.command, strings.Join(a.concerns, " "), a.summary})
	if err != nil {
		return nil, err
	}
	m.main, m.mainTag, m.mainZipped = main, tagOf(main), zipped(main)
	return m, nil
}

// tagOf returns a weak ETag: the same text is sent with and without compression.
func tagOf(text []byte) string {
	sum := sha256.Sum256(text)
	return `W/"` + hex.EncodeToString(sum[:12]) + `"`
}

func zipped(text []byte) []byte {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed) // the level exists
	_, _ = z.Write(text)                              // into memory
	_ = z.Close()
	return out.Bytes()
}

// fragmentHeader asks for the main part only.
const fragmentHeader = "Kalypso-Fragment"

// send sends a page: as JSON, as its main part only, or whole.
func (s *site) send(w http.ResponseWriter, r *http.Request, who access.Identity, m *renderedPage) {
	status := cmp.Or(m.status, http.StatusOK)
	if m.again > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(m.again.Seconds())))
	}
	switch {
	case m.to != "":
		http.Redirect(w, r, m.to, http.StatusSeeOther)
	case wantsJSON(r) && m.failed != nil:
		s.refuse(w, r, who, m.failed)
	case wantsJSON(r):
		send(w, r, status, "application/json", m.jsonTag, m.json, nil)
	case r.Header.Get(fragmentHeader) != "":
		send(w, r, http.StatusOK, htmlType, m.mainTag, m.main, m.mainZipped)
	default:
		f := s.frame(r, who, m.title, m.page.section, m.main)
		f.Tag = m.mainTag
		s.addInbox(r, who, f.Places)
		if m.again > 0 {
			w.Header().Set("Refresh", strconv.Itoa(int(m.again.Seconds())))
		}
		if s.Notice != nil {
			f.Notice = s.Notice(w, r)
		}
		whole, err := s.templates.layout(f)
		if err != nil {
			s.refuse(w, r, who, err)
			return
		}
		send(w, r, status, htmlType, "", whole, nil)
	}
}

func (s *site) frame(r *http.Request, who access.Identity, title, section string, main []byte) frame {
	f := frame{
		Shell: look.Shell{Title: line(title), Places: s.navigationOf(who, section), Search: "/search", Query: r.URL.Query().Get("q")},
		Style: look.Address("", "kalypso.css"), Script: scriptAddress(),
		Main: template.HTML(main), //nolint:gosec // a template made it
	}
	if who.Role != "" || len(who.Grants) > 0 {
		f.User, f.Role = line(who.Name), cmp.Or(string(who.Role), "in workspaces")
	}
	if who.Source == access.BySession {
		f.SignOut = s.SignOut
	} else {
		f.SignIn = s.signInFor(r)
	}
	return f
}

// navigationOf returns the navigation that a user has; section is the address of its current entry.
func (s *site) navigationOf(who access.Identity, section string) []look.Place {
	var places []look.Place
	for _, l := range slices.Concat(sectionsOf(who), s.linksOf(who)) {
		places = append(places, look.Place{Name: line(l.Name), Address: l.Address, Current: section != "" && l.Address == section})
	}
	return places
}

// signInFor returns the address to sign in and come back to r; empty if browsers cannot sign in.
func (s *site) signInFor(r *http.Request) string {
	if s.SignIn == "" || r.Method != http.MethodGet {
		return s.SignIn
	}
	return s.SignIn + "?to=" + url.QueryEscape(r.URL.RequestURI())
}

const htmlType = "text/html; charset=utf-8"

// send sends a text, compressed if the client accepts that, or 304 if the client has it already.
func send(w http.ResponseWriter, r *http.Request, status int, contentType, tag string, text, compressed []byte) {
	h := w.Header()
	if tag != "" {
		h.Set("ETag", tag)
		if strings.Contains(r.Header.Get("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	h.Set("Content-Type", contentType)
	if len(text) > 1024 && acceptsGzip(r) {
		if compressed == nil {
			compressed = zipped(text)
		}
		h.Set("Content-Encoding", "gzip")
		text = compressed
	}
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may be gone
}

func acceptsGzip(r *http.Request) bool {
	for one := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(strings.ReplaceAll(one, " ", ""), ";")
		if name == "gzip" && quality != "q=0" {
			return true
		}
	}
	return false
}

// wantsJSON reports whether Accept lists JSON before HTML.
func wantsJSON(r *http.Request) bool {
	for one := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		kind, _, _ := strings.Cut(one, ";")
		switch strings.ToLower(strings.TrimSpace(kind)) {
		case "application/json", "application/problem+json":
			return true
		case "text/html", "application/xhtml+xml":
			return false
		}
	}
	return false
}

// policy is the content security policy: nothing from other servers, nothing inline.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// setHeaders sets the headers of all pages. Pages are for one user, and browsers must ask again before they reuse one.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Vary", "Accept, Accept-Encoding, Authorization, Cookie, "+fragmentHeader)
	h.Set("Referrer-Policy", "same-origin")
}
