package web

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/serve/web/trial"
)

// Pages shows the fleet. It must not be changed or copied after Handler was called.
type Pages struct {
	// Observer answers queries. // required
	Observer *query.Observer
	// Guard identifies users. // required
	Guard *access.Guard
	// Log gets errors whose details users must not see. // required
	Log *slog.Logger
	// URL is the server's public address, for the commands on pages. Optional.
	URL string
	// RepositoryURL returns a URL that browsers can open for a repository, given the one in the ledger, which
	// has no protocol. Optional.
	RepositoryURL func(repository string) string
	// Browse returns the pages of a repository on its forge. Optional: without it, positions are no links.
	Browse func(repository string) forge.Browse
	// Trials plans previews. Optional: without it, pages do not offer them.
	Trials *trial.Planner
	// Open are the open pull requests, for the page of plans. Optional.
	Open *OpenPullRequests
	// Outbox has the messages about promotions. Optional: without it, there is no page of them.
	Outbox api.Outbox
	// Links are further entries of the navigation, such as the repositories of the embedded forge. Users with roles in workspaces only do
	// not have them.
	Links []Link
	// SignIn and SignOut are the addresses of those pages; empty if browsers cannot sign in.
	SignIn, SignOut string
	// Notice returns a message to show once, on the next page that a user loads; empty for none. It is called
	// before anything is sent. Optional.
	Notice func(w http.ResponseWriter, r *http.Request) string
	// Alerts returns what is wrong with the server, for the page of the fleet. Optional.
	Alerts func() []Alert
	// Now returns the time; nil means time.Now.
	Now func() time.Time
}

// Alert is a problem of the server or of what it depends on.
type Alert struct {
	// What is the problem, as a sentence without a full stop.
	What string
	// Why is the cause, which only operators see; empty if What says it.
	Why string
	// Next says what happens and what to do, in whole sentences.
	Next string
	// Since is when it began; zero if unknown.
	Since time.Time
}

// Link is an entry of the navigation.
type Link struct {
	Name, Address string
}

// Roots returns the first path segments of pages. On a server with the embedded forge, no repository can have one of them as
// its owner. The fleet's page is at "/", and static files are below "/-/".
func Roots() []string {
	return []string{
		"environments", "map", "workloads", "clusters", "promotions", "plan", "compare", "history", "figures", "search", "needs",
	}
}

// Handler serves "/", everything below [Roots], and the static files.
func (p *Pages) Handler() http.Handler {
	s := newSite(p)
	return &access.Shield{Next: s, Log: p.Log, Broken: s.broken}
}

// Register adds the pages to a mux. It leaves other paths below "/" and "/-/" free.
func (p *Pages) Register(mux *http.ServeMux) {
	h := p.Handler()
	mux.Handle("/{$}", h)
	for _, root := range Roots() {
		mux.Handle("/"+root, h)
		mux.Handle("/"+root+"/", h)
	}
	mux.Handle("/favicon.ico", h)
	for _, name := range staticFiles() {
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
	cache     pageCache
	inbox     inbox
}

func newSite(p *Pages) *site {
	s := &site{Pages: p, mux: http.NewServeMux(), templates: parse(p)}
	for _, l := range p.Links {
		// A browser that used another host name stays on it.
		s.links = append(s.links, Link{l.Name, strings.TrimPrefix(l.Address, strings.TrimSuffix(p.URL, "/"))})
	}
	s.mux.HandleFunc("GET /-/{file}", serveStatic)
	s.mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, r *http.Request) {
		r.SetPathValue("file", "kalypso.svg") // browsers ask for it on pages that name no icon
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

// pageTimeout limits the time to render a page.
const pageTimeout = 10 * time.Second

// serve shows a page to users whom its rule admits.
func (s *site) serve(w http.ResponseWriter, r *http.Request, one page) {
	who, err := s.Guard.Identify(r)
	if err == nil {
		err = ruleOf(one.name).Admit(who)
	}
	if err != nil {
		s.refuse(w, r, who, err)
		return
	}
	made, err := s.render(r, one, who)
	if err != nil {
		s.refuse(w, r, who, err)
		return
	}
	s.send(w, r, who, made)
}

// render returns a page from the cache, or renders it. It is shared by users with the same role and the same scope, with the same roles in it.
func (s *site) render(r *http.Request, one page, who access.Identity) (*renderedPage, error) {
	role, scope := who.Role, who.Sees()
	if !scope.All() {
		role = access.Reader
	}
	observer := api.Seen(s.Observer, who)
	key := string(role) + " " + scope.RolesKey() + " " + r.URL.RequestURI()
	return s.cache.get(r.Context(), key, s.now, func() (*renderedPage, error) {
		// The first client may disconnect while others wait for the same page.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), pageTimeout)
		defer cancel()
		question := &pageRequest{Request: r.WithContext(ctx), role: role, scope: scope, observer: observer, now: s.now()}
		a, err := one.show(s, question)
		if err != nil {
			return nil, err
		}
		return s.templates.make(one, a, question)
	})
}
