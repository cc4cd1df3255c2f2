package query

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// promotions returns the steps of promotions, without commit statuses, which repeat the decisions. A workload's history has those of its application.
func (t *timeline) promotions(ctx context.Context, to time.Time, limit int) ([]Event, error) {
	q := ledger.StepQuery{Environment: t.q.Environment, Parts: true, WithoutKind: string(promote.StatusPosted), From: t.q.From, To: to, Limit: limit}
	if t.q.Ring != "" {
		q.Environment = decide.RingName(t.q.Environment, t.q.Ring)
	}
	if t.q.Workload == "" {
		steps, err := t.o.stepsOf(ctx, q, func(subject string) bool { return !t.former[subject] })
		return promotionEvents(steps), err
	}
	var all []ledger.Step
	for _, q.Subject = range t.subjects {
		steps, err := t.o.Ledger.Steps(ctx, q)
		if err != nil {
			return nil, err
		}
		all = append(all, steps...)
	}
	slices.SortStableFunc(all, func(a, b ledger.Step) int { return b.At.Compare(a.At) })
	return promotionEvents(all[:min(limit, len(all))]), nil
}

// promotionEvents converts steps to events.
func promotionEvents(steps []ledger.Step) []Event {
	events := make([]Event, len(steps))
	for i, s := range steps {
		events[i] = promotionEvent(s)
	}
	return events
}

// promotionEvent converts a step to an event. The summary names the
// application, if there is one, before the environment.
func promotionEvent(s ledger.Step) Event {
	e := Event{At: utc(s.At), Kind: EventPromotion, Environment: s.Environment, Step: s.Kind, Reason: s.Reason, By: s.By}
	_, e.Workload = kindOf(s.Subject)
	where := strings.TrimSpace(e.Workload + " " + s.Environment)
	if s.Environment == deliver.Everywhere {
		e.Environment, where = "", e.Workload
	}
	e.Summary = where + ": " + promote.Spaced(s.Kind)
	if s.Commit != promote.EveryCommit {
		e.Commit = s.Commit
		e.Summary = fmt.Sprintf("%s: %s %s", where, fleet.ShortCommit(s.Commit), promote.Spaced(s.Kind))
	}
	if e.Environment, e.Ring = decide.SplitRing(e.Environment); e.Ring != "" {
		e.Revision, e.Commit = e.Commit, ""
	}
	var detail promote.Detail
	if json.Unmarshal(s.Detail, &detail) != nil {
		return e // details of an unknown format
	}
	e.Phase, e.Version = detail.Phase, detail.Version
	if detail.Check != "" {
		e.Summary += checkText(s.Kind, detail)
	}
	// The status can be on another commit than the promoted one: a commit of the environment's own branch.
	if s.Kind == string(promote.StatusPosted) && detail.On != "" {
		e.Summary = fmt.Sprintf("%s: status of %s", where, fleet.ShortCommit(detail.On))
	}
	return e
}

// checkText describes what a step says about a verification: its name and, of a measurement, the answer.
func checkText(kind string, d promote.Detail) string {
	text := " " + d.Check
	if kind != string(promote.Verified) {
		return text
	}
	text += ": " + string(d.Result)
	if d.Value != "" {
		text += ", " + d.Value
	}
	if d.Expression != "" {
		text += " (" + d.Expression + ")"
	}
	if d.Baseline != "" {
		text += ", baseline " + d.Baseline
	}
	return text
}

// commits returns the commits of GitOps branches, with the time at which they were recorded. Those of rings are steps of a promotion.
func (t *timeline) commits(ctx context.Context, to time.Time, limit int) ([]Event, error) {
	commits, err := t.o.Ledger.Commits(ctx, ledger.CommitQuery{Environment: t.q.Environment, WithoutKind: ledger.BranchRing, From: t.q.From, To: to, Limit: limit})
	events := make([]Event, len(commits))
	for i, c := range commits {
		events[i] = Event{
			At: utc(c.Recorded), Kind: EventCommit, Environment: c.Environment, Commit: c.SourceCommit, Revision: c.SHA,
			Summary: fmt.Sprintf("%s of branch %s of %s", fleet.ShortCommit(c.SHA), c.Branch, c.Repository),
		}
	}
	return events, err
}

// rollouts returns when a reconciler first reached a revision with a state.
func (t *timeline) rollouts(ctx context.Context, to time.Time, limit int) ([]Event, error) {
	q := ledger.AppearanceQuery{Environment: t.q.Environment, Workload: t.q.Workload, From: t.q.From, To: to}
	keep := func(*ledger.Appearance) bool { return true }
	if p := t.target; p != nil && p.source != (ledger.Source{}) {
		q.Source, q.Workload = p.source, "" // also revisions without a descriptor, as after an uninstallation
		keep = func(a *ledger.Appearance) bool { return a.Workload == "" || t.isTarget(a) }
	} else if p != nil {
		keep = t.isTarget
	}
	appeared, err := kept(limit, func(limit int) ([]ledger.Appearance, error) {
		q.Limit = limit
		return t.o.Ledger.Appearances(ctx, q)
	}, keep)
	events := make([]Event, len(appeared))
	for i, a := range appeared {
		what := "folder " + a.Source.Path
		switch {
		case a.Version != "":
			what = strings.Trim(a.Workload+"/"+a.Target, "/") + " " + a.Version
		case a.Source.Path == "":
			what = "branch " + a.Source.Ref
		}
		events[i] = Event{
			At: utc(a.At), Kind: EventRollout, Environment: a.Environment, Workload: a.Workload, Target: a.Target, Version: a.Version,
			Revision: a.Revision, State: a.State, Reason: a.Message, Reconcilers: a.Reconcilers,
			Summary: fmt.Sprintf("%s first %s", atRevision(what, a.Revision), a.State),
		}
		if t.target != nil {
			events[i].Workload, events[i].Target = t.target.workload, t.target.name
		}
	}
	return events, err
}

