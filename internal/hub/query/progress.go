package query

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// ProgressResult is the result of a commit in an environment.
type ProgressResult string

// The results. All but ProgressWaits are final.
const (
	ProgressPassed ProgressResult = "passed" // it, or a newer commit, runs there
	ProgressFailed ProgressResult = "failed" // it failed, was refused, aborted, or replaced by another one
	ProgressWaits  ProgressResult = "waits"  // it can still be promoted
)

// Progress is the progress of a commit in an environment.
type Progress struct {
	Environment string `json:"environment"`
	// Ring is the ring that was asked about. Commit is a commit of the GitOps branch then.
	Ring   string         `json:"ring,omitempty"`
	Commit string         `json:"commit"`
	Result ProgressResult `json:"result"`
	// Phase is the phase of the environment's commit.
	Phase decide.State `json:"phase"`
	// Reason explains the result: what the commit waits for, or what failed where.
	Reason string `json:"reason"`
	// FailedAt is when clusters or verifications failed; zero for other results. Such a failure ends when the clusters recover.
	FailedAt time.Time `json:"failedAt,omitzero"`
	// Gate counts the clusters that run it; absent before the first publication.
	Gate *Gate `json:"gate,omitempty"`
}

// ProgressQuery identifies a commit and an environment.
type ProgressQuery struct {
	Environment string // required
	// ControlPlane distinguishes environments with the same name.
	ControlPlane string
	// Ring is a ring of the environment, or a batch of one; empty for the whole environment.
	Ring string
	// Application is the workload of an application; empty for the platform.
	Application string
	// Subject distinguishes applications with the same name.
	Subject string
	// Commit is the full hash, or at least seven digits of it. Default: the environment's commit. With a ring, it may be one of the
	// GitOps branch.
	Commit string
}

// Progress returns whether a commit passed the gate of an environment, failed there, or waits, and why.
func (o *Observer) Progress(ctx context.Context, q ProgressQuery) (Progress, error) {
	if q.Application != "" {
		return o.applicationProgress(ctx, q)
	}
	if o.Scoped() {
		return Progress{}, fmt.Errorf("%w: a role in workspaces shows the progress of their applications: name one", ledger.ErrInvalid)
	}
	if q.Ring != "" {
		return o.ringProgress(ctx, q)
	}
	s, err := o.oneEnvironment(ctx, q.ControlPlane, q.Environment, time.Time{})
	if err != nil {
		return Progress{}, err
	}
	sc := &environmentView{standing: s}
	commits, err := o.Ledger.Commits(ctx, ledger.CommitQuery{Environment: s.name, Kind: ledger.BranchPlatform, Heads: true})
	if err != nil {
		return Progress{}, err
	}
	sc.heads = commits
	e, err := o.named(ctx, sc, time.Time{})
	if err != nil {
		return Progress{}, err
	}
	p, err := o.progress(ctx, &progressFinder{o: o, s: s, e: e, first: o.before(s)}, q.Commit)
	if err == nil && p.Commit == e.Commit && p.Commit != "" {
		verdict, err := o.verdicts(time.Time{}).verdict(ctx, s)
		if err != nil {
			return p, err
		}
		p.Gate = sc.gate(verdict)
	}
	return p, err
}

// progress returns the progress of a commit, by default of the environment's, without the gate.
func (o *Observer) progress(ctx context.Context, w *progressFinder, commit string) (Progress, error) {
	p := Progress{Environment: w.e.Name, Commit: w.e.Commit, Phase: w.e.Phase}
	if commit != "" {
		whole, err := o.whole(ctx, w.s, commit)
		if err != nil {
			return p, err
		}
		p.Commit = whole
	}
	w.commit = p.Commit
	err := w.find(ctx)
	p.Result, p.Reason, p.FailedAt = w.result, w.reason, utc(w.failed)
	return p, err
}

// whole returns the full hash of a commit. A full hash may be unknown.
func (o *Observer) whole(ctx context.Context, s standing, commit string) (string, error) {
	commit = strings.ToLower(strings.TrimSpace(commit))
	if isHash(commit) {
		return commit, nil
	}
	if s.application != "" {
		return o.wholeOfSource(ctx, s, commit)
	}
	id, err := o.promoted(ctx, PromotionQuery{Commit: commit, Subject: s.controlPlane})
	return id.Commit, err
}

// isHash reports whether a text is a full hash of a commit.
func isHash(text string) bool {
	return (len(text) == 40 || len(text) == 64) && strings.Trim(text, "0123456789abcdef") == ""
}

// progressFinder determines the progress of a commit.
type progressFinder struct {
	o *Observer
	s standing
	e Environment
	// first are the environments that the commit must run in before, in the order of the chain.
	first  []string
	commit string
	result ProgressResult
	reason string
	failed time.Time
}

// set sets the result.
func (w *progressFinder) set(r ProgressResult, format string, args ...any) error {
	w.result, w.reason = r, fmt.Sprintf(format, args...)
	return nil
}

