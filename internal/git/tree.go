package git

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
)

// Mode is the type of a tree's entry.
type Mode uint8

// The modes of entries.
const (
	Regular Mode = iota
	Executable
	// Symlink is a symbolic link: its content is the target, which is never followed.
	Symlink
	// Submodule is a commit of another repository; it has no content.
	Submodule
	// Subfolder is a folder. [Tree.Files] descends into folders; only [Tree.List] returns them.
	Subfolder
)

// Entry is a file of a tree.
type Entry struct {
	// Path is relative to the root of the tree, with forward slashes, whatever folder was listed.
	Path string
	// Hash is the blob ID: equal hashes mean equal content. For a submodule it is a commit.
	Hash string
	Mode Mode
	// Size is the number of bytes. -1 if it is not known, see [Manifests] and [Tree.Size].
	Size int64
}

// Tree is a set of files: those of a commit, or those of a plain folder. It is safe for concurrent use.
type Tree struct {
	// repo and root are set for the tree of a commit.
	repo *Repository
	root plumbing.Hash
	// dir is set for a plain folder.
	dir string
}

// Files returns all files at or below a path ("" is the root), sorted by path in byte order.
// The error is ErrPathNotFound if the path does not exist.
// Folders of commits are cached by their hash.
func (t *Tree) Files(ctx context.Context, below string) ([]Entry, error) {
	below, err := cleanBelow(below)
	if err != nil {
		return nil, err
	}
	if t.repo == nil {
		return folderFiles(ctx, t.dir, below)
	}
	start, err := t.lookup(ctx, below)
	if err != nil {
		return nil, err
	}
	if start.mode != Subfolder {
		return []Entry{start.entry(below)}, nil
	}
	w := walk{ctx: ctx, store: t.repo.store(), entries: make([]Entry, 0, 64)}
	if err := w.folder(start.hash, below, 0); err != nil {
		return nil, t.repo.readError(ctx, "list files below "+quoteRoot(below)+" of", err)
	}
	// Git sorts a folder as if its name ended in a slash, which is the byte order of full paths.
	return w.entries, nil
}

// List returns the entries of one folder in Git's order, folders included. A folder's hash identifies everything in it.
// dir is an entry that List returned; the zero value is the root. The error is ErrInvalid for plain folders, which have no
// such hashes, and for entries that are not folders.
func (t *Tree) List(ctx context.Context, dir Entry) ([]Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	hash, ok := parseHash(dir.Hash)
	if dir == (Entry{}) && t.repo != nil {
		dir.Mode, hash, ok = Subfolder, t.root, true
	}
	op := "list folder " + quoteRoot(dir.Path) + " of"
	if t.repo == nil {
		return nil, &Error{Kind: ErrInvalid, Op: op, Where: t.dir, Detail: "a plain folder is listed as a whole"}
	}
	if !ok || dir.Mode != Subfolder {
		return nil, &Error{Kind: ErrInvalid, Op: op, Where: t.repo.Name, Detail: "it was not listed as a folder before"}
	}
	children, err := t.repo.store().tree(hash)
	if err != nil {
		return nil, t.repo.readError(ctx, op, err)
	}
	entries := make([]Entry, len(children))
	for i, child := range children {
		entries[i] = child.entry(path.Join(dir.Path, child.name))
	}
	return entries, nil
}

// ID is the name of an object.
type ID = [20]byte

// Root returns the ID of the root folder of a commit's tree.
func (t *Tree) Root() ID { return ID(t.root) }

// Each calls yield for the entries of a folder with an ID, folders included, in Git's order. It is [Tree.List] for callers that read most of a
// large tree: nothing is cached, and names share the memory of their folder. The error is ErrInvalid for plain folders.
func (t *Tree) Each(ctx context.Context, folder ID, yield func(name string, id ID, mode Mode)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	op := "list folder " + plumbing.Hash(folder).String() + " of"
	if t.repo == nil {
		return &Error{Kind: ErrInvalid, Op: op, Where: t.dir, Detail: "a plain folder is listed as a whole"}
	}
	if folder == ID(emptyTree) {
		return nil
	}
	content, err := t.repo.store().object(folder, plumbing.TreeObject, maxStructure)
	if err == nil {
		err = eachEntry(content, func(name string, hash plumbing.Hash, mode Mode) { yield(name, ID(hash), mode) })
	}
	if err != nil {
		return t.repo.readError(ctx, op, err)
	}
	return nil
}

