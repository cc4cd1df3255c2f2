package wiring

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/deliver/tree"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/query"
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
	commits := v.committer(who)
	r.Asked = tree.Request{By: commits.Author.Name, At: time.Now().UTC().Truncate(time.Second)}
	found, err := v.flows.plane(a.ControlPlane).PinTargets(ctx, a.Subject, a.Name, commits, r)
	return found, v.explainPins(ctx, err)
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
