package git

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"
)

// maxIndex bounds the size of an index. One of a million files has some 100 MiB.
const maxIndex = 1 << 30

// stagedFiles is the content of an index.
type stagedFiles struct {
	entries []*index.Entry
	// written is when the index was written. What was changed in a file at that time or later is not known from its times.
	written time.Time
}

// readIndex reads an index. One that does not exist has no files: nothing was added yet.
func readIndex(file string) (stagedFiles, error) {
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return stagedFiles{}, nil
	}
	if err != nil {
		return stagedFiles{}, folderError("read index", file, err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxIndex))
	if err != nil {
		return stagedFiles{}, folderError("read index", file, err)
	}
	info, err := f.Stat()
	if err != nil {
		return stagedFiles{}, folderError("read index", file, err)
	}
	found := &index.Index{}
	err = index.NewDecoder(bytes.NewReader(content)).Decode(found)
	switch {
	case err == nil:
	case errors.Is(err, index.ErrInvalidChecksum) && bytes.HasSuffix(content, make([]byte, len(plumbing.ZeroHash))):
		// Git leaves out the checksum with index.skipHash.
	case errors.Is(err, index.ErrUnknownExtension) && hasFolders(found.Entries):
		// A sparse index: the entries are complete, and an extension says that some are folders.
	case errors.Is(err, index.ErrUnknownExtension):
		return stagedFiles{}, &Error{
			Kind: ErrInvalid, Op: "read index", Where: file, Detail: "it is split into several files, which is not supported",
			Hint: `run "git update-index --no-split-index"`,
		}
	default:
		return stagedFiles{}, &Error{Kind: ErrCorrupt, Op: "read index", Where: file, Detail: reason(err), Hint: `check the repository with "git status"`}
	}
	return stagedFiles{entries: found.Entries, written: info.ModTime()}, nil
}

func hasFolders(entries []*index.Entry) bool {
	for _, e := range entries {
		if e.Mode == filemode.Dir {
			return true
		}
	}
	return false
}

// indexModes maps the modes of an index.
var indexModes = map[filemode.FileMode]Mode{
	filemode.Regular: Regular, filemode.Deprecated: Regular, filemode.Executable: Executable, filemode.Symlink: Symlink,
	filemode.Submodule: Submodule, filemode.Dir: Subfolder,
}

// stagedEntry describes an entry of an index.
func stagedEntry(e *index.Entry) Entry {
	return Entry{Path: strings.TrimSuffix(e.Name, "/"), Hash: e.Hash.String(), Mode: indexModes[e.Mode], Size: -1}
}

// conflict returns the path of a file with conflicts; empty if there is none.
func (s stagedFiles) conflict() string {
	for _, e := range s.entries {
		if e.Stage != 0 {
			return e.Name
		}
	}
	return ""
}

// next returns the files that the next commit would have, if there are no conflicts. Files of "git add --intent-to-add" have no content
// yet, and would not be in it.
func (s stagedFiles) next() []Entry {
	entries := make([]Entry, 0, len(s.entries))
	for _, e := range s.entries {
		if e.Stage == 0 && !e.IntentToAdd {
			entries = append(entries, stagedEntry(e))
		}
	}
	return entries
}

// addedObject is an object that no commit has yet: it is not in the repository.
type addedObject struct {
	kind plumbing.ObjectType
	size int64
	// content reads it, at most limit bytes.
	content func(limit int64) ([]byte, error)
}

// addTree adds the folders of files to the store, in memory alone, and returns the root.
func (s *store) addTree(files []Entry) (plumbing.Hash, error) {
	root := &folderNode{}
	for _, f := range files {
		if why := unsafeEntry(f.Path); why != "" {
			return plumbing.ZeroHash, &Error{Kind: ErrCorrupt, Op: "read the staged files", Detail: "the path " + quoteRoot(f.Path) + ": " + why}
		}
		root.put(f)
	}
	return s.addFolder(root), nil
}

func unsafeEntry(file string) string {
	if strings.Count(file, "/") >= maxDepth {
		return "it has too many levels"
	}
	for part := range strings.SplitSeq(file, "/") {
		if !safeName(part) {
			return "it is not a path that Git checks out"
		}
	}
	return ""
}

// folderNode is a folder whose hash is not known yet.
type folderNode struct {
	entries map[string]treeEntry
	folders map[string]*folderNode
}

func (n *folderNode) put(f Entry) {
	dir, name := path.Split(f.Path)
	for part := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		if part == "" {
			continue
		}
		if n.folders == nil {
			n.folders = map[string]*folderNode{}
		}
		below := n.folders[part]
		if below == nil {
			below = &folderNode{}
			n.folders[part] = below
		}
		n = below
	}
	if n.entries == nil {
		n.entries = map[string]treeEntry{}
	}
	n.entries[name] = treeEntry{name: name, hash: plumbing.NewHash(f.Hash), mode: f.Mode}
}

func (s *store) addFolder(n *folderNode) plumbing.Hash {
	if n.entries == nil {
		n.entries = make(map[string]treeEntry, len(n.folders))
	}
	for name, below := range n.folders {
		n.entries[name] = treeEntry{name: name, hash: s.addFolder(below), mode: Subfolder}
	}
	content := encodeTree(n.entries)
	hash := objectHash(plumbing.TreeObject, content)
	s.added.Store(hash, addedObject{plumbing.TreeObject, int64(len(content)), func(limit int64) ([]byte, error) {
		if int64(len(content)) > limit {
			return nil, tooLargeError{int64(len(content)), limit}
		}
		return content, nil
	}})
	return hash
}