// find sets the result: from the environment's commit, or recorded steps, or the environments before it.
func (w *progressFinder) find(ctx context.Context) error {
	switch w.commit {
	case "":
		return w.set(ProgressWaits, "nothing was ever promoted to %s", w.e.Name)
	case w.e.Commit:
		if w.e.Phase == decide.Failed {
			w.failed = w.e.Since
		}
		return w.set(resultOf(w.e.Phase), "%s", w.e.Reason)
	}
	steps, err := w.o.platformSteps(ctx, &w.s, ledger.StepQuery{Environment: w.e.Name, Commit: w.commit})
	if err != nil {
		return err
	}
	if result, step := recordedResult(steps); step != nil {
		said := fmt.Sprintf("%s on %s", promote.Spaced(step.Kind), utc(step.At).Format(time.RFC3339))
		if step.Reason != "" {
			said += ": " + step.Reason
		}
		w.failedAt(step)
		return w.set(result, "%s", said)
	}
	if w.commit == w.e.Candidate {
		return w.set(ProgressWaits, "%s", w.e.Reason)
	}
	if newer, ok := w.newerRuns(); ok && newer {
		return w.set(resultOf(w.e.Phase), "the newer commit %s took its place; %s", fleet.ShortCommit(w.e.Commit), w.e.Reason)
	}
	return w.before(ctx)
}

// resultOf returns the result for a phase.
func resultOf(p decide.State) ProgressResult {
	switch p {
	case decide.Soaking, decide.Good:
		return ProgressPassed
	case decide.Failed, decide.Rejected, decide.TakenBack:
		return ProgressFailed
	}
	return ProgressWaits
}

// recordedResult returns the result of the last relevant step, and the step; nil if there is none.
func recordedResult(newestFirst []ledger.Step) (ProgressResult, *ledger.Step) {
	for i := range newestFirst {
		switch decide.StepKind(newestFirst[i].Kind) {
		case decide.StepDeployed:
			return ProgressPassed, &newestFirst[i]
		case decide.StepFailed, promote.Aborted, promote.RolledBack:
			return ProgressFailed, &newestFirst[i]
		case promote.Requested:
			return ProgressWaits, &newestFirst[i]
		}
	}
	return "", nil
}

// failedAt sets the time of a failure that clusters can recover from.
func (w *progressFinder) failedAt(s *ledger.Step) {
	if s.Kind == string(decide.StepFailed) {
		w.failed = s.At
	}
}

// newerRuns reports whether the environment has a newer commit; ok is false if the history is unknown.
func (w *progressFinder) newerRuns() (newer, ok bool) {
	at := func(sha string) int {
		return slices.IndexFunc(w.s.line, func(c promote.Commit) bool { return c.SHA == sha })
	}
	wanted, named := at(w.commit), at(w.e.Commit)
	return named > wanted, wanted >= 0 && named >= 0
}

// before sets the result from the environments that the commit must run in first.
func (w *progressFinder) before(ctx context.Context) error {
	for _, name := range w.first {
		steps, err := w.o.platformSteps(ctx, &w.s, ledger.StepQuery{Environment: name, Commit: w.commit})
		if err != nil {
			return err
		}
		switch result, step := recordedResult(steps); {
		case step == nil || result == ProgressWaits:
			return w.set(ProgressWaits, "%s did not run in %s yet", fleet.ShortCommit(w.commit), name)
		case result == ProgressFailed:
			w.failedAt(step)
			return w.set(ProgressFailed, "%s %s in %s: %s", fleet.ShortCommit(w.commit), promote.Spaced(step.Kind), name, step.Reason)
		}
	}
	if len(w.s.line) > 0 && !slices.ContainsFunc(w.s.line, func(c promote.Commit) bool { return c.SHA == w.commit }) {
		return w.set(ProgressWaits, "%s is not on the branch that is promoted, or was not seen there yet", fleet.ShortCommit(w.commit))
	}
	return w.set(ProgressWaits, "%s did not enter %s yet", fleet.ShortCommit(w.commit), w.e.Name)
}

// before returns the environments of the control plane that come before one.
func (o *Observer) before(s standing) []string {
	after := map[string][]string{}
	var order []string
	for _, other := range o.standings() {
		if other.controlPlane == s.controlPlane && other.promotion != nil {
			after[other.name] = other.promotion.After
			order = append(order, other.name)
		}
	}
	return earlier(order, after, s.name)
}

// earlier returns the environments that come before one, in the given order.
func earlier(order []string, after map[string][]string, name string) []string {
	before, next := map[string]bool{}, after[name]
	for len(next) > 0 {
		name := next[0]
		next = next[1:]
		if !before[name] {
			before[name] = true
			next = append(next, after[name]...)
		}
	}
	return slices.DeleteFunc(order, func(name string) bool { return !before[name] })
}
