package bundle

import (
	"cmp"
	"crypto/sha1" //nolint:gosec // Git names trees by SHA-1.
	"fmt"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// Tree is a folder of a GitOps branch with everything below it. Branches share the trees that are equal, and each is read when it is needed.
// A complete tree, which was read with everything below it, is immutable. Nil is an empty folder.
type Tree struct {
	id      Hash
	entries []TreeEntry // sorted by name
	read    bool
	// What follows is known of complete trees: the number of entries below, and whether a folder below has the name of ours.
	complete bool
	size     int
	own      bool
}

// TreeEntry is a file or folder of a tree.
type TreeEntry struct {
	Name string
	// Hash is the blob ID of a file, or the ID of a folder's tree.
	Hash Hash
	// Tree is nil for a file.
	Tree *Tree
}

// NewTree returns a tree that was not read yet. The ID identifies everything in it.
func NewTree(id Hash) *Tree { return &Tree{id: id} }

// TreeOf returns the tree of files, in any order. No folder has the path of a file.
func TreeOf(files []File) *Tree {
	sorted := slices.Clone(files)
	slices.SortFunc(sorted, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return treeOf(sorted, 0)
}

// treeOf returns the tree of sorted files whose paths have the first bytes in common.
func treeOf(files []File, common int) *Tree {
	t := &Tree{read: true, complete: true}
	folders := map[string][]File{}
	for _, f := range files {
		name, _, isBelow := strings.Cut(f.Path[common:], "/")
		if isBelow {
			// Files of a folder are not always adjacent: "a-b" is between "a" and "a/b".
			folders[name] = append(folders[name], f)
		} else if last := len(t.entries) - 1; last < 0 || t.entries[last].Name != name {
			t.entries = append(t.entries, TreeEntry{Name: name, Hash: f.Hash})
		}
	}
	for name, below := range folders {
		sub := treeOf(below, common+len(name)+1)
		t.entries = append(t.entries, TreeEntry{Name: name, Hash: sub.id, Tree: sub})
	}
	t.sort()
	t.id = treeID(t.entries)
	t.count()
	return t
}

// treeID returns the ID of a tree: for regular files alone, that of Git.
func treeID(entries []TreeEntry) Hash {
	content := make([]byte, 0, 64*len(entries))
	for _, e := range entries {
		if e.Tree != nil {
			content = append(content, "40000 "...)
		} else {
			content = append(content, "100644 "...)
		}
		content = append(append(append(content, e.Name...), 0), e.Hash[:]...)
	}
	h := sha1.New() //nolint:gosec // Git names trees by SHA-1.
	h.Write(append(strconv.AppendInt(append(make([]byte, 0, 32), "tree "...), int64(len(content)), 10), 0))
	h.Write(content)
	return Hash(h.Sum(nil))
}

// sort sorts the entries by name: Git sorts folders as if their names ended in a slash. Of two entries with a name, which Git refuses,
// the first one counts.
func (t *Tree) sort() {
	byName := func(a, b TreeEntry) int { return cmp.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(t.entries, byName) {
		slices.SortStableFunc(t.entries, byName)
	}
	t.entries = slices.CompactFunc(t.entries, func(a, b TreeEntry) bool { return a.Name == b.Name })
}

// count sets what is known of a tree of which all folders are complete.
func (t *Tree) count() {
	t.size, t.own = len(t.entries), false
	for _, e := range t.entries {
		if e.Tree != nil {
			t.size += e.Tree.size
			t.own = t.own || e.Tree.own || e.Name == ownFolder
		}
	}
	t.complete = true
}

// entry returns the entry with a name, of a tree that was read.
func (t *Tree) entry(name string) (TreeEntry, bool) {
	if t == nil {
		return TreeEntry{}, false
	}
	i, ok := slices.BinarySearchFunc(t.entries, name, func(e TreeEntry, name string) int { return cmp.Compare(e.Name, name) })
	if !ok {
		return TreeEntry{}, false
	}
	return t.entries[i], true
}

// folder returns the folder with a path, whose parents were read; nil if there is none. An empty path is the tree itself.
func (t *Tree) folder(at string) *Tree {
	for name := range elements(at) {
		e, _ := t.entry(name)
		t = e.Tree
	}
	return t
}

// elements yields the names of a path; none of an empty one, or ".".
func elements(at string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for at != "" && at != "." {
			var name string
			if name, at, _ = strings.Cut(at, "/"); !yield(name) {
				return
			}
		}
	}
}

// files yields the files of a complete tree with their paths, sorted by the names of folders and files. at is the tree's own path.
func (t *Tree) files(at string, yield func(File) bool) bool {
	if t == nil {
		return true
	}
	for _, e := range t.entries {
		p := path.Join(at, e.Name)
		if e.Tree != nil && !e.Tree.files(p, yield) || e.Tree == nil && !yield(File{Path: p, Hash: e.Hash}) {
			return false
		}
	}
	return true
}

const (
	// maxTreeSize bounds the number of files and folders: a few small trees that refer to each other can describe an astronomical number.
	maxTreeSize = 8 << 20
	// maxTreeDepth bounds the depth of folders: a hostile tree may be deeper than the stack.
	maxTreeDepth = 256
)

var errTreeTooLarge = fmt.Errorf("the branch has more than %d files and folders, or more than %d levels", maxTreeSize, maxTreeDepth)

// treeReader reads trees. Goroutines can share it for trees that have no folder in common.
type treeReader struct {
	list func(id Hash) ([]TreeEntry, error)
	size atomic.Int64
}

// read reads the entries of a tree. Folders that before has, too, are taken from there.
func (r *treeReader) read(t, before *Tree) error {
	if t == nil || t.read {
		return nil
	}
	entries, err := r.list(t.id)
	if err != nil {
		return err
	}
	if r.size.Add(int64(len(entries))) > maxTreeSize {
		return errTreeTooLarge
	}
	t.entries, t.read = entries, true
	t.sort()
	for i := range t.entries {
		e := &t.entries[i]
		if known, _ := before.entry(e.Name); e.Tree != nil && known.Tree != nil && known.Hash == e.Hash {
			e.Tree = known.Tree
		}
	}
	return nil
}

// at returns the folder with a path, and that of the tree before; nil if there is none. Both trees are read down to the folder.
func (r *treeReader) at(t, before *Tree, at string) (*Tree, *Tree, error) {
	for name := range elements(at) {
		if err := r.read(t, before); err != nil {
			return nil, nil, err
		}
		e, _ := t.entry(name)
		known, _ := before.entry(name)
		t, before = e.Tree, known.Tree
	}
	return t, before, r.read(t, before)
}

// all reads a tree with everything below it.
func (r *treeReader) all(t, before *Tree, depth int) error {
	switch {
	case t == nil:
		return nil
	case t.complete:
		if r.size.Add(int64(t.size)) > maxTreeSize {
			return errTreeTooLarge
		}
		return nil
	case depth > maxTreeDepth:
		return errTreeTooLarge
	}
	if err := r.read(t, before); err != nil {
		return err
	}
	for _, e := range t.entries {
		if e.Tree == nil {
			continue
		}
		known, _ := before.entry(e.Name)
		if err := r.all(e.Tree, known.Tree, depth+1); err != nil {
			return err
		}
	}
	t.count()
	return nil
}
