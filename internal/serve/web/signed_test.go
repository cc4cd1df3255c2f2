package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// roleHeader identifies users by a header with their role, as a session does by a cookie.
type roleHeader struct{}

// Authenticate implements [access.Authenticator].
func (roleHeader) Authenticate(r *http.Request) (access.Identity, bool, error) {
	role := access.Role(r.Header.Get("Role"))
	return access.Identity{Name: "ada", Role: role, Source: access.BySession}, role != "", nil
}

// signedWorld returns a world in which browsers can sign in.
func signedWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t).fleetOfThree()
	w.pages.Guard.Others = []access.Authenticator{roleHeader{}}
	w.pages.SignIn, w.pages.SignOut = "/-/sign-in", "/-/sign-out"
	return w
}

// seeAs returns a page as users of a role see it.
func (w *world) seeAs(role access.Role, path string) *page {
	w.t.Helper()
	return parse(w.t, w.ask(path, "Role", string(role)).Body)
}

// TestActionsAreOfferedByRole checks that readers see no actions.
func TestActionsAreOfferedByRole(t *testing.T) {
	w := signedWorld(t)
	for role, want := range map[access.Role]bool{"": false, access.Reader: false, access.Operator: true, access.Admin: true} {
		for _, path := range []string{"/environments/dev", "/promotions/" + promoted} {
			if got := len(w.seeAs(role, path).all("nav.actions a")) > 0; got != want {
				t.Errorf("%s for %q: offered is %v, want %v", path, role, got, want)
			}
		}
	}
	w.seeAs(access.Operator, "/environments/dev").wants("nav.actions a", "Pause")
	w.seeAs(access.Operator, "/environments/stage").wants("nav.actions a", "Resume")
}

// TestSignInAndSignOutLinks checks that each page has the links, and that users return to the page.
func TestSignInAndSignOutLinks(t *testing.T) {
	w := signedWorld(t)
	w.seeAs(access.Reader, "/clusters").wants(".who a", "Sign out")
	links := w.see("/clusters?state=failed").all(".who a")
	if len(links) != 1 || attribute(links[0], "href") != "/-/sign-in?to=%2Fclusters%3Fstate%3Dfailed" {
		t.Errorf("got %v", links)
	}
	w.pages.Guard.Anonymous = access.AnonymousNever
	parse(t, w.ask("/clusters").Body).wants("main a", "Sign in")
}

// TestNoticesAreShownOnPagesOnly checks that requests of scripts and programs do not use up a notice.
func TestNoticesAreShownOnPagesOnly(t *testing.T) {
	w := signedWorld(t)
	asked := 0
	w.pages.Notice = func(http.ResponseWriter, *http.Request) string { asked++; return "dev <b>is</b> paused" }
	w.see("/").wants(".notice", "dev <b>is</b> paused")
	for _, header := range []string{"Kalypso-Fragment", "Accept"} {
		if a := w.ask("/", header, "application/json"); strings.Contains(a.Body.String(), "is</b> paused") || a.Code != http.StatusOK {
			t.Errorf("with %s: %d", header, a.Code)
		}
	}
	if asked != 1 {
		t.Errorf("asked for %d times", asked)
	}
}
