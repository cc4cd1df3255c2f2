package local

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// On a server with other pages, the forge links to them and does not use their addresses.
func TestBesideOtherPages(t *testing.T) {
	f, err := Open(t.Context(), Options{
		Dir: t.TempDir(), URL: "http://127.0.0.1:8080", PublicRead: anyClient,
		Reserved: []string{"environments"}, Places: []Place{{Name: "Fleet", Address: "/"}}, Search: "/search",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	f.AddPlace(Place{Name: "Tour", Address: "/tour"})
	for _, owner := range []string{"environments", "Environments"} {
		if _, err := f.CreateRepository(t.Context(), forge.NewRepository{Owner: owner, Name: "dev"}); !errors.Is(err, forge.ErrInvalid) {
			t.Errorf("a repository below %s: got %v, want it to be refused", owner, err)
		}
	}
	if _, err := f.CreateRepository(t.Context(), forge.NewRepository{Owner: "platform", Name: "environments"}); err != nil {
		t.Fatal(err)
	}
	a := httptest.NewRecorder()
	f.Handler().ServeHTTP(a, httptest.NewRequest(http.MethodGet, "/-/repositories", nil))
	for _, want := range []string{`<span>Fleet</span></a>`, "platform/environments", `aria-current="page" title="Repositories"`, `href="/tour" title="Tour"`, `role="search" action="/search"`} {
		if !strings.Contains(a.Body.String(), want) {
			t.Errorf("the list of repositories has no %s", want)
		}
	}
}

// The first push of an administrator creates a repository.
func TestEmptyForgeShowsHowToPush(t *testing.T) {
	f := serve(t, Options{})
	b := newBrowser(t, f)
	b.signIn(f, "grace", Admin)
	if _, text := b.get("/"); !strings.Contains(text, "git push "+f.site.URL()+"/OWNER/NAME main") {
		t.Errorf("it says:\n%s", text)
	}
}
