package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var someFiles = map[string]string{"a.yaml": "a: 1\n", "dir/b.yaml": "b: 2\n", "dir-x/c.txt": "c", "dir/sub/d.yml": "d"}

// The layout of a repository on disk does not affect its files.
func TestLocalLayouts(t *testing.T) {
	layouts := map[string]func(r *testRepo, other string) string{
		"worktree":      func(r *testRepo, _ string) string { return r.dir },
		"git directory": func(r *testRepo, _ string) string { return filepath.Join(r.dir, ".git") },
		"file URL":      func(r *testRepo, _ string) string { return "file://" + filepath.ToSlash(r.dir) },
		"bare":          func(r *testRepo, other string) string { r.git("clone", "-q", "--bare", r.dir, other); return other },
		"bare, no suffix": func(r *testRepo, other string) string {
			r.git("clone", "-q", "--bare", r.dir, other+".git")
			return other
		},
		"linked worktree": func(r *testRepo, other string) string {
			r.git("worktree", "add", "-q", "-b", "linked", other)
			return other
		},
		"shared": func(r *testRepo, other string) string { r.git("clone", "-q", "--shared", r.dir, other); return other },
		"shared by a relative path, twice": func(r *testRepo, other string) string {
			middle := other + "-middle"
			r.git("clone", "-q", "--bare", "--shared", r.dir, middle)
			r.git("clone", "-q", "--bare", "--shared", middle, other)
			alternates := filepath.Join(other, "objects", "info", "alternates")
			if err := os.WriteFile(alternates, []byte("../../"+filepath.Base(middle)+"/objects\n"), 0o644); err != nil {
				r.t.Fatal(err)
			}
			return other
		},
		"packed objects and references": func(r *testRepo, _ string) string {
			r.git("gc", "-q")
			r.git("pack-refs", "--all")
			return r.dir
		},
		"submodule's git file": func(r *testRepo, other string) string {
			outer := newRepo(r.t, map[string]string{"x": "y"})
			outer.git("submodule", "add", "-q", r.dir, "inner")
			return filepath.Join(outer.dir, "inner")
		},
	}
	for name, layout := range layouts {
		t.Run(name, func(t *testing.T) {
			made := newRepo(t, someFiles)
			r := open(t, newClient(t, nil), layout(made, filepath.Join(t.TempDir(), "other")))
			c := resolve(t, r, "main", "")
			if want := made.git("rev-parse", "main"); c.Hash != want || c.Subject != "first" || c.Branch != "main" {
				t.Errorf("resolved %+v, want %s", c, want)
			}
			if diff := cmp.Diff(someFiles, contents(t, r.Tree(c))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestResolveRevisions(t *testing.T) {
	made := newRepo(t, someFiles)
	first := made.git("rev-parse", "HEAD")
	made.git("tag", "-a", "-m", "tagged", "v1")
	second := made.commit("second", map[string]string{"a.yaml": "a: 2\n"})
	made.git("branch", "feature/x", first)
	r := open(t, newClient(t, nil), made.dir)
	for _, test := range []struct{ branch, revision, want string }{
		{"main", "", second},
		{"", "", second},
		{"feature/x", "", first},
		{"main", first, first},
		{"main", first[:8], first},
		{"main", "HEAD~1", first},
		{"main", "main^", first},
		{"main", "v1", first},
		{"main", made.git("rev-parse", "v1"), first}, // the tag object itself
		{"main", "feature/x", first},
	} {
		if got := resolve(t, r, test.branch, test.revision).Hash; got != test.want {
			t.Errorf("Resolve(%q, %q) = %s, want %s", test.branch, test.revision, got, test.want)
		}
	}
}

// A clone also resolves branches that only its origin has; its own come first.
func TestResolveOriginBranches(t *testing.T) {
	made := newRepo(t, someFiles)
	made.git("branch", "dev")
	clone := &testRepo{t: t, dir: filepath.Join(t.TempDir(), "clone")}
	made.git("clone", "-q", made.dir, clone.dir)
	r := open(t, newClient(t, nil), clone.dir)
	if c := resolve(t, r, "dev", ""); c.Hash != made.git("rev-parse", "dev") {
		t.Errorf("dev is %s", c.Hash)
	}
	own := clone.commit("local", map[string]string{"new": "x"})
	if c := resolve(t, r, "main", ""); c.Hash != own {
		t.Errorf("main is %s, want the clone's own %s", c.Hash, own)
	}
	branches, err := r.Branches(t.Context())
	if diff := cmp.Diff([]string{"dev", "main"}, branches); diff != "" || err != nil {
		t.Error(diff, err)
	}
	remotes, err := r.Remotes()
	if diff := cmp.Diff([]string{made.dir}, remotes); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestLocalErrors(t *testing.T) {
	made := newRepo(t, someFiles)
	file := filepath.Join(made.dir, "a.yaml")
	empty := newRepo(t, nil)
	shallow := filepath.Join(t.TempDir(), "shallow")
	first := made.git("rev-parse", "HEAD")
	made.commit("second", map[string]string{"e": "e"})
	made.git("clone", "-q", "--depth", "1", "file://"+made.dir, shallow)
	single := filepath.Join(t.TempDir(), "single")
	made.git("clone", "-q", "--single-branch", made.dir, single)
	sha256 := &testRepo{t: t, dir: t.TempDir()}
	sha256.git("init", "-q", "--object-format=sha256")
	for name, test := range map[string]struct {
		url, branch, revision string
		kind                  error
		text                  string
	}{
		"no such folder":       {filepath.Join(made.dir, "nowhere"), "main", "", ErrRepositoryNotFound, "no such folder"},
		"a file":               {file, "main", "", ErrRepositoryNotFound, "it is a file"},
		"no such branch":       {made.dir, "prod", "", ErrBranchNotFound, "it has main"},
		"not in a shallow one": {shallow, "prod", "", ErrBranchNotFound, `it has main, but not all that its origin has: run "git fetch origin prod:refs/remotes/origin/prod" in it`},
		"not in a single one":  {single, "prod", "", ErrBranchNotFound, `run "git fetch origin prod:refs/remotes/origin/prod" in it`},
		"no such commit":       {made.dir, "main", strings.Repeat("1", 40), ErrCommitNotFound, "git fetch"},
		"no such revision":     {made.dir, "main", "v7", ErrCommitNotFound, `"v7"`},
		"a blob":               {made.dir, "main", made.git("rev-parse", "HEAD:a.yaml"), ErrCommitNotFound, "commit id"},
		"empty":                {empty.dir, "main", "", ErrEmpty, "no commit yet"},
		"empty, no branch":     {empty.dir, "", "", ErrEmpty, "no commit yet"},
		"behind a shallow end": {shallow, "main", first, ErrCommitNotFound, "git fetch --unshallow"},
		"sha256":               {sha256.dir, "main", "", ErrInvalid, "sha256"},
		"bad branch":           {made.dir, "a..b", "", ErrInvalid, "branch name"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := openAndResolve(t.Context(), newClient(t, nil), test.url, test.branch, test.revision)
			wantKind(t, err, test.kind, test.text)
		})
	}
}

func openAndResolve(ctx context.Context, c *Client, url, branch, revision string) (Commit, error) {
	r, err := c.Open(ctx, url)
	if err != nil {
		return Commit{}, err
	}
	return r.Resolve(ctx, branch, revision)
}

// Damage is found when it is read, and reported as damage.
func TestCorruptRepository(t *testing.T) {
	damage := map[string]func(content []byte) []byte{
		"garbage":   func([]byte) []byte { return []byte("garbage") },
		"truncated": func(content []byte) []byte { return content[:len(content)/2] },
		"empty":     func([]byte) []byte { return nil },
	}
	for name, change := range damage {
		for _, object := range []string{"HEAD", "HEAD^{tree}", "HEAD:dir", "HEAD:a.yaml"} {
			t.Run(name+" "+object, func(t *testing.T) {
				made := newRepo(t, someFiles)
				rewriteObject(t, made, object, change)
				err := readEverything(t.Context(), newClient(t, nil), made.dir)
				wantKind(t, err, ErrCorrupt, "git fsck", made.dir)
			})
		}
	}
}

// An object with another's content is detected: its hash is checked.
func TestSwappedObject(t *testing.T) {
	made := newRepo(t, someFiles)
	other, err := os.ReadFile(objectPath(made, "HEAD:dir/b.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	rewriteObject(t, made, "HEAD:a.yaml", func([]byte) []byte { return other })
	wantKind(t, readEverything(t.Context(), newClient(t, nil), made.dir), ErrCorrupt, "a.yaml")
}

func TestMissingObject(t *testing.T) {
	made := newRepo(t, someFiles)
	if err := os.Remove(objectPath(made, "HEAD:dir")); err != nil {
		t.Fatal(err)
	}
	wantKind(t, readEverything(t.Context(), newClient(t, nil), made.dir), ErrCorrupt, "an object is missing")
}

// A partial clone looks damaged, but is not.
func TestPartialClone(t *testing.T) {
	made := newRepo(t, someFiles)
	made.git("config", "uploadpack.allowFilter", "true")
	partial := filepath.Join(t.TempDir(), "partial")
	made.git("clone", "-q", "--bare", "--filter=blob:none", "file://"+made.dir, partial)
	wantKind(t, readEverything(t.Context(), newClient(t, nil), partial), ErrCorrupt, "--filter")
}

func TestCorruptPack(t *testing.T) {
	made := newRepo(t, someFiles)
	made.git("gc", "-q")
	packs, _ := filepath.Glob(filepath.Join(made.dir, ".git/objects/pack/*.pack"))
	content, err := os.ReadFile(packs[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := 12; i < len(content)-20; i++ {
		content[i] ^= 0x5a
	}
	if err := errors.Join(os.Chmod(packs[0], 0o644), os.WriteFile(packs[0], content, 0o644)); err != nil {
		t.Fatal(err)
	}
	wantKind(t, readEverything(t.Context(), newClient(t, nil), made.dir), ErrCorrupt)
}

func objectPath(r *testRepo, revision string) string {
	hash := r.git("rev-parse", revision)
	return filepath.Join(r.dir, ".git", "objects", hash[:2], hash[2:])
}

func rewriteObject(t *testing.T, r *testRepo, revision string, change func([]byte) []byte) {
	t.Helper()
	path := objectPath(r, revision)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(path, 0o644), os.WriteFile(path, change(content), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func readEverything(ctx context.Context, c *Client, url string) error {
	r, err := c.Open(ctx, url)
	if err != nil {
		return err
	}
	commit, err := r.Resolve(ctx, "main", "")
	if err != nil {
		return err
	}
	entries, err := r.Tree(commit).Files(ctx, "")
	for _, e := range entries {
		if _, readErr := r.Tree(commit).Read(ctx, e, 1<<20); readErr != nil {
			return readErr
		}
	}
	return err
}

func TestDiscover(t *testing.T) {
	made := newRepo(t, someFiles)
	got, err := Discover(filepath.Join(made.dir, "dir", "sub"))
	if err != nil || got != made.dir {
		t.Errorf("Discover = %q, %v, want %q", got, err, made.dir)
	}
	_, err = Discover(t.TempDir())
	wantKind(t, err, ErrRepositoryNotFound, "neither it nor a folder above it")
}

func TestHome(t *testing.T) {
	r := newRepo(t, map[string]string{"a.yaml": "a"})
	linked := filepath.Join(t.TempDir(), "far", "linked")
	r.git("worktree", "add", "-q", linked, "-b", "side")
	bare := filepath.Join(t.TempDir(), "bare.git")
	r.git("clone", "-q", "--bare", r.dir, bare)
	folder := t.TempDir()
	for dir, want := range map[string]string{r.dir: r.dir, linked: r.dir, bare: bare, folder: folder} {
		if got := Home(dir); got != want {
			t.Errorf("home of %q: got %q, want %q", dir, got, want)
		}
	}
}

// TestMainBranch: the default branch of origin, or main, or the branch that is checked out.
func TestMainBranch(t *testing.T) {
	upstream := newRepo(t, map[string]string{"a": "1"})
	upstream.git("checkout", "-q", "-b", "trunk")
	clone := &testRepo{t: t, dir: realDir(t)}
	clone.git("clone", "-q", upstream.dir, ".")
	clone.git("checkout", "-q", "-b", "feature")

	feature := newRepo(t, map[string]string{"a": "1"})
	feature.git("checkout", "-q", "-b", "feature")
	detached := newRepo(t, map[string]string{"a": "1"})
	detached.git("checkout", "-q", "--detach")
	alone := newRepo(t, map[string]string{"a": "1"})
	alone.git("branch", "-q", "-m", "master")
	alone.git("remote", "add", "origin", "https://git.example.com/acme/shop.git")
	nowhere := newRepo(t, map[string]string{"a": "1"})
	nowhere.git("branch", "-q", "-m", "master")
	nowhere.git("checkout", "-q", "--detach")

	for name, test := range map[string]struct {
		repo                 *testRepo
		main, checkedOut, at string
	}{
		"a clone":             {clone, "trunk", "feature", upstream.dir},
		"with main":           {feature, "main", "feature", ""},
		"a commit, with main": {detached, "main", "", ""},
		"without main":        {alone, "master", "master", "https://git.example.com/acme/shop.git"},
		"a commit":            {nowhere, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			client := &Client{}
			defer client.Close()
			repo, err := client.Open(t.Context(), test.repo.dir)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := repo.MainBranch(); err != nil || got != test.main {
				t.Errorf("main branch %q, error %v; want %q", got, err, test.main)
			}
			if got, err := repo.CheckedOut(); err != nil || got != test.checkedOut {
				t.Errorf("checked out %q, error %v; want %q", got, err, test.checkedOut)
			}
			if got, err := repo.Origin(); err != nil || got != test.at {
				t.Errorf("origin %q, error %v; want %q", got, err, test.at)
			}
		})
	}
}
