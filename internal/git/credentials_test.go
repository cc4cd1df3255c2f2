package git

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A credential is sent to its host only, and never over plain http to another machine.
func TestCredentialIsBoundToItsHost(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"netrc": "machine git.example.com login ann password from-netrc\ndefault login x password for-anybody\n"})
	kalypso := map[string]string{"KALYPSO_GIT_TOKEN": "t0ken", "KALYPSO_GIT_HOST": "git.example.com, other.example.com:8443"}
	password := map[string]string{"KALYPSO_GIT_USERNAME": "bob", "KALYPSO_GIT_PASSWORD": "pass", "KALYPSO_GIT_HOST": "git.example.com"}
	netrc := map[string]string{"NETRC": filepath.Join(dir, "netrc")}
	forges := map[string]string{"GITHUB_TOKEN": "hub", "GITLAB_TOKEN": "lab", "AZURE_DEVOPS_TOKEN": "azure", "BITBUCKET_TOKEN": "bucket"}
	enterprise := map[string]string{
		"GITHUB_TOKEN": "hub", "GITHUB_SERVER_URL": "https://github.acme.io", "CI_JOB_TOKEN": "job", "CI_SERVER_URL": "https://gitlab.acme.io:8443",
		"SYSTEM_ACCESSTOKEN": "pipeline", "SYSTEM_COLLECTIONURI": "https://acme.visualstudio.com/",
	}
	for _, test := range []struct {
		env       map[string]string
		url, want string
	}{
		{kalypso, "https://git.example.com/x", "x-access-token:t0ken"},
		{kalypso, "https://GIT.example.com/x", "x-access-token:t0ken"},
		{kalypso, "https://other.example.com:8443/x", "x-access-token:t0ken"},
		{kalypso, "https://other.example.com/x", ""},
		{kalypso, "https://git.example.com:8443/x", ""},
		{kalypso, "https://evil.git.example.com/x", ""},
		{kalypso, "https://git.example.com.evil.io/x", ""},
		{kalypso, "http://git.example.com/x", ""},
		{map[string]string{"KALYPSO_GIT_TOKEN": "t0ken"}, "https://git.example.com/x", ""},
		{map[string]string{"KALYPSO_GIT_TOKEN": "t0ken", "KALYPSO_GIT_HOST": "localhost"}, "http://localhost/x", "x-access-token:t0ken"},
		{password, "https://git.example.com/x", "bob:pass"},
		{netrc, "https://git.example.com/x", "ann:from-netrc"},
		{netrc, "https://ann@git.example.com/x", "ann:from-netrc"},
		{netrc, "https://eve@git.example.com/x", ""},
		{netrc, "https://other.example.com/x", ""},
		{netrc, "http://git.example.com/x", ""},
		{forges, "https://github.com/x/y", "x-access-token:hub"},
		{forges, "https://gitlab.com/x/y", "oauth2:lab"},
		{forges, "https://dev.azure.com/acme/apps/_git/y", "x-access-token:azure"},
		{forges, "https://bitbucket.org/acme/y", "x-token-auth:bucket"},
		{forges, "https://bitbucket.org.evil.io/acme/y", ""},
		{forges, "https://acme.visualstudio.com/apps/_git/y", ""},
		{forges, "https://gist.github.com/x", ""},
		{forges, "https://github.com.evil.io/x/y", ""},
		{enterprise, "https://github.acme.io/x/y", "x-access-token:hub"},
		{enterprise, "https://github.com/x/y", ""},
		{enterprise, "https://gitlab.acme.io:8443/x/y", "gitlab-ci-token:job"},
		{enterprise, "https://gitlab.com/x/y", ""},
		{enterprise, "https://acme.visualstudio.com/apps/_git/y", "x-access-token:pipeline"},
		{enterprise, "https://dev.azure.com/acme/apps/_git/y", ""},
		{kalypso, "https://eve:mine@git.example.com/x", "eve:mine"},
		{nil, "https://git.example.com/x", ""},
	} {
		l, err := parseLocation(test.url)
		if err != nil {
			t.Fatal(err)
		}
		found, err := newClient(t, test.env).credentialFor(t.Context(), l)
		got := strings.Trim(found.username+":"+found.password.Reveal(), ":")
		if got != test.want || err != nil {
			t.Errorf("for %q got %q, %v, want %q", test.url, got, err, test.want)
		}
	}
}

