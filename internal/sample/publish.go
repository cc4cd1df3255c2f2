package sample

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/git"
)

// ErrForeign means that a repository exists, and was not created for this sample.
var ErrForeign = errors.New("the repository does not belong to this sample")

// Publisher writes repositories to a forge.
type Publisher struct {
	// Forge must be able to create repositories. // required
	Forge forge.Forge
	// Client pushes to them. // required
	Client *git.Client
	// Author and When are the author and time of commits. // required
	Author git.Person
	When   time.Time
	// Mark is in the descriptions of this sample's repositories, which are private. Other repositories are
	// not changed. Empty means that every repository of the forge belongs to the sample.
	Mark string
	// Notice receives what the forge does not allow and the sample does not need. Optional.
	Notice func(what string)
}

// Publish creates what is missing. Existing branches stay unchanged: they may contain a user's work.
func (p *Publisher) Publish(ctx context.Context, repositories []Repository) error {
	creator, ok := p.Forge.(forge.Creator)
	if !ok {
		return fmt.Errorf("%s cannot create repositories", p.Forge.Kind())
	}
	for _, r := range repositories {
		if err := p.publish(ctx, creator, r); err != nil {
			return fmt.Errorf("publish %s: %w", r.URL, err)
		}
	}
	return nil
}

func (p *Publisher) publish(ctx context.Context, creator forge.Creator, r Repository) error {
	on, err := p.create(ctx, creator, r)
	if err != nil {
		return err
	}
	repo, err := p.Client.Open(ctx, r.URL)
	if err != nil {
		return err
	}
	main := ""
	for _, b := range r.Branches {
		head, err := p.branch(ctx, repo, r, b, main)
		if err != nil {
			return fmt.Errorf("branch %q: %w", b.Name, err)
		}
		if main == "" {
			main = head
		}
		if err := p.protect(ctx, on, b); err != nil {
			return fmt.Errorf("protect branch %q: %w", b.Name, err)
		}
	}
	return nil
}

// protect protects a branch. An account without the right to do so only gets a notice.
func (p *Publisher) protect(ctx context.Context, on forge.Repository, b Branch) error {
	protector, ok := on.(forge.Protector)
	if !b.Protected || !ok {
		return nil
	}
	err := protector.Protect(ctx, b.Name, forge.Protection{PullRequestsOnly: true, Checks: b.Checks})
	if errors.Is(err, forge.ErrDenied) && p.Notice != nil {
		p.Notice(fmt.Sprintf("branch %q is not protected: %v", b.Name, err))
		return nil
	}
	return err
}

// create makes sure that a repository exists and is ours. It has the mark from the start.
func (p *Publisher) create(ctx context.Context, creator forge.Creator, r Repository) (forge.Repository, error) {
	wanted := forge.NewRepository{Owner: r.Owner, Name: r.Slug, DefaultBranch: r.Branches[0].Name, Description: r.Description}
	if p.Mark != "" {
		wanted.Description, wanted.Private = r.Description+" ("+p.Mark+")", true
	}
	on, err := creator.CreateRepository(ctx, wanted)
	if !errors.Is(err, forge.ErrConflict) {
		return on, err
	}
	if on, err = p.Forge.Repository(r.URL); err != nil || p.Mark == "" {
		return on, err
	}
	ours, err := marked(ctx, on, p.Mark)
	if err == nil && !ours {
		err = fmt.Errorf("%w: it exists already", ErrForeign)
	}
	return on, err
}

// branch makes sure that a branch exists, and returns its commit.
func (p *Publisher) branch(ctx context.Context, repo *git.Repository, r Repository, b Branch, main string) (string, error) {
	head, err := repo.Resolve(ctx, b.Name, "")
	if err == nil {
		return head.Hash, nil
	}
	if !errors.Is(err, git.ErrBranchNotFound) && !errors.Is(err, git.ErrEmpty) {
		return "", err
	}
	files := make(map[string][]byte, len(b.Files))
	for name, content := range b.Files {
		files[name] = bytes.ReplaceAll(content, []byte(CommitOfMain), []byte(main))
	}
	commit, err := repo.Commit(ctx, git.CommitRequest{
		Put: files, Author: p.Author, When: p.When, Message: fmt.Sprintf("Start %s of %s\n", b.Name, r.Name),
	})
	if err != nil {
		return "", err
	}
	return commit.Hash, repo.Push(ctx, b.Name, "", commit)
}
