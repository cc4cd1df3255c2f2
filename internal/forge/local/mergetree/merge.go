package mergetree

import (
	"fmt"
	"path"
	"sort"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// ConflictError lists the files that both sides changed in ways that do not go together; sorted.
type ConflictError struct{ Paths []string }

// Error names the first few files.
func (e *ConflictError) Error() string {
	const some = 5
	if rest := len(e.Paths) - some; rest > 0 {
		return fmt.Sprintf("conflicts in %s and %d more", strings.Join(e.Paths[:some], ", "), rest)
	}
	return "conflicts in " + strings.Join(e.Paths, ", ")
}

// Merge merges two trees that come from a common one, and stores the result. Without a common tree, base is the zero hash.
// Conflicts are a [*ConflictError].
func Merge(s storer.EncodedObjectStorer, base, ours, theirs plumbing.Hash) (plumbing.Hash, error) {
	m := merger{storage: s}
	tree, err := m.folder("", base, ours, theirs)
	switch {
	case err != nil:
		return plumbing.ZeroHash, err
	case len(m.conflicts) > 0:
		sort.Strings(m.conflicts)
		return plumbing.ZeroHash, &ConflictError{m.conflicts}
	case tree.IsZero():
		return m.store(&object.Tree{})
	}
	return tree, nil
}

type merger struct {
	storage   storer.EncodedObjectStorer
	conflicts []string
}

// entry is something in a folder; its zero value is nothing.
type entry struct {
	mode filemode.FileMode
	hash plumbing.Hash
}

func (e entry) none() bool            { return e == entry{} }
func (e entry) folderOrNothing() bool { return e.none() || e.mode == filemode.Dir }
func (e entry) text() bool {
	return e.mode == filemode.Regular || e.mode == filemode.Executable || e.mode == filemode.Deprecated
}

// pick returns what three-way merging needs no reading for.
func pick[T comparable](base, ours, theirs T) (T, bool) {
	switch {
	case ours == theirs, base == theirs:
		return ours, true
	case base == ours:
		return theirs, true
	}
	return ours, false
}

// folder merges trees. The zero hash stands for none, and for an empty result.
func (m *merger) folder(at string, base, ours, theirs plumbing.Hash) (plumbing.Hash, error) {
	if tree, ok := pick(base, ours, theirs); ok {
		return tree, nil
	}
	var sides [3]map[string]entry
	names := map[string]bool{}
	for i, hash := range []plumbing.Hash{base, ours, theirs} {
		entries, err := m.read(hash)
		if err != nil {
			return plumbing.ZeroHash, fmt.Errorf("read folder %q: %w", at, err)
		}
		sides[i] = entries
		for name := range entries {
			names[name] = true
		}
	}
	merged := &object.Tree{}
	for name := range names {
		e, err := m.entry(path.Join(at, name), sides[0][name], sides[1][name], sides[2][name])
		if err != nil {
			return plumbing.ZeroHash, err
		}
		if !e.none() {
			merged.Entries = append(merged.Entries, object.TreeEntry{Name: name, Mode: e.mode, Hash: e.hash})
		}
	}
	if len(merged.Entries) == 0 {
		return plumbing.ZeroHash, nil
	}
	sort.Sort(object.TreeEntrySorter(merged.Entries))
	return m.store(merged)
}

func (m *merger) read(hash plumbing.Hash) (map[string]entry, error) {
	if hash.IsZero() {
		return nil, nil
	}
	tree, err := object.GetTree(m.storage, hash)
	if err != nil {
		return nil, err
	}
	entries := make(map[string]entry, len(tree.Entries))
	for _, e := range tree.Entries {
		entries[e.Name] = entry{e.Mode, e.Hash}
	}
	return entries, nil
}

// entry merges what has one name on all sides.
func (m *merger) entry(at string, base, ours, theirs entry) (entry, error) {
	if e, ok := pick(base, ours, theirs); ok {
		return e, nil
	}
	switch {
	case base.folderOrNothing() && ours.folderOrNothing() && theirs.folderOrNothing():
		hash, err := m.folder(at, base.hash, ours.hash, theirs.hash)
		if err != nil || hash.IsZero() {
			return entry{}, err
		}
		return entry{filemode.Dir, hash}, nil
	case base.text() && ours.text() && theirs.text():
		return m.file(at, base, ours, theirs)
	}
	return m.conflict(at)
}

func (m *merger) conflict(at string) (entry, error) {
	m.conflicts = append(m.conflicts, at)
	return entry{}, nil
}

// file merges a file that all sides have.
func (m *merger) file(at string, base, ours, theirs entry) (entry, error) {
	mode, ok := pick(base.mode, ours.mode, theirs.mode)
	if !ok {
		return m.conflict(at)
	}
	if hash, ok := pick(base.hash, ours.hash, theirs.hash); ok {
		return entry{mode, hash}, nil
	}
	var texts [3]string
	for i, side := range []entry{base, ours, theirs} {
		text, ok, err := m.text(side.hash)
		if err != nil {
			return entry{}, fmt.Errorf("read file %q: %w", at, err)
		}
		if !ok {
			return m.conflict(at)
		}
		texts[i] = text
	}
	merged, ok := mergeLines(texts[0], texts[1], texts[2])
	if !ok {
		return m.conflict(at)
	}
	hash, err := m.storeBlob(merged)
	return entry{mode, hash}, err
}
