package github

import (
	"iter"

	"github.com/google/go-github/v92/github"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Repository is a repository on GitHub.
type Repository struct {
	forge       *Forge
	id          forge.ID
	owner, name string
}

// ID returns the repository's ID.
func (r *Repository) ID() forge.ID { return r.id }

// CodeOwnersPath returns where GitHub looks first for code owners.
func (r *Repository) CodeOwnersPath() string { return ".github/CODEOWNERS" }

func (r *Repository) explain(o operation, answer *github.Response, err error) error {
	return r.forge.explain(o, r.id.String(), answer, err)
}

// pageSize is the maximum size of pages.
const pageSize = 100

// perPage is the first page of a list, in the maximum size.
var perPage = github.ListOptions{PerPage: pageSize}

// collect returns the converted elements of a list to keep, at most limit. A nil keep means all, a limit of 0 no limit.
func collect[T, U any](
	r *Repository, o operation, list iter.Seq2[T, error], convert func(T) U, keep func(U) bool, limit int,
) (all []U, err error) {
	for element, err := range list {
		if err != nil {
			return nil, r.explain(o, nil, err)
		}
		if u := convert(element); keep == nil || keep(u) {
			all = append(all, u)
		}
		if limit > 0 && len(all) == limit {
			break
		}
	}
	return all, nil
}

func same[T any](element T) T { return element }
