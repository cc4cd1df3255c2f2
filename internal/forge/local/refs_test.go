package local

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// bareClient runs git inside a bare repository of a forge.
func bareClient(t *testing.T, r *Repository) (*client, bare) {
	t.Helper()
	objects := r.forge.open(must(r.enter(t.Context(), Read)))
	return &client{t, objects.dir, ""}, objects
}

func TestReferencesMoveOnlyFromWhereTheyAre(t *testing.T) {
	f := newForge(t, Options{})
	r := newRepository(t, f)
	first := plumbing.NewHash(head(t, r, "main"))
	second := plumbing.NewHash(commit(t, r, "main", nil))
	c, objects := bareClient(t, r)
	c.run("pack-refs", "--all")
	for name, err := range map[string]error{
		"from another commit": objects.move("refs/heads/main", first, first),
		"from nothing":        objects.move("refs/heads/main", plumbing.ZeroHash, first),
		"from something":      objects.move("refs/heads/new", first, second),
		"removed elsewhere":   objects.remove("refs/heads/main", first),
		"below a branch":      objects.move("refs/heads/main/x/../y", plumbing.ZeroHash, first),
	} {
		if !errors.Is(err, forge.ErrConflict) && !errors.Is(err, forge.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := c.run("rev-parse", "main"); got != second.String() {
		t.Errorf("main is %s", got)
	}
	if err := objects.move("refs/heads/main", second, first); err != nil || c.run("rev-parse", "main") != first.String() {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(objects.dir, "refs", "heads", "*.lock")); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

func TestGitHoldsTheLock(t *testing.T) {
	f := newForge(t, Options{})
	r := newRepository(t, f)
	_, objects := bareClient(t, r)
	now := must(objects.branch("main"))
	lock := filepath.Join(objects.dir, "refs", "heads", "main.lock")
	must(0, os.WriteFile(lock, nil, 0o600))
	if err := objects.move("refs/heads/main", now, now); !errors.Is(err, forge.ErrConflict) {
		t.Errorf("got %v", err)
	}
	if all := must(objects.branches()); len(all) != 1 {
		t.Errorf("branches %v", all)
	}
	long := time.Now().Add(-time.Hour)
	must(0, os.Chtimes(lock, long, long))
	if err := objects.move("refs/heads/main", now, now); err != nil {
		t.Errorf("an abandoned lock: %v", err)
	}
}

// Packed references can be read, moved and removed like all others.
func TestPackedReferences(t *testing.T) {
	f := newForge(t, Options{})
	r := newRepository(t, f)
	commit(t, r, "a/b", nil)
	commit(t, r, "keep", nil)
	c, objects := bareClient(t, r)
	c.run("-c", "user.name=x", "-c", "user.email=x@example.com", "tag", "-am", "v1", "v1", "a/b")
	c.run("gc", "-q")
	if all := must(objects.branches()); len(all) != 3 {
		t.Errorf("branches %v", all)
	}
	if err := r.CreateBranch(t.Context(), "a", head(t, r, "main")); !errors.Is(err, forge.ErrConflict) {
		t.Errorf("a branch in the place of a folder: %v", err)
	}
	if err := r.CreateBranch(t.Context(), "keep/x", head(t, r, "main")); !errors.Is(err, forge.ErrConflict) {
		t.Errorf("a branch below another: %v", err)
	}
	if err := r.DeleteBranch(t.Context(), "a/b"); err != nil {
		t.Fatal(err)
	}
	if err := r.CreateBranch(t.Context(), "a", head(t, r, "main")); err != nil {
		t.Errorf("the folder of a branch that is gone is in the way: %v", err)
	}
	if got := c.run("for-each-ref", "--format=%(refname)"); got != "refs/heads/a\nrefs/heads/keep\nrefs/heads/main\nrefs/tags/v1" {
		t.Errorf("got\n%s", got)
	}
	c.run("fsck", "--strict")
	if err := r.DeleteBranch(t.Context(), "main"); !errors.Is(err, forge.ErrConflict) {
		t.Errorf("the default branch is deleted: %v", err)
	}
}
