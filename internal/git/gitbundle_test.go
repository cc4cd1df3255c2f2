package git

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// history returns a repository with two branches, a merge, a tag and an empty folder's worth of history.
func historyRepo(t *testing.T) *testRepo {
	t.Helper()
	r := newRepo(t, map[string]string{"a.txt": "1", "folder/deep/b.txt": "2"})
	r.git("checkout", "-q", "-b", "other")
	r.commit("other", map[string]string{"c.txt": "3"})
	r.git("checkout", "-q", "main")
	r.commit("second", map[string]string{"a.txt": "2"})
	r.git("merge", "-q", "--no-ff", "-m", "merge", "other")
	r.git("tag", "-a", "v1", "-m", "one")
	r.git("checkout", "-q", "--detach") // no branch is checked out
	return r
}

// bundleOf bundles branches of a repository, and the tag v1.
func bundleOf(t *testing.T, r *Repository, branches ...string) ([]byte, []Reference) {
	t.Helper()
	var references []Reference
	for _, b := range branches {
		references = append(references, Reference{BranchReference(b), resolve(t, r, b, "").Hash})
	}
	references = append(references, Reference{TagReference("v1"), resolve(t, r, "main", "v1").Hash})
	var b bytes.Buffer
	if err := r.Bundle(t.Context(), references, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), references
}

