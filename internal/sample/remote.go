package sample

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/sample/simulate"
)

// Remote reaches the process that runs a sample, through its [Control].
type Remote struct {
	// Client knows the address, with [ControlRoot] as its path, and the token. // required
	Client *client.Client
}

// Simulation is the way to its clusters.
func (r Remote) Simulation() simulate.Remote { return simulate.Remote{Client: r.Client} }

// Pulls are the open pull requests of all repositories.
func (r Remote) Pulls(ctx context.Context) (all []Pull, err error) {
	err = r.Client.Get(ctx, "pulls", nil, &all)
	return all, err
}

// Stop asks the process to end. It does so a moment later.
func (r Remote) Stop(ctx context.Context) error { return r.Client.Post(ctx, "stop", struct{}{}, nil) }

// often is how often it is looked whether a pull request is there.
const often = 100 * time.Millisecond

// Merge merges the pull request to a branch. It waits for it until the context ends: then the error says what was missing.
func (r Remote) Merge(ctx context.Context, wanted MergeRequest) (Merged, error) {
	var last error
	for {
		var merged Merged
		err := r.Client.Post(ctx, "merge", wanted, &merged)
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
