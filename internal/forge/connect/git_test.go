package connect

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/git"
)

// passwords is a Git server that lets nobody in, and notes what they tried.
type passwords struct {
	*httptest.Server
	tried []string
}

func newPasswords(t *testing.T) *passwords {
	p := &passwords{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		p.tried = append(p.tried, password)
		http.Error(w, "no", http.StatusUnauthorized)
	}))
	t.Cleanup(p.Close)
	return p
}

// appHost is a forge whose app has another token every time.
type appHost struct {
	forge.Forge
	given int
}

func (h *appHost) GitCredential(context.Context) (string, forge.Secret, error) {
	h.given++
	return "x-access-token", forge.NewSecret(fmt.Sprint("app-", h.given)), nil
}

// The token of an app goes to its forge alone, a new one each time; that of a token's forge goes to that one;
// and where the environment names a credential for a host, it is that one.
func TestGitAccess(t *testing.T) {
	home, tokenHome, elsewhere, named := newPasswords(t), newPasswords(t), newPasswords(t), newPasswords(t)
	env := map[string]string{
		"TOKEN": "a-token", "KALYPSO_GIT_TOKEN": "of-the-environment",
		"KALYPSO_GIT_HOST": "example.com, " + strings.TrimPrefix(named.URL, "http://"),
	}
	app := &forge.App{ID: 1, InstallationID: 2, PrivateKeyFile: "unread"}
	configured := []forge.Connection{
		{Kind: forge.GitHub, URL: home.URL, App: app},
		{Kind: forge.GitHub, URL: named.URL, App: app},
		{Kind: forge.Gitea, URL: tokenHome.URL, TokenEnv: "TOKEN"},
	}
	host := &appHost{}
	access, err := Git(configured, forge.Forges{host, host, nil}, env)
	if err != nil {
		t.Fatal(err)
	}
	client := &git.Client{
		CacheDir: t.TempDir(), Env: func(name string) string { return env[name] },
		Map: access.Maps, Credentials: access.Credentials,
	}
	defer client.Close() //nolint:errcheck // nothing was read
	for _, s := range []*passwords{home, tokenHome, elsewhere, named, home} {
		repo, err := client.Open(t.Context(), s.URL+"/acme/gitops")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := repo.Resolve(t.Context(), "main", ""); err == nil {
			t.Errorf("%s let us in", s.URL)
		}
	}
	got := [][]string{home.tried, tokenHome.tried, elsewhere.tried, named.tried}
	want := [][]string{{"app-1", "app-2"}, {"a-token"}, {""}, {"of-the-environment"}}
	for i := range got {
		got[i] = slices.Compact(got[i])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("passwords (-want +got):\n%s", diff)
	}
	// What a document says of ssh is reached by http: an app has no keys.
	if where, err := client.Locate("ssh://git@" + strings.TrimPrefix(home.URL, "http://") + "/acme/gitops"); err != nil || !strings.HasPrefix(where, "http://") {
		t.Errorf("ssh leads to %q, %v", where, err)
	}
}
