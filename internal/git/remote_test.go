package git

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRemoteResolve(t *testing.T) {
	s := newServer(t)
	made, url := s.publish("shop.git", someFiles)
	first := made.git("rev-parse", "HEAD")
	second := made.commit("second", map[string]string{"a.yaml": "a: 2\n"})
	made.git("tag", "v2")
	made.git("push", "-q", "origin", "main", "main:refs/heads/dev", "v2")
	c := newClient(t, s.env())
	r := open(t, c, url)
	for _, test := range []struct{ branch, revision, want string }{
		{"main", "", second},
		{"", "", second},
		{"dev", "", second},
		{"main", first, first},
		{"main", first[:9], first},
		{"main", "main~1", first},
		{"main", "v2", second},
		{"main", "v2^", first},
		{"main", "HEAD~1", first},
		{"main", "dev", second},
	} {
		if got := resolve(t, r, test.branch, test.revision); got.Hash != test.want {
			t.Errorf("Resolve(%q, %q) = %s, want %s", test.branch, test.revision, got.Hash, test.want)
		}
	}
	if diff := cmp.Diff(someFiles, contents(t, r.Tree(resolve(t, r, "main", first)))); diff != "" {
		t.Error(diff)
	}
	branches, err := r.Branches(t.Context())
	if diff := cmp.Diff([]string{"dev", "main"}, branches); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if n := s.packs.Load(); n != 1 {
		t.Errorf("%d packs were fetched for one history", n)
	}
}

// The next use fetches only what is new; another client uses the cache.
func TestRemoteFetchesIncrementally(t *testing.T) {
	s := newServer(t)
	made, url := s.publish("shop.git", someFiles)
	env := s.env()
	c := newClient(t, env)
	resolve(t, open(t, c, url), "main", "")
	again := newClient(t, env)
	again.CacheDir = c.CacheDir
	r := open(t, again, url)
	resolve(t, r, "main", "")
	if n := s.packs.Load(); n != 1 {
		t.Errorf("%d packs fetched without any news", n)
	}
	head := made.commit("second", map[string]string{"new.yaml": "n"})
	made.git("push", "-q", "origin", "main")
	if got := resolve(t, r, "main", ""); got.Hash != head || s.packs.Load() != 2 {
		t.Errorf("got %s after %d packs, want %s", got.Hash, s.packs.Load(), head)
	}
	// A rewritten branch has its new head.
	made.git("reset", "-q", "--hard", "HEAD~1")
	head = made.commit("instead", map[string]string{"other.yaml": "o"})
	made.git("push", "-q", "-f", "origin", "main")
	if got := resolve(t, r, "main", ""); got.Hash != head {
		t.Errorf("got %s, want the rewritten %s", got.Hash, head)
	}
	// The first client must see what the second one fetched.
	if got := resolve(t, open(t, c, url), "main", ""); got.Hash != head || s.packs.Load() != 3 {
		t.Errorf("got %s after %d packs", got.Hash, s.packs.Load())
	}
}

// Cached objects are not sent again, even if the branch was rewritten.
func TestRemoteSendsOnlyWhatIsNew(t *testing.T) {
	s := newServer(t)
	noise := make([]byte, 300_000)
	rand.NewChaCha8([32]byte{}).Read(noise)
	made, url := s.publish("shop.git", map[string]string{"noise": string(noise)})
	made.commit("second", map[string]string{"b": "b"})
	made.git("push", "-q", "origin", "main")
	r := open(t, newClient(t, s.env()), url)
	resolve(t, r, "main", "")
	made.git("reset", "-q", "--hard", "HEAD~1")
	made.commit("instead", map[string]string{"c": "c"})
	made.git("push", "-q", "-f", "origin", "main")
	before := s.sent.Load()
	resolve(t, r, "main", "")
	if sent := s.sent.Load() - before; sent > 50_000 || before < 300_000 {
		t.Errorf("%d bytes were sent, then %d", before, sent)
	}
}

// After a branch is deleted, or its name becomes a folder of branches, the old one is not used.
func TestRemoteBranchesComeAndGo(t *testing.T) {
	s := newServer(t)
	made, url := s.publish("shop.git", someFiles)
	made.git("push", "-q", "origin", "main:refs/heads/env")
	r := open(t, newClient(t, s.env()), url)
	resolve(t, r, "env", "")
	made.git("push", "-q", "origin", ":env", "main:refs/heads/env/dev")
	resolve(t, r, "env/dev", "")
	_, err := r.Resolve(t.Context(), "env", "")
	wantKind(t, err, ErrBranchNotFound, "env/dev, main")
	_, err = r.Resolve(t.Context(), "main", "env")
	wantKind(t, err, ErrCommitNotFound)
}

