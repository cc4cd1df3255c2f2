package repository

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/schedule/carry"
)

// Carried reads the repositories that a bundle has. It resolves each name once.
type Carried struct {
	Client *git.Client
	// From is the GitOps repository. If it is remote, its files cannot refer to repositories on this machine.
	From string

	mu       sync.Mutex
	resolved map[resolveKey]carry.Reference
	commits  map[resolveKey]git.Commit
}

var _ carry.Repositories = (*Carried)(nil)

// Resolve returns the branch or tag that a name means.
func (c *Carried) Resolve(ctx context.Context, repository, name string) (carry.Reference, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := resolveKey{repo: repository, branch: name}
	if known, ok := c.resolved[key]; ok {
		return known, nil
	}
	if fleet.IsRelative(repository) {
		return carry.Reference{}, fmt.Errorf("%q is relative, which reconcilers do not understand", repository)
	}
	if _, err := NewReader(c.Client).Resolve(c.From, repository); err != nil {
		return carry.Reference{}, err
	}
	repo, err := c.Client.Open(ctx, repository)
	if err != nil {
		return carry.Reference{}, err
	}
	found, commit, err := resolveName(ctx, repo, name)
	if err != nil {
		return found, err
	}
	if c.resolved == nil {
		c.resolved, c.commits = map[resolveKey]carry.Reference{}, map[resolveKey]git.Commit{}
	}
	c.resolved[key] = found
	c.commits[resolveKey{repo: repository, commit: commit.Hash}] = commit
	return found, nil
}

// resolveName resolves a branch or a tag. A name that can be either is that of a branch if there is one.
func resolveName(ctx context.Context, repo *git.Repository, name string) (carry.Reference, git.Commit, error) {
	tag, isTag := strings.CutPrefix(name, "refs/tags/")
	branch, isBranch := strings.CutPrefix(name, "refs/heads/")
	if !isTag && !isBranch && name != "" {
		all, err := repo.References(ctx)
		if err != nil {
			return carry.Reference{}, git.Commit{}, err
		}
		if _, known := all[git.BranchReference(name)]; !known && all[git.TagReference(name)] != "" {
			tag, isTag = name, true
		}
	}
	if isTag {
		commit, err := repo.Resolve(ctx, "", git.TagReference(tag))
		return carry.Reference{Name: git.TagReference(tag), Commit: commit.Hash}, commit, err
	}
	commit, err := repo.Resolve(ctx, branch, "")
	return carry.Reference{Name: git.BranchReference(commit.Branch), Commit: commit.Hash}, commit, err
}

// Files returns the files at or below a folder.
func (c *Carried) Files(ctx context.Context, repository string, at carry.Reference, folder string) ([]chart.File, error) {
	repo, err := c.Client.Open(ctx, repository)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	commit, known := c.commits[resolveKey{repo: repository, commit: at.Commit}]
	c.mu.Unlock()
	if !known {
		if commit, err = repo.Resolve(ctx, strings.TrimPrefix(at.Name, "refs/heads/"), at.Commit); err != nil {
			return nil, err
		}
	}
	tree := repo.Tree(commit)
	entries, err := tree.Files(ctx, folder)
	if errors.Is(err, git.ErrPathNotFound) {
		return nil, nil
	}
	var files []chart.File
	for _, e := range entries {
		if e.Mode == git.Submodule {
			continue
		}
		if len(files) == chart.MaxFiles {
			return nil, fmt.Errorf("folder %q has more than %d files", folder, chart.MaxFiles)
		}
		content, err := tree.Read(ctx, e, chart.MaxSize)
		if err != nil {
			return nil, err
		}
		files = append(files, chart.File{Path: e.Path, Content: content, Symlink: e.Mode == git.Symlink})
	}
	return files, err
}

// Bundle writes a Git bundle.
func (c *Carried) Bundle(ctx context.Context, repository string, references []carry.Reference, w io.Writer) error {
	repo, err := c.Client.Open(ctx, repository)
	if err != nil {
		return err
	}
	all := make([]git.Reference, len(references))
	for i, r := range references {
		all[i] = git.Reference(r)
	}
	return repo.Bundle(ctx, all, w)
}

// Same reports whether two URLs lead to the same repository.
func (c *Carried) Same(a, b string) bool { return NewReader(c.Client).Same(a, b) }

// CarriedRegistries copies images and charts into an image layout, and from a bundle into a registry.
type CarriedRegistries struct {
	Client *remote.Client
	// Layout is required to fetch, not to upload.
	Layout *remote.Layout
}

var (
	_ carry.Registries = CarriedRegistries{}
	_ carry.Uploader   = CarriedRegistries{}
)

// Image copies an image.
func (c CarriedRegistries) Image(ctx context.Context, image chart.Image) (carry.Artifact, error) {
	found, err := c.Layout.Image(ctx, image)
	return carry.Artifact(found), err
}

// Chart copies a chart.
func (c CarriedRegistries) Chart(ctx context.Context, ref app.Chart) (carry.Artifact, string, []chart.File, error) {
	found, err := c.Layout.Chart(ctx, ref)
	return carry.Artifact(found.Artifact), found.Version, found.Files, err
}

