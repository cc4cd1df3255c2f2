package promote

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// journal is what the ledger has on one subject, by environment. It is read once as a whole and then from where it ended,
// with a margin for steps that came late: those of a server whose clock is behind.
type journal struct {
	pages map[string]*page
	// seen are the steps within the margin.
	seen map[stepKey]bool
	// whole is when everything was read last, newest the time of the newest step.
	whole, newest time.Time
}

type stepKey struct {
	commit, environment, kind string
	at                        int64
}

const (
	// margin is how much of the past is read again each time.
	margin = time.Hour
	// rereadAfter is when everything is read again: an import may have brought old steps.
	rereadAfter = 6 * time.Hour
)

// page is what is on record about one environment, folded to what decisions need.
type page struct {
	// history are the steps that the engine knows, from old to new. Two promoters at once may have recorded one thing twice.
	history []decide.Step
	// published is when each commit of the GitOps branch was first seen to be there.
	published map[string]time.Time
	// results are those of verifications, from old to new.
	results []result
	pause   *decide.Pause
	resumed time.Time
	aborts  map[string]decide.Abort
	// order is the newest one, ordered the time at which each commit was ordered last, fulfilled the orders that were carried out.
	order     *decide.Order
	ordered   map[string]time.Time
	fulfilled map[string]bool
	decided   decided
	shown     map[string]shown
	// proposed is what people were asked, withdrawn what they are asked no more.
	proposed, withdrawn map[asked]bool
	// last is the time of the newest step.
	last time.Time
}

type result struct {
	decide.CheckResult
	commit string
	at     time.Time
}

// decided is the last decision on record.
type decided struct {
	Detail
	commit, reason string
	at             time.Time
}

// asked is a question to people: whether a commit may enter, and where they are asked.
type asked struct{ commit, url string }

// shown is the status that a commit has. It is filed under the commit of main that it is about.
type shown struct {
	decide.Status
	filed string
	at    time.Time
}

// refresh reads what is new.
func (j *journal) refresh(ctx context.Context, from Ledger, subject string, now time.Time) error {
	q := ledger.StepQuery{Subject: subject}
	whole := j.pages == nil || now.Sub(j.whole) > rereadAfter || now.Before(j.whole)
	if !whole {
		q.From = j.newest.Add(-margin)
	}
	steps, err := from.Steps(ctx, q)
	if err != nil {
		return fmt.Errorf("read the steps of %q: %w", subject, err)
	}
	if whole {
		*j = journal{pages: map[string]*page{}, seen: map[stepKey]bool{}, whole: now}
	}
	slices.Reverse(steps)
	for _, s := range steps {
		j.absorb(s)
	}
	for key := range j.seen {
		if key.at < j.newest.Add(-margin).UnixMicro() {
			delete(j.seen, key)
		}
	}
	return nil
}

// page returns what is on record about an environment.
func (j *journal) page(environment string) *page {
	p := j.pages[environment]
	if p == nil {
		p = &page{
			published: map[string]time.Time{}, aborts: map[string]decide.Abort{}, ordered: map[string]time.Time{},
			fulfilled: map[string]bool{}, shown: map[string]shown{}, proposed: map[asked]bool{}, withdrawn: map[asked]bool{},
		}
		j.pages[environment] = p
	}
	return p
}

// absorb takes a step in. Of what can only be one thing at a time, the newest word counts, in whatever order they come.
func (j *journal) absorb(s ledger.Step) {
	key := stepKey{s.Commit, s.Environment, s.Kind, s.At.UnixMicro()}
	if j.seen[key] {
		return
	}
	j.seen[key] = true
	if s.At.After(j.newest) {
		j.newest = s.At
	}
	p := j.page(s.Environment)
	if s.At.After(p.last) {
		p.last = s.At
	}
	var d Detail
	if len(s.Detail) > 0 && json.Unmarshal(s.Detail, &d) != nil {
		d = Detail{} // somebody else's; kind and commit are enough to go on
	}
	if !p.happened(s, d) {
		p.said(s, d)
	}
}

// happened takes in what promoters record.
func (p *page) happened(s ledger.Step, d Detail) bool {
	switch kind := decide.StepKind(s.Kind); kind {
	case decide.Entered, decide.Arrived, decide.FailedHere:
		p.insert(decide.Step{Kind: kind, Commit: s.Commit, Revision: d.Revision, At: s.At})
	case Published:
		if at, ok := p.published[d.Revision]; !ok || s.At.Before(at) {
			p.published[d.Revision] = s.At
		}
	case Verified:
		check := decide.CheckResult{Name: d.Check, Revision: d.Revision, State: d.Result, Reason: s.Reason}
		p.results = append(p.results, result{check, s.Commit, s.At})
	case Decided:
		if !s.At.Before(p.decided.at) {
			p.decided = decided{d, s.Commit, s.Reason, s.At}
		}
	case Shown:
		if !s.At.Before(p.shown[d.On].at) {
			p.shown[d.On] = shown{decide.Status{State: d.Status, Description: s.Reason}, s.Commit, s.At}
		}
	case Proposed:
		p.proposed[asked{s.Commit, d.URL}] = true
	case Withdrawn:
		p.withdrawn[asked{s.Commit, d.URL}] = true
	default:
		return false
	}
	return true
}

// said takes in the words of people.
func (p *page) said(s ledger.Step, d Detail) {
	switch decide.StepKind(s.Kind) {
	case Paused:
		if p.pause == nil || s.At.After(p.pause.At) {
			p.pause = &decide.Pause{By: s.By, Why: s.Reason, At: s.At}
		}
	case Resumed:
		p.resumed = later(p.resumed, s.At)
	case Aborted:
		if s.At.After(p.aborts[s.Commit].At) {
			p.aborts[s.Commit] = decide.Abort{Commit: s.Commit, By: s.By, Why: s.Reason, At: s.At}
		}
	case Ordered:
		if p.order == nil || s.At.After(p.ordered[p.order.Commit]) {
			p.order = &decide.Order{ID: orderID(s.At), Commit: s.Commit, By: s.By, Why: s.Reason}
		}
		p.ordered[s.Commit] = later(p.ordered[s.Commit], s.At)
	case Fulfilled:
		p.fulfilled[d.Order] = true
	}
}

// insert puts a step where it belongs by its time.
func (p *page) insert(s decide.Step) {
	at := len(p.history)
	for at > 0 && p.history[at-1].At.After(s.At) {
		at--
	}
	p.history = slices.Insert(p.history, at, s)
}

// entered is the commit that entered last.
func (p *page) entered() string {
	for i := len(p.history) - 1; i >= 0; i-- {
		if p.history[i].Kind == decide.Entered {
			return p.history[i].Commit
		}
	}
	return ""
}

func same(a, b decide.Step) bool {
	return a.Kind == b.Kind && a.Commit == b.Commit && a.Revision == b.Revision
}

// orderID is what an order is known by: no two are given in one environment in one microsecond.
func orderID(at time.Time) string { return at.UTC().Format("20060102T150405.000000Z") }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
