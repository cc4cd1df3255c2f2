package github

import (
	"context"

	"github.com/google/go-github/v92/github"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Repository is a repository on GitHub.
type Repository struct {
	forge *Forge
	id    forge.ID
}

// ID returns the repository's ID.
func (r *Repository) ID() forge.ID { return r.id }

// CodeOwnersPath returns where GitHub looks first for code owners.
func (r *Repository) CodeOwnersPath() string { return ".github/CODEOWNERS" }

// names returns the first arguments of most calls.
func (r *Repository) names() (owner, name string) { return r.id.Owner(), r.id.Name() }

func (r *Repository) explain(o operation, answer *github.Response, err error) error {
	return r.forge.explain(o, r.id.String(), answer, err)
}

// pageSize is the maximum size of pages.
const pageSize = 100

// pages reads all pages of a list, or stops when use returns false.
func pages[T any](
	ctx context.Context, r *Repository, o operation,
	read func(context.Context, github.ListOptions) ([]T, *github.Response, error), use func(T) bool,
) error {
	at := github.ListOptions{PerPage: pageSize}
	for {
		page, answer, err := read(o.on(ctx), at)
		if err != nil {
			return r.explain(o, answer, err)
		}
		for _, element := range page {
			if !use(element) {
				return nil
			}
		}
		if answer.NextPage <= at.Page {
			return nil
		}
		at.Page = answer.NextPage
	}
}