func TestParseNetrc(t *testing.T) {
	got := parseNetrc(`# machine commented login x password y
machine a.example login ann password p1
machine b.example
	login bob
	password p2
macdef init
machine in.macro login x password y

machine c.example password p3 account z login carl
default login any password body
machine d.example login dan password`)
	want := [][3]string{{"a.example", "ann", "p1"}, {"b.example", "bob", "p2"}, {"c.example", "carl", "p3"}, {"d.example", "dan", ""}}
	revealed := make([][3]string, len(got))
	for i, m := range got {
		revealed[i] = [3]string{m.machine, m.login, m.password.Reveal()}
	}
	if diff := cmp.Diff(want, revealed); diff != "" {
		t.Error(diff)
	}
}

func TestSecretDoesNotPrint(t *testing.T) {
	s := credential{"ann", NewSecret("s3cr3t"), "x"}
	marshalled, err := json.Marshal(map[string]any{"password": s.password})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		fmt.Sprint(s), fmt.Sprintf("%v %+v %#v", s, s, s), fmt.Sprintf("%s %q %x %d", s.password, s.password, s.password, s.password),
		s.password.String(), string(marshalled), fmt.Sprintf("%v", &s), fmt.Sprint(location{password: NewSecret("s3cr3t")}),
	} {
		if strings.Contains(text, "s3cr3t") || strings.Contains(text, fmt.Sprintf("%x", "s3cr3t")) {
			t.Errorf("%q tells the secret", text)
		}
	}
}

// A server that repeats what it was sent, as proxies do when they explain a refusal, cannot make an error tell it.
func TestErrorsHideTheCredentialThatAServerRepeats(t *testing.T) {
	const password = "pa55/word?"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, got, _ := r.BasicAuth()
		text := fmt.Sprintf("ERR not allowed: %s %s %s %s\n", user, got, url.QueryEscape(got), r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		fmt.Fprintf(w, "%04x%s", len(text)+4, text)
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	for where, open := range map[string]func() error{
		"environment": func() error {
			_, err := openAndResolve(t.Context(), newClient(t, map[string]string{"KALYPSO_GIT_TOKEN": password, "KALYPSO_GIT_HOST": host}), server.URL+"/x.git", "main", "")
			return err
		},
		"URL": func() error {
			_, err := openAndResolve(t.Context(), newClient(t, nil), "http://ann:"+url.QueryEscape(password)+"@"+host+"/x.git", "main", "")
			return err
		},
	} {
		err := open()
		wantKind(t, err, ErrUnavailable, "not allowed")
		basic := func(user string) string { return base64.StdEncoding.EncodeToString([]byte(user + ":" + password)) }
		for _, told := range []string{password, url.QueryEscape(password), basic("ann"), basic("x-access-token")} {
			if strings.Contains(err.Error(), told) {
				t.Errorf("%s: %v tells the credential", where, err)
			}
		}
	}
}

// After a redirect, neither another host nor another port of the same host gets our credentials.
func TestRedirectDropsCredentials(t *testing.T) {
	var leaked []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leaked = append(leaked, r.Header.Get("Authorization"))
		http.Error(w, "no", http.StatusUnauthorized)
	}))
	t.Cleanup(other.Close)
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.RequestURI(), http.StatusFound)
	}))
	t.Cleanup(first.Close)
	env := map[string]string{"KALYPSO_GIT_TOKEN": testToken, "KALYPSO_GIT_HOST": strings.TrimPrefix(first.URL, "http://")}
	_, err := openAndResolve(t.Context(), newClient(t, env), first.URL+"/x.git", "main", "")
	wantKind(t, err, ErrDenied)
	if diff := cmp.Diff([]string{""}, leaked); diff != "" {
		t.Errorf("credentials were sent on: %s", diff)
	}
}

func TestNetrcAuthenticates(t *testing.T) {
	s := newServer(t)
	_, url := s.publish("shop.git", someFiles)
	home := t.TempDir()
	writeFiles(t, home, map[string]string{".netrc": "machine 127.0.0.1 login " + testUser + " password " + testToken + "\n"})
	resolve(t, open(t, newClient(t, map[string]string{"HOME": home}), url), "main", "")
}

