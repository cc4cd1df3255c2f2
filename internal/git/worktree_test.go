package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// uncommitted are changes that were not committed, and a file that has to be named as changed; empty for none.
var uncommitted = map[string]struct {
	change func(r *testRepo)
	named  string
}{
	"nothing": {func(*testRepo) {}, ""},
	"changed, staged": {func(r *testRepo) {
		writeFiles(r.t, r.dir, map[string]string{"a.yaml": "changed\n"})
		r.git("add", "a.yaml")
	}, "a.yaml"},
	"changed, not staged":            {func(r *testRepo) { writeFiles(r.t, r.dir, map[string]string{"dir/b.yaml": "changed\n"}) }, "dir/b.yaml"},
	"changed without another size":   {func(r *testRepo) { writeFiles(r.t, r.dir, map[string]string{"a.yaml": "A\n"}) }, "a.yaml"},
	"written again, and not changed": {func(r *testRepo) { writeFiles(r.t, r.dir, map[string]string{"a.yaml": "a\n"}) }, ""},
	"partly staged": {func(r *testRepo) {
		writeFiles(r.t, r.dir, map[string]string{"a.yaml": "staged\n"})
		r.git("add", "a.yaml")
		writeFiles(r.t, r.dir, map[string]string{"a.yaml": "on the disk\n"})
	}, "a.yaml"},
	"staged, and changed back": {func(r *testRepo) {
		writeFiles(r.t, r.dir, map[string]string{"a.yaml": "staged\n"})
		r.git("add", "a.yaml")
		writeFiles(r.t, r.dir, map[string]string{"a.yaml": "a\n"})
	}, "a.yaml"},
	"added":           {func(r *testRepo) { writeFiles(r.t, r.dir, map[string]string{"new/x.yaml": "x\n"}); r.git("add", "-A") }, "new/x.yaml"},
	"not tracked":     {func(r *testRepo) { writeFiles(r.t, r.dir, map[string]string{"new/x.yaml": "x\n"}) }, "new/x.yaml"},
	"no manifest":     {func(r *testRepo) { writeFiles(r.t, r.dir, map[string]string{"notes.txt": "x\n"}) }, ""},
	"of a forge":      {func(r *testRepo) { writeFiles(r.t, r.dir, map[string]string{".github/workflows/x.yaml": "x\n"}) }, ""},
	"hides manifests": {func(r *testRepo) { writeFiles(r.t, r.dir, map[string]string{".kalypsoignore": "a.yaml\n"}) }, ".kalypsoignore"},
	"to be added": {func(r *testRepo) {
		writeFiles(r.t, r.dir, map[string]string{"x.yaml": "x\n"})
		r.git("add", "-N", "x.yaml")
	}, "x.yaml"},
	"deleted, staged":     {func(r *testRepo) { r.git("rm", "-q", "dir/b.yaml") }, "dir/b.yaml"},
	"deleted, not staged": {func(r *testRepo) { r.remove("dir/b.yaml") }, "dir/b.yaml"},
	"no longer tracked":   {func(r *testRepo) { r.git("rm", "-q", "--cached", "dir/b.yaml") }, "dir/b.yaml"},
	"renamed":             {func(r *testRepo) { r.git("mv", "a.yaml", "renamed.yaml") }, "a.yaml"},
	"executable":          {func(r *testRepo) { r.mode("a.yaml", 0o755) }, "a.yaml"},
	"executable, and modes do not count": {func(r *testRepo) {
		r.git("config", "core.fileMode", "false")
		r.mode("a.yaml", 0o755)
	}, ""},
	"a link": {func(r *testRepo) { r.link("dir", "link"); r.git("add", "link") }, "link"},
	"a link in place of a file": {func(r *testRepo) {
		r.remove("a.yaml")
		r.link("dir/b.yaml", "a.yaml")
	}, "a.yaml"},
	"a link in place of a folder": {func(r *testRepo) {
		r.remove("dir")
		r.link("other", "dir")
	}, "dir/b.yaml"},
	"a folder in place of a file": {func(r *testRepo) {
		r.remove("a.yaml")
		writeFiles(r.t, r.dir, map[string]string{"a.yaml/x.yaml": "x\n"})
	}, "a.yaml/x.yaml"},
	"ignored": {func(r *testRepo) {
		writeFiles(r.t, r.dir, map[string]string{
			".git/info/exclude": "excluded.yaml\n", "excluded.yaml": "x\n", "ignored.yaml": "x\n", "build/x.yaml": "x\n", "dir/deep.yaml": "x\n",
			"dir/.gitignore": "deep.yaml\n",
		})
	}, ""},
	"tracked, and ignored": {func(r *testRepo) {
		writeFiles(r.t, r.dir, map[string]string{"build/tracked.yaml": "x\n", "build/x.yaml": "x\n"})
		r.git("add", "-f", "build/tracked.yaml")
	}, "build/tracked.yaml"},
	"kept despite a pattern": {func(r *testRepo) {
		writeFiles(r.t, r.dir, map[string]string{"dir/.gitignore": "*.yaml\n!keep.yaml\n", "dir/keep.yaml": "x\n", "dir/lost.yaml": "x\n"})
	}, "dir/keep.yaml"},
	"a repository inside": {func(r *testRepo) {
		r.git("init", "-q", "inside")
		writeFiles(r.t, r.dir, map[string]string{"inside/x.yaml": "x\n"})
	}, ""},
	"a sparse checkout": {func(r *testRepo) { r.git("sparse-checkout", "set", "dir") }, ""},
	"a sparse index": {func(r *testRepo) {
		r.git("sparse-checkout", "set", "--sparse-index", "dir")
		writeFiles(r.t, r.dir, map[string]string{"dir/b.yaml": "changed\n"})
	}, "dir/b.yaml"},
	"an index without a checksum": {func(r *testRepo) {
		writeFiles(r.t, r.dir, map[string]string{"x.yaml": "x\n"})
		r.git("add", "x.yaml")
		r.withoutChecksum() // as Git writes it with index.skipHash, since version 2.40
	}, "x.yaml"},
	"an index of version 4": {func(r *testRepo) {
		r.git("update-index", "--index-version", "4")
		writeFiles(r.t, r.dir, map[string]string{"dir/x.yaml": "x\n"})
		r.git("add", "dir/x.yaml")
	}, "dir/x.yaml"},
	"line ends of Windows": {func(r *testRepo) {
		r.git("config", "core.autocrlf", "true")
		writeFiles(r.t, r.dir, map[string]string{"a.yaml": "a\r\n"})
	}, ""},
}