// A commit outside of all branches is fetched if the server allows it.
func TestRemoteCommitOffTheBranch(t *testing.T) {
	s := newServer(t)
	made, url := s.publish("shop.git", someFiles)
	made.git("checkout", "-q", "-b", "side")
	side := made.commit("side", map[string]string{"side.yaml": "s"})
	made.git("push", "-q", "origin", "side")
	r := open(t, newClient(t, s.env()), url)
	if got := resolve(t, r, "main", side); got.Hash != side || got.Branch != "main" {
		t.Errorf("got %+v", got)
	}
	_, err := r.Resolve(t.Context(), "main", strings.Repeat("1", 40))
	wantKind(t, err, ErrCommitNotFound, "check the commit id")
}

func TestRemoteErrors(t *testing.T) {
	s := newServer(t)
	_, url := s.publish("shop.git", someFiles)
	s.publish("empty.git", nil)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "we have "+testToken, http.StatusBadGateway)
	}))
	t.Cleanup(broken.Close)
	forbidden := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "we have "+testToken, http.StatusForbidden)
	}))
	t.Cleanup(forbidden.Close)
	nonsense := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<html>" + testToken + "</html>"))
	}))
	t.Cleanup(nonsense.Close)
	all := func(hosts ...string) map[string]string {
		return map[string]string{"KALYPSO_GIT_TOKEN": testToken, "KALYPSO_GIT_HOST": strings.Join(hosts, ",")}
	}
	bare := strings.TrimPrefix
	for name, test := range map[string]struct {
		url, branch string
		env         map[string]string
		kind        error
		text        string
	}{
		"no such repository":   {s.http.URL + "/none.git", "main", s.env(), ErrRepositoryNotFound, "private repositories"},
		"no such branch":       {url, "prod", s.env(), ErrBranchNotFound, "it has main"},
		"empty":                {s.http.URL + "/empty.git", "main", s.env(), ErrEmpty, "no commit yet"},
		"no credential":        {url, "main", nil, ErrDenied, "KALYPSO_GIT_TOKEN"},
		"token without a host": {url, "main", map[string]string{"KALYPSO_GIT_TOKEN": testToken}, ErrDenied, "none is known"},
		"wrong token":          {url, "main", map[string]string{"KALYPSO_GIT_TOKEN": "wr0ng-" + testToken, "KALYPSO_GIT_HOST": s.host()}, ErrDenied, "was refused"},
		"wrong token in URL":   {strings.Replace(url, "http://", "http://ann:"+"wr0ng-s3cr3t"+"@", 1), "main", nil, ErrDenied, "the credential from the URL"},
		"forbidden":            {forbidden.URL + "/x", "main", all(bare(forbidden.URL, "http://")), ErrDenied, "refused"},
		"unreachable":          {closed.URL + "/x", "main", all(bare(closed.URL, "http://")), ErrUnavailable, "try again"},
		"server error":         {broken.URL + "/x", "main", all(bare(broken.URL, "http://")), ErrUnavailable, "502"},
		"no Git server":        {nonsense.URL + "/x", "main", all(bare(nonsense.URL, "http://")), ErrUnavailable, ""},
		"plain http":           {"http://ann:" + "s3cr3t" + "@git.example.com/x", "main", nil, ErrDenied, "use https"},
		"query":                {"https://example.com/x?token=" + "s3cr3t", "main", nil, ErrInvalid, "no query"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := openAndResolve(t.Context(), newClient(t, test.env), test.url, test.branch, "")
			wantKind(t, err, test.kind, test.text)
			for _, secret := range []string{testToken, "s3cr3t"} {
				for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err), fmt.Sprint(errors.Unwrap(err))} {
					if strings.Contains(text, secret) {
						t.Errorf("%q tells the secret", text)
					}
				}
			}
		})
	}
}

// Old data is never returned as current: an unreachable remote is an error, however much is cached.
func TestRemoteGoneAfterFetch(t *testing.T) {
	s := newServer(t)
	_, url := s.publish("shop.git", someFiles)
	r := open(t, newClient(t, s.env()), url)
	c := resolve(t, r, "main", "")
	s.http.Close()
	_, err := r.Resolve(t.Context(), "main", "")
	wantKind(t, err, ErrUnavailable)
	_, err = r.Resolve(t.Context(), "main", c.Hash)
	wantKind(t, err, ErrUnavailable)
	// Resolved commits can still be read.
	if diff := cmp.Diff(someFiles, contents(t, r.Tree(c))); diff != "" {
		t.Error(diff)
	}
}

