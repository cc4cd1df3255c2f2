package local

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// files maps paths to contents. The prefix "x:" makes a file executable, "l:" a symbolic link.
type files map[string]string

// write stores a tree.
func (all files) write(t testing.TB, objects bare) plumbing.Hash {
	t.Helper()
	tree, folders := &object.Tree{}, map[string]files{}
	for name, text := range all {
		if folder, rest, nested := strings.Cut(name, "/"); nested {
			if folders[folder] == nil {
				folders[folder] = files{}
			}
			folders[folder][rest] = text
			continue
		}
		mode := filemode.Regular
		switch {
		case strings.HasPrefix(text, "x:"):
			mode = filemode.Executable
		case strings.HasPrefix(text, "l:"):
			mode = filemode.Symlink
		}
		blob := objects.NewEncodedObject()
		blob.SetType(plumbing.BlobObject)
		w, _ := blob.Writer()
		_, _ = io.WriteString(w, text)
		tree.Entries = append(tree.Entries, object.TreeEntry{Name: name, Mode: mode, Hash: set(t, objects, blob)})
	}
	for name, below := range folders {
		tree.Entries = append(tree.Entries, object.TreeEntry{Name: name, Mode: filemode.Dir, Hash: below.write(t, objects)})
	}
	sortTree(tree)
	return encode(t, objects, tree.Encode)
}

// commit stores a commit of the files.
func (all files) commit(t testing.TB, objects bare, parents ...plumbing.Hash) plumbing.Hash {
	t.Helper()
	person := object.Signature{Name: "ada", When: time.Unix(2e9+names.Add(1), 0)}
	c := &object.Commit{Author: person, Committer: person, TreeHash: all.write(t, objects), ParentHashes: parents}
	return encode(t, objects, c.Encode)
}

// readFiles returns the files of a tree.
func readFiles(t testing.TB, objects bare, hash plumbing.Hash, below string) files {
	t.Helper()
	all := files{}
	for _, e := range must(object.GetTree(objects, hash)).Entries {
		at := path.Join(below, e.Name)
		if e.Mode == filemode.Dir {
			maps.Copy(all, readFiles(t, objects, e.Hash, at))
			continue
		}
		r := must(must(object.GetBlob(objects, e.Hash)).Reader())
		all[at] = string(must(io.ReadAll(r)))
	}
	return all
}

// emptyRepository returns a repository without commits.
func emptyRepository(t testing.TB) bare {
	t.Helper()
	f := newForge(t, Options{})
	created := must(f.CreateRepository(t.Context(), forge.NewRepository{Owner: "team", Name: "merges"}))
	return f.open(must(created.(*Repository).enter(t.Context(), Read)))
}

