package web

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/web/trial"
)

// Pages shows the fleet. It must not be changed or copied once Handler was called.
type Pages struct {
	// Observer answers the questions of pages. // required
	Observer *query.Observer
	// Guard knows who is asking. // required
	Guard *access.Guard
	// Log is told what nobody else can be told. // required
	Log *slog.Logger
	// URL is where people reach the server; commands on pages name it. Empty leaves that out.
	URL string
	// Reach returns a URL that leads to a repository, of the one by which the ledger knows it, which says nothing of the
	// protocol. Nil for none better.
	Reach func(repository string) string
	// Trials plan what people want to try; nil where nothing does, and then nobody is offered to.
	Trials *trial.Desk
	// Links are further places in the navigation, such as the repositories of the local forge.
	Links []Link
	// SignIn and SignOut are the addresses of pages where browsers do that; empty where they cannot.
	SignIn, SignOut string
	// Notice returns what is said once, on the next page that somebody loads, and empty when there is nothing to say. It is called
	// before anything is sent, and may be nil.
	Notice func(w http.ResponseWriter, r *http.Request) string
	// Now tells the time; nil for the clock.
	Now func() time.Time
}

// Link is a place in the navigation.
type Link struct {
	Name, Address string
}

// Roots are the first parts of the paths that pages have. On a server with a local forge nobody's repositories have such
// an owner. The page of the fleet is at the root itself, and files of the pages are below "-".
func Roots() []string {
	return []string{
		"environments", "workloads", "clusters", "promotions", "plan", "compare", "history", "figures", "search",
	}
}

// Handler answers "/", everything below [Roots], and the files of the pages.
func (p *Pages) Handler() http.Handler {
	s := newSite(p)
	return &access.Shield{Next: s, Log: p.Log, Broken: s.broken}
}

// Register lets a mux answer with the pages. What else there is below "/" and "/-/" stays with others.
func (p *Pages) Register(mux *http.ServeMux) {
	h := p.Handler()
	mux.Handle("/{$}", h)
	for _, root := range Roots() {
		mux.Handle("/"+root, h)
		mux.Handle("/"+root+"/", h)
	}
	mux.Handle("/favicon.ico", h)
	for name := range strings.FieldsSeq(staticFiles) {
		mux.Handle("/-/"+name, h)
	}
}

func (p *Pages) now() time.Time {
	if p.Now != nil {
		return p.Now().UTC()
	}
	return time.Now().UTC()
}

// site is the pages with their routes and templates.
type site struct {
	*Pages
	mux       *http.ServeMux
	templates templates
	links     []Link
	shared    memo
}

func newSite(p *Pages) *site {
	s := &site{Pages: p, mux: http.NewServeMux(), templates: parse(p)}
	for _, l := range p.Links {
		// Whoever reached the server by another name stays there.
		s.links = append(s.links, Link{l.Name, strings.TrimPrefix(l.Address, strings.TrimSuffix(p.URL, "/"))})
	}
	s.mux.HandleFunc("GET /-/{file}", serveStatic)
	s.mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, r *http.Request) {
		r.SetPathValue("file", "kalypso.svg") // browsers look here when a page names no icon, as those of others do
		serveStatic(w, r)
	})
	for _, one := range routes {
		s.mux.HandleFunc("GET "+one.pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, one) })
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.refuse(w, r, access.Identity{}, errNoPage) })
	return s
}

// ServeHTTP implements [http.Handler].
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	s.mux.ServeHTTP(w, r)
}

// patience is how long a page waits for its answer.
const patience = 10 * time.Second

// serve shows a page to who may see it.
func (s *site) serve(w http.ResponseWriter, r *http.Request, one page) {
	who, err := s.Guard.Identify(r)
	if err == nil {
		err = who.May(access.Reader)
	}
	if err != nil {
		s.refuse(w, r, who, err)
		return
	}
	made, err := s.made(r, one, who.Role)
	if err != nil {
		s.refuse(w, r, who, err)
		return
	}
	s.answer(w, r, who, made)
}

// made is a page's answer, which all who may see the same share for a moment.
func (s *site) made(r *http.Request, one page, role access.Role) (*made, error) {
	key := string(role) + " " + r.URL.RequestURI()
	return s.shared.get(r.Context(), key, s.now, func() (*made, error) {
		// Who asked first may be gone before the others have their answer.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), patience)
		defer cancel()
		question := &question{Request: r.WithContext(ctx), role: role, now: s.now()}
		a, err := one.show(s, question)
		if err != nil {
			return nil, err
		}
		return s.templates.make(one, a, role)
	})
}
