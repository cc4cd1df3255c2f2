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
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// answer is what a page has to say.
type answer struct {
	// title is what the window and the history of the browser call it. // required
	title string
	// value is what observing answered: the page as JSON. // required
	value any
	// view is the data of the template, with what people need and programs do not; nil when value is enough.
	view any
	// command says the same on the command line; empty when no command does.
	command string
	// concerns are addresses of the API with which signals say that the page may be another one now: any that begins so.
	concerns []string
	// summary is one line that is read out when it changes.
	summary string
	// to is where to go instead; empty to stay.
	to string
	// status is that of a page that has no answer, or not yet; 0 means 200.
	status int
	// failed is what programs are told instead of the value; nil when there is one.
	failed error
	// again is after which time whoever asked should do so again; zero means not by itself.
	again time.Duration
}

// made is an answer that is ready to be sent.
type made struct {
	page page
	*answer
	// json is the value, and main the main part of the page.
	json, main []byte
	// mainZipped is main, compressed: what viewers fetch again and again.
	mainZipped []byte
	jsonTag    string
	mainTag    string
}

// body is what the template of a page sees.
type body struct {
	Page any
	Role access.Role
	// Command, Concerns and Summary are those of the answer.
	Command, Concerns, Summary string
}

// frame is what the layout sees.
type frame struct {
	Title    string
	Who      access.Identity
	Sections []Link
	Links    []Link
	// Section is the place of the navigation that is shown.
	Section string
	Search  string
	// SignIn and SignOut lead to where one does that; empty where one cannot.
	SignIn, SignOut string
	// Notice is what is said once; empty for nothing.
	Notice string
	// Style and Script are the addresses of the files.
	Style, Script string
	Main          template.HTML
	// Tag is the ETag of the main part, by which scripts ask whether it is another one by now; empty where it never will be.
	Tag string
}

// make turns an answer into what is sent.
func (t templates) make(p page, a *answer, role access.Role) (*made, error) {
	m := &made{page: p, answer: a}
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
	main, err := t.main(p.name, body{view, role, a.command, strings.Join(a.concerns, " "), a.summary})
	if err != nil {
		return nil, err
	}
	m.main, m.mainTag, m.mainZipped = main, tagOf(main), zipped(main)
	return m, nil
}

// tagOf is an ETag of some bytes. It is a weak one: the same text is sent compressed and not.
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

// fragmentHeader is sent by scripts that want the main part alone.
const fragmentHeader = "Kalypso-Fragment"

// answer sends a page: as JSON, as its main part alone, or whole.
func (s *site) answer(w http.ResponseWriter, r *http.Request, who access.Identity, m *made) {
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
		Title: title, Who: who, Sections: sections, Links: s.links, Section: section, Search: r.URL.Query().Get("q"),
		Style: assetAddress("kalypso.css"), Script: assetAddress("kalypso.js"),
		Main: template.HTML(main), //nolint:gosec // a template made it
	}
	if who.Source == access.BySession {
		f.SignOut = s.SignOut
	} else {
		f.SignIn = s.signInFor(r)
	}
	return f
}

// signInFor is where somebody signs in to come back here; empty where nobody can.
func (s *site) signInFor(r *http.Request) string {
	if s.SignIn == "" || r.Method != http.MethodGet {
		return s.SignIn
	}
	return s.SignIn + "?to=" + url.QueryEscape(r.URL.RequestURI())
}

const htmlType = "text/html; charset=utf-8"

// send sends a text, compressed where that is understood, or that it is the one that is at hand.
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
	_, _ = w.Write(text) // whoever asked may be gone
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

// wantsJSON reports whether a program is asking: JSON is named and comes before HTML.
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

// policy is what browsers let a page do: nothing that does not come from this server, and nothing that is written into it.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// setHeaders sets what holds for all pages. What is on them is for who asked, and may be another thing the next moment.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Vary", "Accept, Accept-Encoding, Authorization, Cookie, "+fragmentHeader)
	h.Set("Referrer-Policy", "same-origin")
}
