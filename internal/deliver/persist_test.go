package deliver_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kalypso-io/kalypso/internal/chart/charttest"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// retryable are repositories whose first reads fail, once for each error.
type retryable struct {
	repos
	errs *[]error
}

func (d retryable) Source(ctx context.Context, at schedule.Location) (fleet.Source, error) {
	if len(*d.errs) > 0 {
		err := (*d.errs)[0]
		*d.errs = (*d.errs)[1:]
		return fleet.Source{}, err
	}
	return d.repos.Source(ctx, at)
}

var errNoForge = errors.New("no forge")

type noForges struct{}

func (noForges) Forge(string) (forge.Forge, error) { return nil, errNoForge }

// TestWhoIsDisturbedTriesAgain checks that a retryable round is retried a
// few times, with pauses, and reads everything again.
func TestWhoIsDisturbedTriesAgain(t *testing.T) {
	conflict, other := &forge.Error{Kind: forge.ErrConflict, Op: "open change"}, errors.New("no disk")
	for name, tc := range map[string]struct {
		errs  []error
		want  error
		again int
		after time.Duration
	}{
		"no forge":          {nil, errNoForge, 0, 0},
		"a branch moved":    {[]error{pullrequest.ErrMoved}, errNoForge, 1, 500 * time.Millisecond},
		"there is a change": {[]error{conflict, pullrequest.ErrBusy, conflict}, errNoForge, 3, 3500 * time.Millisecond},
		"always disturbed":  {[]error{conflict, conflict, conflict, conflict, pullrequest.ErrMoved, nil}, pullrequest.ErrMoved, 4, 7500 * time.Millisecond},
		"by something else": {[]error{other}, other, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := retryable{shop(1), &tc.errs}
				loader := func() *deliver.Loader { return &deliver.Loader{Repositories: r} }
				d := &deliver.Deliverer{Drafter: deliver.Drafter{Renderer: charttest.InProcess{}, Loader: loader()}, Forges: noForges{}}
				began, again := time.Now(), 0
				_, err := d.Persist(t.Context(), deliver.RoundRequest{Request: deliver.Request{Source: "https://git.example/shop"}, Environment: "dev"}, func() *deliver.Loader {
					again++
					return loader()
				})
				if took := time.Since(began); !errors.Is(err, tc.want) || again != tc.again || took != tc.after {
					t.Errorf("got %v after %s, and read %d times again", err, took, again)
				}
			})
		})
	}
}

// TestWhoStopsDoesNotWait checks that a cancelled command ends at once.
func TestWhoStopsDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Millisecond)
		defer stop()
		errs := []error{pullrequest.ErrMoved}
		d := &deliver.Deliverer{Drafter: deliver.Drafter{Renderer: charttest.InProcess{}, Loader: &deliver.Loader{Repositories: retryable{shop(1), &errs}}}}
		_, err := d.Persist(ctx, deliver.RoundRequest{Request: deliver.Request{Source: "https://git.example/shop"}, Environment: "dev"}, nil)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, pullrequest.ErrMoved) {
			t.Errorf("got %v", err)
		}
	})
}
