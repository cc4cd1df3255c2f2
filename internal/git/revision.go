package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// revision resolves a commit ID, its prefix, a reference, or one of these with ~n or ^n.
func (r *Repository) revision(revision string) (plumbing.Hash, error) {
	if hash, ok := parseHash(revision); ok {
		return hash, nil
	}
	// A branch that only "origin" has works as well, as in Resolve.
	for _, spelling := range []string{revision, "refs/remotes/origin/" + revision} {
		if hash, err := r.store().revision(spelling); err == nil {
			return hash, nil
		}
	}
	return plumbing.ZeroHash, r.noCommit(revision)
}

// revision lets go-git parse a revision.
func (s *store) revision(revision string) (hash plumbing.Hash, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("parse revision %q: %v", revision, p)
		}
	}()
	repository, err := gogit.Open(sharedStorage{s.own, s}, nil)
	if err != nil {
		return hash, err
	}
	found, err := repository.ResolveRevision(plumbing.Revision(revision))
	if err != nil {
		return hash, err
	}
	return *found, nil
}

// readCommit reads a commit and checks that its tree exists.
func (r *Repository) readCommit(ctx context.Context, hash plumbing.Hash) (Commit, error) {
	op := "read commit " + hash.String() + " of"
	content, err := r.store().object(hash, plumbing.CommitObject, maxStructure)
	if errors.Is(err, errWrongType) {
		if hash, err = r.peel(hash); err == nil {
			content, err = r.store().object(hash, plumbing.CommitObject, maxStructure)
		}
	}
	if errors.Is(err, plumbing.ErrObjectNotFound) || errors.Is(err, errWrongType) {
		return Commit{}, r.noCommit(hash.String())
	}
	if err != nil {
		return Commit{}, r.readError(ctx, op, err)
	}
	c, err := parseCommit(hash, content)
	if err != nil {
		return Commit{}, r.corrupt(op, err)
	}
	if _, err := r.store().tree(c.tree); err != nil {
		return Commit{}, r.readError(ctx, op, err)
	}
	return c, nil
}

// peel follows an annotated tag to its object.
func (r *Repository) peel(hash plumbing.Hash) (plumbing.Hash, error) {
	content, err := r.store().object(hash, plumbing.TagObject, maxStructure)
	if err != nil {
		return hash, err
	}
	tag := &plumbing.MemoryObject{}
	tag.SetType(plumbing.TagObject)
	_, _ = tag.Write(content)
	var t object.Tag
	if err := t.Decode(tag); err != nil {
		return hash, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return t.Target, nil
}

func parseCommit(hash plumbing.Hash, content []byte) (Commit, error) {
	c, err := decodeCommit(content)
	if err != nil {
		return Commit{}, err
	}
	return describeCommit(hash, content, c), nil
}

func describeCommit(hash plumbing.Hash, content []byte, c *object.Commit) Commit {
	subject, _, _ := bytes.Cut([]byte(c.Message), []byte("\n"))
	return Commit{
		Hash: hash.String(), Unsigned: objectHash(plumbing.CommitObject, unsigned(content)).String(),
		Time: c.Committer.When, Subject: secret.Line(string(subject)), Message: c.Message,
		Author: secret.Line(c.Author.Name), Email: secret.Line(c.Author.Email), tree: c.TreeHash,
	}
}

func decodeCommit(content []byte) (*object.Commit, error) {
	encoded := &plumbing.MemoryObject{}
	encoded.SetType(plumbing.CommitObject)
	_, _ = encoded.Write(content)
	c := &object.Commit{}
	if err := c.Decode(encoded); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return c, nil
}

// noCommit returns an error that distinguishes a missing commit from one beyond a shallow clone.
func (r *Repository) noCommit(revision string) error {
	e := &Error{
		Kind: ErrCommitNotFound, Op: fmt.Sprintf("read commit %q of", secret.Scrub(revision)), Where: r.Name,
		Hint: "check the commit id, and that it was pushed",
	}
	if r.remote == nil && r.store().shallow() {
		e.Detail = "the clone is shallow and its history is cut off"
		e.Hint = `run "git fetch --unshallow" in it, or use a full clone`
	} else if r.remote == nil {
		e.Hint = `check the commit id, or run "git fetch" in the repository`
	}
	return e
}