func TestMerge(t *testing.T) {
	objects := emptyRepository(t)
	lines := func(changed ...string) string {
		text := []string{"one", "two", "three", "four", "five", "six"}
		for _, c := range changed {
			n, line, _ := strings.Cut(c, " ")
			text[n[0]-'1'] = line
		}
		return strings.Join(text, "\n") + "\n"
	}
	for name, tc := range map[string]struct {
		base, ours, theirs, want files
		conflicts                []string
	}{
		"each adds a file":                   {files{"a": "1"}, files{"a": "1", "b": "2"}, files{"a": "1", "c": "3"}, files{"a": "1", "b": "2", "c": "3"}, nil},
		"both add the same":                  {nil, files{"a": "1"}, files{"a": "1"}, files{"a": "1"}, nil},
		"both add another":                   {files{"x": "1"}, files{"x": "1", "d/a": "1"}, files{"x": "1", "d/a": "2"}, nil, []string{"d/a"}},
		"one removes":                        {files{"a": "1", "b": "2"}, files{"a": "1"}, files{"a": "1", "b": "2", "c": "3"}, files{"a": "1", "c": "3"}, nil},
		"both remove":                        {files{"a": "1", "b": "2"}, files{"a": "1"}, files{"a": "1"}, files{"a": "1"}, nil},
		"everything is removed":              {files{"d/a": "1", "e/b": "2"}, files{"d/a": "1"}, files{"e/b": "2"}, files{}, nil},
		"one removes, the other edits":       {files{"a": "1\n", "b": ""}, files{"b": ""}, files{"a": "2\n", "b": ""}, nil, []string{"a"}},
		"a folder is removed, edited":        {files{"d/a": "1\n", "d/b": ""}, nil, files{"d/a": "2\n", "d/b": ""}, nil, []string{"d/a"}},
		"edits of different lines":           {files{"a": lines()}, files{"a": lines("1 ONE")}, files{"a": lines("6 SIX")}, files{"a": lines("1 ONE", "6 SIX")}, nil},
		"edits of one line":                  {files{"a": lines()}, files{"a": lines("3 x")}, files{"a": lines("3 y")}, nil, []string{"a"}},
		"edits of neighbours":                {files{"a": lines()}, files{"a": lines("3 x")}, files{"a": lines("4 y")}, nil, []string{"a"}},
		"the same edit and another":          {files{"a": lines()}, files{"a": lines("1 x", "6 y")}, files{"a": lines("1 x")}, files{"a": lines("1 x", "6 y")}, nil},
		"insertions at one place":            {files{"a": lines()}, files{"a": lines("3 x\nthree")}, files{"a": lines("3 y\nthree")}, nil, []string{"a"}},
		"one makes executable, one edits":    {files{"a": "1\n", "b": "x:"}, files{"a": "1\n", "b": "x:2"}, files{"a": "2\n", "b": "x:"}, files{"a": "2\n", "b": "x:2"}, nil},
		"links are not merged":               {files{"a": "l:1"}, files{"a": "l:2"}, files{"a": "l:3"}, nil, []string{"a"}},
		"binary files are not merged":        {files{"a": "\x00\n1\n\n\n2\n"}, files{"a": "\x00\n3\n\n\n2\n"}, files{"a": "\x00\n1\n\n\n4\n"}, nil, []string{"a"}},
		"a file becomes a folder":            {files{"a": "1"}, files{"a/b": "2"}, files{"a": "1", "c": "3"}, files{"a/b": "2", "c": "3"}, nil},
		"a file becomes a folder, is edited": {files{"a": "1"}, files{"a/b": "2"}, files{"a": "2"}, nil, []string{"a"}},
		"one moves a file, one edits it":     {files{"a": lines()}, files{"b": lines()}, files{"a": lines("1 ONE")}, nil, []string{"a"}},
		"folders are merged":                 {files{"d/e/a": "1"}, files{"d/e/a": "1", "d/e/b": "2"}, files{"d/e/a": "9"}, files{"d/e/a": "9", "d/e/b": "2"}, nil},
		"all conflicts are named":            {files{"a": "1", "d/b": "1"}, files{"a": "2", "d/b": "2"}, files{"a": "3", "d/b": "3"}, nil, []string{"a", "d/b"}},
		"without a common tree":              {nil, files{"a": "1"}, files{"b": "2"}, files{"a": "1", "b": "2"}, nil},
		"no newline at the end":              {files{"a": "1\n\n\n2"}, files{"a": "0\n\n\n2"}, files{"a": "1\n\n\n3"}, files{"a": "0\n\n\n3"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var parents []plumbing.Hash
			if tc.base != nil {
				parents = append(parents, tc.base.commit(t, objects))
			}
			ours, theirs := tc.ours.commit(t, objects, parents...), tc.theirs.commit(t, objects, parents...)
			for _, sides := range [][2]plumbing.Hash{{ours, theirs}, {theirs, ours}} {
				tree, err := objects.mergeTrees(t.Context(), "", sides[0], sides[1])
				if tc.conflicts != nil {
					want := "conflicts in " + strings.Join(tc.conflicts, ", ")
					if !errors.Is(err, forge.ErrConflict) || !strings.Contains(err.Error(), want) {
						t.Errorf("got %s, %v; want %s", tree, err, want)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, readFiles(t, objects, tree, "")); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestConflictsNamesTheFirstFiles(t *testing.T) {
	var many []string
	for i := range 8 {
		many = append(many, fmt.Sprint("f", i))
	}
	if got := conflictsIn(many); got != "conflicts in f0, f1, f2, f3, f4 and 3 more" {
		t.Errorf("got %q", got)
	}
}

// The merge base, and which commits a commit contains.
func TestHistory(t *testing.T) {
	objects := emptyRepository(t)
	commits := map[string]plumbing.Hash{}
	for _, line := range []string{
		"root", "a root", "b a", "main b", "x a", "feature x", "merged main feature", "later merged", "other",
	} {
		fields := strings.Fields(line)
		var parents []plumbing.Hash
		for _, parent := range fields[1:] {
			parents = append(parents, commits[parent])
		}
		commits[fields[0]] = files{"name": line}.commit(t, objects, parents...)
	}
	for _, tc := range []struct{ a, b, want string }{
		{"main", "feature", "a"},
		{"main", "main", "main"},
		{"main", "b", "b"},
		{"later", "feature", "feature"},
		{"later", "x", "x"},
		{"root", "later", "root"},
		{"other", "main", ""},
	} {
		for _, sides := range [][2]string{{tc.a, tc.b}, {tc.b, tc.a}} {
			got, err := objects.mergeBase(t.Context(), commits[sides[0]], commits[sides[1]])
			if err != nil || got != commits[tc.want] {
				t.Errorf("%v: got %s, %v; want %q", sides, got, err, tc.want)
			}
			contained, err := objects.contains(t.Context(), commits[sides[0]], commits[sides[1]])
			if err != nil || contained != (tc.want == sides[1]) {
				t.Errorf("%s contains %s: got %v, %v", sides[0], sides[1], contained, err)
			}
		}
	}
	missing := plumbing.NewHash(strings.Repeat("d", 40))
	if _, err := objects.mergeBase(t.Context(), commits["main"], missing); err == nil {
		t.Error("a missing commit has a merge base")
	}
	if _, err := objects.contains(t.Context(), commits["main"], missing); err == nil {
		t.Error("a missing commit is contained")
	}
}

// Git answers for ancestors that are too far away to be read one by one, and says the same.
func TestNearAndFarAncestors(t *testing.T) {
	objects := emptyRepository(t)
	var line []plumbing.Hash
	for i := range nearest + 4 {
		line = append(line, files{"name": fmt.Sprint(i)}.commit(t, objects, line[max(0, i-1):]...))
	}
	old := line[0]
	for _, distance := range []int{1, 2, nearest - 1, nearest, nearest + 1, nearest + 3} {
		young := line[distance]
		if got := objects.descends(young, old); got != (distance <= nearest) {
			t.Errorf("distance %d: descends says %v", distance, got)
		}
		if is, err := objects.contains(t.Context(), young, old); err != nil || !is {
			t.Errorf("distance %d: the younger one contains the older one: got %v, %v", distance, is, err)
		}
		if is, err := objects.contains(t.Context(), old, young); err != nil || is {
			t.Errorf("distance %d: the older one contains the younger one: got %v, %v", distance, is, err)
		}
		for _, sides := range [][2]plumbing.Hash{{old, young}, {young, old}} {
			if base, err := objects.mergeBase(t.Context(), sides[0], sides[1]); err != nil || base != old {
				t.Errorf("distance %d: merge base %s, %v; want %s", distance, base, err, old)
			}
			tree, err := objects.mergeTrees(t.Context(), "", sides[0], sides[1])
			if want := must(object.GetCommit(objects, young)).TreeHash; err != nil || tree != want {
				t.Errorf("distance %d: merged %s, %v; want %s", distance, tree, err, want)
			}
		}
	}
}

// A repository's configuration and attributes do not affect a merge,
// and checking whether a merge is possible stores nothing.
func TestMergeRunsNoPrograms(t *testing.T) {
	t.Setenv("GIT_CONFIG_PARAMETERS", "'merge.evil.driver=touch ran'")
	objects := emptyRepository(t)
	ran := filepath.Join(t.TempDir(), "ran")
	config := fmt.Sprintf(`[core]
	bare = true
	fsmonitor = "touch %[1]s"
	attributesFile = %[2]s
[merge "evil"]
	driver = "touch %[1]s; exit 0"
[diff "evil"]
	textconv = "touch %[1]s; cat"
[filter "evil"]
	smudge = "touch %[1]s; cat"
	clean = "touch %[1]s; cat"
`, ran, filepath.Join(objects.dir, "info", "attributes"))
	const attributes = "* merge=evil diff=evil filter=evil\n"
	for name, text := range map[string]string{"config": config, "info/attributes": attributes, "hooks/post-checkout": "#!/bin/sh\ntouch " + ran + "\n"} {
		file := filepath.Join(objects.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	base := files{".gitattributes": attributes, "a": "1\n2\n3\n4\n5\n"}.commit(t, objects)
	ours := files{".gitattributes": attributes, "a": "one\n2\n3\n4\n5\n"}.commit(t, objects, base)
	theirs := files{".gitattributes": attributes, "a": "1\n2\n3\n4\nfive\n"}.commit(t, objects, base)
	scratch := t.TempDir()
	tree := must(objects.mergeTrees(t.Context(), scratch, ours, theirs))
	if _, err := object.GetTree(objects, tree); !errors.Is(err, plumbing.ErrObjectNotFound) {
		t.Errorf("the tree is in the repository: %v", err)
	}
	tree = must(objects.mergeTrees(t.Context(), "", ours, theirs))
	if got := readFiles(t, objects, tree, "")["a"]; got != "one\n2\n3\n4\nfive\n" {
		t.Errorf("got %q", got)
	}
	if _, err := os.Stat(ran); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program of the repository ran: %v", err)
	}
}

func TestOpenRefusesOldGit(t *testing.T) {
	for answer, ok := range map[string]bool{
		"git version 2.38.0": true, "git version 2.39.5 (Apple Git-154)": true, "git version 2.45.1.windows.1": true, "git version 3.0.0": true,
		"git version 2.37.7": false, "git version 1.99.0": false, "hello": false,
	} {
		program := filepath.Join(t.TempDir(), "git")
		if err := os.WriteFile(program, []byte("#!/bin/sh\necho '"+answer+"'\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		f, err := Open(t.Context(), Options{Dir: t.TempDir(), URL: "http://localhost", Git: program})
		if ok && err != nil || !ok && (!errors.Is(err, forge.ErrInvalid) || !strings.Contains(err.Error(), "install git 2.38 or later")) {
			t.Errorf("%s: got %v", answer, err)
		}
		if err == nil {
			_ = f.Close()
		}
	}
}