// atRevision adds a revision to a text; unknown, it adds nothing.
func atRevision(text, revision string) string {
	if revision == "" {
		return text
	}
	return text + " at " + fleet.ShortCommit(revision)
}

// isTarget reports whether a descriptor names the selected target.
func (t *timeline) isTarget(a *ledger.Appearance) bool {
	return a.Workload == t.target.workload && (a.Target == t.target.name || a.Target == t.target.shortName)
}

// transitions returns the state changes of a cluster's reconcilers.
func (t *timeline) transitions(ctx context.Context, to time.Time, limit int) ([]Event, error) {
	transitions, err := t.o.Ledger.Transitions(ctx, ledger.TransitionQuery{Cluster: t.q.Cluster, From: t.q.From, To: to, Limit: limit})
	events := make([]Event, len(transitions))
	for i, tr := range transitions {
		name := promote.ReconcilerName(tr.Reconciler)
		events[i] = Event{
			At: utc(tr.At), Kind: EventTransition, Cluster: tr.Reconciler.Cluster, Reconciler: name, Revision: tr.Revision,
			State: tr.State, Reason: tr.Message, Until: utc(tr.Until), Summary: atRevision(fmt.Sprintf("%s %s", name, tr.State), tr.Revision),
		}
	}
	return events, err
}

// registrations returns the registrations of clusters.
func (t *timeline) registrations(ctx context.Context, to time.Time, limit int) ([]Event, error) {
	all, err := t.o.Ledger.Registered(ctx, ledger.RegistrationQuery{
		Cluster: t.q.Cluster, Environment: t.q.Environment, From: t.q.From, To: to, Limit: limit,
	})
	var events []Event
	number := 0
	for i, r := range all {
		if number++; i > 0 && !r.At.Equal(all[i-1].At) {
			number = 1
		}
		e := Event{number: number, At: utc(r.At), Kind: EventRegistration, Cluster: r.Cluster, Environment: t.q.Environment, By: r.By, Step: "registered"}
		e.Summary = r.Cluster + " registered as " + roles(r.Memberships)
		if r.Revoked {
			e.Step, e.Summary = "revoked", r.Cluster+" revoked"
		}
		events = append(events, e)
	}
	return events, err
}

// roles formats memberships.
func roles(all []ledger.Membership) string {
	if len(all) == 0 {
		return "member of nothing"
	}
	words := make([]string, len(all))
	for i, m := range all {
		words[i] = m.ClusterType + " of " + m.Environment
	}
	return strings.Join(words, ", ")
}

// changes returns the events of pull requests to the selected branches.
func (t *timeline) changes(ctx context.Context, to time.Time, limit int) ([]Event, error) {
	if t.branches == nil {
		return t.changesOf(ctx, branch{}, to, limit)
	}
	var all []Event
	for b := range t.branches {
		some, err := t.changesOf(ctx, b, to, limit)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b Event) int { return b.At.Compare(a.At) })
	return all[:min(limit, len(all))], nil
}

func (t *timeline) changesOf(ctx context.Context, b branch, to time.Time, limit int) ([]Event, error) {
	changes, err := t.o.Ledger.ChangeEvents(ctx, ledger.ChangeQuery{
		Repository: b.repository, Branch: b.name, From: t.q.From, To: to, Limit: limit,
	})
	events := make([]Event, len(changes))
	for i, c := range changes {
		events[i] = Event{
			At: utc(c.At), Kind: EventChange, Step: c.Kind, Revision: c.Commit, By: c.By, URL: c.URL, Reason: c.Title,
			Summary: fmt.Sprintf("pull request %d of %s %s", c.Number, c.Repository, c.Kind),
		}
	}
	return events, err
}

// audits returns the audit entries that mention what is selected.
func (t *timeline) audits(ctx context.Context, to time.Time, limit int) ([]Event, error) {
	name := t.q.Cluster
	for _, other := range []string{t.q.Workload, t.q.Environment} {
		if name == "" {
			name = other
		}
	}
	if name != "" {
		limit = 0 // the ledger cannot search audit entries
	}
	entries, err := t.o.Ledger.AuditEntries(ctx, ledger.AuditQuery{From: t.q.From, To: to, Limit: limit})
	var events []Event
	for _, a := range entries {
		if name == "" || mentions(a.Subject, name) {
			events = append(events, Event{
				At: utc(a.At), Kind: EventAudit, Step: a.Action, By: a.By, Reason: a.Detail, Summary: strings.TrimSpace(a.Action + " " + a.Subject),
			})
		}
	}
	return events, err
}

// mentions reports whether text contains name as a whole word.
func mentions(text, name string) bool {
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '.' })
	return text == name || slices.Contains(words, name)
}
