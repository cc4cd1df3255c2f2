package wiring

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/kalypso-io/kalypso/internal/chart/sandbox"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/deliver/tree"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

var _ api.Targets = (*byHand)(nil)

// PinTargets implements [api.Targets], as a round of the application does it, with commits of the user.
func (v *byHand) PinTargets(ctx context.Context, a *query.Application, r deliver.PinTargetsRequest, who access.Identity) (*deliver.RequestedPins, error) {
	if err := v.turns.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer v.turns.Release(1)
	var err error
	if r.Like.Request, err = v.request(ctx, a); err != nil {
		return nil, v.explainPins(ctx, err)
	}
	done, err := v.deliveries.alone(ctx, deliveredTo{a.ControlPlane, a.Subject})
	if err != nil {
		return nil, err
	}
	defer done()
	ctx = sandbox.For(ctx, a.Subject)
	d := v.deliveries.chain(a.ControlPlane, a.Name).Deliverer
	commits := v.committer(who)
	d.Committer, r.Asked = commits, tree.Request{By: commits.Author.Name, At: time.Now().UTC().Truncate(time.Second)}
	r.Again = func() *deliver.Loader { return v.deliveries.loader(a.ControlPlane) }
	found, err := d.PinTargets(ctx, &deliver.Past{Loader: d.Loader, Histories: repository.NewDeliveryReader(v.flows.Client)}, r)
	return found, v.explainPins(ctx, err)
}

// alone waits until no round of an application runs on this server, and keeps others from starting. Call done at the end. Rounds of another
// server are not waited for: who loses a race reads again.
func (d *deliveries) alone(ctx context.Context, at deliveredTo) (done func(), err error) {
	d.mu.Lock()
	a := d.known[at]
	d.mu.Unlock()
	if a == nil {
		return func() {}, nil
	}
	if err := a.rounds.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() { a.rounds.Release(1) }, nil
}

// explainPins converts an error for clients.
func (v *byHand) explainPins(ctx context.Context, err error) error {
	var other *deliver.OtherChangesError
	var unknown *deliver.UnknownTargetError
	var refused *api.SettingError
	switch {
	case errors.As(err, &other):
		return &api.SettingError{Status: http.StatusConflict, Next: other.Hint(), Err: err}
	case errors.As(err, &unknown):
		return &query.UnknownError{What: "target", Name: unknown.Target, Near: unknown.Near}
	case errors.Is(err, deliver.ErrCurrent):
		return &api.SettingError{Status: http.StatusUnprocessableEntity, Next: "choose another revision", Err: err}
	case errors.Is(err, serve.ErrNotRead):
		return query.ErrNotRead
	}
	explained := v.explain(ctx, err)
	if !errors.As(explained, &refused) {
		return explained
	}
	switch {
	case refused.Status == http.StatusForbidden:
		refused.Next = "ask an administrator to give the server's account the right to write"
	case errors.Is(err, forge.ErrInvalid):
		refused.Next = "correct the request, or add the forge of the repository to the configuration of the server"
	case refused.Status == http.StatusUnprocessableEntity:
		refused.Next = "correct the request"
	}
	return explained
}
