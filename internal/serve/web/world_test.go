package web_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/web"
)

// noon is the time at which the tests view the pages.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// world is the pages with a real ledger.
type world struct {
	t      testing.TB
	ledger *sqlite.Ledger
	fleet  fleet
	pages  *web.Pages
	log    bytes.Buffer
	mux    *http.ServeMux
}

// fleet is the state of a server's rounds.
type fleet []query.ControlPlane

func (f *fleet) ControlPlanes() []query.ControlPlane { return *f }

func newWorld(t testing.TB) *world {
	t.Helper()
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	w := &world{t: t, ledger: l}
	now := func() time.Time { return noon }
	w.pages = &web.Pages{
		Observer: &query.Observer{Ledger: l, Fleet: &w.fleet, Now: now},
		Guard:    &access.Guard{Store: l, Anonymous: access.AnonymousAlways},
		Log:      slog.New(slog.NewTextHandler(&w.log, nil)), URL: "https://kalypso.example.com", Now: now,
	}
	return w
}

// ask requests a page, with headers in pairs.
func (w *world) ask(path string, headers ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	if w.mux == nil {
		w.mux = http.NewServeMux()
		w.pages.Register(w.mux)
	}
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	a := httptest.NewRecorder()
	w.mux.ServeHTTP(a, r)
	return a
}

// see returns a page, and fails unless the status is 200.
func (w *world) see(path string) *page {
	w.t.Helper()
	a := w.ask(path)
	if a.Code != http.StatusOK {
		w.t.Fatalf("%s: got %d: %s\n%s", path, a.Code, a.Body, w.log.String())
	}
	return parse(w.t, a.Body)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// register registers a cluster.
func (w *world) register(name string, memberships ...ledger.Membership) {
	w.t.Helper()
	w.must(w.ledger.Register(w.t.Context(), ledger.Registration{Cluster: name, Memberships: memberships, At: noon.Add(-time.Hour)}))
}

// page is a parsed page.
type page struct {
	t    testing.TB
	root *html.Node
}

func parse(t testing.TB, r io.Reader) *page {
	t.Helper()
	root, err := html.Parse(r)
	if err != nil {
		t.Fatal(err)
	}
	return &page{t, root}
}

// all returns the elements that match a selector: names, ".class", "#id" and "[attribute]" or "[attribute=value]" of descendants,
// separated by spaces.
func (p *page) all(selector string) []*html.Node {
	found := []*html.Node{p.root}
	for _, simple := range strings.Fields(selector) {
		var next []*html.Node
		seen := map[*html.Node]bool{}
		for _, n := range found {
			for d := range n.Descendants() {
				if !seen[d] && d.Type == html.ElementNode && matches(d, simple) {
					seen[d] = true
					next = append(next, d)
				}
			}
		}
		found = next
	}
	return found
}

// matches reports whether an element matches one simple selector.
func matches(n *html.Node, simple string) bool {
	name, rest := simple, ""
	if i := strings.IndexAny(simple, ".#["); i >= 0 {
		name, rest = simple[:i], simple[i:]
	}
	if name != "" && n.Data != name {
		return false
	}
	switch {
	case rest == "":
		return true
	case rest[0] == '.':
		return strings.Contains(" "+attribute(n, "class")+" ", " "+rest[1:]+" ")
	case rest[0] == '#':
		return attribute(n, "id") == rest[1:]
	}
	key, value, exact := strings.Cut(strings.Trim(rest, "[]"), "=")
	got, has := lookup(n, key)
	return has && (!exact || got == value)
}

func attribute(n *html.Node, name string) string {
	value, _ := lookup(n, name)
	return value
}

func lookup(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

// text returns the visible text of an element.
func text(n *html.Node) string {
	var words []string
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			words = append(words, strings.Fields(d.Data)...)
		}
	}
	return strings.Join(words, " ")
}

// texts returns the texts of all elements that match a selector.
func (p *page) texts(selector string) []string {
	var all []string
	for _, n := range p.all(selector) {
		all = append(all, text(n))
	}
	return all
}

// wants fails unless an element that matches a selector contains a text.
func (p *page) wants(selector, want string) {
	p.t.Helper()
	got := p.texts(selector)
	for _, one := range got {
		if strings.Contains(one, want) {
			return
		}
	}
	p.t.Errorf("no %s says %q: %q", selector, want, got)
}
