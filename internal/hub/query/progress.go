package query

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// ProgressResult is what a commit has come to in an environment.
type ProgressResult string

// The results. All but ProgressWaits are final, as far as anybody can tell.
const (
	ProgressPassed ProgressResult = "passed" // it, or a newer commit, runs there
	ProgressFailed ProgressResult = "failed" // it failed, was refused, given up, or replaced by another one
	ProgressWaits  ProgressResult = "waits"  // it may still come
)

// Progress says how far a commit has come in an environment.
type Progress struct {
	Environment string         `json:"environment"`
	Commit      string         `json:"commit"`
	Result      ProgressResult `json:"result"`
	// Phase is where the commit that the environment names stands.
	Phase decide.Phase `json:"phase"`
	// Reason says in words why: what it waits for, or what failed where.
	Reason string `json:"reason"`
	// Gate is how many clusters run it; absent until there is something to run.
	Gate *Gate `json:"gate,omitempty"`
}

// ProgressQuery names a commit and an environment.
type ProgressQuery struct {
	Environment string // required
	// ControlPlane tells environments of one name apart.
	ControlPlane string
	// Application is the name of a workload, whose application is asked about, and commits of its source; empty for the platform.
	Application string
	// Subject tells applications of one name apart.
	Subject string
	// Commit is the full hash, or at least seven digits of it. Empty means the one that the environment names.
	Commit string
}

// Progress says whether a commit passed the gate of an environment, failed there, or waits, and why.
func (o *Observer) Progress(ctx context.Context, q ProgressQuery) (Progress, error) {
	if q.Application != "" {
		return o.applicationProgress(ctx, q)
	}
	s, err := o.environment(ctx, q.ControlPlane, q.Environment, time.Time{})
	if err != nil {
		return Progress{}, err
	}
	sc := &scene{standing: s}
	commits, err := o.Ledger.Commits(ctx, ledger.CommitQuery{Environment: s.name, Kind: ledger.BranchPlatform, Heads: true})
	if err != nil {
		return Progress{}, err
	}
	sc.heads = commits
	e, err := o.named(ctx, sc, time.Time{})
	if err != nil {
		return Progress{}, err
	}
	p, err := o.progress(ctx, &way{o: o, s: s, e: e, first: o.before(s)}, q.Commit)
	if err == nil && p.Commit == e.Commit && p.Commit != "" {
		verdict, err := o.verdicts(time.Time{}).verdict(ctx, s)
		if err != nil {
			return p, err
		}
		p.Gate = sc.gate(verdict)
	}
	return p, err
}

// progress goes the way of a commit, or without one that of the commit that the environment names. The gate is left to others.
func (o *Observer) progress(ctx context.Context, w *way, commit string) (Progress, error) {
	p := Progress{Environment: w.e.Name, Commit: w.e.Commit, Phase: w.e.Phase}
	if commit != "" {
		whole, err := o.whole(ctx, w.s, commit)
		if err != nil {
			return p, err
		}
		p.Commit = whole
	}
	w.commit = p.Commit
	err := w.look(ctx)
	p.Result, p.Reason = w.result, w.reason
	return p, err
}

// whole is the full hash of a commit. A full one that nobody knows yet may still come.
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

// way is the work on the question how far a commit has come.
type way struct {
	o *Observer
	s standing
	e Environment
	// first are the environments that the commit has to run in before, those that come first in the chain first.
	first  []string
	commit string
	result ProgressResult
	reason string
}

// say is the answer.
func (w *way) say(r ProgressResult, format string, args ...any) error {
	w.result, w.reason = r, fmt.Sprintf(format, args...)
	return nil
}

// look finds the answer: what the environment names counts first, then what is on record, then who is before it.
func (w *way) look(ctx context.Context) error {
	switch w.commit {
	case "":
		return w.say(ProgressWaits, "nothing was ever promoted to %s", w.e.Name)
	case w.e.Commit:
		return w.say(resultOf(w.e.Phase), "%s", w.e.Reason)
	}
	steps, err := w.o.platformSteps(ctx, &w.s, ledger.StepQuery{Environment: w.e.Name, Commit: w.commit})
	if err != nil {
		return err
	}
	if result, step := recordedResult(steps); step != nil {
		said := fmt.Sprintf("%s on %s", step.Kind, utc(step.At).Format(time.RFC3339))
		if step.Reason != "" {
			said += ": " + step.Reason
		}
		return w.say(result, "%s", said)
	}
	if w.commit == w.e.Candidate {
		return w.say(ProgressWaits, "%s", w.e.Reason)
	}
	if newer, ok := w.newerRuns(); ok && newer {
		return w.say(resultOf(w.e.Phase), "the newer commit %s took its place; %s", short(w.e.Commit), w.e.Reason)
	}
	return w.before(ctx)
}

// resultOf is what a phase means for who waits.
func resultOf(p decide.Phase) ProgressResult {
	switch p {
	case decide.Deployed:
		return ProgressPassed
	case decide.Failed, decide.Refused, decide.Aborted:
		return ProgressFailed
	}
	return ProgressWaits
}

// recordedResult is what the last step of a commit says that is no longer named; nil when none says anything.
func recordedResult(newestFirst []ledger.Step) (ProgressResult, *ledger.Step) {
	for i := range newestFirst {
		switch decide.StepKind(newestFirst[i].Kind) {
		case decide.Arrived:
			return ProgressPassed, &newestFirst[i]
		case decide.FailedHere, promote.Aborted:
			return ProgressFailed, &newestFirst[i]
		case promote.Ordered:
			return ProgressWaits, &newestFirst[i]
		}
	}
	return "", nil
}

// newerRuns reports whether the environment names a newer commit; ok is false when the history does not say.
func (w *way) newerRuns() (newer, ok bool) {
	at := func(sha string) int {
		return slices.IndexFunc(w.s.line, func(c promote.Commit) bool { return c.SHA == sha })
	}
	asked, named := at(w.commit), at(w.e.Commit)
	return named > asked, asked >= 0 && named >= 0
}

// before looks at the environments that the commit has to run in first: where it failed in one of them, it does not come.
func (w *way) before(ctx context.Context) error {
	for _, name := range w.first {
		steps, err := w.o.platformSteps(ctx, &w.s, ledger.StepQuery{Environment: name, Commit: w.commit})
		if err != nil {
			return err
		}
		switch result, step := recordedResult(steps); {
		case step == nil || result == ProgressWaits:
			return w.say(ProgressWaits, "%s did not run in %s yet", short(w.commit), name)
		case result == ProgressFailed:
			return w.say(ProgressFailed, "%s %s in %s: %s", short(w.commit), step.Kind, name, step.Reason)
		}
	}
	if len(w.s.line) > 0 && !slices.ContainsFunc(w.s.line, func(c promote.Commit) bool { return c.SHA == w.commit }) {
		return w.say(ProgressWaits, "%s is not on the branch that is promoted, or was not seen there yet", short(w.commit))
	}
	return w.say(ProgressWaits, "%s did not enter %s yet", short(w.commit), w.e.Name)
}

// before are the environments of a control plane that come before one.
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

// earlier are the environments that come before one, in the order of all of them.
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
