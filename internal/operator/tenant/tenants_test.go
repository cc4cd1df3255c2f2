package tenant

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/operator"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

func access(namespace, server, token string) operator.Access {
	return operator.Access{
		Name: types.NamespacedName{Namespace: namespace, Name: "shop"}, UID: types.UID(namespace + "-uid"), Token: secret.New(token),
		Spec: v1alpha1.ControlPlaneSpec{
			Source: v1alpha1.ControlPlaneSource{Repository: server + "/acme/control-plane"},
			Forge:  v1alpha1.ControlPlaneForge{Kind: "gitea", URL: server, SecretRef: v1alpha1.SecretReference{Name: "bot"}},
		},
	}
}

// passwords is a server that rejects all requests, and records the passwords in them.
func passwords(t *testing.T) (url string, tried func() []string) {
	t.Helper()
	seen := map[string]bool{}
	var list []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "" && !seen[password] {
			seen[password] = true
			list = append(list, password)
		}
		http.Error(w, "no", http.StatusUnauthorized)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []string { return list }
}

// Each tenant sends its own credential, also when the operator's environment has another one.
func TestCredentialsAreTheTenants(t *testing.T) {
	url, tried := passwords(t)
	t.Setenv("KALYPSO_GIT_HOST", strings.TrimPrefix(url, "http://"))
	t.Setenv("KALYPSO_GIT_TOKEN", "of-the-operator")
	home := t.TempDir()
	t.Setenv("HOME", home)
	netrc := "machine 127.0.0.1 login x password of-the-container\n"
	if err := os.WriteFile(filepath.Join(home, ".netrc"), []byte(netrc), 0o600); err != nil {
		t.Fatal(err)
	}
	tenants := New(Options{Folder: t.TempDir(), Allowed: Allowed{url}})
	withSource := access("store", url, "of-store")
	withSource.Password = secret.New("of-the-source")
	for _, a := range []operator.Access{access("shop", url, "of-shop"), access("bank", url, "of-bank"), withSource} {
		tenant, err := tenants.Open(a)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tenant.Environments(t.Context(), nil, nil); err == nil {
			t.Error("the server let the tenant in")
		} else if strings.Contains(err.Error(), a.Token.Reveal()) {
			t.Errorf("the error has the token: %v", err)
		}
	}
	if got := strings.Join(tried(), " "); got != "of-shop of-bank of-the-source" {
		t.Errorf("the passwords were %q", got)
	}
}

// A tenant opens no folder, no server that is not allowed, and gets no redirect to one.
func TestTenantIsContained(t *testing.T) {
	internal, tried := passwords(t)
	redirecting := httptest.NewServer(http.RedirectHandler(internal+"/secret/repository", http.StatusTemporaryRedirect))
	t.Cleanup(redirecting.Close)
	tenants := New(Options{Folder: t.TempDir(), Allowed: Allowed{redirecting.URL}})
	for field, change := range map[string]func(*operator.Access){
		"spec.source.repository": func(a *operator.Access) { a.Spec.Source.Repository = internal + "/a/b" },
		"spec.forge.url":         func(a *operator.Access) { a.Spec.Forge.URL = internal },
	} {
		a := access("shop", redirecting.URL, "token")
		change(&a)
		if _, err := tenants.Open(a); !errors.Is(err, operator.ErrNotAllowed) || !strings.HasPrefix(err.Error(), field) {
			t.Errorf("%s: got %v", field, err)
		}
	}
	open, err := tenants.Open(access("shop", redirecting.URL, "token"))
	if err != nil {
		t.Fatal(err)
	}
	tenant := open.(*Tenant)
	for _, url := range []string{redirecting.URL + "/a/b", internal + "/a/b", t.TempDir(), "file:///etc", "ssh://git@git.example.com/a", "/etc"} {
		_, err := tenant.plane().Loader().Repositories.Source(t.Context(), schedule.Location{Repo: url, Branch: "main"})
		if err == nil || !strings.Contains(err.Error(), operator.ErrNotAllowed.Error()) {
			t.Errorf("%s: got %v", url, err)
		}
	}
	if len(tried()) > 0 {
		t.Errorf("the internal server was reached with %q", tried())
	}
}

// Without a list, every https URL is allowed, and nothing else.
func TestAllowed(t *testing.T) {
	listed, err := ParseAllowed([]string{"https://GitHub.com:443/", "http://git.internal:3000"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		list Allowed
		url  string
		ok   bool
	}{
		{nil, "https://github.com/a/b", true},
		{nil, "http://github.com/a/b", false},
		{nil, "ssh://git@github.com/a/b", false},
		{nil, "file:///etc", false},
		{nil, "/etc", false},
		{listed, "https://github.com/a/b", true},
		{listed, "https://github.com:443/a/b", true},
		{listed, "https://github.com:8443/a/b", false},
		{listed, "http://github.com/a/b", false},
		{listed, "https://github.com.evil.example/a", false},
		{listed, "https://github.com@evil.example/a", false},
		{listed, "http://git.internal:3000/a", true},
		{listed, "https://gitlab.com/a", false},
	} {
		if err := tc.list.checkURL(tc.url); (err == nil) != tc.ok {
			t.Errorf("%q, %s: got %v, want ok=%v", tc.list, tc.url, err, tc.ok)
		}
	}
	for _, wrong := range []string{"github.com", "ftp://github.com", "https://github.com/acme", "https://user@github.com", ""} {
		if _, err := ParseAllowed([]string{wrong}); err == nil {
			t.Errorf("%q is a server", wrong)
		}
	}
}

// A tenant stays open while its access is the same. Its clones go with it, and when they are too large.
func TestTenantsKeepConnections(t *testing.T) {
	url, _ := passwords(t)
	folder := t.TempDir()
	tenants := New(Options{Folder: folder, Allowed: Allowed{url}, MaxClones: 10})
	open := func(token string) *Tenant {
		t.Helper()
		tenant, err := tenants.Open(access("shop", url, token))
		if err != nil {
			t.Fatal(err)
		}
		return tenant.(*Tenant)
	}
	first := open("a")
	if open("a") != first {
		t.Error("the same access has another tenant")
	}
	second := open("b")
	if second == first {
		t.Error("another token has the same tenant")
	}
	if _, err := first.Round(t.Context(), nil, "dev"); !errors.Is(err, errClosed) {
		t.Errorf("a round of the old access: %v", err)
	}
	clones := func(size int) {
		t.Helper()
		if err := os.MkdirAll(second.folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(second.folder, "pack"), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	clones(10)
	open("b")
	if _, err := os.Stat(second.folder); err != nil {
		t.Errorf("small clones are gone: %v", err)
	}
	clones(11)
	open("b")
	if _, err := os.Stat(second.folder); err == nil {
		t.Error("large clones stay")
	}
	clones(1)
	tenants.Forget(second.access.Name)
	if _, err := os.Stat(second.folder); err == nil {
		t.Error("the clones of a tenant that is gone stay")
	}
}