// A token that is replaced while a repository is open works for fetch and push, and is requested by host only.
func TestCredentialsThatChange(t *testing.T) {
	s := newServer(t)
	made, url := s.publish("gitops.git", someFiles)
	now, asked := testToken, map[string]bool{}
	c := newClient(t, map[string]string{"KALYPSO_GIT_TOKEN": "of the environment", "KALYPSO_GIT_HOST": s.host()})
	c.Credentials = func(_ context.Context, host string) (string, Secret, error) {
		asked[host] = true
		return testUser, NewSecret(now), nil
	}
	r := open(t, c, url)
	resolve(t, r, "main", "")
	now = "the next token"
	_, err := r.Resolve(t.Context(), "main", "")
	wantKind(t, err, ErrDenied, "the credential from the configuration was refused")
	if strings.Contains(err.Error(), now) {
		t.Errorf("%v tells the token", err)
	}
	s.token.Store(now)
	made.commit("more", map[string]string{"more": "1"})
	made.git("push", "-q", "origin", "main")
	head := resolve(t, r, "main", "")
	next := mustCommit(t, r, request(head, map[string]string{"x": "y"}))
	if err := r.Push(t.Context(), "main", head.Hash, next); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]bool{s.host(): true}, asked); diff != "" {
		t.Error(diff)
	}
}

// The URL's own credential comes first. None is requested for unprotected connections, and a failure is an error.
func TestCredentialsAreAskedInOrder(t *testing.T) {
	broken := errors.New("no answer")
	for url, want := range map[string]string{
		"https://git.example.com/x":          "app:token",
		"https://git.example.com:443/x":      "app:token",
		"https://other.example.com/x":        "x-access-token:t0ken",
		"https://ann:own@git.example.com/x":  "ann:own",
		"http://git.example.com/x":           "",
		"https://git.example.com:8443/x":     "",
		"https://git.example.com.evil.com/x": "",
		"https://broken.example.com/x":       "",
	} {
		c := newClient(t, map[string]string{"KALYPSO_GIT_TOKEN": "t0ken", "KALYPSO_GIT_HOST": "other.example.com, broken.example.com"})
		c.Credentials = func(_ context.Context, host string) (string, Secret, error) {
			switch host {
			case "git.example.com":
				return "app", NewSecret("token"), nil
			case "broken.example.com":
				return "", Secret{}, broken
			}
			return "", Secret{}, nil
		}
		l, err := parseLocation(url)
		if err != nil {
			t.Fatal(err)
		}
		found, err := c.credentialFor(t.Context(), l)
		if got := strings.Trim(found.username+":"+found.password.Reveal(), ":"); got != want {
			t.Errorf("for %q got %q, want %q", url, got, want)
		}
		if errors.Is(err, broken) != (l.host == "broken.example.com") {
			t.Errorf("for %q: %v", url, err)
		}
	}
}

// Public repositories are read without a credential, even if there is one for another host.
func TestAnonymousRead(t *testing.T) {
	s := newServer(t)
	s.open.Store(true)
	_, url := s.publish("shop.git", someFiles)
	resolve(t, open(t, newClient(t, map[string]string{"KALYPSO_GIT_TOKEN": testToken, "KALYPSO_GIT_HOST": "example.com"}), url), "main", "")
	if n := s.requestsWithCredentials(); n != 0 {
		t.Errorf("%d requests carried credentials", n)
	}
}

// The helper is called with the host's name, and its answer for another host is not used.
func TestCredentialHelper(t *testing.T) {
	newRepo(t, nil) // skips without git
	home := t.TempDir()
	helper := filepath.Join(home, "helper")
	writeFiles(t, home, map[string]string{
		"helper":     "#!/bin/sh\n[ \"$1\" = get ] || exit 0\nwhile read -r line; do case \"$line\" in host=git.example.com*) echo username=ann; echo password=from-helper;; esac; done\n",
		".gitconfig": "[credential]\n\thelper = " + helper + "\n",
	})
	if err := os.Chmod(helper, 0o755); err != nil {
		t.Fatal(err)
	}
	c := newClient(t, map[string]string{"HOME": home})
	for url, want := range map[string]string{
		"https://git.example.com/x":      "ann:from-helper",
		"https://git.example.com:8443/x": "ann:from-helper",
		"https://other.example.com/x":    ":",
		"http://git.example.com/x":       ":",
	} {
		l, err := parseLocation(url)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.askHelper(t.Context(), l); got.username+":"+got.password.Reveal() != want {
			t.Errorf("for %q the helper answers %q:%q", url, got.username, got.password.Reveal())
		}
	}
}
