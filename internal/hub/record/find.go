package record

import (
	"context"
	"errors"
	"path"
	"strings"
)

// found are the files of a folder that matter, by their paths relative to it.
type found []Entry

// look chooses what matters of a folder: files in it or below, by paths relative to it, and the folders that are to be entered.
type look func(ctx context.Context, tree Tree, folder Entry, entries []Entry) (files found, enter []Entry, err error)

// The most that is looked at: small trees that name each other can describe more files than there are atoms.
const (
	maxDepth = 128
	maxFound = 50_000
)

var errTooMany = errors.New("there are too many files that matter, or too many folders within each other")

// finder finds the files of commits that matter. What is in a folder is known by its hash, so that of a commit
// only the folders are read that it changed.
type finder struct {
	look  look
	known *memory[found]
}

// find returns the files that matter, with paths relative to the root.
func (f finder) find(ctx context.Context, tree Tree) (found, error) {
	return f.below(ctx, tree, Entry{}, 0)
}

func (f finder) below(ctx context.Context, tree Tree, folder Entry, depth int) (found, error) {
	if files, ok := f.known.get(folder.Hash); ok {
		return files, nil
	}
	if depth > maxDepth {
		return nil, errTooMany
	}
	entries, err := tree.List(ctx, folder)
	if err != nil {
		return nil, err
	}
	files, enter, err := f.look(ctx, tree, folder, entries)
	if err != nil {
		return nil, err
	}
	for _, e := range enter {
		inner, err := f.below(ctx, tree, e, depth+1)
		if err != nil {
			return nil, err
		}
		for _, file := range inner {
			file.Path = path.Join(path.Base(e.Path), file.Path)
			files = append(files, file)
		}
		if len(files) > maxFound {
			return nil, errTooMany
		}
	}
	f.known.put(folder.Hash, files, 1+len(files))
	return files, nil
}

// relative returns an entry with its path relative to a folder that it is in.
func relative(e, folder Entry) Entry {
	e.Path = strings.TrimPrefix(strings.TrimPrefix(e.Path, folder.Path), "/")
	return e
}
