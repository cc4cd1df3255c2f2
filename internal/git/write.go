package git

import (
	"bytes"
	"fmt"
	"iter"
	"path/filepath"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// writer collects new objects and writes them all at once.
type writer struct {
	store   *store
	pending map[plumbing.Hash]pendingObject
	order   []plumbing.Hash
}

type pendingObject struct {
	kind    plumbing.ObjectType
	content []byte
}

func newWriter(s *store) *writer {
	return &writer{store: s, pending: map[plumbing.Hash]pendingObject{}}
}

// add collects an object and returns its hash.
func (w *writer) add(kind plumbing.ObjectType, content []byte) plumbing.Hash {
	hash := objectHash(kind, content)
	w.addKnown(hash, kind, content)
	return hash
}

// addKnown collects an object whose hash is known.
func (w *writer) addKnown(hash plumbing.Hash, kind plumbing.ObjectType, content []byte) {
	if _, known := w.pending[hash]; !known {
		w.pending[hash] = pendingObject{kind, content}
		w.order = append(w.order, hash)
	}
}

// change is a change at one path: new content, or nil to delete.
type change struct {
	path    string
	content []byte
	put     bool
}

// edit returns the root of a tree with changes applied. It only reads folders that contain changes.
func (w *writer) edit(root plumbing.Hash, put map[string][]byte, remove []string) (plumbing.Hash, error) {
	changes := make([]change, 0, len(put)+len(remove))
	for path, content := range put {
		changes = append(changes, change{path, content, true})
	}
	for _, path := range remove {
		if _, both := put[path]; both {
			return root, invalidPath(path, "it is to be written and deleted at once")
		}
		changes = append(changes, change{path: path})
	}
	for _, c := range changes {
		if why := unsafePath(c.path); why != "" {
			return root, invalidPath(c.path, why)
		}
	}
	sort.Slice(changes, func(i, j int) bool { return changes[i].path < changes[j].path })
	hash, _, err := w.editFolder(root, "", changes)
	return hash, err
}

// editFolder applies changes whose paths all start with prefix. It reports whether the folder became empty.
func (w *writer) editFolder(hash plumbing.Hash, prefix string, changes []change) (plumbing.Hash, bool, error) {
	old, err := w.store.tree(hash)
	if err != nil {
		return hash, false, err
	}
	entries := make(map[string]treeEntry, len(old))
	for _, e := range old {
		entries[e.name] = e
	}
	// Deletions of files come first, so that a folder can replace a file and vice versa.
	files, folders := split(prefix, changes)
	for _, c := range files {
		e, exists := entries[c.path[len(prefix):]]
		if !c.put && exists && e.mode == Subfolder {
			return hash, false, invalidPath(c.path, "it is a folder; delete its files instead")
		}
		if !c.put {
			delete(entries, e.name)
		}
	}
	for _, group := range folders {
		if err := w.editBelow(entries, prefix, group); err != nil {
			return hash, false, err
		}
	}
	for _, c := range files {
		if !c.put {
			continue
		}
		if err := w.putFile(entries, prefix, c); err != nil {
			return hash, false, err
		}
	}
	if same(old, entries) {
		return hash, len(entries) == 0, nil
	}
	return w.add(plumbing.TreeObject, encodeTree(entries)), len(entries) == 0, nil
}

// split separates changes of a folder's own files from those further below, grouped by subfolder.
// Sorting by path does not group them: "a-b" sorts between "a" and "a/b".
func split(prefix string, changes []change) (files []change, folders [][]change) {
	index := map[string]int{}
	for _, c := range changes {
		name, _, below := strings.Cut(c.path[len(prefix):], "/")
		if !below {
			files = append(files, c)
			continue
		}
		i, known := index[name]
		if !known {
			i = len(folders)
			index[name] = i
			folders = append(folders, nil)
		}
		folders[i] = append(folders[i], c)
	}
	return files, folders
}

// editBelow applies the changes of one subfolder.
func (w *writer) editBelow(entries map[string]treeEntry, prefix string, changes []change) error {
	name, _, _ := strings.Cut(changes[0].path[len(prefix):], "/")
	e, exists := entries[name]
	if !exists {
		e = treeEntry{name: name, hash: emptyTree, mode: Subfolder}
	}
	if e.mode != Subfolder {
		for _, c := range changes {
			if c.put {
				return invalidPath(c.path, fmt.Sprintf("%q is a file, not a folder", prefix+name))
			}
		}
		return nil
	}
	hash, empty, err := w.editFolder(e.hash, prefix+name+"/", changes)
	switch {
	case err != nil:
		return err
	case empty:
		delete(entries, name)
	default:
		e.hash = hash
		entries[name] = e
	}
	return nil
}

func (w *writer) putFile(entries map[string]treeEntry, prefix string, c change) error {
	name := c.path[len(prefix):]
	e, exists := entries[name]
	if exists && e.mode == Subfolder {
		return invalidPath(c.path, "it is a folder, not a file")
	}
	mode := Regular
	if exists && e.mode == Executable {
		mode = Executable
	}
	hash := objectHash(plumbing.BlobObject, c.content)
	if exists && e.hash == hash && e.mode == mode {
		return nil
	}
	w.addKnown(hash, plumbing.BlobObject, c.content)
	entries[name] = treeEntry{name: name, hash: hash, mode: mode}
	return nil
}

func same(old []treeEntry, entries map[string]treeEntry) bool {
	if len(old) != len(entries) {
		return false
	}
	for _, e := range old {
		if entries[e.name] != e {
			return false
		}
	}
	return true
}

// encodeTree writes a tree object. Git sorts folders as if their names ended in a slash.
func encodeTree(entries map[string]treeEntry) []byte {
	sorted := make([]treeEntry, 0, len(entries))
	for _, e := range entries {
		sorted = append(sorted, e)
	}
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].sortName() < sorted[j].sortName() })
	var b bytes.Buffer
	for _, e := range sorted {
		b.WriteString(modeText[e.mode] + " " + e.name + "\x00")
		b.Write(e.hash[:])
	}
	return b.Bytes()
}

