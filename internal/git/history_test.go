package git

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// history creates a repository with git itself:
//
//	a ─ b ─ c      main
//	    └── d ─ e  topic, and m merges c and e
//	x              orphan
func history(t *testing.T) (*Repository, map[string]Commit) {
	t.Helper()
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@localhost"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	commits := map[string]string{}
	commit := func(name string) {
		run("commit", "-q", "--allow-empty", "-m", name)
		commits[name] = run("rev-parse", "HEAD")
	}
	run("init", "-q", "-b", "main")
	commit("a")
	commit("b")
	run("branch", "topic")
	commit("c")
	run("checkout", "-q", "topic")
	commit("d")
	commit("e")
	run("checkout", "-q", "-b", "merged")
	run("merge", "-q", "--no-ff", "-m", "m", "main")
	commits["m"] = run("rev-parse", "HEAD")
	run("checkout", "-q", "--orphan", "orphan")
	commit("x")

	client := &Client{Env: func(string) string { return "" }}
	t.Cleanup(func() { _ = client.Close() })
	r, err := client.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	resolved := map[string]Commit{}
	for name, id := range commits {
		if resolved[name], err = r.Resolve(t.Context(), "main", id); err != nil {
			t.Fatal(err)
		}
	}
	return r, resolved
}

func TestMergeBaseIsWhereHistoriesPart(t *testing.T) {
	r, c := history(t)
	for _, test := range []struct{ commit, other, want string }{
		{"e", "c", "b"}, {"c", "e", "b"}, {"e", "a", "a"}, {"b", "c", "b"}, {"c", "c", "c"}, {"m", "c", "c"}, {"e", "m", "e"},
	} {
		base, err := r.MergeBase(t.Context(), c[test.commit], c[test.other])
		if err != nil || base.Hash != c[test.want].Hash {
			t.Errorf("%s and %s part at %s (%v), want %s", test.commit, test.other, base.Subject, err, test.want)
		}
	}
	if _, err := r.MergeBase(t.Context(), c["x"], c["c"]); !errors.Is(err, ErrCommitNotFound) {
		t.Errorf("histories without anything in common: %v", err)
	}
}

func TestIsAncestor(t *testing.T) {
	r, c := history(t)
	for _, test := range []struct {
		ancestor, of string
		want         bool
	}{
		{"a", "m", true}, {"c", "m", true}, {"c", "c", true}, {"c", "e", false}, {"m", "a", false}, {"x", "m", false},
	} {
		got, err := r.IsAncestor(t.Context(), c[test.ancestor].Hash, c[test.of])
		if err != nil || got != test.want {
			t.Errorf("%s in the history of %s: %t (%v), want %t", test.ancestor, test.of, got, err, test.want)
		}
	}
	if _, err := r.IsAncestor(t.Context(), "main", c["a"]); !errors.Is(err, ErrInvalid) {
		t.Errorf("no commit id: %v", err)
	}
}

func TestHistoryFollowsFirstParents(t *testing.T) {
	r, c := history(t)
	for _, test := range []struct {
		from, until string
		limit       int
		want        string
		more        bool
	}{
		{from: "c", want: "c b a"},
		{from: "m", want: "m e d b a"}, // merged commits are on another branch
		{from: "m", until: "c", want: "m e d b a"},
		{from: "m", until: "d", want: "m e"},
		{from: "m", until: "m", want: ""},
		{from: "c", limit: 2, want: "c b", more: true},
		{from: "c", limit: 3, want: "c b a"},
		{from: "c", until: "a", limit: 2, want: "c b"}, // nothing is left out
		{from: "x", want: "x"},
	} {
		until := func(hash string) bool { return hash == c[test.until].Hash }
		commits, more, err := r.History(t.Context(), c[test.from], until, test.limit)
		var subjects []string
		for _, commit := range commits {
			subjects = append(subjects, commit.Subject)
			if commit != c[commit.Subject] {
				t.Errorf("got %+v, want what resolving it says: %+v", commit, c[commit.Subject])
			}
		}
		if got := strings.Join(subjects, " "); got != test.want || more != test.more || err != nil {
			t.Errorf("%+v: got %q, more=%t (%v)", test, got, more, err)
		}
	}
}

func TestHistoryOfAShallowCloneSaysThatThereIsMore(t *testing.T) {
	origin := newRepo(t, map[string]string{"a": "1"})
	origin.commit("second", map[string]string{"a": "2"})
	origin.commit("third", map[string]string{"a": "3"})
	dir := filepath.Join(t.TempDir(), "clone")
	origin.git("clone", "-q", "--depth", "2", "file://"+origin.dir, dir)
	r := open(t, newClient(t, nil), dir)
	commits, more, err := r.History(t.Context(), resolve(t, r, "main", ""), nil, 0)
	if err != nil || len(commits) != 2 || !more {
		t.Errorf("got %d commits, more=%t (%v), want 2 and more", len(commits), more, err)
	}
}

func TestHistoryOfARewrittenRemoteBranch(t *testing.T) {
	s := newServer(t)
	work, url := s.publish("app.git", map[string]string{"a": "1"})
	work.commit("wrong", map[string]string{"a": "2"})
	work.git("push", "-q", "origin", "main")
	r := open(t, newClient(t, s.env()), url)
	wrong := resolve(t, r, "main", "")
	work.git("reset", "-q", "--hard", "HEAD~1")
	work.commit("right", map[string]string{"a": "3"})
	work.git("push", "-q", "-f", "origin", "main")

	head := resolve(t, r, "main", "")
	commits, _, err := r.History(t.Context(), head, func(hash string) bool { return hash == wrong.Hash }, 0)
	if err != nil || len(commits) != 2 || commits[0].Subject != "right" || commits[1].Subject != "first" {
		t.Errorf("got %+v (%v), want the commits of the new history", commits, err)
	}
	if on, err := r.IsAncestor(t.Context(), wrong.Hash, head); on || err != nil {
		t.Errorf("the old head is in the new history: %t (%v)", on, err)
	}
	if got := contents(t, r.Tree(commits[1])); got["a"] != "1" {
		t.Errorf("the files of an old commit: %v", got)
	}
	if _, _, err := r.History(t.Context(), Commit{}, nil, 0); !errors.Is(err, ErrInvalid) {
		t.Errorf("the history of no commit: %v", err)
	}
}
