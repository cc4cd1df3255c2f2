package local

import (
	"maps"
	"net/http"
	"slices"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// openPage is the form to open a pull request.
type openPage struct {
	Branches   []string
	Head, Base string
}

func (p *pages) openForm(r *request) error {
	repo, e, err := p.the(r, "pulls")
	if err != nil {
		return err
	}
	if _, err := repo.enter(r.Context(), Write); err != nil {
		return err
	}
	objects := p.open(e)
	branches, err := objects.branches()
	if err != nil {
		return err
	}
	data := openPage{slices.Sorted(maps.Keys(branches)), r.FormValue("head"), objects.defaultBranch()}
	return p.render(r, http.StatusOK, "open", "Open a pull request", data)
}

func (p *pages) openPullRequest(r *request) error {
	repo, e, err := p.the(r, "pulls")
	if err != nil {
		return err
	}
	c, err := repo.OpenPullRequest(r.Context(), forge.NewPullRequest{
		Head: r.PostFormValue("head"), Base: r.PostFormValue("base"), Title: r.PostFormValue("title"), Body: r.PostFormValue("body"),
	})
	if err != nil {
		return err
	}
	return p.back(r, p.pathOf(e, "pulls", c.Number))
}
