package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Changes lists the pull requests of a repository.
type Changes interface {
	FindPullRequests(ctx context.Context, f forge.PullRequestFilter) ([]forge.PullRequest, error)
	PullRequest(ctx context.Context, number int) (forge.PullRequest, error)
}

// The kinds of events.
const (
	ChangeOpened  = "opened" // or reopened
	ChangeUpdated = "updated"
	ChangeMerged  = "merged"
	ChangeClosed  = "closed"
)

// How many of the newest pull requests are listed. Those that were open before are read, too.
// In the first round there are fewer, because each closed one costs a request.
const (
	newestChanges = 100
	firstChanges  = 20
)

const maxTitle = 256

// Changes records events of a repository's pull requests and returns the new ones, from old to new.
//
// It lists the pull requests once, and reads each that was merged or closed since to learn who did it.
// Forges do not return when a head moved or a pull request was reopened: the event has the current time.
// After an error, recorded events stay, and the next call continues.
func (r *Recorder) Changes(ctx context.Context, repository string, changes Changes) ([]ledger.ChangeEvent, error) {
	repository = ledger.CleanRepository(repository)
	m := r.rememberedChanges(repository)
	if err := m.turn.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer m.turn.Release(1)
	events, err := r.recordChanges(ctx, repository, changes, m)
	if err != nil {
		return events, fmt.Errorf("record changes of %q: %w", repository, err)
	}
	return events, nil
}

// changeMemory caches the state of a repository's pull requests.
type changeMemory struct {
	// turn admits one caller at a time.
	turn   *semaphore.Weighted
	loaded bool
	known  map[int]changeState
}

// changeState is the state of a pull request after its recorded events.
type changeState struct {
	head  string
	ended string // ChangeMerged, ChangeClosed, or empty
}

// after returns the state after an event. Merged is final, whatever the times of events.
func (s changeState) after(e ledger.ChangeEvent) changeState {
	switch {
	case s.ended == ChangeMerged:
	case e.Kind == ChangeMerged || e.Kind == ChangeClosed:
		s.ended = e.Kind
	default:
		s = changeState{head: e.Commit}
	}
	return s
}

func (r *Recorder) rememberedChanges(repository string) *changeMemory {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changes == nil {
		r.changes = map[string]*changeMemory{}
	}
	m, ok := r.changes[repository]
	if !ok {
		m = &changeMemory{turn: semaphore.NewWeighted(1), known: map[int]changeState{}}
		r.changes[repository] = m
	}
	return m
}

// load reads the recorded events once.
func (m *changeMemory) load(ctx context.Context, from Ledger, repository string) error {
	if m.loaded {
		return nil
	}
	events, err := from.ChangeEvents(ctx, ledger.ChangeQuery{Repository: repository})
	if err != nil {
		return err
	}
	for _, e := range slices.Backward(events) {
		m.known[e.Number] = m.known[e.Number].after(e)
	}
	m.loaded = true
	return nil
}

func (r *Recorder) recordChanges(ctx context.Context, repository string, changes Changes, m *changeMemory) ([]ledger.ChangeEvent, error) {
	if err := m.load(ctx, r.Ledger, repository); err != nil {
		return nil, err
	}
	all, err := m.list(ctx, changes)
	if err != nil {
		return nil, err
	}
	var recorded []ledger.ChangeEvent
	for _, c := range slices.Backward(all) {
		state, known := m.known[c.Number]
		events, err := news(ctx, c, state, known, changes, r.Now())
		if err != nil {
			return recorded, err
		}
		for _, e := range events {
			e.Repository = repository
			if err := r.Ledger.RecordChange(ctx, e); err != nil {
				return recorded, err
			}
			state = state.after(e)
			m.known[c.Number] = state
			recorded = append(recorded, e)
		}
	}
	return recorded, nil
}

// list returns the newest pull requests and those that were open last time, the newest first.
func (m *changeMemory) list(ctx context.Context, changes Changes) ([]forge.PullRequest, error) {
	limit := newestChanges
	if len(m.known) == 0 {
		limit = firstChanges
	}
	all, err := changes.FindPullRequests(ctx, forge.PullRequestFilter{Limit: limit})
	if err != nil {
		return nil, err
	}
	listed := map[int]bool{}
	for _, c := range all {
		listed[c.Number] = true
	}
	for number, state := range m.known {
		if listed[number] || state.ended != "" {
			continue
		}
		c, err := changes.PullRequest(ctx, number)
		if errors.Is(err, forge.ErrNotFound) {
			continue // it was deleted
		}
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b forge.PullRequest) int { return cmp.Compare(b.Number, a.Number) })
	return all, nil
}

// news returns the new events of a pull request.
func news(ctx context.Context, c forge.PullRequest, state changeState, known bool, changes Changes, now time.Time) ([]ledger.ChangeEvent, error) {
	var events []ledger.ChangeEvent
	ended := map[forge.State]string{forge.Merged: ChangeMerged, forge.Closed: ChangeClosed}[c.State]
	switch {
	case !known:
		events = append(events, event(c, ChangeOpened, c.Author, either(c.CreatedAt, now)))
	case ended == "" && state.ended == ChangeClosed:
		events = append(events, event(c, ChangeOpened, "", now))
	case ended == "" && state.head != c.Head.Commit:
		events = append(events, event(c, ChangeUpdated, "", now))
	}
	if ended == "" || ended == state.ended {
		return events, nil
	}
	if c.EndedBy == "" {
		full, err := changes.PullRequest(ctx, c.Number)
		if err != nil && !errors.Is(err, forge.ErrNotFound) {
			return nil, err
		}
		if err == nil && full.State == c.State {
			c = full
		}
	}
	end := event(c, ended, c.EndedBy, either(c.EndedAt, now))
	if ended == ChangeMerged && c.MergeCommit != "" {
		end.Commit = c.MergeCommit
	}
	return append(events, end), nil
}

func either(t, otherwise time.Time) time.Time {
	if t.IsZero() {
		return otherwise
	}
	return t
}

func event(c forge.PullRequest, kind, by string, at time.Time) ledger.ChangeEvent {
	return ledger.ChangeEvent{
		Number: c.Number, Kind: kind, Branch: secret.Line(c.Base.Branch), Commit: c.Head.Commit,
		Title: forge.OneLine(secret.Line(c.Title), maxTitle), URL: secret.Redact(c.URL), By: secret.Line(by), At: at,
	}
}
