package serve

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/record"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// fakeChains records the keeper's calls, in addition to those of the flows.
type fakeChains struct {
	flows *fakeFlows
	// moved and next are the results of the next round.
	moved []string
	next  time.Duration
	err   error
	// takes is the duration of each round.
	takes time.Duration
}

func (c *fakeChains) Record(_ context.Context, url, environment string) (*record.Summary, error) {
	c.flows.note("record " + environment)
	return &record.Summary{Read: []schedule.Location{
		{Repo: "https://forge.example.com/platform/gitops", Branch: environment},
		{Repo: "https://forge.example.com/teams/shop-gitops", Branch: environment},
	}}, nil
}

func (c *fakeChains) Promote(context.Context, string) (*Promoted, error) {
	c.flows.note("promote")
	time.Sleep(c.takes)
	p := &Promoted{Moved: c.moved}
	if c.next > 0 {
		p.Next = time.Now().Add(c.next)
	}
	err := c.err
	c.moved, c.next, c.err = nil, 0, nil
	return p, err
}

// keepChains runs a keeper with chains. test begins when the first rounds have ended.
func keepChains(t *testing.T, c *fakeChains, test func(k *Keeper)) {
	t.Helper()
	keepWith(t, c.flows, c, func(k *Keeper) {
		time.Sleep(2 * minDelay)
		want(t, c.flows, "environments", "promote", "record dev", "record stage", "round dev", "round stage")
		test(k)
	})
}

func TestPublishedCommitsAreRecordedAndPromoted(t *testing.T) {
	keepChains(t, &fakeChains{flows: &fakeFlows{}}, func(*Keeper) {})
}

func TestConcurrentReportsLeadToOneRound(t *testing.T) {
	c := &fakeChains{flows: &fakeFlows{}}
	keepChains(t, c, func(k *Keeper) {
		for range 1000 {
			k.HandleReports(nil)
		}
		want(t, c.flows)
		time.Sleep(2 * minDelay)
		want(t, c.flows, "promote")
	})
}

func TestPromotedCommitsAreScheduledAtOnce(t *testing.T) {
	c := &fakeChains{flows: &fakeFlows{}}
	keepChains(t, c, func(k *Keeper) {
		c.moved = []string{"stage"}
		k.HandleReports(nil)
		time.Sleep(minDelay)
		want(t, c.flows, "promote", "record stage", "round stage")
		time.Sleep(2 * minDelay)
		want(t, c.flows, "promote")
	})
}

func TestChainRunsAtItsNextTime(t *testing.T) {
	c := &fakeChains{flows: &fakeFlows{}}
	keepChains(t, c, func(k *Keeper) {
		c.next = 10 * time.Minute
		k.HandleReports(nil)
		time.Sleep(minDelay)
		want(t, c.flows, "promote")
		time.Sleep(9 * time.Minute)
		want(t, c.flows)
		time.Sleep(2 * time.Minute)
		want(t, c.flows, "promote")
	})
}

func TestAChainThatFailsIsTriedAgain(t *testing.T) {
	c := &fakeChains{flows: &fakeFlows{}}
	keepChains(t, c, func(k *Keeper) {
		c.err = errors.New("the ledger is locked")
		k.HandleReports(nil)
		time.Sleep(minDelay)
		want(t, c.flows, "promote")
		time.Sleep(firstRetry)
		want(t, c.flows, "promote")
	})
}

func TestAPushToAnApplicationsBranchIsRecorded(t *testing.T) {
	c := &fakeChains{flows: &fakeFlows{}}
	keepChains(t, c, func(k *Keeper) {
		k.HandleEvent(forge.Event{Kind: forge.EventPush, Repository: "teams/shop-gitops", Branch: "dev"})
		time.Sleep(2 * minDelay)
		want(t, c.flows, "promote", "record dev")
	})
}

// TestRemovedEnvironmentHasNoRounds checks that events on its former branches start no round.
func TestRemovedEnvironmentHasNoRounds(t *testing.T) {
	c := &fakeChains{flows: &fakeFlows{}}
	keepChains(t, c, func(k *Keeper) {
		c.flows.mu.Lock()
		c.flows.without = "stage"
		c.flows.mu.Unlock()
		k.HandleEvent(forge.Event{Kind: forge.EventPush, Repository: "platform/control-plane", Branch: "main"})
		time.Sleep(2 * minDelay)
		c.flows.taken() // a round may have been running
		for _, branch := range []string{"main", "stage"} {
			k.HandleEvent(forge.Event{Kind: forge.EventPush, Repository: "platform/control-plane", Branch: branch})
		}
		k.HandleEvent(forge.Event{Kind: forge.EventPush, Repository: "teams/shop-gitops", Branch: "stage"})
		c.moved = []string{"stage"}
		k.HandleReports(nil)
		time.Sleep(2 * minDelay)
		if calls := c.flows.taken(); slices.Contains(calls, "round stage") || slices.Contains(calls, "record stage") {
			t.Errorf("calls: %q", calls)
		}
	})
}

// After a slow round there is a longer delay, however many reports arrive.
func TestSlowChainsRunLessOften(t *testing.T) {
	c := &fakeChains{flows: &fakeFlows{}}
	keepChains(t, c, func(k *Keeper) {
		c.takes = 400 * time.Millisecond
		k.HandleReports(nil)
		time.Sleep(minDelay + c.takes)
		want(t, c.flows, "promote")
		k.HandleReports(nil)
		time.Sleep(700 * time.Millisecond)
		want(t, c.flows)
		time.Sleep(time.Second)
		want(t, c.flows, "promote")
	})
}
