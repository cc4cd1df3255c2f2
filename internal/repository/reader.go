package repository

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Reader reads repositories for the scheduling flow.
// It resolves each branch once, so that all reads of one command see the same commit.
type Reader struct {
	client *git.Client
	// standIn replaces the head of a branch; nil for none.
	standIn *standIn

	mu       sync.Mutex
	resolved map[resolveKey]func() (resolvedTree, error)
}

type resolveKey struct{ repo, branch, commit string }

type resolvedTree struct {
	tree   *git.Tree
	commit git.Commit
}

// standIn is a state that is read instead of the head of a branch.
type standIn struct {
	repo, branch string
	resolvedTree
}

// NewReader returns a reader that uses a client. It resolves nothing yet.
func NewReader(client *git.Client) *Reader {
	return &Reader{client: client, resolved: map[resolveKey]func() (resolvedTree, error){}}
}

// StandIn makes a state of a repository stand in for the head of a branch, as if it were committed there. The state can be of another work tree
// of the same repository. Call it before the first read.
func (r *Reader) StandIn(repo, branch string, of *git.Repository, state git.Commit) {
	state.Branch = branch
	r.standIn = &standIn{repo, branch, resolvedTree{of.Tree(state), state}}
}

// replaces reports whether the state is read instead of a location.
func (s *standIn) replaces(r *Reader, at schedule.Location) bool {
	return s != nil && (at.Commit == "" || at.Commit == schedule.Uncommitted) && (at.Branch == s.branch || at.Branch == "") && r.Same(at.Repo, s.repo)
}

var (
	_ schedule.Repositories = (*Reader)(nil)
	_ schedule.Messages     = (*Reader)(nil)
	_ schedule.Histories    = (*Reader)(nil)
	_ schedule.Changes      = (*Reader)(nil)
)

// Source lists the YAML files at a location.
func (r *Reader) Source(ctx context.Context, at schedule.Location) (fleet.Source, error) {
	return r.source(ctx, at, git.ManifestsAndHidden)
}

// Environments lists the YAML files at a location, regardless of ignore files.
func (r *Reader) Environments(ctx context.Context, at schedule.Location) (fleet.Source, error) {
	return r.source(ctx, at, func(ctx context.Context, t *git.Tree, below string) ([]git.Entry, []git.Hidden, error) {
		all, err := git.AllManifests(ctx, t, below)
		return all, nil, err
	})
}

// lister lists YAML files, and those that ignore files hide.
type lister func(ctx context.Context, t *git.Tree, below string) ([]git.Entry, []git.Hidden, error)

func (r *Reader) source(ctx context.Context, at schedule.Location, list lister) (fleet.Source, error) {
	found, err := r.resolve(ctx, at)
	if err != nil {
		return fleet.Source{}, err
	}
	entries, hidden, err := list(ctx, found.tree, at.Path)
	if err != nil {
		return fleet.Source{}, err
	}
	source := fleet.Source{
		Repo: withoutCredentials(at.Repo), Branch: found.commit.Branch, Commit: found.commit.Hash, Time: found.commit.Time,
		Subject: found.commit.Title(),
	}
	for _, e := range entries {
		source.Files = append(source.Files, found.file(ctx, e))
	}
	for _, h := range hidden {
		source.Hidden = append(source.Hidden, fleet.Hidden{File: found.file(ctx, h.Entry), By: h.By, Line: h.Line, Pattern: h.Pattern})
	}
	return source, nil
}

// file returns an entry for package fleet.
func (t resolvedTree) file(ctx context.Context, e git.Entry) fleet.File {
	return fleet.File{
		Path: e.Path, ID: e.Hash, Size: e.Size, Symlink: e.Mode == git.Symlink,
		Read: func() ([]byte, error) { return t.tree.Read(ctx, e, fleet.MaxFileSize) },
	}
}

// withoutCredentials returns a URL that can be displayed and written. It keeps the user of ssh, which is required to connect,
// and relative URLs are written into files that clusters follow.
func withoutCredentials(address string) string {
	if u, err := url.Parse(address); err == nil && u.Scheme == "ssh" && u.User != nil {
		return "ssh://" + u.User.Username() + "@" + u.Host + u.Path
	}
	return secret.Redact(address)
}

// Files lists all files at a location.
func (r *Reader) Files(ctx context.Context, at schedule.Location) ([]fleet.File, error) {
	found, err := r.resolve(ctx, at)
	if err != nil {
		return nil, err
	}
	entries, err := found.tree.Files(ctx, at.Path)
	if errors.Is(err, git.ErrPathNotFound) {
		return nil, nil
	}
	var files []fleet.File
	for _, e := range entries {
		if e.Mode == git.Submodule {
			continue
		}
		files = append(files, found.file(ctx, e))
	}
	return files, err
}

