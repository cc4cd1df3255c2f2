package git

import (
	"bytes"
	"cmp"
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
	"github.com/go-git/go-git/v5/plumbing/format/index"
)

// workWalk lists the files of a work tree.
type workWalk struct {
	*WorkTree
	ctx    context.Context
	staged stagedFiles
	// tracked are the staged files by path, and folders those that contain one.
	tracked map[string]*index.Entry
	folders map[string]bool
	// files are those on the disk, without ignored ones.
	files []diskFile
	// seen are the tracked paths that are on the disk.
	seen map[string]bool
}

// diskFile is a file on the disk.
type diskFile struct {
	path  string
	entry fs.DirEntry
	// staged is nil for a file that is not tracked.
	staged *index.Entry
}

func (w *WorkTree) walk(ctx context.Context) (*workWalk, error) {
	k := &workWalk{WorkTree: w, ctx: ctx, tracked: map[string]*index.Entry{}, folders: map[string]bool{}, seen: map[string]bool{}}
	var err error
	if k.staged, err = readIndex(w.index); err != nil {
		return nil, err
	}
	for _, e := range k.staged.entries {
		k.tracked[e.Name] = e
		for dir := path.Dir(e.Name); dir != "." && !k.folders[dir]; dir = path.Dir(dir) {
			k.folders[dir] = true
		}
	}
	patterns := slices.Concat(readPatterns(w.settings.excludes, ""), readPatterns(filepath.Join(w.repo.store().common, "info", "exclude"), ""))
	if err := k.folder("", patterns); err != nil {
		if end := ended(ctx, err); end != nil {
			return nil, end
		}
		return nil, folderError("list files of", w.dir, err)
	}
	return k, nil
}

// readPatterns reads patterns to ignore. A file that cannot be read has none, as for Git.
func readPatterns(file, below string) []ignorePattern {
	info, err := os.Lstat(file)
	if file == "" || err != nil || info.IsDir() || info.Size() > maxIgnoreBytes || below != "" && !info.Mode().IsRegular() {
		return nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	return parseIgnore(content, path.Join(below, ".gitignore"))
}

// folder lists one folder and those below it.
func (k *workWalk) folder(dir string, patterns []ignorePattern) error {
	if err := k.ctx.Err(); err != nil {
		return err
	}
	local := filepath.Join(k.dir, filepath.FromSlash(dir))
	entries, err := os.ReadDir(local)
	if err != nil {
		return err
	}
	patterns = append(slices.Clip(patterns), readPatterns(filepath.Join(local, ".gitignore"), cmp.Or(dir, "."))...)
	for _, d := range entries {
		at := path.Join(dir, d.Name())
		staged := k.tracked[at]
		switch {
		case strings.EqualFold(d.Name(), ".git"):
		case d.IsDir() && (staged == nil || indexModes[staged.Mode] != Submodule):
			if err := k.subfolder(at, filepath.Join(local, d.Name()), patterns); err != nil {
				return err
			}
		case d.IsDir() || d.Type().IsRegular() || d.Type()&fs.ModeSymlink != 0:
			if staged == nil && ignored(patterns, at, false) {
				continue
			}
			if len(k.files) == maxEntries {
				return errTreeTooLarge
			}
			k.seen[at] = true
			k.files = append(k.files, diskFile{at, d, staged})
		}
	}
	return nil
}

// subfolder lists a folder, unless it is ignored or a repository of its own. Tracked files count wherever they are.
func (k *workWalk) subfolder(at, local string, patterns []ignorePattern) error {
	if !k.folders[at] {
		if _, nested := findGitDir(local); nested || ignored(patterns, at, true) {
			return nil
		}
	}
	if strings.Count(at, "/") >= maxDepth {
		return errTreeTooLarge
	}
	return k.folder(at, patterns)
}

// ignored reports whether patterns ignore a path. The last pattern that matches decides.
func ignored(patterns []ignorePattern, at string, folder bool) bool {
	segments := strings.Split(at, "/")
	for _, p := range slices.Backward(patterns) {
		if result := p.Match(segments, folder); result != gitignore.NoMatch {
			return result == gitignore.Exclude
		}
	}
	return false
}

// kept returns the staged entries that are not meant to be on the disk.
func (k *workWalk) kept() []Entry {
	var entries []Entry
	for _, e := range k.staged.entries {
		if e.SkipWorktree && e.Stage == 0 && !k.seen[strings.TrimSuffix(e.Name, "/")] {
			entries = append(entries, stagedEntry(e))
		}
	}
	return entries
}

// deleted returns the path of a tracked file that is not on the disk; empty if there is none.
func (k *workWalk) deleted() string {
	for _, e := range k.staged.entries {
		if !e.SkipWorktree && !k.seen[e.Name] {
			return e.Name
		}
	}
	return ""
}

// describe describes a file, and reports whether it is what is staged.
func (k *workWalk) describe(f diskFile) (Entry, bool, error) {
	staged := f.staged
	if staged != nil && (f.entry.IsDir() || k.clean(f)) { // the commit of a submodule counts when it is staged
		return stagedEntry(staged), true, nil
	}
	local := filepath.Join(k.dir, filepath.FromSlash(f.path))
	e, _, err := folderEntry(local, f.path, f.entry)
	if err != nil {
		return e, false, err
	}
	if staged != nil && staged.Stage == 0 && !staged.IntentToAdd {
		was := stagedEntry(staged)
		if k.settings.noModes && e.Mode != Symlink && was.Mode != Symlink {
			e.Mode = was.Mode
		}
		if e.Mode == was.Mode && (e.Hash == was.Hash || e.Mode != Symlink && sameButLineEnds(local, was.Hash, e.Size)) {
			return was, true, nil
		}
	}
	k.repo.store().added.Store(plumbing.NewHash(e.Hash), addedObject{plumbing.BlobObject, e.Size, func(limit int64) ([]byte, error) {
		return readFolderFile(k.dir, e, limit)
	}})
	return e, false, nil
}

// clean reports whether a file's size and time say that it is what is staged. A file that was changed when the index was written, or
// later, has to be compared.
func (k *workWalk) clean(f diskFile) bool {
	staged := f.staged
	info, err := f.entry.Info()
	if err != nil || staged.Stage != 0 || staged.IntentToAdd || !info.Mode().IsRegular() {
		return false
	}
	mode := Regular
	if info.Mode()&0o100 != 0 {
		mode = Executable
	}
	if was := indexModes[staged.Mode]; was != mode && !(k.settings.noModes && was != Symlink) {
		return false
	}
	return int64(staged.Size) == info.Size() && staged.ModifiedAt.Equal(info.ModTime()) && info.ModTime().Before(k.staged.written)
}

// maxLineEnds is the size of files whose line ends are compared.
const maxLineEnds = 16 << 20

// sameButLineEnds reports whether a file with the line ends of Unix has a hash: Git for Windows writes others.
func sameButLineEnds(file, hash string, size int64) bool {
	if size > maxLineEnds {
		return false
	}
	content, err := os.ReadFile(file)
	if err != nil || !bytes.Contains(content, []byte("\r\n")) {
		return false
	}
	return objectHash(plumbing.BlobObject, bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))).String() == hash
}
