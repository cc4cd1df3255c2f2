package git

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	config "github.com/go-git/go-git/v5/plumbing/format/config"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// WorkTree is a work tree with its index: what is not committed yet. It only reads.
type WorkTree struct {
	repo *Repository
	// dir is the top folder, index the file with what is staged.
	dir, index string
	settings   workTreeSettings
}

// workTreeSettings are the settings of Git that say which files count.
type workTreeSettings struct {
	// excludes is the user's file of patterns to ignore.
	excludes string
	// noModes means that the file system does not tell which files are executable.
	noModes bool
}

// WorkTree opens the work tree with a top folder. index replaces its index: while Git runs a hook, it names one in GIT_INDEX_FILE.
// It can be relative to the top folder, and is optional.
func (c *Client) WorkTree(ctx context.Context, dir, index string) (*WorkTree, error) {
	repo, err := c.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	e := &Error{Kind: ErrInvalid, Op: "read the work tree", Where: dir, Hint: "name the top folder of a clone"}
	switch gitDir, _ := findGitDir(dir); {
	case repo.remote != nil || repo.folder != "":
		e.Detail = "it is not a Git work tree"
		return nil, e
	case gitDir == dir || gitDir == "":
		e.Detail = "it is a bare repository, without a work tree"
		return nil, e
	}
	switch {
	case index == "":
		index = filepath.Join(repo.store().dir, "index")
	case !filepath.IsAbs(index):
		index = filepath.Join(dir, index)
	}
	w := &WorkTree{repo: repo, dir: dir, index: index}
	w.settings, err = c.workTreeSettings(repo.store().common)
	return w, err
}

func (c *Client) workTreeSettings(common string) (workTreeSettings, error) {
	home := c.env("HOME")
	var s workTreeSettings
	if home != "" {
		s.excludes = filepath.Join(cmp.Or(c.env("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "git", "ignore")
	}
	for _, file := range configFiles(c.env, common) {
		err := visitConfig(file, home, 0, func(settings *config.Config) {
			core := settings.Section("core")
			if core.HasOption("excludesFile") {
				s.excludes = expandPath(core.Option("excludesFile"), file, home)
			}
			if core.HasOption("fileMode") {
				s.noModes = !isTrue(core.Option("fileMode"))
			}
		})
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

// Repository returns the repository of the work tree.
func (w *WorkTree) Repository() *Repository { return w.repo }

// Head returns the commit that is checked out. Before the first commit of a branch, only its Branch is set.
func (w *WorkTree) Head(ctx context.Context) (Commit, error) {
	branch, err := w.repo.CheckedOut()
	if err != nil {
		return Commit{}, err
	}
	if branch == "" {
		return w.repo.resolveLocal(ctx, "", "")
	}
	hash, err := w.repo.store().reference(plumbing.NewBranchReferenceName(branch))
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return Commit{Branch: branch, tree: emptyTree}, nil
	}
	if err != nil {
		return Commit{}, w.repo.corrupt("read HEAD of", err)
	}
	head, err := w.repo.readCommit(ctx, hash)
	head.Branch = branch
	return head, err
}

// Staged returns the state that the next commit would have: the index. It has no commit ID. The error is ErrInvalid if there are conflicts.
func (w *WorkTree) Staged(ctx context.Context) (Commit, error) {
	if err := ctx.Err(); err != nil {
		return Commit{}, err
	}
	staged, err := readIndex(w.index)
	if err != nil {
		return Commit{}, err
	}
	if at := staged.conflict(); at != "" {
		return Commit{}, &Error{
			Kind: ErrInvalid, Op: "read what is staged in", Where: w.dir, Detail: "there are conflicts, such as in " + secret.Line(at),
			Hint: `resolve them, and add the files with "git add"`,
		}
	}
	return w.state(staged.next())
}

// OnDisk returns the state of the files as they are: with changes that are not staged, and with files that are not tracked, unless they
// are ignored. It has no commit ID. A file that differs only in line ends from what is staged counts as unchanged; other filters
// of Git are not applied.
func (w *WorkTree) OnDisk(ctx context.Context) (Commit, error) {
	walk, err := w.walk(ctx)
	if err != nil {
		return Commit{}, err
	}
	entries := walk.kept()
	for _, f := range walk.files {
		e, _, err := walk.describe(f)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted meanwhile
		}
		if err != nil {
			return Commit{}, folderError("read file", filepath.Join(w.dir, f.path), err)
		}
		entries = append(entries, e)
	}
	return w.state(entries)
}

// state is the state with some files.
func (w *WorkTree) state(entries []Entry) (Commit, error) {
	branch, err := w.repo.CheckedOut()
	if err != nil {
		return Commit{}, err
	}
	root, err := w.repo.store().addTree(entries)
	return Commit{Branch: branch, tree: root}, err
}

// Changed returns the path of a file that is not committed as it is; empty if there is none. Files that are not tracked only count if
// they could be manifests.
func (w *WorkTree) Changed(ctx context.Context) (string, error) {
	head, err := w.Head(ctx)
	if err != nil {
		return "", err
	}
	walk, err := w.walk(ctx)
	if err != nil {
		return "", err
	}
	if at := walk.staged.conflict(); at != "" {
		return at, nil
	}
	staged, err := w.state(walk.staged.next())
	if err != nil {
		return "", err
	}
	if head.tree != staged.tree {
		return w.difference(ctx, head, staged)
	}
	for _, f := range walk.files {
		if f.staged == nil {
			if (isYAML(f.path) || rank(f.path) >= 0) && !inFolder(f.path, "", nil) {
				return f.path, nil
			}
			continue
		}
		if _, same, err := walk.describe(f); err == nil && !same {
			return f.path, nil
		}
	}
	return walk.deleted(), nil
}

// difference returns the first path at which two states differ.
func (w *WorkTree) difference(ctx context.Context, a, b Commit) (string, error) {
	was, err := w.repo.Tree(a).Files(ctx, "")
	if err != nil {
		return "", err
	}
	is, err := w.repo.Tree(b).Files(ctx, "")
	if err != nil {
		return "", err
	}
	for i := range max(len(was), len(is)) {
		switch {
		case i >= len(was):
			return is[i].Path, nil
		case i >= len(is):
			return was[i].Path, nil
		case was[i] != is[i]:
			return min(was[i].Path, is[i].Path), nil
		}
	}
	return "", nil
}