// GitOps returns a branch, whose folders are read when they are needed. A folder that does not exist yet counts as a missing branch,
// and so does any branch of a repository without commits.
func (r *Reader) GitOps(ctx context.Context, at schedule.Location) (bundle.Branch, schedule.Head, error) {
	if _, err := os.Stat(at.Folder); at.Folder != "" && errors.Is(err, fs.ErrNotExist) {
		return bundle.Branch{}, schedule.Head{}, schedule.ErrNoBranch
	}
	found, err := r.resolve(ctx, at)
	if err != nil {
		return bundle.Branch{}, schedule.Head{}, noBranch(err, git.ErrEmpty)
	}
	head := schedule.Head{Commit: found.commit.Hash, Time: found.commit.Time}
	if found.commit.Hash != "" {
		return found.branch(ctx), head, nil
	}
	branch, err := found.folder(ctx)
	return branch, head, err
}

// branch returns the files of a commit.
func (t resolvedTree) branch(ctx context.Context) bundle.Branch {
	top := bundle.NewTree(t.tree.Root())
	list := func(folder bundle.Hash) ([]bundle.TreeEntry, error) {
		var entries []bundle.TreeEntry
		err := t.tree.Each(ctx, folder, func(name string, id git.ID, mode git.Mode) {
			e := bundle.TreeEntry{Name: name, Hash: id}
			if mode == git.Subfolder {
				e.Tree = bundle.NewTree(id)
			}
			entries = append(entries, e)
		})
		return entries, err
	}
	read := func(path string) ([]byte, error) {
		hash, _ := bundle.PathsOf(top).Hash(path)
		return t.tree.Read(ctx, git.Entry{Path: path, Hash: hash.String(), Size: -1}, maxPublishedFile)
	}
	return bundle.Branch{Top: top, List: list, Read: read}
}

// folder returns the files of a plain folder.
func (t resolvedTree) folder(ctx context.Context) (bundle.Branch, error) {
	entries, err := t.tree.Files(ctx, "")
	if err != nil {
		return bundle.Branch{}, err
	}
	files := make([]bundle.File, 0, len(entries))
	byPath := make(map[string]git.Entry, len(entries))
	for _, e := range entries {
		hash, err := bundle.ParseHash(e.Hash)
		if err != nil {
			return bundle.Branch{}, err
		}
		files = append(files, bundle.File{Path: e.Path, Hash: hash})
		byPath[e.Path] = e
	}
	read := func(path string) ([]byte, error) { return t.tree.Read(ctx, byPath[path], maxPublishedFile) }
	return bundle.Branch{Top: bundle.TreeOf(files), Read: read}, nil
}

// maxLine is how many commits of a branch are read for the message of a generated one.
const maxLine = 50

// Messages returns the messages of a commit, of those that it merged, and of those before it on its branch, newest first.
func (r *Reader) Messages(ctx context.Context, at schedule.Location) ([]string, error) {
	repo, err := r.client.Open(ctx, at.Repo)
	if err != nil {
		return nil, err
	}
	commit, err := ResolveIn(ctx, repo, at.Branch, at.Commit)
	if err != nil {
		return nil, err
	}
	line, _, err := repo.History(ctx, commit, nil, maxLine)
	if err != nil {
		return nil, err
	}
	on := hashesOf(line)
	var messages []string
	for _, c := range line {
		of, err := messagesOf(ctx, repo, c, on)
		if err != nil {
			return nil, err
		}
		messages = append(messages, of...)
	}
	return messages, nil
}

// maxPublishedFile bounds the size of one file of a GitOps branch. A large cluster type's inventory has some megabytes.
const maxPublishedFile = 64 << 20

// resolve returns the tree of a location. Results are cached.
func (r *Reader) resolve(ctx context.Context, at schedule.Location) (resolvedTree, error) {
	if at.Folder != "" {
		tree, err := git.Folder(at.Folder)
		return resolvedTree{tree, git.Commit{}}, err
	}
	if r.standIn.replaces(r, at) {
		return r.standIn.resolvedTree, nil
	}
	if at.Commit == schedule.Uncommitted {
		return resolvedTree{}, fmt.Errorf("branch %q of %q is not the one of the work tree; leave out --staged and --work-tree", at.Branch, withoutCredentials(at.Repo))
	}
	key := resolveKey{at.Repo, at.Branch, at.Commit}
	r.mu.Lock()
	once, ok := r.resolved[key]
	if !ok {
		once = sync.OnceValues(func() (resolvedTree, error) { return r.ask(ctx, at) })
		r.resolved[key] = once
	}
	r.mu.Unlock()
	return once()
}

