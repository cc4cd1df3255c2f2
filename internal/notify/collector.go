package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

const (
	// margin is how far back steps are read again, for servers whose clocks are behind.
	margin = time.Hour
	// MaxWaiting is how many messages may wait for a receiver. The oldest ones above it are dropped.
	MaxWaiting = 10_000
	// Kept is how long messages are kept that are delivered or given up.
	Kept = 30 * 24 * time.Hour
	// maxPast limits the steps of a kind that are read of an environment's history.
	maxPast = 1000
)

// Ledger is the part of the ledger that messages are derived from and queued in.
type Ledger interface {
	Steps(ctx context.Context, q ledger.StepQuery) ([]ledger.Step, error)
	Subscribe(ctx context.Context, receivers []string, now time.Time) error
	Receivers(ctx context.Context) ([]ledger.Receiver, error)
	Queue(ctx context.Context, b ledger.Batch) (ledger.QueueResult, error)
	DeleteMessages(ctx context.Context, before time.Time) (int64, error)
}

// Collector queues messages about the steps that are new in the ledger. Its methods must not be called concurrently; several servers
// can each have one.
type Collector struct {
	Ledger Ledger  // required
	Routes []Route // required
	// Now is the clock. Default: time.Now.
	Now func() time.Time

	// read are the steps within the margin that were read.
	read map[stepKey]bool
	// cleaned is when old messages were last deleted.
	cleaned time.Time
}

type stepKey struct {
	promotion ledger.PromotionID
	kind      string
	at        int64
}

func keyOf(s ledger.Step) stepKey { return stepKey{s.PromotionID, s.Kind, s.At.UnixMicro()} }

// Subscribe declares the receivers of the routes. Call it before the first [Collector.Collect].
func (c *Collector) Subscribe(ctx context.Context) error {
	var names []string
	for _, r := range c.Routes {
		names = append(names, r.Receivers...)
	}
	slices.Sort(names)
	return c.Ledger.Subscribe(ctx, slices.Compact(names), c.now())
}

// Collect queues messages about new steps. If it fails, the next call reads the same steps again.
func (c *Collector) Collect(ctx context.Context) (ledger.QueueResult, error) {
	receivers, err := c.Ledger.Receivers(ctx)
	if err != nil || len(receivers) == 0 {
		return ledger.QueueResult{}, err
	}
	through := slices.MinFunc(receivers, func(a, b ledger.Receiver) int { return a.Through.Compare(b.Through) }).Through
	steps, err := c.Ledger.Steps(ctx, ledger.StepQuery{From: through.Add(-margin), WithoutKind: string(promote.StatusPosted)})
	if err != nil {
		return ledger.QueueResult{}, fmt.Errorf("read the steps since %s: %w", through.Add(-margin).Format(time.RFC3339), err)
	}
	slices.Reverse(steps)
	batch := ledger.Batch{Now: c.now(), Limit: MaxWaiting, Through: through}
	places := map[ledger.PromotionID][]ledger.Step{} // without commits
	for _, s := range steps {
		if s.At.After(batch.Through) && !s.At.After(batch.Now) {
			batch.Through = s.At // a clock that is ahead must not hide what the others record
		}
		if at := (ledger.PromotionID{Subject: s.Subject, Environment: s.Environment}); slices.Contains(told, s.Kind) && !c.read[keyOf(s)] {
			places[at] = append(places[at], s)
		}
	}
	if batch.Messages, err = c.messages(ctx, places, receivers); err != nil {
		return ledger.QueueResult{}, err
	}
	var done ledger.QueueResult
	if len(batch.Messages) > 0 || batch.Through.After(through) {
		if done, err = c.Ledger.Queue(ctx, batch); err != nil {
			return ledger.QueueResult{}, err
		}
	}
	c.remember(steps, batch.Through)
	return done, c.clean(ctx, batch.Through)
}

// remember notes which steps were read.
func (c *Collector) remember(steps []ledger.Step, through time.Time) {
	c.read = map[stepKey]bool{}
	for _, s := range steps {
		if !s.At.Before(through.Add(-margin)) {
			c.read[keyOf(s)] = true
		}
	}
}

// messages returns the messages about steps.
func (c *Collector) messages(ctx context.Context, places map[ledger.PromotionID][]ledger.Step, to []ledger.Receiver) ([]ledger.Message, error) {
	var all []ledger.Message
	for _, at := range slices.SortedFunc(maps.Keys(places), comparePlaces) {
		history, err := c.history(ctx, at)
		if err != nil {
			return nil, err
		}
		for _, e := range Events(places[at], history) {
			text, err := json.Marshal(e)
			if err != nil {
				return nil, fmt.Errorf("encode an event: %w", err)
			}
			for _, name := range receivers(c.Routes, e) {
				i := slices.IndexFunc(to, func(r ledger.Receiver) bool { return r.Name == name })
				if i >= 0 && !e.At.Before(to[i].Since) {
					all = append(all, ledger.Message{Receiver: name, ID: e.ID, Event: text, At: e.At})
				}
			}
		}
	}
	return all, nil
}

func comparePlaces(a, b ledger.PromotionID) int {
	return slices.Compare([]string{a.Subject, a.Environment}, []string{b.Subject, b.Environment})
}

// history returns the steps that the events of an environment depend on.
func (c *Collector) history(ctx context.Context, at ledger.PromotionID) ([]ledger.Step, error) {
	var all []ledger.Step
	for _, kind := range past {
		steps, err := c.Ledger.Steps(ctx, ledger.StepQuery{Subject: at.Subject, Environment: at.Environment, Kind: kind, Limit: maxPast})
		if err != nil {
			return nil, fmt.Errorf("read the steps of %q: %w", at.Environment, err)
		}
		all = append(all, steps...)
	}
	environment, stage := decide.SplitRing(at.Environment)
	if stage == "" {
		return all, nil
	}
	for _, whole := range []string{environment, fleet.RingOfStage(at.Environment)} {
		if whole == at.Environment {
			continue // they are above
		}
		for _, kind := range commands {
			steps, err := c.Ledger.Steps(ctx, ledger.StepQuery{Subject: at.Subject, Environment: whole, Kind: kind, Limit: maxPast})
			if err != nil {
				return nil, fmt.Errorf("read the commands for %q: %w", whole, err)
			}
			all = append(all, steps...)
		}
	}
	return all, nil
}

// clean deletes old messages from time to time. Those about steps that may be read again stay.
func (c *Collector) clean(ctx context.Context, through time.Time) error {
	if now := c.now(); now.Sub(c.cleaned) > 6*time.Hour {
		if _, err := c.Ledger.DeleteMessages(ctx, through.Add(-Kept)); err != nil {
			return err
		}
		c.cleaned = now
	}
	return nil
}

func (c *Collector) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}