func (r *testRepo) remove(path string) {
	r.t.Helper()
	if err := os.RemoveAll(filepath.Join(r.dir, path)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *testRepo) mode(path string, mode os.FileMode) {
	r.t.Helper()
	if err := os.Chmod(filepath.Join(r.dir, path), mode); err != nil {
		r.t.Fatal(err)
	}
}

func (r *testRepo) withoutChecksum() {
	r.t.Helper()
	content, err := os.ReadFile(filepath.Join(r.dir, ".git/index"))
	if err != nil {
		r.t.Fatal(err)
	}
	clear(content[len(content)-20:])
	writeFiles(r.t, r.dir, map[string]string{".git/index": string(content)})
}

func (r *testRepo) link(target, path string) {
	r.t.Helper()
	if err := os.Symlink(target, filepath.Join(r.dir, path)); err != nil {
		r.t.Fatal(err)
	}
}

var trackedFiles = map[string]string{
	"a.yaml": "a\n", "dir/b.yaml": "b\n", "dir/sub/c.yaml": "c\n", "other/d.yaml": "d\n", ".gitignore": "ignored.yaml\nbuild/\n",
}

// What is not committed is read as Git would commit it: the index, or the index after "git add --all".
func TestUncommittedIsReadAsGitWouldCommitIt(t *testing.T) {
	for name, test := range uncommitted {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := newRepo(t, trackedFiles)
			made.age()
			test.change(made)
			work, err := newClient(t, nil).WorkTree(t.Context(), made.dir, "")
			if err != nil {
				t.Fatal(err)
			}
			named, err := work.Changed(t.Context())
			if named != test.named || err != nil {
				t.Errorf("named %q as changed with error %v, want %q", named, err, test.named)
			}
			staged, err := work.Staged(t.Context())
			if want := made.git("write-tree"); err != nil || staged.tree.String() != want {
				t.Errorf("the index is tree %s with error %v, Git writes %s", staged.tree, err, want)
			}
			disk, err := work.OnDisk(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := contents(t, work.Repository().Tree(disk))
			made.git("-c", "advice.addEmbeddedRepo=false", "add", "--all", ":!inside")
			if want := made.git("write-tree"); disk.tree.String() != want {
				t.Errorf("the files are tree %s, Git writes %s:\n%s\nread as %v", disk.tree, want, made.git("ls-files", "--stage"), got)
			}
			if staged.Hash != "" || disk.Hash != "" || staged.Branch != "main" || disk.Branch != "main" {
				t.Errorf("got %+v and %+v, want states of main without commits", staged, disk)
			}
		})
	}
}

