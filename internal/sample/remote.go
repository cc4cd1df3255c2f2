package sample

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/sample/simulate"
)

// Remote is a client of [Control].
type Remote struct {
	// Client has the address, with [ControlRoot] as its path, and the token. // required
	Client *client.Client
}

// Simulation returns a client of the simulated clusters.
func (r Remote) Simulation() simulate.Remote { return simulate.Remote{Client: r.Client} }

// Pulls returns the open pull requests of all repositories.
func (r Remote) Pulls(ctx context.Context) ([]Pull, error) {
	return client.Ask[[]Pull](ctx, r.Client, "pulls", nil)
}

// Stop asks the process to end, which takes a moment.
func (r Remote) Stop(ctx context.Context) error {
	_, err := client.Tell[struct{}](ctx, r.Client, "stop", nil, struct{}{})
	return err
}

// often is the interval at which Merge polls for a pull request.
const often = 100 * time.Millisecond

// Merge merges the pull request to a branch. It waits for one until the context is done; the error then says what is missing.
func (r Remote) Merge(ctx context.Context, wanted MergeRequest) (Merged, error) {
	var last error
	for {
		merged, err := client.Tell[Merged](ctx, r.Client, "merge", nil, wanted)
		var refusal *client.Refusal
		switch {
		case err == nil:
			return merged, nil
		case ctx.Err() != nil && last != nil:
			return merged, last
		case !errors.As(err, &refusal) || refusal.Status != http.StatusConflict:
			return merged, err
		}
		last = err
		timer := time.NewTimer(often)
		select {
		case <-ctx.Done():
			timer.Stop()
			return merged, last
		case <-timer.C:
		}
	}
}