func TestRemoteCacheIsPrivateAndHealsItself(t *testing.T) {
	s := newServer(t)
	_, url := s.publish("shop.git", someFiles)
	env := s.env()
	c := newClient(t, env)
	resolve(t, open(t, c, url), "main", "")
	info, err := os.Stat(c.CacheDir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the cache folder is open to others: %v %v", info.Mode(), err)
	}
	clones, _ := filepath.Glob(filepath.Join(c.CacheDir, "*.git"))
	if len(clones) != 1 {
		t.Fatalf("clones %v", clones)
	}
	damages := map[string]func() error{
		"no objects": func() error { return os.RemoveAll(filepath.Join(clones[0], "objects")) },
		"no HEAD":    func() error { return os.Remove(filepath.Join(clones[0], "HEAD")) },
		"bad config": func() error { return os.WriteFile(filepath.Join(clones[0], "config"), []byte("[[["), 0o600) },
		"bad pack":   func() error { return overwriteAll(filepath.Join(clones[0], "objects/pack/*.pack")) },
		"bad index":  func() error { return overwriteAll(filepath.Join(clones[0], "objects/pack/*.idx")) },
		"no packs":   func() error { return os.RemoveAll(filepath.Join(clones[0], "objects/pack")) },
		"marked":     func() error { newCache(c.CacheDir, open(t, c, url).remote.location).markDamaged(); return nil },
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			if err := damage(); err != nil {
				t.Fatal(err)
			}
			again := newClient(t, env)
			again.CacheDir = c.CacheDir
			r := open(t, again, url)
			if diff := cmp.Diff(someFiles, contents(t, r.Tree(resolve(t, r, "main", "")))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func overwriteAll(pattern string) error {
	files, err := filepath.Glob(pattern)
	if len(files) == 0 {
		return errors.New("nothing to damage")
	}
	for _, f := range files {
		err = errors.Join(err, os.Chmod(f, 0o600), os.WriteFile(f, []byte("garbage"), 0o600))
	}
	return err
}

// Any number of clients can share a cache concurrently, from the first fetch on.
func TestRemoteConcurrentClients(t *testing.T) {
	s := newServer(t)
	made, url := s.publish("shop.git", someFiles)
	made.git("push", "-q", "origin", "main:refs/heads/dev")
	env := s.env()
	cacheDir := filepath.Join(t.TempDir(), "cache")
	var wait sync.WaitGroup
	for i := range 4 {
		c := newClient(t, env)
		c.CacheDir = cacheDir
		for _, branch := range []string{"main", "dev"} {
			wait.Go(func() {
				r, err := c.Open(t.Context(), url)
				if err != nil {
					t.Error(i, err)
					return
				}
				commit, err := r.Resolve(t.Context(), branch, "")
				if err != nil {
					t.Error(i, err)
					return
				}
				if entries, err := r.Tree(commit).Files(t.Context(), ""); err != nil || len(entries) != len(someFiles) {
					t.Error(i, len(entries), err)
				}
			})
		}
	}
	wait.Wait()
	if n := s.packs.Load(); n != 1 {
		t.Errorf("%d packs were fetched", n)
	}
}

// Waiting for another fetch, or for a silent server, ends with the context.
func TestRemoteContextEnds(t *testing.T) {
	silent := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-silent:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(hanging.Close)
	t.Cleanup(func() { close(silent) })
	c := newClient(t, nil)
	r := open(t, c, hanging.URL+"/x")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := r.Resolve(ctx, "main", "")
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("hanging server: %v", err)
	}
	unlock, err := r.remote.cache.lock(t.Context(), c.progress)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		_, err := r.Resolve(ctx, "main", "")
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("locked cache: %v", err)
	}
}

func TestProgress(t *testing.T) {
	s := newServer(t)
	_, url := s.publish("shop.git", someFiles)
	c := newClient(t, s.env())
	var mu sync.Mutex
	var lines []string
	c.Progress = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}
	resolve(t, open(t, c, url), "main", "")
	text := strings.Join(lines, "\n")
	if !strings.Contains(text, "fetching "+url) || strings.ContainsAny(strings.ReplaceAll(text, "\n", ""), "\r\x1b") {
		t.Errorf("progress %q", text)
	}
}

// A location that is not allowed is not opened, and a redirect to one is not followed.
func TestAllow(t *testing.T) {
	s := newServer(t)
	_, url := s.publish("shop.git", map[string]string{"a": "a"})
	elsewhere := httptest.NewServer(http.RedirectHandler(url, http.StatusFound))
	t.Cleanup(elsewhere.Close)
	var asked []string
	c := newClient(t, nil)
	c.Map = []Mapping{{From: "https://mapped.example.com", To: "/etc"}}
	c.Allow = func(scheme, host string) error {
		asked = append(asked, scheme+" "+host)
		if scheme != "http" || host == s.host() {
			return errors.New("only the other host")
		}
		return nil
	}
	for _, refused := range []string{url, t.TempDir(), "ssh://git@git.example.com/shop", "https://mapped.example.com/shop"} {
		_, err := c.Open(t.Context(), refused)
		wantKind(t, err, ErrDenied, "only the other host")
	}
	r := open(t, c, elsewhere.URL+"/shop.git")
	if _, err := r.Resolve(t.Context(), "main", ""); err == nil {
		t.Error("a redirect was followed")
	}
	if last := asked[len(asked)-1]; last != "http "+s.host() {
		t.Errorf("the redirect was not checked: %q", asked)
	}
}
