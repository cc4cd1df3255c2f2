package git

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var (
	ann  = Person{"Ann", "ann@example.com"}
	noon = time.Date(2024, 1, 2, 12, 0, 0, 0, time.UTC)
)

func request(parent Commit, put map[string]string, remove ...string) CommitRequest {
	files := map[string][]byte{}
	for path, content := range put {
		files[path] = []byte(content)
	}
	return CommitRequest{Parent: parent, Put: files, Delete: remove, Message: "change\n\nwhy", Author: ann, When: noon}
}

func mustCommit(t *testing.T, r *Repository, request CommitRequest) Commit {
	t.Helper()
	c, err := r.Commit(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Git must see the same files, and consider the commit valid.
func TestCommitAndMove(t *testing.T) {
	made := newRepo(t, someFiles)
	r := open(t, newClient(t, nil), made.dir)
	main := resolve(t, r, "main", "")
	c := mustCommit(t, r, request(main, map[string]string{"dir/b.yaml": "new\n", "dir.d/x": "1", "deep/er/y": "2"}, "dir/sub/d.yml", "never-there"))
	if c.Subject != "change" || !c.Time.Equal(noon) || c.Branch != "main" {
		t.Errorf("commit %+v", c)
	}
	if err := r.Push(t.Context(), "kalypso/dev", "", c); err != nil {
		t.Fatal(err)
	}
	made.git("fsck", "--strict")
	want := "deep/er/y\ndir-x/c.txt\ndir.d/x\ndir/b.yaml"
	if got := made.git("ls-tree", "-r", "--name-only", "kalypso/dev"); got != "a.yaml\n"+want {
		t.Errorf("git sees\n%s", got)
	}
	if got := made.git("log", "-1", "--format=%an|%ae|%cn|%ct|%P|%B", "kalypso/dev"); got != fmt.Sprintf("Ann|ann@example.com|Ann|%d|%s|change\n\nwhy", noon.Unix(), main.Hash) {
		t.Errorf("git says %s", got)
	}
	if made.git("rev-parse", "kalypso/dev:dir-x") != made.git("rev-parse", "main:dir-x") {
		t.Error("an unchanged folder changed")
	}
	again := mustCommit(t, r, request(main, map[string]string{"dir/b.yaml": "new\n", "dir.d/x": "1", "deep/er/y": "2"}, "dir/sub/d.yml"))
	if again.Hash != c.Hash {
		t.Error("the same request made another commit")
	}
}

func TestCommitNothing(t *testing.T) {
	made := newRepo(t, someFiles)
	r := open(t, newClient(t, nil), made.dir)
	_, err := r.Commit(t.Context(), request(resolve(t, r, "main", ""), map[string]string{"a.yaml": someFiles["a.yaml"]}, "missing"))
	wantKind(t, err, ErrNothingToCommit)
}

// A first commit needs no parent, in an empty repository and in one with other branches.
func TestCommitFirst(t *testing.T) {
	made := newRepo(t, nil)
	r := open(t, newClient(t, nil), made.dir)
	c := mustCommit(t, r, request(Commit{}, map[string]string{"a": "1"}))
	if err := r.Push(t.Context(), "gitops", "", c); err != nil {
		t.Fatal(err)
	}
	if got := made.git("ls-tree", "-r", "--name-only", "gitops"); got != "a" {
		t.Errorf("git sees %q", got)
	}
}

func TestCommitModes(t *testing.T) {
	made := newRepo(t, someFiles)
	if err := errors.Join(
		os.Symlink("a.yaml", filepath.Join(made.dir, "link")),
		os.Symlink("dir", filepath.Join(made.dir, "folder-link")),
		os.WriteFile(filepath.Join(made.dir, "run.sh"), []byte("1"), 0o755),
	); err != nil {
		t.Fatal(err)
	}
	made.commit("modes", nil)
	r := open(t, newClient(t, nil), made.dir)
	main := resolve(t, r, "main", "")
	c := mustCommit(t, r, request(main, map[string]string{"link": "2", "run.sh": "2"}))
	entries, _ := r.Tree(c).Files(t.Context(), "")
	modes := map[string]Mode{}
	for _, e := range entries {
		modes[e.Path] = e.Mode
	}
	if modes["link"] != Regular || modes["run.sh"] != Executable || modes["folder-link"] != Symlink {
		t.Errorf("modes %v", modes)
	}
	_, err := r.Commit(t.Context(), request(main, map[string]string{"folder-link/x": "through the link"}))
	wantKind(t, err, ErrInvalid, "is a file, not a folder")
}

func TestCommitRefusesUnsafePaths(t *testing.T) {
	made := newRepo(t, someFiles)
	r := open(t, newClient(t, nil), made.dir)
	main := resolve(t, r, "main", "")
	for _, path := range []string{
		"", "/a", "a/", "a//b", ".", "..", "../a", "a/../../b", "a/./b", ".git", ".git/config", "a/.GIT/hooks/x", ".git /x", ".git./x", "git~1",
		".g\u200cit/x", `a\b`, "C:/x", "a\nb", "a\x00b", "\xff", strings.Repeat("a", 256), strings.Repeat("a/", 300) + "b", strings.Repeat("abc/", 1500),
	} {
		for _, request := range []CommitRequest{request(main, map[string]string{path: "x"}), request(main, nil, path)} {
			_, err := r.Commit(t.Context(), request)
			wantKind(t, err, ErrInvalid, "change file")
		}
	}
	for name, request := range map[string]CommitRequest{
		"a file below a file":         request(main, map[string]string{"a.yaml/x": "1"}),
		"a file in a folder's place":  request(main, map[string]string{"dir": "1"}),
		"both in one request":         request(main, map[string]string{"new": "1", "new/x": "2"}),
		"written and deleted":         request(main, map[string]string{"a.yaml": "1"}, "a.yaml"),
		"a folder deleted":            request(main, nil, "dir"),
		"folder in place, some files": request(main, map[string]string{"dir": "1"}, "dir/b.yaml"),
	} {
		_, err := r.Commit(t.Context(), request)
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// In one commit, a file can replace a deleted folder, and a folder a deleted file.
func TestCommitSwapsFilesAndFolders(t *testing.T) {
	made := newRepo(t, someFiles)
	r := open(t, newClient(t, nil), made.dir)
	c := mustCommit(t, r, request(resolve(t, r, "main", ""), map[string]string{"dir": "file", "a.yaml/x": "folder"}, "dir/b.yaml", "dir/sub/d.yml", "a.yaml"))
	want := map[string]string{"dir": "file", "a.yaml/x": "folder", "dir-x/c.txt": "c"}
	if diff := cmp.Diff(want, contents(t, r.Tree(c))); diff != "" {
		t.Error(diff)
	}
}

func TestCommitRefusesIncompleteRequests(t *testing.T) {
	made := newRepo(t, someFiles)
	r := open(t, newClient(t, nil), made.dir)
	full := request(resolve(t, r, "main", ""), map[string]string{"x": "y"})
	for text, change := range map[string]func(*CommitRequest){
		"message is empty": func(c *CommitRequest) { c.Message = " \n" },
		"no e-mail":        func(c *CommitRequest) { c.Author.Email = "" },
		"time is missing":  func(c *CommitRequest) { c.When = time.Time{} },
	} {
		incomplete := full
		change(&incomplete)
		_, err := r.Commit(t.Context(), incomplete)
		wantKind(t, err, ErrInvalid, text)
	}
	hostile := full
	hostile.Author = Person{"Ann\nparent 1111111111111111111111111111111111111111", "a>b@c"}
	c := mustCommit(t, r, hostile)
	if err := r.Push(t.Context(), "hostile", "", c); err != nil {
		t.Fatal(err)
	}
	if got := made.git("log", "-1", "--format=%P|%ae", "hostile"); got != full.Parent.Hash+"|ab@c" {
		t.Errorf("git says %s", got)
	}
	folder := t.TempDir()
	_, err := open(t, newClient(t, nil), folder).Commit(t.Context(), full)
	wantKind(t, err, ErrInvalid, "plain folder")
}

func TestMoveLocal(t *testing.T) {
	made := newRepo(t, someFiles)
	made.git("branch", "packed")
	made.git("pack-refs", "--all")
	c := newClient(t, nil)
	r := open(t, c, made.dir)
	main := resolve(t, r, "main", "")
	next := mustCommit(t, r, request(main, map[string]string{"x": "y"}))
	for name, test := range map[string]struct {
		branch, old string
		kind        error
		text        string
	}{
		"checked out":         {"main", main.Hash, ErrCheckedOut, "--out"},
		"exists":              {"packed", "", ErrMoved, "run the command again"},
		"does not exist":      {"new", main.Hash, ErrMoved, ""},
		"elsewhere":           {"packed", next.Hash, ErrMoved, ""},
		"below another":       {"packed/new", "", ErrInvalid, `"packed"`},
		"no branch name":      {"a b", "", ErrInvalid, "branch name"},
		"old is no commit id": {"packed", "main", ErrInvalid, "ids of commits"},
	} {
		t.Run(name, func(t *testing.T) {
			wantKind(t, r.Push(t.Context(), test.branch, test.old, next), test.kind, test.text)
		})
	}
	if err := r.Push(t.Context(), "packed", main.Hash, next); err != nil {
		t.Fatal(err)
	}
	if got := made.git("rev-parse", "packed"); got != next.Hash {
		t.Errorf("packed is %s", got)
	}
	lock := filepath.Join(made.dir, ".git/refs/heads/packed.lock")
	writeFiles(t, made.dir, map[string]string{".git/refs/heads/packed.lock": ""})
	held := r.Push(t.Context(), "packed", next.Hash, main)
	if wantKind(t, held, ErrUnavailable, ".lock"); !errors.Is(held, ErrHeld) {
		t.Errorf("the cause is not shown: %v", held)
	}
	if _, err := os.Stat(lock); err != nil {
		t.Error("another process's lock was removed")
	}
	linked := filepath.Join(realDir(t), "linked")
	made.git("worktree", "add", "-q", "-b", "linked", linked)
	wantKind(t, r.Push(t.Context(), "linked", main.Hash, next), ErrCheckedOut, linked)
	bare := filepath.Join(t.TempDir(), "bare")
	made.git("clone", "-q", "--bare", made.dir, bare)
	inBare := open(t, c, bare)
	if err := inBare.Push(t.Context(), "main", main.Hash, mustCommit(t, inBare, request(main, map[string]string{"x": "y"}))); err != nil {
		t.Errorf("a bare repository has no work tree: %v", err)
	}
}

// Many objects are written as a pack.
func TestCommitManyFiles(t *testing.T) {
	made := newRepo(t, someFiles)
	r := open(t, newClient(t, nil), made.dir)
	put := map[string]string{"large": strings.Repeat("0123456789", 100_000)}
	for i := range 300 {
		put[fmt.Sprintf("types/t%d/app/f%d.yaml", i%7, i)] = fmt.Sprint("content ", i)
	}
	c := mustCommit(t, r, request(resolve(t, r, "main", ""), put))
	if err := r.Push(t.Context(), "many", "", c); err != nil {
		t.Fatal(err)
	}
	made.git("fsck", "--strict")
	maps.Copy(put, someFiles)
	if diff := cmp.Diff(put, contents(t, r.Tree(c))); diff != "" {
		t.Error(diff)
	}
	if loose, _ := filepath.Glob(filepath.Join(made.dir, ".git/objects/??/*")); len(loose) > 20 {
		t.Errorf("%d loose objects were written", len(loose))
	}
}

// Whatever is put and deleted, the result is the old files with the changes, and applying it again changes nothing.
func TestCommitProperty(t *testing.T) {
	made := newRepo(t, someFiles)
	r := open(t, newClient(t, nil), made.dir)
	at := resolve(t, r, "main", "")
	name := rapid.SampledFrom([]string{"a", "a-b", "a.b", "b", "c"})
	rapid.Check(t, func(rt *rapid.T) {
		files := contents(t, r.Tree(at))
		put := map[string]string{}
		for range rapid.IntRange(0, 4).Draw(rt, "puts") {
			// Files have upper-case names, so that they never clash with folders.
			path := strings.Join(rapid.SliceOfN(name, 0, 3).Draw(rt, "folders"), "/") + "/" + strings.ToUpper(name.Draw(rt, "file"))
			put[strings.TrimPrefix(path, "/")] = rapid.SampledFrom([]string{"1", "2"}).Draw(rt, "content")
		}
		var remove []string
		for path := range files {
			if _, both := put[path]; !both && rapid.Bool().Draw(rt, "delete") {
				remove = append(remove, path)
				delete(files, path)
			}
		}
		maps.Copy(files, put)
		next, err := r.Commit(t.Context(), request(at, put, remove...))
		if errors.Is(err, ErrNothingToCommit) {
			next, err = at, nil
		}
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(files, contents(t, r.Tree(next))); diff != "" {
			rt.Fatal(diff)
		}
		if _, err := r.Commit(t.Context(), request(next, put, remove...)); !errors.Is(err, ErrNothingToCommit) {
			rt.Fatalf("applied twice: %v", err)
		}
		at = next
	})
}
