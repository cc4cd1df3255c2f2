package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"
)

func TestFiles(t *testing.T) {
	made := newRepo(t, someFiles)
	if err := os.Symlink("/etc/passwd", filepath.Join(made.dir, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(made.dir, "run.sh"), []byte("#!"), 0o755); err != nil {
		t.Fatal(err)
	}
	made.git("submodule", "add", "-q", newRepo(t, someFiles).dir, "zsub")
	made.commit("modes", nil)
	r := open(t, newClient(t, nil), made.dir)
	committed := r.Tree(resolve(t, r, "main", ""))
	working, err := Folder(made.dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, tree := range map[string]*Tree{"commit": committed, "folder": working} {
		t.Run(name, func(t *testing.T) {
			testFiles(t, made, tree)
		})
	}
}

func testFiles(t *testing.T, made *testRepo, tree *Tree) {
	entries, err := tree.Files(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{".gitmodules", "a.yaml", "dir-x/c.txt", "dir/b.yaml", "dir/sub/d.yml", "link.yaml", "run.sh", "zsub"}
	if diff := cmp.Diff(want, paths(entries)); diff != "" {
		t.Error(diff)
	}
	modes := map[string]Mode{}
	for _, e := range entries {
		if e.Mode != Regular {
			modes[e.Path] = e.Mode
		}
		if e.Mode != Submodule && e.Hash != made.git("rev-parse", "HEAD:"+e.Path) {
			t.Errorf("hash of %s is %s", e.Path, e.Hash)
		}
	}
	if diff := cmp.Diff(map[string]Mode{"link.yaml": Symlink, "run.sh": Executable, "zsub": Submodule}, modes); diff != "" {
		t.Error(diff)
	}
	if got := contents(t, tree)["link.yaml"]; got != "/etc/passwd" {
		t.Errorf("the link was followed: %q", got)
	}
	for _, below := range []string{"dir", "./dir", "dir/", "/dir", "dir//"} {
		entries, err := tree.Files(t.Context(), below)
		if diff := cmp.Diff([]string{"dir/b.yaml", "dir/sub/d.yml"}, paths(entries)); diff != "" || err != nil {
			t.Errorf("below %q: %s %v", below, diff, err)
		}
	}
	entries, err = tree.Files(t.Context(), "dir/b.yaml")
	if diff := cmp.Diff([]string{"dir/b.yaml"}, paths(entries)); diff != "" || err != nil {
		t.Error(diff, err)
	}
	_, err = tree.Files(t.Context(), "dir/nothing")
	wantKind(t, err, ErrPathNotFound, "dir/nothing")
	_, err = tree.Files(t.Context(), "dir/../../x")
	wantKind(t, err, ErrInvalid, "leads out")
}

func TestReadLimits(t *testing.T) {
	made := newRepo(t, map[string]string{"large": string(make([]byte, 1000)), "small": "x"})
	r := open(t, newClient(t, nil), made.dir)
	folder, _ := Folder(made.dir)
	for name, tree := range map[string]*Tree{"commit": r.Tree(resolve(t, r, "main", "")), "folder": folder} {
		entries, err := tree.Files(t.Context(), "large")
		if err != nil {
			t.Fatal(err)
		}
		if size, err := tree.Size(t.Context(), entries[0]); size != 1000 || err != nil {
			t.Errorf("%s: size %d, %v", name, size, err)
		}
		if content, err := tree.Read(t.Context(), entries[0], 1000); len(content) != 1000 || err != nil {
			t.Errorf("%s: read %d bytes, %v", name, len(content), err)
		}
		_, err = tree.Read(t.Context(), entries[0], 999)
		wantKind(t, err, ErrTooLarge, "1000", "999")
	}
}

// Each round asks for the sizes of all files of a commit.
func TestSizesAreReadOnce(t *testing.T) {
	made := newRepo(t, map[string]string{"file": "text"})
	r := open(t, newClient(t, nil), made.dir)
	tree := r.Tree(resolve(t, r, "main", ""))
	entry, err := tree.Find(t.Context(), "file")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if size, err := tree.Size(t.Context(), entry); size != 4 || err != nil {
			t.Errorf("size %d, %v", size, err)
		}
		_ = os.Remove(filepath.Join(made.dir, ".git/objects", entry.Hash[:2], entry.Hash[2:])) // gone the second time
	}
}

func TestReadByHash(t *testing.T) {
	made := newRepo(t, someFiles)
	r := open(t, newClient(t, nil), made.dir)
	content, err := r.Read(t.Context(), made.git("rev-parse", "HEAD:a.yaml"), 100)
	if string(content) != "a: 1\n" || err != nil {
		t.Errorf("%q, %v", content, err)
	}
	_, err = r.Read(t.Context(), "nonsense", 100)
	wantKind(t, err, ErrInvalid)
}

// An ended context ends every operation, with the context's own error.
func TestEndedContext(t *testing.T) {
	made := newRepo(t, someFiles)
	c := newClient(t, nil)
	r := open(t, c, made.dir)
	tree := r.Tree(resolve(t, r, "main", ""))
	folder, _ := Folder(made.dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, openErr := c.Open(ctx, made.dir)
	_, resolveErr := r.Resolve(ctx, "main", "")
	_, filesErr := tree.Files(ctx, "")
	_, folderErr := folder.Files(ctx, "")
	_, readErr := tree.Read(ctx, Entry{Path: "a.yaml", Hash: made.git("rev-parse", "HEAD:a.yaml")}, 100)
	for i, err := range []error{openErr, resolveErr, filesErr, folderErr, readErr} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("operation %d: %v", i, err)
		}
	}
}

func TestHostileTrees(t *testing.T) {
	entry := func(mode, name string) string { return mode + " " + name + "\x00" + string(make([]byte, 20)) }
	for _, content := range []string{
		"100644 a", "100644 a\x00short", "a\x00" + string(make([]byte, 20)), " \x00", "\x00 ",
		entry("100644", ".."), entry("40000", "."), entry("40000", ".git"), entry("40000", ".GIT"), entry("100644", "a/b"),
		entry("100644", ""), entry("777", "a"), entry("", "a"),
	} {
		if entries, err := parseTree([]byte(content)); !errors.Is(err, errDamaged) {
			t.Errorf("parseTree(%q) = %v, %v", content, entries, err)
		}
	}
}

func FuzzParseTree(f *testing.F) {
	f.Add([]byte("100644 a\x00aaaaaaaaaaaaaaaaaaaa40000 dir\x00bbbbbbbbbbbbbbbbbbbb"))
	f.Add([]byte("40000 \x00"))
	f.Fuzz(func(t *testing.T, content []byte) {
		entries, err := parseTree(content)
		for _, e := range entries {
			if !safeName(e.name) {
				t.Errorf("unsafe name %q", e.name)
			}
		}
		if err == nil && len(entries)*22 > len(content) {
			t.Errorf("%d entries from %d bytes", len(entries), len(content))
		}
	})
}

func TestListShowsOneFolder(t *testing.T) {
	made := newRepo(t, someFiles)
	r := open(t, newClient(t, nil), made.dir)
	tree := r.Tree(resolve(t, r, "main", ""))
	list := func(folder Entry) []Entry {
		t.Helper()
		entries, err := tree.List(t.Context(), folder)
		if err != nil {
			t.Fatal(err)
		}
		return entries
	}
	root := list(Entry{})
	if diff := cmp.Diff([]string{"a.yaml", "dir-x", "dir"}, paths(root)); diff != "" {
		t.Error(diff)
	}
	for _, e := range root {
		if (e.Mode == Subfolder) != (e.Path != "a.yaml") || e.Hash != made.git("rev-parse", "HEAD:"+e.Path) {
			t.Errorf("got %+v", e)
		}
	}
	dir := list(root[2])
	if diff := cmp.Diff([]string{"dir/b.yaml", "dir/sub"}, paths(dir)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"dir/sub/d.yml"}, paths(list(dir[1]))); diff != "" {
		t.Error(diff)
	}
	folder, err := Folder(made.dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = folder.List(t.Context(), Entry{})
	wantKind(t, err, ErrInvalid)
	_, err = tree.List(t.Context(), root[0])
	wantKind(t, err, ErrInvalid)
}

func TestEachIsListWithoutPaths(t *testing.T) {
	made := newRepo(t, someFiles)
	r := open(t, newClient(t, nil), made.dir)
	tree := r.Tree(resolve(t, r, "main", ""))
	var got []Entry
	err := tree.Each(t.Context(), tree.Root(), func(name string, id ID, mode Mode) {
		got = append(got, Entry{Path: name, Hash: plumbing.Hash(id).String(), Mode: mode, Size: -1})
	})
	want, listErr := tree.List(t.Context(), Entry{})
	if diff := cmp.Diff(want, got); diff != "" || err != nil || listErr != nil {
		t.Error(diff, err, listErr)
	}
	err = tree.Each(t.Context(), ID{1}, func(string, ID, Mode) {})
	wantKind(t, err, ErrCorrupt)
	folder, err := Folder(made.dir)
	if err != nil {
		t.Fatal(err)
	}
	wantKind(t, folder.Each(t.Context(), ID{}, nil), ErrInvalid)
}
