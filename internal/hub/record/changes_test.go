package record_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/record"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// changes is a forge's list of changes, the newest first, that says who ended one only when it is asked for that one.
type changes struct {
	all          []forge.PullRequest
	listed, asks int
	err          error
}

func (c *changes) FindPullRequests(_ context.Context, f forge.PullRequestFilter) ([]forge.PullRequest, error) {
	c.listed++
	var found []forge.PullRequest
	for _, change := range c.all[:min(len(c.all), f.Limit)] {
		change.EndedBy = ""
		found = append(found, change)
	}
	return found, c.err
}

func (c *changes) PullRequest(_ context.Context, number int) (forge.PullRequest, error) {
	c.asks++
	for _, change := range c.all {
		if change.Number == number {
			return change, c.err
		}
	}
	return forge.PullRequest{}, forge.ErrNotFound
}

func at(minute int) time.Time { return noon.Add(time.Duration(minute) * time.Minute) }

func change(number int, head string) forge.PullRequest {
	return forge.PullRequest{
		Number: number, State: forge.Open, Author: "bot", Title: "Deploy\x1b[2J shop", URL: "https://example.com/pulls/7",
		Head: forge.Ref{Branch: "kalypso/dev", Commit: head}, Base: forge.Ref{Branch: "dev"}, CreatedAt: at(1),
	}
}

func (w *world) changes(c *changes) string {
	w.t.Helper()
	events, err := w.Changes(w.t.Context(), url, c)
	must(w.t, err)
	var lines []string
	for _, e := range events {
		lines = append(lines, strings.Join([]string{e.Kind, e.By, e.Commit, e.At.Format("15:04")}, " "))
	}
	return strings.Join(lines, ", ")
}

func TestChangesAreRecordedFromOpenToMerged(t *testing.T) {
	w := newWorld(t)
	c := &changes{all: []forge.PullRequest{change(7, "aaa")}}
	equal(t, "new", w.changes(c), "opened bot aaa 12:01")
	events, err := w.ledger.ChangeEvents(t.Context(), ledger.ChangeQuery{})
	must(t, err)
	equal(t, "event", events, []ledger.ChangeEvent{{
		Repository: clean, Number: 7, Kind: record.ChangeOpened, Branch: "dev", Commit: "aaa", Title: "Deploy [2J shop",
		URL: "https://example.com/pulls/7", By: "bot", At: at(1),
	}})
	equal(t, "nothing new", w.changes(c), "")

	c.all[0].Head.Commit = "bbb"
	equal(t, "pushed", w.changes(c), "updated  bbb 12:00")
	equal(t, "questions besides lists", c.asks, 0)

	c.all[0].State, c.all[0].EndedAt, c.all[0].EndedBy, c.all[0].MergeCommit = forge.Merged, at(-9), "ann", "ccc"
	// The forge's clock is behind ours, by which the push was noticed.
	equal(t, "merged", w.changes(c), "merged ann ccc 11:51")
	for range 3 {
		equal(t, "nothing new", w.changes(c), "")
		w.restart()
	}
	equal(t, "questions besides lists", c.asks, 1)
}

func TestChangesThatHappenedUnseen(t *testing.T) {
	w := newWorld(t)
	merged, closed := change(8, "bbb"), change(7, "aaa")
	merged.State, merged.EndedAt, merged.EndedBy = forge.Merged, at(5), "ann"
	closed.State, closed.EndedAt, closed.EndedBy = forge.Closed, at(3), "bob"
	c := &changes{all: []forge.PullRequest{merged, closed}}
	equal(t, "all", w.changes(c), "opened bot aaa 12:01, closed bob aaa 12:03, opened bot bbb 12:01, merged ann bbb 12:05")
	c.all[1].State, c.all[1].EndedAt = forge.Open, time.Time{}
	w.restart()
	equal(t, "opened again", w.changes(c), "opened  aaa 12:00")
}

func TestOldOpenChangeIsNotForgotten(t *testing.T) {
	w := newWorld(t)
	c := &changes{all: []forge.PullRequest{change(1, "aaa")}}
	w.changes(c)
	for number := 2; number <= 150; number++ {
		c.all = append([]forge.PullRequest{change(number, "bbb")}, c.all...)
	}
	w.changes(c)
	last := &c.all[len(c.all)-1]
	last.State, last.EndedAt, last.EndedBy = forge.Closed, at(9), "ann"
	equal(t, "closed", w.changes(c), "closed ann aaa 12:09")
	c.all = c.all[:20] // somebody deleted the others
	equal(t, "deleted", w.changes(c), "")
}

func TestFirstLookAsksForFewChanges(t *testing.T) {
	w := newWorld(t)
	c := &changes{}
	for number := range 150 {
		old := change(150-number, "aaa")
		old.State, old.EndedAt = forge.Merged, at(2)
		c.all = append(c.all, old)
	}
	w.changes(c)
	if c.asks > 20 || c.listed != 1 {
		t.Errorf("asked for %d changes after %d lists", c.asks, c.listed)
	}
}

func TestForgeThatFailsIsAskedAgain(t *testing.T) {
	w := newWorld(t)
	c := &changes{all: []forge.PullRequest{change(7, "aaa")}, err: forge.ErrUnavailable}
	if _, err := w.Changes(t.Context(), url, c); !errors.Is(err, forge.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	c.err = nil
	equal(t, "then", w.changes(c), "opened bot aaa 12:01")
}