// Find returns the entry at a path, a folder included. The error is ErrPathNotFound if there is none, and ErrInvalid for plain folders.
func (t *Tree) Find(ctx context.Context, at string) (Entry, error) {
	clean, err := cleanBelow(at)
	if err != nil {
		return Entry{}, err
	}
	if t.repo == nil {
		return Entry{}, &Error{Kind: ErrInvalid, Op: fmt.Sprintf("find %q in", clean), Where: t.dir, Detail: "a plain folder is listed as a whole"}
	}
	found, err := t.lookup(ctx, clean)
	if err != nil {
		return Entry{}, err
	}
	return found.entry(clean), nil
}

// Size returns the number of bytes of an entry.
func (t *Tree) Size(ctx context.Context, e Entry) (int64, error) {
	if e.Size >= 0 || t.repo == nil || e.Mode == Submodule {
		return max(e.Size, 0), nil
	}
	s, hash := t.repo.store(), plumbing.NewHash(e.Hash)
	if size, known := s.sizes.get(hash); known {
		return size, nil
	}
	size, err := s.size(hash)
	if err != nil {
		return 0, t.repo.readError(ctx, fmt.Sprintf("read %q of", e.Path), err)
	}
	s.sizes.put(hash, size)
	return size, nil
}

// Read returns the content of an entry that this tree listed. The error is ErrTooLarge if it has more than limit bytes.
// The content of a symbolic link is its target. The content always matches the entry's hash:
// a file of a plain folder that changed since it was listed is an error.
func (t *Tree) Read(ctx context.Context, e Entry, limit int64) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if t.repo == nil {
		return readFolderFile(t.dir, e, limit)
	}
	return t.repo.readBlob(ctx, e.Path, e.Hash, limit)
}

// lookup returns the entry at a path, which must exist.
func (t *Tree) lookup(ctx context.Context, below string) (treeEntry, error) {
	at := treeEntry{mode: Subfolder, hash: t.root}
	if below == "" {
		return at, nil
	}
	for name := range strings.SplitSeq(below, "/") {
		if at.mode != Subfolder {
			return at, t.noSuchPath(below)
		}
		entries, err := t.repo.store().tree(at.hash)
		if err != nil {
			return at, t.repo.readError(ctx, "list files below "+quoteRoot(below)+" of", err)
		}
		found := false
		for _, e := range entries {
			if e.name == name {
				at, found = e, true
				break
			}
		}
		if !found {
			return at, t.noSuchPath(below)
		}
	}
	return at, nil
}

func (t *Tree) noSuchPath(below string) error {
	return &Error{
		Kind: ErrPathNotFound, Op: fmt.Sprintf("find %q in", below), Where: t.repo.Name,
		Hint: "check the path that the document names",
	}
}