func unbundle(t *testing.T, c *Client, bundle []byte) *Bundled {
	t.Helper()
	b, err := c.Unbundle(t.Context(), filepath.Join(t.TempDir(), "unpacked"), bytes.NewReader(bundle))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// TestBundleIsOneOfGit: the git program clones from it, and finds nothing wrong; the same commits make the same bytes.
func TestBundleIsOneOfGit(t *testing.T) {
	source := historyRepo(t)
	r := open(t, newClient(t, nil), source.dir)
	content, references := bundleOf(t, r, "main", "other")
	again, _ := bundleOf(t, r, "other", "main")
	if !bytes.Equal(content, again) {
		t.Error("two bundles of the same commits differ")
	}
	dir := realDir(t)
	writeFiles(t, dir, map[string]string{"b.bundle": string(content)})
	g := &testRepo{t: t, dir: dir}
	if got := g.git("bundle", "list-heads", "b.bundle"); !strings.Contains(got, references[0].Commit+" refs/heads/main") {
		t.Errorf("got %s", got)
	}
	g.git("clone", "-q", "-b", "main", "b.bundle", "clone")
	g.dir = filepath.Join(dir, "clone")
	g.git("fsck", "--strict")
	if got, want := g.git("rev-parse", "HEAD"), references[0].Commit; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestReceive carries commits into a bare repository and one behind HTTP, with their hashes; the second time there is nothing to do.
func TestReceive(t *testing.T) {
	source := historyRepo(t)
	content, references := bundleOf(t, open(t, newClient(t, nil), source.dir), "main", "other")
	s := newServer(t)
	remote := filepath.Join(s.root, "inside.git")
	local := filepath.Join(t.TempDir(), "new", "inside.git")
	for _, dir := range []string{remote, local} {
		if err := CreateBare(dir, "main"); err != nil {
			t.Fatal(err)
		}
	}
	(&testRepo{t: t, dir: remote}).git("config", "http.receivepack", "true")
	for name, url := range map[string]string{remote: s.http.URL + "/inside.git", local: local} {
		c := newClient(t, s.env())
		b := unbundle(t, c, content)
		inside := open(t, c, url)
		before, err := inside.References(t.Context())
		if err != nil || len(before) != 0 {
			t.Fatalf("%s: got %v, %v", url, before, err)
		}
		for _, ref := range references {
			if err := inside.Receive(t.Context(), b, ref.Name, ""); err != nil {
				t.Fatalf("%s: %v", url, err)
			}
			wantKind(t, inside.Receive(t.Context(), b, ref.Name, ""), ErrMoved, "run the command again")
			if err := inside.Receive(t.Context(), b, ref.Name, ref.Commit); err != nil {
				t.Errorf("%s again: %v", url, err)
			}
		}
		after, err := inside.References(t.Context())
		if err != nil || len(after) != 3 {
			t.Fatalf("%s: got %v, %v", url, after, err)
		}
		for _, ref := range references {
			if after[ref.Name] != ref.Commit {
				t.Errorf("%s: %s is at %s, want %s", url, ref.Name, after[ref.Name], ref.Commit)
			}
		}
		(&testRepo{t: t, dir: name}).git("fsck", "--strict")
	}
	if err := CreateBare(local, "main"); err == nil {
		t.Error("an existing repository was created again")
	}
	wantKind(t, CreateBare(filepath.Join(t.TempDir(), "x"), "a b"), ErrInvalid)
}

// TestUnbundleRefuses: a bundle comes from elsewhere.
func TestUnbundleRefuses(t *testing.T) {
	source := historyRepo(t)
	content, references := bundleOf(t, open(t, newClient(t, nil), source.dir), "main")
	header, pack, _ := bytes.Cut(content, []byte("\n\n"))
	main := references[0].Commit
	for what, tc := range map[string]struct{ content, says string }{
		"empty":            {"", "does not begin like"},
		"another version":  {"# v3 git bundle\n\n", "does not begin like"},
		"no end of line":   {"# v2 git bundle\n" + main, "not complete"},
		"a long line":      {"# v2 git bundle\n" + main + " refs/heads/" + strings.Repeat("a", 5000) + "\n\n", "not complete, or too long"},
		"no reference":     {"# v2 git bundle\n\n" + string(pack), "no references"},
		"a prerequisite":   {"# v2 git bundle\n-" + main + " second\n" + main + " refs/heads/main\n\n" + string(pack), "needs commits"},
		"a path":           {"# v2 git bundle\n" + main + " refs/heads/../../hooks/post-update\n\n" + string(pack), "not a commit of a branch or tag"},
		"another ref":      {"# v2 git bundle\n" + main + " refs/notes/commits\n\n" + string(pack), "not a commit of a branch or tag"},
		"HEAD":             {"# v2 git bundle\n" + main + " HEAD\n\n" + string(pack), "not a commit of a branch or tag"},
		"twice":            {"# v2 git bundle\n" + main + " refs/heads/a\n" + main + " refs/heads/a\n\n" + string(pack), "there twice"},
		"a missing commit": {"# v2 git bundle\n" + strings.Repeat("1", 40) + " refs/heads/main\n\n" + string(pack), "not complete"},
		"truncated":        {string(content[:len(content)-30]), "read the Git bundle"},
		"changed":          {string(header) + "\n\n" + strings.Replace(string(pack), string(pack[40:44]), "abcd", 1), "read the Git bundle"},
	} {
		_, err := newClient(t, nil).Unbundle(t.Context(), filepath.Join(t.TempDir(), "unpacked"), strings.NewReader(tc.content))
		if err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: got %v, want %q", what, err, tc.says)
		}
	}
	c := newClient(t, nil)
	c.Limits.Pack = 100
	_, err := c.Unbundle(t.Context(), filepath.Join(t.TempDir(), "unpacked"), bytes.NewReader(content))
	wantKind(t, err, ErrInvalid, "too large")
}

// TestBundleRefusesShallowClones, whose bundle would not be complete.
func TestBundleRefusesShallowClones(t *testing.T) {
	source := historyRepo(t)
	clone := filepath.Join(t.TempDir(), "clone")
	source.git("clone", "-q", "--depth", "1", "--branch", "main", "file://"+source.dir, clone)
	r := open(t, newClient(t, nil), clone)
	err := r.Bundle(t.Context(), []Reference{{"refs/heads/main", resolve(t, r, "main", "").Hash}}, &bytes.Buffer{})
	wantKind(t, err, ErrInvalid, "git fetch --unshallow")
	if _, err := os.Stat(clone); err != nil {
		t.Error(err)
	}
}

// FuzzBundleHeader: a header comes from elsewhere. Whatever it says, its references are branches and tags with safe names, once each.
func FuzzBundleHeader(f *testing.F) {
	commit := strings.Repeat("1", 40)
	for _, header := range []string{
		bundleSignature + commit + " refs/heads/main\n\nPACK", bundleSignature + "-" + commit + "\n\n", bundleSignature + commit + " refs/tags/../x\n\n", bundleSignature, "",
	} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		references, err := readBundleHeader(bufio.NewReader(strings.NewReader(header)))
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, ref := range references {
			if seen[ref.Name] || !validReference(ref.Name) || unsafePath(ref.Name) != "" || len(ref.Commit) != 40 {
				t.Errorf("accepted %+v", references)
			}
			seen[ref.Name] = true
		}
		if len(references) == 0 {
			t.Error("accepted a bundle without references")
		}
	})
}
