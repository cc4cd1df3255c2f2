package wiring

import (
	"context"
	"errors"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// slowForge returns merged pull requests as open for a while, like forges that update the branch first.
type slowForge struct{ forge.Forge }

func (f slowForge) Repository(url string) (forge.Repository, error) {
	r, err := f.Forge.Repository(url)
	return slowRepository{r}, err
}

type slowRepository struct{ forge.Repository }

func (r slowRepository) FindPullRequests(ctx context.Context, f forge.PullRequestFilter) ([]forge.PullRequest, error) {
	changes, err := r.Repository.FindPullRequests(ctx, f)
	for i := range changes {
		changes[i].State = forge.Open
	}
	return changes, err
}

func (r slowRepository) PullRequest(ctx context.Context, number int) (forge.PullRequest, error) {
	c, err := r.Repository.PullRequest(ctx, number)
	c.State = forge.Open
	return c, err
}

func TestAChangeThatIsBeingMergedIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.round("dev")
	c := w.OpenPullRequest()
	w.Merge()
	quick := w.flows.Forges
	w.flows.Forges = forge.Forges{slowForge{w.Host}}
	_, err := w.flows.Round(t.Context(), w.URL+"/"+fleettest.ControlPlane, "dev")
	if !errors.Is(err, pullrequest.ErrMoved) {
		t.Errorf("error %v, want that the branch moved", err)
	}
	comments, err := w.Repo(fleettest.GitOps).Comments(t.Context(), c.Number)
	if err != nil || len(comments) > 0 {
		t.Errorf("comments %+v, %v", comments, err)
	}
	w.flows.Forges = quick
	if o := w.round("dev"); len(o.Did) > 0 {
		t.Errorf("afterwards a round did %v", o.Did)
	}
}