func (e treeEntry) sortName() string {
	if e.mode == Subfolder {
		return e.name + "/"
	}
	return e.name
}

// unsafePath returns the reason why a path must not be written. Empty if it can be.
// The rules are those of git on every system, because the repository may be checked out on any.
func unsafePath(path string) string {
	switch {
	case path == "":
		return "it is empty"
	case len(path) > 4096:
		return "it is too long"
	case !utf8.ValidString(path):
		return "it is not UTF-8"
	case strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "it contains control characters"
	case strings.ContainsAny(path, `\:`):
		return `it contains "\" or ":"`
	case strings.Count(path, "/") > maxDepth:
		return "it has too many levels"
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			return "it is absolute, or leads elsewhere"
		}
		if len(part) > 255 {
			return "one of its names is too long"
		}
		if isDotGit(part) {
			return `it leads into a ".git" folder`
		}
	}
	return ""
}

// isDotGit recognizes the names that Windows and macOS treat as ".git", too.
func isDotGit(name string) bool {
	visible := strings.Map(func(r rune) rune {
		// HFS+ ignores these.
		if (r >= 0x200c && r <= 0x200f) || (r >= 0x202a && r <= 0x202e) || (r >= 0x206a && r <= 0x206f) || r == 0xfeff {
			return -1
		}
		return r
	}, name)
	visible = strings.ToLower(strings.TrimRight(visible, " ."))
	return visible == ".git" || visible == "git~1"
}

func invalidPath(path, why string) error {
	return &Error{Kind: ErrInvalid, Op: fmt.Sprintf("change file %q", secret.Scrub(path)), Detail: why, Hint: "choose another path"}
}

// looseLimit is the maximum number of objects to write one by one. More go into a pack.
const looseLimit = 100

// flush writes the collected objects into the repository.
func (w *writer) flush() error {
	if len(w.order) > looseLimit {
		defer w.store.reindex()
		return storePack(filepath.Join(w.store.common, "objects", "pack"), w.objects())
	}
	target := openStorage(w.store.dir, w.store.common)
	defer target.Close()
	for hash, o := range w.objects() {
		if w.store.has(hash) {
			continue
		}
		encoded := &plumbing.MemoryObject{}
		encoded.SetType(o.kind)
		_, _ = encoded.Write(o.content)
		if _, err := target.SetEncodedObject(encoded); err != nil {
			return err
		}
	}
	return nil
}

// objects yields the collected objects in order of creation: referenced objects come first.
func (w *writer) objects() iter.Seq2[plumbing.Hash, pendingObject] {
	return func(yield func(plumbing.Hash, pendingObject) bool) {
		for _, hash := range w.order {
			if !yield(hash, w.pending[hash]) {
				return
			}
		}
	}
}
