package git

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// history makes a repository with git itself:
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
