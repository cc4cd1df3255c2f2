package fleettest

import (
	"io"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/gitea/giteatest"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
)

// Gitea is the fake Gitea with real repositories behind it: the fake answers the API, and git itself what git asks.
type Gitea struct {
	*giteatest.Fake
	t *testing.T
	// dir holds a bare repository <owner>/<name>.git for each.
	dir string

	mu sync.Mutex
	// left is how many requests are answered before fault is injected; negative for never.
	left  int
	fault forgetest.Fault
}

// FailAfter injects a fault after n more requests to the API; never when n is negative.
func (g *Gitea) FailAfter(n int, fault forgetest.Fault) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left, g.fault = n, fault
}

// count counts a request.
func (g *Gitea) count() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.left == 0 {
		g.Faults.Inject(g.fault)
	}
	g.left--
}

// NewGitea serves the bare repositories in a folder.
func NewGitea(t *testing.T, dir string) *Gitea {
	t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	g := &Gitea{Fake: giteatest.New(t), t: t, dir: dir, left: -1}
	backend := &cgi.Handler{
		Path: program, Args: []string{"http-backend"}, Stderr: io.Discard,
		Env: []string{
			"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=bot",
			"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		},
	}
	api := g.Config.Handler
	g.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/") {
			g.look(t, r)
			g.count()
			api.ServeHTTP(w, r)
			g.follow(t, r)
			return
		}
		if _, password, _ := r.BasicAuth(); password != giteatest.Token {
			w.Header().Set("WWW-Authenticate", `Basic realm="gitea"`)
			// Servers have been seen to repeat what they were told.
			http.Error(w, "not for you, "+password, http.StatusUnauthorized)
			return
		}
		if path := r.URL.Path; !strings.Contains(path, ".git/") {
			r.URL.Path = strings.Replace(path, "/info/", ".git/info/", 1)
			r.URL.Path = strings.Replace(r.URL.Path, "/git-", ".git/git-", 1)
		}
		backend.ServeHTTP(w, r)
	})
	return g
}

// Repositories are the paths of those that are served.
func (g *Gitea) Repositories(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(g.dir, "*", "*.git"))
	if err != nil {
		t.Fatal(err)
	}
	for i, dir := range found {
		path, err := filepath.Rel(g.dir, strings.TrimSuffix(dir, ".git"))
		if err != nil {
			t.Fatal(err)
		}
		found[i] = filepath.ToSlash(path)
	}
	return found
}

// follow makes or removes the bare repository that a request has just created or deleted in the fake.
func (g *Gitea) follow(t *testing.T, r *http.Request) {
	owner, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/api/v1/repos/"), "/")
	created, isCreation := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/api/v1/orgs/"), "/repos")
	switch {
	case r.Method == http.MethodPost && isCreation:
		for _, path := range g.known(created) {
			if err := Git("init", "-q", "--bare", filepath.Join(g.dir, path+".git")).Run(); err != nil {
				t.Errorf("create %s: %v", path, err)
			}
		}
	case r.Method == http.MethodDelete && !strings.Contains(name, "/") && owner != "":
		if err := os.RemoveAll(filepath.Join(g.dir, owner, name+".git")); err != nil {
			t.Error(err)
		}
	}
}

// known are the paths of the repositories of an owner that the fake has and the folder has not.
func (g *Gitea) known(owner string) []string {
	g.World.Lock()
	defer g.World.Unlock()
	var missing []string
	for _, path := range g.World.Paths() {
		if _, err := os.Stat(filepath.Join(g.dir, path+".git")); err != nil && strings.HasPrefix(path, owner+"/") {
			missing = append(missing, path)
		}
	}
	return missing
}

// look tells the fake which repositories there are, and where their branches are: of the one that a request is about, if it is about one.
func (g *Gitea) look(t *testing.T, r *http.Request) {
	paths := g.Repositories(t)
	if parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1/repos/"), "/"); len(parts) > 2 && slices.Contains(paths, parts[0]+"/"+parts[1]) {
		paths = []string{parts[0] + "/" + parts[1]}
	}
	for _, path := range paths {
		out, err := Git("-C", filepath.Join(g.dir, path+".git"), "for-each-ref",
			"--format=%(refname:strip=2) %(objectname)", "refs/heads").Output()
		if err != nil {
			continue // it is being made, or removed, at this moment
		}
		g.World.Lock()
		g.World.AddRepo(path) // does nothing to one that it knows
		g.World.Unlock()
		for line := range strings.Lines(string(out)) {
			branch, commit, _ := strings.Cut(strings.TrimSpace(line), " ")
			g.World.Push(path, branch, commit, "kalypso-bot")
		}
	}
}

// As connects to the forge with a token. Its client waits for the forge on its own clock.
func (g *Gitea) As(token string) forge.Forge {
	return g.Connect(g.t, token, transport.Config{Clock: forgetest.NewClock(Time), Timeout: time.Minute})
}
