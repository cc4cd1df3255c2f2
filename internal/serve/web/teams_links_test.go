package web_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/serve/web"
	"github.com/kalypso-io/kalypso/internal/serve/web/pinning"
)

// signedIn is a server on which every user is signed in.
type signedIn struct{ noSessions }

func (signedIn) FormToken(*http.Request) string { return "form" }

// TestTeamsHaveNoDeadLinks opens all that the pages of a team link to.
func TestTeamsHaveNoDeadLinks(t *testing.T) {
	w := newTeams(t)
	w.pages.Links = []web.Link{{Name: "Repositories", Address: "/-/repositories"}, {Name: "Tour", Address: "/sample/tour"}}
	w.mux = http.NewServeMux()
	w.pages.Register(w.mux)
	(&pinning.Handlers{Pages: w.pages, Forms: signedIn{}, API: w.api.Handler(), Log: w.pages.Log}).Register(w.mux)
	token := w.token(access.Operator, "shop", "dev", "stage")
	from := map[string]string{"/": "", "/compare?a=dev&b=stage": ""}
	todo := []string{"/", "/compare?a=dev&b=stage"}
	for ; len(todo) > 0; todo = todo[1:] {
		at := todo[0]
		a := w.ask(at, "Authorization", "Bearer "+token)
		if to := a.Header().Get("Location"); a.Code == http.StatusSeeOther && from[to] == "" {
			from[to] = at
			todo = append(todo, to)
			continue
		}
		if a.Code != http.StatusOK {
			t.Errorf("%s, linked on %s: got %d", at, from[at], a.Code)
			continue
		}
		if !strings.HasPrefix(a.Header().Get("Content-Type"), "text/html") {
			continue
		}
		p := parse(t, a.Body)
		for _, name := range []string{"at", "asOf", "bAsOf"} {
			if n := len(p.all("input[name=" + name + "]")); n > 0 {
				t.Errorf("%s offers the past: %s", at, name)
			}
		}
		for _, link := range p.all("a[href]") {
			address := attribute(link, "href")
			address, _, _ = strings.Cut(address, "#")
			if _, known := from[address]; !known && strings.HasPrefix(address, "/") {
				from[address] = at
				todo = append(todo, address)
			}
		}
	}
	for _, want := range []string{"/environments/dev", "/environments/dev/targets/cart-main/uninstall", "/environments/dev/targets/cart-main", "/workloads/cart", "/clusters/large-01", "/map", "/promotions/c" + promoted[1:]} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(from)), func(address string) bool { return strings.HasPrefix(address, want) }) {
			t.Errorf("nothing links to %s", want)
		}
	}
}

// TestTeamsHaveNoPast: all of the API and the pages that have a point in time refuse it with the same words.
func TestTeamsHaveNoPast(t *testing.T) {
	w := newTeams(t)
	token := w.token(access.Reader, "shop", "dev", "stage")
	const at = "asOf=2026-11-20T11:30:00Z"
	for _, address := range []string{
		"/?" + at, "/environments/dev?" + at, "/environments/dev/targets/cart-main?" + at, api.Root + "/environments/dev/targets/cart-main?" + at, "/clusters?" + at, "/clusters/large-01?" + at, "/compare?a=dev&b=stage&" + at, "/compare?a=dev&b=dev&bAsOf=2026-11-20T11:30:00Z",
		api.Root + "/environments?" + at, api.Root + "/environments/dev?" + at, api.Root + "/clusters?" + at, api.Root + "/clusters/large-01?" + at, api.Root + "/discrepancies?" + at,
		api.Root + "/compare/dev/stage?" + at, api.Root + "/versions?" + at, api.Root + "/reconcilers?" + at, api.Root + "/matrix?environment=dev&" + at, api.Root + "/assignments?environment=dev&" + at,
	} {
		a, text := w.send(t.Context(), http.MethodGet, address, token, nil, "Accept", "application/json")
		if !strings.Contains(text, "role in workspaces shows the current state, and not an earlier one") || a.StatusCode != http.StatusBadRequest && a.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s: got %d %s", address, a.StatusCode, text)
		}
	}
}
