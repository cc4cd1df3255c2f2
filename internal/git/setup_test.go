package git

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// testRepo is a repository created with the git program.
type testRepo struct {
	t   *testing.T
	dir string
}

// newRepo creates a repository with a work tree and one commit on main.
func newRepo(t *testing.T, files map[string]string) *testRepo {
	t.Helper()
	r := &testRepo{t: t, dir: realDir(t)}
	r.git("init", "-q", "-b", "main")
	if files != nil {
		r.commit("first", files)
	}
	return r
}

// realDir returns a folder's path without symbolic links, as git names it.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// git runs the git program without this machine's configuration.
func (r *testRepo) git(args ...string) string {
	r.t.Helper()
	out, err := r.try(args...)
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// try is git for commands that may fail.
func (r *testRepo) try(args ...string) (string, error) {
	r.t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		r.t.Skip("the git program is not installed")
	}
	cmd := exec.Command("git", append([]string{"-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_AUTHOR_DATE=2024-01-02T03:04:05Z",
		"GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com", "GIT_COMMITTER_DATE=2024-01-02T03:04:05Z")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// commit writes files and commits them on the current branch. It returns the commit id.
func (r *testRepo) commit(message string, files map[string]string) string {
	r.t.Helper()
	writeFiles(r.t, r.dir, files)
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", message)
	return r.git("rev-parse", "HEAD")
}

func writeFiles(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// newClient returns a client with a separate cache and environment, isolated from this machine.
func newClient(t *testing.T, env map[string]string) *Client {
	t.Helper()
	home := t.TempDir()
	c := &Client{CacheDir: filepath.Join(home, "cache"), Env: func(name string) string {
		if value, ok := env[name]; ok {
			return value
		}
		switch name {
		case "HOME":
			return home
		case "GIT_CONFIG_NOSYSTEM":
			return "1"
		}
		return ""
	}}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func open(t *testing.T, c *Client, url string) *Repository {
	t.Helper()
	r, err := c.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func resolve(t *testing.T, r *Repository, branch, revision string) Commit {
	t.Helper()
	c, err := r.Resolve(t.Context(), branch, revision)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// contents reads all files of a tree.
func contents(t *testing.T, tree *Tree) map[string]string {
	t.Helper()
	entries, err := tree.Files(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range entries {
		if e.Mode == Submodule {
			got[e.Path] = "submodule"
			continue
		}
		content, err := tree.Read(t.Context(), e, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		got[e.Path] = string(content)
	}
	return got
}

func paths(entries []Entry) []string {
	var names []string
	for _, e := range entries {
		names = append(names, e.Path)
	}
	return names
}

// wantKind checks the kind of an error, and that its text contains texts.
func wantKind(t *testing.T, err, kind error, texts ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("got error %v, want kind %q", err, kind)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q does not mention %q", err, text)
		}
	}
}
