package mergetree

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/memory"
	"github.com/google/go-cmp/cmp"
)

// files are contents by path. A content that begins with "x:" is executable, one with "l:" a symbolic link.
type files map[string]string

// write stores a tree; without files it is the zero hash.
func (all files) write(t testing.TB, s storer.EncodedObjectStorer) plumbing.Hash {
	t.Helper()
	m := merger{storage: s}
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
		hash, err := m.storeBlob(text)
		if err != nil {
			t.Fatal(err)
		}
		tree.Entries = append(tree.Entries, object.TreeEntry{Name: name, Mode: mode, Hash: hash})
	}
	for name, below := range folders {
		tree.Entries = append(tree.Entries, object.TreeEntry{Name: name, Mode: filemode.Dir, Hash: below.write(t, s)})
	}
	if len(tree.Entries) == 0 {
		return plumbing.ZeroHash
	}
	sort.Sort(object.TreeEntrySorter(tree.Entries))
	hash, err := m.store(tree)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// read is the way back.
func read(t testing.TB, s storer.EncodedObjectStorer, hash plumbing.Hash, below string) files {
	t.Helper()
	all := files{}
	tree, err := object.GetTree(s, hash)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range tree.Entries {
		at := path.Join(below, e.Name)
		if e.Mode == filemode.Dir {
			maps.Copy(all, read(t, s, e.Hash, at))
			continue
		}
		blob, err := (&merger{storage: s}).blob(e.Hash)
		if err != nil {
			t.Fatal(err)
		}
		all[at] = blob
	}
	return all
}

func (m *merger) blob(hash plumbing.Hash) (string, error) {
	text, _, err := m.text(hash)
	return text, err
}

func TestMerge(t *testing.T) {
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
		"folders are merged":                 {files{"d/e/a": "1"}, files{"d/e/a": "1", "d/e/b": "2"}, files{"d/e/a": "9"}, files{"d/e/a": "9", "d/e/b": "2"}, nil},
		"all conflicts are named":            {files{"a": "1", "d/b": "1"}, files{"a": "2", "d/b": "2"}, files{"a": "3", "d/b": "3"}, nil, []string{"a", "d/b"}},
		"without a common tree":              {nil, files{"a": "1"}, files{"b": "2"}, files{"a": "1", "b": "2"}, nil},
		"no newline at the end":              {files{"a": "1\n\n\n2"}, files{"a": "0\n\n\n2"}, files{"a": "1\n\n\n3"}, files{"a": "0\n\n\n3"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := memory.NewStorage()
			base, ours, theirs := tc.base.write(t, s), tc.ours.write(t, s), tc.theirs.write(t, s)
			for _, sides := range [][2]plumbing.Hash{{ours, theirs}, {theirs, ours}} {
				tree, err := Merge(s, base, sides[0], sides[1])
				var clash *ConflictError
				switch {
				case errors.As(err, &clash) && tc.conflicts != nil:
					if !slices.Equal(clash.Paths, tc.conflicts) {
						t.Errorf("conflicts %q, want %q", clash.Paths, tc.conflicts)
					}
				case err != nil || tc.conflicts != nil:
					t.Errorf("got %s, %v; want conflicts %q", tree, err, tc.conflicts)
				default:
					if diff := cmp.Diff(tc.want, read(t, s, tree, "")); diff != "" {
						t.Error(diff)
					}
				}
			}
		})
	}
}

func TestConflictsAreNamed(t *testing.T) {
	var many []string
	for i := range 8 {
		many = append(many, fmt.Sprint("f", i))
	}
	if got := (&ConflictError{many}).Error(); got != "conflicts in f0, f1, f2, f3, f4 and 3 more" {
		t.Errorf("got %q", got)
	}
}

// TestUnchangedFoldersAreNotRead: what only one side changed is not even there to be read.
func TestUnchangedFoldersAreNotRead(t *testing.T) {
	s := memory.NewStorage()
	same, old, new := plumbing.NewHash(strings.Repeat("a", 40)), plumbing.NewHash(strings.Repeat("b", 40)), plumbing.NewHash(strings.Repeat("c", 40))
	folder := func(same, moved plumbing.Hash, more ...object.TreeEntry) plumbing.Hash {
		tree := &object.Tree{Entries: append(more,
			object.TreeEntry{Name: "moved", Mode: filemode.Dir, Hash: moved}, object.TreeEntry{Name: "same", Mode: filemode.Dir, Hash: same})}
		hash, err := (&merger{storage: s}).store(tree)
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	added := object.TreeEntry{Name: "added", Mode: filemode.Regular, Hash: same}
	got, err := Merge(s, folder(same, old), folder(same, new), folder(same, old, added))
	if err != nil || got != folder(same, new, added) {
		t.Errorf("got %s, %v", got, err)
	}
}
