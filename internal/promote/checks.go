package promote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/promote/measure"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// markRunning adds the running measurements of a rollout to what is recorded.
func (r *round) markRunning(results []decide.CheckResult, place EnvironmentState) []decide.CheckResult {
	var names []string
	for key := range r.running {
		if key.subject == r.reading.Subject && key.environment == place.Environment && key.revision == place.Rollout.Commit {
			names = append(names, key.name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		results = append(results, decide.CheckResult{Name: name, Revision: place.Rollout.Commit, State: decide.CheckRunning})
	}
	return results
}

// check measures a verification once, in the background unless the answer is on the forge, or that of clusters.
func (r *round) check(ctx context.Context, a decide.RunCheck) error {
	key := checkKey{r.reading.Subject, a.Environment, a.Revision, a.Check.Name}
	a.Source = r.source(a.Environment, a.Commit)
	if a.Check.CommitStatus != nil {
		return r.readStatus(ctx, key, a)
	}
	if a.Check.Job != nil {
		return r.runJobs(ctx, a)
	}
	limit := r.MaxChecks
	if limit <= 0 {
		limit = defaultChecks
	}
	background, ok := r.checks.start(key, limit, r.at)
	if !ok {
		r.outcome.wake(r.at.Add(countInterval))
		return nil
	}
	a.Baseline = r.baseline(a)
	if h, ok := ledger.HoldOf(ctx); ok {
		background = ledger.Under(background, h)
	}
	go r.Promoter.verify(background, key, a)
	r.did(a.String())
	return nil
}

// verify measures a verification and records the answer. An interrupted measurement is not recorded, and repeated.
func (p *Promoter) verify(ctx context.Context, key checkKey, a decide.RunCheck) {
	defer func() {
		for _, subject := range p.checks.end(key) {
			if p.Checked != nil && ctx.Err() == nil {
				p.Checked(subject)
			}
		}
	}()
	begun := p.now()
	evidence, err := p.runCheck(ctx, a)
	if ctx.Err() != nil {
		return
	}
	d, reason := measured(a, evidence, err)
	d.Took = p.now().Sub(begun).Round(time.Millisecond).String()
	s := ledger.Step{
		PromotionID: ledger.PromotionID{Subject: key.subject, Commit: a.Commit, Environment: a.Environment},
		Kind:        string(Verified), Reason: reason, At: p.now().UTC().Truncate(time.Microsecond),
	}
	if s.Detail, err = json.Marshal(d); err != nil {
		return
	}
	_ = p.Ledger.RecordStep(ctx, s) // an answer that is not recorded is measured again
}

// maxValue limits the recorded values, in bytes.
const maxValue = 500

// measured returns what is recorded of a measurement that failed with an error, or passed.
func measured(a decide.RunCheck, evidence measure.Evidence, err error) (Detail, string) {
	d := Detail{
		Revision: a.Revision, Check: a.Check.Name, Result: decide.CheckPassed, Output: evidence.Output,
		Value: forge.OneLine(secret.Scrub(evidence.Value), maxValue), Baseline: forge.OneLine(secret.Scrub(evidence.Baseline), maxValue),
	}
	if a.Check.Expression != nil {
		d.Expression = a.Check.Expression.String()
	}
	if err == nil {
		return d, ""
	}
	d.Result = decide.CheckFailed
	return d, secret.Scrub(err.Error())
}

var errNoChecks = errors.New("verifications cannot be run here: the server is not set up for them")

func (p *Promoter) runCheck(ctx context.Context, a decide.RunCheck) (measure.Evidence, error) {
	if p.Checks == nil {
		return measure.Evidence{}, errNoChecks
	}
	return p.Checks.Run(ctx, a)
}

// readStatus reads the commit status that a verification waits for, at most once in its interval. While the status is missing
// or pending, that is recorded once.
func (r *round) readStatus(ctx context.Context, key checkKey, a decide.RunCheck) error {
	s := r.subject
	if next := s.read[key].Add(a.Check.Every()); r.at.Before(next) && !r.at.Before(s.read[key]) {
		r.outcome.wake(next)
		return nil
	}
	state, text, err := r.status(ctx, a)
	if err != nil {
		return err
	}
	if s.read == nil || len(s.read) > 1000 {
		s.read = map[checkKey]time.Time{}
	}
	s.read[key] = r.at
	if state == decide.CheckWaiting {
		r.outcome.wake(r.at.Add(a.Check.Every()))
		if last, ok := r.journal.page(a.Environment).lastResult(a); ok && last.State == state && last.Reason == text {
			return nil
		}
	}
	d := Detail{Revision: a.Revision, Check: a.Check.Name, Result: state}
	reason := text
	if state == decide.CheckPassed {
		d.Value, reason = text, ""
	}
	if err := r.record(ctx, a.Environment, a.Commit, Verified, reason, d); err != nil {
		return err
	}
	r.did(a.String() + ": " + string(state))
	return nil
}

// status returns what the status says that a verification waits for.
func (r *round) status(ctx context.Context, a decide.RunCheck) (state decide.CheckState, text string, err error) {
	name := a.Check.CommitStatus.Context
	reader, ok := r.pipeline.(StatusReader)
	if !ok {
		return decide.CheckFailed, "commit statuses cannot be read here", nil
	}
	if a.Source == "" {
		return decide.CheckFailed, "it is not recorded from which commit the manifests of this ring come", nil
	}
	statuses, err := reader.ReadStatuses(ctx, a.Source)
	switch {
	case errors.Is(err, ErrNoCommit):
		return decide.CheckFailed, "the status cannot be read: " + ErrNoCommit.Error(), nil
	case err != nil:
		return "", "", fmt.Errorf("read the statuses of %s: %w", fleet.ShortCommit(a.Source), err)
	}
	i := slices.IndexFunc(statuses, func(s forge.Status) bool { return s.Context == name })
	if i < 0 {
		return decide.CheckWaiting, fmt.Sprintf("nothing has posted the status %q yet", name), nil
	}
	said := forge.OneLine(secret.Scrub(statuses[i].Description), maxValue)
	if said != "" {
		said = ": " + said
	}
	switch statuses[i].State {
	case forge.Success:
		return decide.CheckPassed, "success" + said, nil
	case forge.Pending:
		return decide.CheckWaiting, fmt.Sprintf("the status %q is pending", name), nil
	default:
		return decide.CheckFailed, fmt.Sprintf("the status %q is %s%s", name, statuses[i].State, said), nil
	}
}

// lastResult returns what was last recorded of a verification of a rollout.
func (p *page) lastResult(a decide.RunCheck) (decide.CheckResult, bool) {
	var last decide.CheckResult
	found := false
	for _, r := range p.results {
		if r.commit == a.Commit && r.Revision == a.Revision && r.Name == a.Check.Name && !r.At.Before(last.At) {
			last, found = r.CheckResult, true
		}
	}
	return last, found
}

// baseline returns what an answer is compared with; nil without a baseline.
func (r *round) baseline(a decide.RunCheck) *measure.Comparison {
	query := a.Check.Prometheus
	if query == nil || query.Baseline == "" {
		return nil
	}
	if ring, ok := strings.CutPrefix(query.Baseline, v1alpha1.BaselineRing); ok {
		environment, _ := decide.SplitRing(a.Environment)
		where := decide.RingName(environment, ring)
		if value, ok := r.journal.ringNumber(where, a.Check.Name, a.Commit); ok {
			return &measure.Comparison{With: where, Value: &value}
		}
		return &measure.Comparison{Missing: fmt.Sprintf("no measurement %q of this commit passed in %s", a.Check.Name, where)}
	}
	page := r.journal.page(a.Environment)
	for _, c := range slices.Backward(decide.Proven(r.lane(a.Environment).facts, r.environment(a.Environment), r.at)) {
		if value, ok := page.number(a.Check.Name, c.Commit); ok && c.Commit != a.Commit {
			return &measure.Comparison{With: "commit " + fleet.ShortCommit(c.Commit), Value: &value}
		}
	}
	return &measure.Comparison{Missing: fmt.Sprintf("no measurement %q of a commit that was deployed in %s before has passed", a.Check.Name, a.Environment)}
}

// ringNumber returns the number of the last measurement of a commit that passed in a ring or in one of its batches.
func (j *journal) ringNumber(ring, check, commit string) (value float64, ok bool) {
	var last time.Time
	for _, name := range slices.Sorted(maps.Keys(j.pages)) {
		if fleet.RingOfStage(name) != ring {
			continue
		}
		if x, at := j.pages[name].measurement(check, commit); at.After(last) {
			value, ok, last = x, true, at
		}
	}
	return value, ok
}

// number returns the number of the last measurement of a commit that passed.
func (p *page) number(check, commit string) (value float64, ok bool) {
	value, at := p.measurement(check, commit)
	return value, !at.IsZero()
}

// measurement returns the number of the last measurement of a commit that passed, and its time; zero if there is none.
func (p *page) measurement(check, commit string) (value float64, at time.Time) {
	for _, r := range p.results {
		if r.Name != check || r.commit != commit || r.State != decide.CheckPassed || r.At.Before(at) {
			continue
		}
		if x, isNumber := measure.ParseNumber(r.Value); isNumber {
			value, at = x, r.At
		}
	}
	return value, at
}
