package local

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
)

func TestTokensAreKeptAsHashes(t *testing.T) {
	dir := t.TempDir()
	f := newForge(t, Options{Dir: dir})
	secret, made, err := f.CreateToken(t.Context(), "ci", Account{Name: "robot", Right: Write, Below: "/team/"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Authenticate(t.Context(), secret)
	if err != nil || got != made || got.Account != (Account{Name: "robot", Right: Write, Below: "team"}) || len(secret.Reveal()) < 40 {
		t.Errorf("got %+v, %v; made %+v", got, err, made)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "forge.db*"))
	for _, file := range files {
		if content, _ := os.ReadFile(file); strings.Contains(string(content), secret.Reveal()) {
			t.Errorf("%s contains the token", file)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("everybody reads %s: %v, %v", file, info.Mode(), err)
		}
	}
	if len(files) == 0 {
		t.Error("no database")
	}
	for _, wrong := range []string{"", "wrong", secret.Reveal() + "x", secret.Reveal()[1:]} {
		if _, err := f.Authenticate(t.Context(), forge.NewSecret(wrong)); !errors.Is(err, forge.ErrDenied) {
			t.Errorf("got %v", err)
		}
	}
	for range 2 {
		if err := f.RevokeToken(t.Context(), made.ID); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Authenticate(t.Context(), secret); !errors.Is(err, forge.ErrDenied) {
		t.Errorf("revoked, but %v", err)
	}
	for _, a := range []Account{{}, {Name: "x"}, {Name: "x", Right: "root"}, {Name: "a b", Right: Read}, {Name: "../x", Right: Read}} {
		if _, _, err := f.CreateToken(t.Context(), "x", a); !errors.Is(err, forge.ErrInvalid) {
			t.Errorf("%+v: got %v", a, err)
		}
	}
}

func TestRights(t *testing.T) {
	for _, tc := range []struct {
		account Account
		needed  Right
		path    string
		want    bool
	}{
		{Account{Right: Read}, Read, "team/shop", true},
		{Account{Right: Read}, Write, "team/shop", false},
		{Account{Right: Admin}, Write, "team/shop", true},
		{Account{Right: "other"}, Read, "team/shop", false},
		{Account{}, Read, "team/shop", false},
		{Account{Right: Write, Below: "team"}, Write, "Team/shop", true},
		{Account{Right: Write, Below: "team"}, Write, "teams/shop", false},
		{Account{Right: Write, Below: "team/shop"}, Write, "team/shop", true},
		{Account{Right: Write, Below: "team/shop"}, Write, "team/shopping", false},
	} {
		if got := tc.account.may(tc.needed, tc.path); got != tc.want {
			t.Errorf("%+v may %s %s: %v", tc.account, tc.needed, tc.path, got)
		}
	}
}

func TestEveryOperationNeedsItsRight(t *testing.T) {
	f := newForge(t, Options{})
	r := newRepository(t, f)
	c := open(t, r, "feature", nil)
	ctx := t.Context()
	operations := map[string]func(r *Repository) error{
		"close": func(r *Repository) error {
			return r.EditPullRequest(ctx, 1, forge.PullRequestEdit{State: new(forge.Closed)})
		},
		"merge": func(r *Repository) error {
			_, err := r.MergePullRequest(ctx, 1, forge.Merge{Head: c.Head.Commit})
			return err
		},
		"auto":     func(r *Repository) error { return r.AutoMerge(ctx, 1, forge.Merge{Head: c.Head.Commit}) },
		"approve":  func(r *Repository) error { return r.Approve(ctx, 1, c.Head.Commit) },
		"branch":   func(r *Repository) error { return r.CreateBranch(ctx, "x", c.Head.Commit) },
		"unbranch": func(r *Repository) error { return r.DeleteBranch(ctx, "feature") },
		"unlabel":  func(r *Repository) error { return r.RemoveLabel(ctx, 1, "x") },
		"comment":  func(r *Repository) error { _, err := r.Comment(ctx, 1, "x"); return err },
		"issue":    func(r *Repository) error { _, err := r.OpenIssue(ctx, forge.NewIssue{Title: "x"}); return err },
		"unissue":  func(r *Repository) error { return r.EditIssue(ctx, 1, forge.IssueEdit{}) },
		"protect":  func(r *Repository) error { return r.Protect(ctx, "main", forge.Protection{Approvals: 1}) },
		"hook": func(r *Repository) error {
			return r.EnsureHook(ctx, forge.Hook{URL: "http://x", Secret: forge.NewSecret("y")})
		},
	}
	for name, operation := range operations {
		if err := operation(f.As(Account{Name: "x", Right: Read}).at(r.id.Path)); !errors.Is(err, forge.ErrDenied) {
			t.Errorf("%s with the right read: %v", name, err)
		}
		if err := operation(f.As(Account{Name: "x", Right: Admin, Below: "elsewhere"}).at(r.id.Path)); !errors.Is(err, forge.ErrNotFound) {
			t.Errorf("%s from elsewhere: %v", name, err)
		}
	}
	for _, name := range []string{"protect", "hook"} {
		if err := operations[name](f.As(Account{Name: "x", Right: Write}).at(r.id.Path)); !errors.Is(err, forge.ErrDenied) {
			t.Errorf("%s with the right write: %v", name, err)
		}
	}
	if _, err := f.As(Account{Name: "x", Right: Write}).CreateRepository(ctx, forge.NewRepository{Owner: "a", Name: "b"}); !errors.Is(err, forge.ErrDenied) {
		t.Errorf("create: %v", err)
	}
}

func TestNamesOfRepositories(t *testing.T) {
	f := newForge(t, Options{})
	for _, name := range []string{"", ".", "..", ".git", "a/b", "a b", "a.git", "a.lock", "-", "a\x00", "ä", strings.Repeat("a", 200), "a..b", "x."} {
		if _, err := f.CreateRepository(t.Context(), forge.NewRepository{Owner: "team", Name: name}); !errors.Is(err, forge.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := f.CreateRepository(t.Context(), forge.NewRepository{Owner: "team", Name: "Shop", DefaultBranch: "bad name"}); !errors.Is(err, forge.ErrInvalid) {
		t.Errorf("default branch: %v", err)
	}
	if _, err := f.CreateRepository(t.Context(), forge.NewRepository{Owner: "team", Name: "Shop"}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.CreateRepository(t.Context(), forge.NewRepository{Owner: "Team", Name: "shop"}); !errors.Is(err, forge.ErrConflict) {
		t.Errorf("another case: %v", err)
	}
}

// No path of a request leads to a folder outside of the repositories.
func FuzzPaths(f *testing.F) {
	for _, path := range []string{"/team/shop/info/refs", "/team/shop.git/git-receive-pack", "/../x/info/refs", "/a/../../b/info/refs", "/a/b.git.git/info/refs", "/a//info/refs"} {
		f.Add(path)
	}
	in := &installation{Options: Options{Dir: "/forge"}}
	f.Fuzz(func(t *testing.T, path string) {
		repository, service, ok := gitPath(path)
		if !ok {
			return
		}
		owner, name, ok := splitPath(repository)
		if !ok {
			return
		}
		folder := in.folder(entry{owner: owner, name: name})
		if want := "/forge/repos/" + owner + "/" + name + ".git"; filepath.ToSlash(folder) != want || strings.Count(want, "/") != 4 {
			t.Errorf("%q of %s leads to %q", path, service, folder)
		}
	})
}

// A failed delivery is retried, and an unreachable receiver does not keep the forge from closing.
func TestDeliveriesAreRepeated(t *testing.T) {
	var tries atomic.Int64
	delivered := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if tries.Add(1) == 1 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		delivered <- r.Header.Get(deliveryHeader)
	}))
	defer receiver.Close()
	f := newForge(t, Options{})
	f.events.deliveries.pause = time.Millisecond
	r := newRepository(t, f)
	if err := r.EnsureHook(t.Context(), forge.Hook{URL: receiver.URL, Secret: forge.NewSecret("key")}); err != nil {
		t.Fatal(err)
	}
	commit(t, r, "feature", nil)
	select {
	case id := <-delivered:
		if id == "" {
			t.Error("a delivery without a name")
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("not delivered")
	}
	receiver.Close()
	commit(t, r, "feature", nil)
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func TestCanceledContext(t *testing.T) {
	f := newForge(t, Options{})
	r := newRepository(t, f)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.FindPullRequests(ctx, forge.PullRequestFilter{}); !errors.Is(err, context.Canceled) {
		t.Errorf("read: %v", err)
	}
	e := must(r.enter(t.Context(), Read))
	unlock := must(f.locks.lock(t.Context(), e.id))
	defer unlock()
	waiting, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	if err := r.EditPullRequest(waiting, 1, forge.PullRequestEdit{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("wait: %v", err)
	}
}

// A database of a newer program is not modified.
func TestNewerDatabase(t *testing.T) {
	dir := t.TempDir()
	f := newForge(t, Options{Dir: dir})
	must(f.db.Exec("PRAGMA user_version = 99"))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{Dir: dir, URL: "http://localhost"}); err == nil || !strings.Contains(err.Error(), "use a newer one") {
		t.Errorf("got %v", err)
	}
}