func (r *Reader) ask(ctx context.Context, at schedule.Location) (resolvedTree, error) {
	repo, err := r.client.Open(ctx, at.Repo)
	if err != nil {
		return resolvedTree{}, err
	}
	commit, err := ResolveIn(ctx, repo, at.Branch, at.Commit)
	if err != nil {
		return resolvedTree{}, noCommit(noBranch(err, git.ErrBranchNotFound))
	}
	return resolvedTree{repo.Tree(commit), commit}, nil
}

// ResolveIn resolves a revision relative to a branch: HEAD~1 is the commit before the branch's head,
// whatever branch is checked out.
func ResolveIn(ctx context.Context, repo *git.Repository, branch, revision string) (git.Commit, error) {
	rest, ok := strings.CutPrefix(revision, "HEAD")
	if !ok || rest != "" && !strings.ContainsRune("~^", rune(rest[0])) {
		return repo.Resolve(ctx, branch, revision)
	}
	head, err := repo.Resolve(ctx, branch, "")
	if err != nil || rest == "" {
		return head, err
	}
	return repo.Resolve(ctx, branch, head.Hash+rest)
}

// noBranch marks an error of a kind as a missing branch.
func noBranch(err, kind error) error {
	if errors.Is(err, kind) {
		return noBranchError{err}
	}
	return err
}

// noBranchError is a [schedule.ErrNoBranch] with its own message.
type noBranchError struct{ error }

func (e noBranchError) Is(target error) bool { return target == schedule.ErrNoBranch }
func (e noBranchError) Unwrap() error        { return e.error }

// noCommit marks an error as a missing commit.
func noCommit(err error) error {
	if errors.Is(err, git.ErrCommitNotFound) {
		return noCommitError{err}
	}
	return err
}

// noCommitError is a [schedule.ErrNoCommit] with its own message.
type noCommitError struct{ error }

func (e noCommitError) Is(target error) bool { return target == schedule.ErrNoCommit }
func (e noCommitError) Unwrap() error        { return e.error }

// Resolve returns the absolute URL for a URL in a repository's document. A URL that begins with a dot is relative to the
// repository, like those of Git submodules: "." is the repository itself, "../gitops" its sibling.
// Documents of remote repositories cannot refer to files on this machine, unless a --map allows it.
func (r *Reader) Resolve(repository, url string) (string, error) {
	if url == "" {
		return "", errors.New("the URL of a repository is missing")
	}
	if fleet.IsRelative(url) {
		return fleet.JoinURL(repository, url)
	}
	target, err := r.client.Locate(url)
	if err != nil {
		return "", err
	}
	from, err := r.client.Locate(repository)
	if err != nil {
		return "", err
	}
	if fleet.IsLocal(url) && fleet.IsLocal(target) && !fleet.IsLocal(from) {
		return "", fmt.Errorf("%q is on this machine, where a repository elsewhere cannot point to; use a URL, or --map it", url)
	}
	return url, nil
}

// Same reports whether two URLs lead to the same repository.
func (r *Reader) Same(a, b string) bool {
	was, err := r.client.Locate(a)
	if err != nil {
		return false
	}
	is, err := r.client.Locate(b)
	return err == nil && git.SameRepository(was, is)
}

// Contains reports whether a commit is in the history of a branch. A local clone's own branch can be behind
// that of origin, so either counts.
func (r *Reader) Contains(ctx context.Context, branch schedule.Location, commit string) (bool, error) {
	repo, err := r.client.Open(ctx, branch.Repo)
	if err != nil {
		return false, err
	}
	head, err := repo.Resolve(ctx, branch.Branch, "")
	if err != nil {
		return false, err
	}
	if _, err := repo.Resolve(ctx, branch.Branch, commit); err != nil {
		return false, err // does not exist at all
	}
	if on, err := repo.IsAncestor(ctx, commit, head); on || err != nil || !repo.IsLocal() {
		return on, err
	}
	head, err = repo.Resolve(ctx, branch.Branch, "refs/remotes/origin/"+head.Branch)
	if err != nil {
		return false, nil //nolint:nilerr // a repository without this branch
	}
	return repo.IsAncestor(ctx, commit, head)
}

// Fork returns the commit at which the history of a commit diverged from that of a branch.
func (r *Reader) Fork(ctx context.Context, branch schedule.Location, ref, commit string) (string, error) {
	repo, err := r.client.Open(ctx, branch.Repo)
	if err != nil {
		return "", err
	}
	base, err := repo.Resolve(ctx, branch.Branch, "")
	if err != nil {
		return "", noBranch(err, git.ErrBranchNotFound)
	}
	head, err := repo.Resolve(ctx, branch.Branch, commit)
	if errors.Is(err, git.ErrCommitNotFound) && ref != "" {
		head, err = repo.Resolve(ctx, branch.Branch, ref)
	}
	if err != nil {
		return "", err
	}
	fork, err := repo.MergeBase(ctx, head, base)
	return fork.Hash, err
}
