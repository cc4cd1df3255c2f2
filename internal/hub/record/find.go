package record

import (
	"context"
	"errors"
	"path"
	"strings"
)

// found are the relevant files of a folder, with paths relative to it.
type found []Entry

// look selects the relevant files of a folder, with paths relative to it, and the subfolders to search.
type look func(ctx context.Context, tree Tree, folder Entry, entries []Entry) (files found, enter []Entry, err error)

// Limits, because small trees that contain each other can describe an astronomical number of files.
const (
	maxDepth = 128
	maxFound = 50_000
)

var errTooMany = errors.New("too many files, or folders are nested too deeply")

// finder finds the relevant files of commits. Results are cached by the hash of a folder, so that only
// changed folders are read.
type finder struct {
	look  look
	known *memory[found]
}

// find returns the relevant files, with paths relative to the root.
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