// cleanBelow normalizes the spellings ".", "./x", "x/" and "/x" of a folder, and rejects those that lead out of the tree.
func cleanBelow(below string) (string, error) {
	below = strings.ReplaceAll(below, `\`, "/")
	clean := strings.TrimPrefix(path.Clean("/"+below), "/")
	for part := range strings.SplitSeq(below, "/") {
		if part == ".." {
			return "", &Error{Kind: ErrInvalid, Op: fmt.Sprintf("list files below %q", below), Detail: `".." leads out of the repository`}
		}
	}
	return clean, nil
}

func quoteRoot(below string) string {
	if below == "" {
		return "the root"
	}
	return fmt.Sprintf("%q", below)
}

// treeEntry is one line of a tree object.
type treeEntry struct {
	name string
	hash plumbing.Hash
	mode Mode
}

func (e treeEntry) entry(path string) Entry {
	return Entry{Path: path, Hash: e.hash.String(), Mode: e.mode, Size: -1}
}

// maxDepth bounds the depth of folders: a hostile tree may be deeper than the stack.
const maxDepth = 256

// maxEntries bounds a walk: a few small trees that refer to each other can describe an astronomical number of files.
const maxEntries = 1 << 20

// maxPaths bounds the size of all paths, in bytes.
const maxPaths = 128 << 20

var errTreeTooLarge = fmt.Errorf("the tree has more than %d files and folders, more than %d MiB of paths, or more than %d levels", maxEntries, maxPaths>>20, maxDepth)

type walk struct {
	ctx     context.Context
	store   *store
	entries []Entry
	// seen is the number of files and folders, paths the size of their paths.
	seen, paths int
}

func (w *walk) folder(hash plumbing.Hash, prefix string, depth int) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	entries, err := w.store.tree(hash)
	if err != nil {
		return err
	}
	if w.seen += len(entries); depth > maxDepth || w.seen > maxEntries {
		return errTreeTooLarge
	}
	for _, e := range entries {
		p := e.name
		if prefix != "" {
			p = prefix + "/" + e.name
		}
		if w.paths += len(p); w.paths > maxPaths {
			return errTreeTooLarge
		}
		if e.mode != Subfolder {
			w.entries = append(w.entries, e.entry(p))
			continue
		}
		if err := w.folder(e.hash, p, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// treeCache keeps parsed trees by their hash. It is emptied when it grows too large, as in a long-running server.
type treeCache struct {
	mu      sync.Mutex
	trees   map[plumbing.Hash][]treeEntry
	entries int
}

const maxCachedEntries = 2 << 20

func (c *treeCache) get(hash plumbing.Hash) ([]treeEntry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entries, ok := c.trees[hash]
	return entries, ok
}

func (c *treeCache) put(hash plumbing.Hash, entries []treeEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.trees == nil || c.entries > maxCachedEntries {
		c.trees, c.entries = map[plumbing.Hash][]treeEntry{}, 0
	}
	c.trees[hash] = entries
	c.entries += len(entries) + 1
}

// sizeCache has the sizes of objects, which never change. Each round asks for the sizes of all files, and most
// files are the same as before. An object tells its size only when a part of it is decompressed. A full cache
// starts again.
type sizeCache struct {
	mu    sync.Mutex
	sizes map[plumbing.Hash]int64
}

const maxCachedSizes = 1 << 18

func (c *sizeCache) get(hash plumbing.Hash) (int64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	size, known := c.sizes[hash]
	return size, known
}

func (c *sizeCache) put(hash plumbing.Hash, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sizes == nil || len(c.sizes) >= maxCachedSizes {
		c.sizes = map[plumbing.Hash]int64{}
	}
	c.sizes[hash] = size
}

// emptyTree is the tree without entries, which exists in every repository without being stored.
var emptyTree = objectHash(plumbing.TreeObject, nil)

// tree returns the entries of a tree in Git's order. The slice is shared; do not change it.
func (s *store) tree(hash plumbing.Hash) ([]treeEntry, error) {
	if entries, ok := s.trees.get(hash); ok || hash == emptyTree {
		return entries, nil
	}
	content, err := s.object(hash, plumbing.TreeObject, maxStructure)
	if err != nil {
		return nil, err
	}
	entries, err := parseTree(content)
	if err != nil {
		return nil, err
	}
	s.trees.put(hash, entries)
	return entries, nil
}

func parseTree(content []byte) ([]treeEntry, error) {
	var entries []treeEntry
	err := eachEntry(content, func(name string, hash plumbing.Hash, mode Mode) {
		entries = append(entries, treeEntry{name: name, hash: hash, mode: mode})
	})
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// eachEntry reads lines of the form "<octal mode> <name>\0<20 bytes of hash>". The names share one string.
func eachEntry(content []byte, yield func(name string, hash plumbing.Hash, mode Mode)) error {
	for rest := string(content); rest != ""; {
		space := strings.IndexByte(rest, ' ')
		end := strings.IndexByte(rest, 0)
		if space < 0 || end < space || len(rest) < end+21 {
			return fmt.Errorf("%w: malformed tree", errDamaged)
		}
		name := rest[space+1 : end]
		mode, ok := modes[strings.TrimLeft(rest[:space], "0")]
		if !ok || !safeName(name) {
			return errors.Join(errDamaged, fmt.Errorf("tree has the entry %q of mode %q", name, rest[:space]))
		}
		var hash plumbing.Hash
		copy(hash[:], rest[end+1:])
		yield(name, hash, mode)
		rest = rest[end+21:]
	}
	return nil
}

// modes maps Git's spellings of modes. Early versions of Git wrote group-writable files.
var modes = map[string]Mode{
	"100644": Regular, "100664": Regular, "100755": Executable, "120000": Symlink, "160000": Submodule, "40000": Subfolder,
}

// modeText is the spelling of each mode.
var modeText = [...]string{Regular: "100644", Executable: "100755", Symlink: "120000", Submodule: "160000", Subfolder: "40000"}

// safeName reports whether a name is valid for an entry of a tree. Git itself refuses to check out other names.
func safeName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.Contains(name, "/") && !strings.EqualFold(name, ".git")
}