// age makes all files older than the index, as they are after a while.
func (r *testRepo) age() {
	r.t.Helper()
	long := time.Now().Add(-time.Hour)
	for path := range trackedFiles {
		if err := os.Chtimes(filepath.Join(r.dir, path), long, long); err != nil {
			r.t.Fatal(err)
		}
	}
	r.git("update-index", "-q", "--refresh")
}

func TestUncommittedContent(t *testing.T) {
	made := newRepo(t, trackedFiles)
	writeFiles(t, made.dir, map[string]string{"a.yaml": "staged\n"})
	made.git("add", "a.yaml")
	writeFiles(t, made.dir, map[string]string{"a.yaml": "on the disk\n", "new.yaml": "new\n"})
	before := made.git("count-objects")
	work, err := newClient(t, nil).WorkTree(t.Context(), made.dir, "")
	if err != nil {
		t.Fatal(err)
	}
	staged, err := work.Staged(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := contents(t, work.Repository().Tree(staged)); got["a.yaml"] != "staged\n" || got["new.yaml"] != "" {
		t.Errorf("staged: got %v", got)
	}
	disk, err := work.OnDisk(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tree := work.Repository().Tree(disk)
	if got := contents(t, tree); got["a.yaml"] != "on the disk\n" || got["new.yaml"] != "new\n" {
		t.Errorf("on the disk: got %v", got)
	}
	entries, err := tree.Files(t.Context(), "new.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if size, err := tree.Size(t.Context(), entries[0]); size != 4 || err != nil {
		t.Errorf("got size %d and error %v", size, err)
	}
	_, err = tree.Read(t.Context(), entries[0], 3)
	wantKind(t, err, ErrTooLarge)
	writeFiles(t, made.dir, map[string]string{"new.yaml": "later\n"})
	_, err = tree.Read(t.Context(), entries[0], 100)
	wantKind(t, err, ErrUnavailable, "changed while")
	if got := made.git("count-objects"); got != before {
		t.Errorf("got %s, and before it was read %s", got, before)
	}
}

// A hook is told which index will be committed; with "git commit -a" it is not the one that Git has later.
func TestUncommittedOfAnotherIndex(t *testing.T) {
	made := newRepo(t, trackedFiles)
	writeFiles(t, made.dir, map[string]string{"a.yaml": "changed\n"})
	content, err := os.ReadFile(filepath.Join(made.dir, ".git/index"))
	if err != nil {
		t.Fatal(err)
	}
	made.git("add", "a.yaml")
	want := made.git("write-tree")
	if err := os.Rename(filepath.Join(made.dir, ".git/index"), filepath.Join(made.dir, ".git/index.lock")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(made.dir, ".git/index"), content, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, index := range []string{".git/index.lock", filepath.Join(made.dir, ".git", "index.lock")} {
		work, err := newClient(t, nil).WorkTree(t.Context(), made.dir, index)
		if err != nil {
			t.Fatal(err)
		}
		if staged, err := work.Staged(t.Context()); err != nil || staged.tree.String() != want {
			t.Errorf("got tree %s with error %v, want %s", staged.tree, err, want)
		}
	}
}

func TestUncommittedOfALinkedWorkTree(t *testing.T) {
	made := newRepo(t, trackedFiles)
	linked := &testRepo{t: t, dir: filepath.Join(realDir(t), "linked")}
	made.git("worktree", "add", "-q", "-b", "dev", linked.dir)
	writeFiles(t, made.dir, map[string]string{"a.yaml": "of main\n", ".git/info/exclude": "excluded.yaml\n"})
	made.git("add", "a.yaml")
	writeFiles(t, linked.dir, map[string]string{"a.yaml": "of dev\n", "excluded.yaml": "x\n"})
	linked.git("add", "a.yaml")
	work, err := newClient(t, nil).WorkTree(t.Context(), linked.dir, "")
	if err != nil {
		t.Fatal(err)
	}
	staged, err := work.Staged(t.Context())
	if err != nil || staged.Branch != "dev" || staged.tree.String() != linked.git("write-tree") {
		t.Errorf("got %+v and error %v", staged, err)
	}
	if disk, err := work.OnDisk(t.Context()); err != nil || disk.tree != staged.tree {
		t.Errorf("got %+v and error %v", disk, err)
	}
}

// A submodule is the commit that is staged, whatever it has checked out, and its files are not of the control plane.
func TestUncommittedWithASubmodule(t *testing.T) {
	made, inner := newRepo(t, trackedFiles), newRepo(t, map[string]string{"x.yaml": "x\n"})
	made.git("submodule", "add", "-q", inner.dir, "sub")
	made.git("commit", "-q", "-m", "with a submodule")
	writeFiles(t, made.dir, map[string]string{"sub/new.yaml": "new\n"})
	work, err := newClient(t, nil).WorkTree(t.Context(), made.dir, "")
	if err != nil {
		t.Fatal(err)
	}
	head := resolve(t, work.Repository(), "main", "")
	if disk, err := work.OnDisk(t.Context()); err != nil || disk.tree != head.tree {
		t.Errorf("got %+v and error %v, want the tree of HEAD", disk, err)
	}
	if changed, err := work.Changed(t.Context()); changed != "" || err != nil {
		t.Errorf("got %q and error %v", changed, err)
	}
	// The work tree of a submodule can be a control plane, too.
	sub, err := newClient(t, nil).WorkTree(t.Context(), filepath.Join(made.dir, "sub"), "")
	if err != nil {
		t.Fatal(err)
	}
	if changed, err := sub.Changed(t.Context()); changed != "new.yaml" || err != nil {
		t.Errorf("got %q and error %v", changed, err)
	}
}

func TestUncommittedDuringAMerge(t *testing.T) {
	made := newRepo(t, trackedFiles)
	made.git("switch", "-q", "-c", "topic")
	made.commit("theirs", map[string]string{"a.yaml": "theirs\n"})
	made.git("switch", "-q", "main")
	made.commit("ours", map[string]string{"a.yaml": "ours\n"})
	if out, err := made.try("merge", "-q", "topic"); err == nil {
		t.Fatalf("the merge has no conflict: %s", out)
	}
	work, err := newClient(t, nil).WorkTree(t.Context(), made.dir, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = work.Staged(t.Context())
	wantKind(t, err, ErrInvalid, "conflicts, such as in a.yaml", "git add")
	if changed, err := work.Changed(t.Context()); changed != "a.yaml" || err != nil {
		t.Errorf("got %q and error %v", changed, err)
	}
	disk, err := work.OnDisk(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := contents(t, work.Repository().Tree(disk)); !strings.Contains(got["a.yaml"], "<<<<<<<") || len(got) != len(trackedFiles) {
		t.Errorf("got %v", got)
	}
}

// Before the first commit, everything that is staged is uncommitted.
func TestUncommittedBeforeTheFirstCommit(t *testing.T) {
	made := newRepo(t, nil)
	open := func() *WorkTree {
		work, err := newClient(t, nil).WorkTree(t.Context(), made.dir, "")
		if err != nil {
			t.Fatal(err)
		}
		return work
	}
	if changed, err := open().Changed(t.Context()); changed != "" || err != nil {
		t.Errorf("got %q and error %v", changed, err)
	}
	writeFiles(t, made.dir, map[string]string{"a.yaml": "a\n"})
	made.git("add", "-A")
	head, err := open().Head(t.Context())
	if head.Hash != "" || head.Branch != "main" || err != nil {
		t.Errorf("got HEAD %+v and error %v", head, err)
	}
	if staged, err := open().Staged(t.Context()); err != nil || staged.tree.String() != made.git("write-tree") {
		t.Errorf("got %+v and error %v", staged, err)
	}
	if changed, err := open().Changed(t.Context()); changed != "a.yaml" || err != nil {
		t.Errorf("got %q and error %v", changed, err)
	}
}

func TestWorkTreeErrors(t *testing.T) {
	made := newRepo(t, trackedFiles)
	bare := filepath.Join(realDir(t), "bare.git")
	made.git("clone", "-q", "--bare", made.dir, bare)
	folder := t.TempDir()
	for dir, text := range map[string]string{bare: "bare repository", filepath.Join(made.dir, ".git"): "bare repository", folder: "not a Git work tree"} {
		_, err := newClient(t, nil).WorkTree(t.Context(), dir, "")
		wantKind(t, err, ErrInvalid, text)
	}
	made.git("update-index", "--split-index")
	work, err := newClient(t, nil).WorkTree(t.Context(), made.dir, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = work.Staged(t.Context())
	wantKind(t, err, ErrInvalid, "--no-split-index")
	for _, content := range []string{"", "DIRC", "no index", strings.Repeat("DIRC\x00\x00\x00\x02\xff\xff\xff\xff", 20)} {
		writeFiles(t, made.dir, map[string]string{".git/index": content})
		_, err = work.Staged(t.Context())
		wantKind(t, err, ErrCorrupt, "index")
	}
}