// Upload uploads an image or chart.
func (c CarriedRegistries) Upload(ctx context.Context, from carry.Blobs, what carry.Artifact, repository, tag string) error {
	return c.Client.Upload(ctx, from, remote.Upload{Artifact: remote.Artifact(what), Repository: repository, Tag: tag})
}

// Inside are the repositories behind an air gap. The mappings of the client lead from the URLs outside to them.
type Inside struct {
	Client *git.Client
	// Author is the author of the commits that record bundles.
	Author git.Person
}

var (
	_ carry.Inside  = Inside{}
	_ carry.Records = Inside{}
)

// unpacked is a Git bundle.
type unpacked struct{ *git.Bundled }

// References implements [carry.Unpacked].
func (u unpacked) References() []carry.Reference {
	var all []carry.Reference
	for _, r := range u.Bundled.References {
		all = append(all, carry.Reference(r))
	}
	return all
}

// Descends implements [carry.Unpacked].
func (u unpacked) Descends(ctx context.Context, commit, from string) (bool, error) {
	return u.IsAncestor(ctx, from, git.Commit{Hash: commit})
}

// Unpack unpacks a Git bundle into a folder.
func (i Inside) Unpack(ctx context.Context, dir string, bundle io.Reader) (carry.Unpacked, error) {
	b, err := i.Client.Unbundle(ctx, dir, bundle)
	if err != nil {
		return nil, err
	}
	return unpacked{b}, nil
}

// References returns the branches and tags of a repository. A folder that does not exist has none.
func (i Inside) References(ctx context.Context, repository string) (map[string]string, error) {
	repo, err := i.open(ctx, repository)
	if repo == nil || err != nil {
		return map[string]string{}, err
	}
	return repo.References(ctx)
}

// open opens a repository. It returns nil for a folder that does not exist.
func (i Inside) open(ctx context.Context, repository string) (*git.Repository, error) {
	repo, err := i.Client.Open(ctx, repository)
	if at, _ := i.Client.Locate(repository); errors.Is(err, git.ErrRepositoryNotFound) && fleet.IsLocal(at) {
		return nil, nil
	}
	return repo, err
}

// create opens a repository, after creating a folder that does not exist.
func (i Inside) create(ctx context.Context, repository, branch string) (*git.Repository, error) {
	repo, err := i.open(ctx, repository)
	if repo != nil || err != nil {
		return repo, err
	}
	at, err := i.Client.Locate(repository)
	if err != nil {
		return nil, err
	}
	if err := git.CreateBare(at, branch); err != nil {
		return nil, err
	}
	return i.Client.Open(ctx, repository)
}

// Contains reports whether a commit is in the history of a branch.
func (i Inside) Contains(ctx context.Context, repository, branch, commit string) (bool, error) {
	repo, err := i.Client.Open(ctx, repository)
	if err != nil {
		return false, err
	}
	head, err := repo.Resolve(ctx, branch, "")
	if err != nil {
		return false, err
	}
	return repo.IsAncestor(ctx, commit, head)
}

// Receive moves a branch or tag to the commit that a bundle has.
func (i Inside) Receive(ctx context.Context, repository string, from carry.Unpacked, name, old string) error {
	b, ok := from.(unpacked)
	if !ok {
		return fmt.Errorf("%T was not unpacked here", from)
	}
	branch, isBranch := strings.CutPrefix(name, "refs/heads/")
	if !isBranch {
		branch = ""
	}
	repo, err := i.create(ctx, repository, branch)
	if err != nil {
		return err
	}
	return repo.Receive(ctx, b.Bundled, name, old)
}

// Read returns a file of a branch; nil if there is none.
func (i Inside) Read(ctx context.Context, repository, branch, file string) ([]byte, error) {
	repo, err := i.open(ctx, repository)
	if repo == nil || err != nil {
		return nil, err
	}
	head, err := repo.Resolve(ctx, branch, "")
	if errors.Is(err, git.ErrBranchNotFound) || errors.Is(err, git.ErrEmpty) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	tree := repo.Tree(head)
	entries, err := tree.Files(ctx, file)
	if errors.Is(err, git.ErrPathNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return tree.Read(ctx, entries[0], maxRecord)
}

// maxRecord bounds the record of a bundle, in bytes.
const maxRecord = 64 << 20

// Write commits a file to a branch.
func (i Inside) Write(ctx context.Context, repository, branch, file, message string, content []byte, when time.Time) error {
	repo, err := i.create(ctx, repository, "")
	if err != nil {
		return err
	}
	head, err := repo.Resolve(ctx, branch, "")
	if err != nil && !errors.Is(err, git.ErrBranchNotFound) && !errors.Is(err, git.ErrEmpty) {
		return err
	}
	commit, err := repo.Commit(ctx, git.CommitRequest{
		Parent: head, Put: map[string][]byte{file: content}, Message: message, Author: i.Author, When: when,
	})
	if errors.Is(err, git.ErrNothingToCommit) {
		return nil
	}
	if err != nil {
		return err
	}
	return repo.Push(ctx, branch, head.Hash, commit)
}
