package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Changes are the changes of a repository, as its forge has them.
type Changes interface {
	FindPullRequests(ctx context.Context, f forge.PullRequestFilter) ([]forge.PullRequest, error)
	PullRequest(ctx context.Context, number int) (forge.PullRequest, error)
}

// The kinds of events.
const (
	ChangeOpened  = "opened" // and opened again
	ChangeUpdated = "updated"
	ChangeMerged  = "merged"
	ChangeClosed  = "closed"
)

// How many changes are looked at: the newest, and those that were open before. Of a repository that was never looked at, fewer,
// since each that ended costs a question.
const (
	newestChanges = 100
	firstChanges  = 20
)

const maxTitle = 256

// Changes records what happened to the changes of a repository, and returns the events that are new, from old to new.
//
// It lists the changes once. Only of a change that ended since, the forge is asked who did that.
// When a head moved, and when a change was opened again, forges do not say: the event is of when it was noticed.
// An error does not undo what was recorded; the next call goes on.
func (r *Recorder) Changes(ctx context.Context, repository string, changes Changes) ([]ledger.ChangeEvent, error) {
	repository = ledger.CleanRepository(repository)
	m := r.rememberedChanges(repository)
	m.mu.Lock()
	defer m.mu.Unlock()
	events, err := r.recordChanges(ctx, repository, changes, m)
	if err != nil {
		return events, fmt.Errorf("record changes of %q: %w", repository, err)
	}
	return events, nil
}

// changeMemory is what is known of the changes of a repository.
type changeMemory struct {
	mu     sync.Mutex
	loaded bool
	known  map[int]changeState
}

// changeState is what became of a change by the events that are recorded.
type changeState struct {
	head  string
	ended string // ChangeMerged, ChangeClosed, or empty
}

// after is what became of a change by one more event. What was merged stays merged, whatever the clocks say.
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
		m = &changeMemory{known: map[int]changeState{}}
		r.changes[repository] = m
	}
	return m
}

// load reads what is recorded already, once.
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

// list returns the newest changes, and those that were open when they were seen last; the newest first.
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
			continue // somebody deleted it
		}
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b forge.PullRequest) int { return cmp.Compare(b.Number, a.Number) })
	return all, nil
}

// news returns the events of a change that follow on what is known of it.
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
