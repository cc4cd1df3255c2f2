package promote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// sparing is how often what only counts on is said again: of thousands of clusters that arrive one after the other,
// neither the forge nor the ledger needs to know each.
const sparing = time.Minute

// act carries out the decisions. What goes wrong in one environment does not stop the others.
func (r *round) act(ctx context.Context) error {
	var failed error
	for _, d := range r.decisions {
		if err := r.actIn(ctx, d); err != nil {
			failed = joinIn(d.Environment, failed, err)
		}
		if ctx.Err() != nil || errors.Is(failed, errStopped) {
			return failed
		}
	}
	return failed
}

// actIn carries out the decision on one environment, in the order of its actions.
// A status that cannot be shown stops nothing: people can do without, and the next round tries again.
func (r *round) actIn(ctx context.Context, d decide.Decision) error {
	place := r.place(d.Environment)
	if place.Unknown != "" || d.Phase == decide.Unknown {
		return nil
	}
	if place.Follows {
		pinned, err := r.pin(ctx, place)
		if pinned || err != nil {
			return err
		}
	}
	if err := r.note(ctx, place, d); err != nil {
		return err
	}
	var notShown error
	for _, action := range d.Actions {
		if _, hasty := action.(decide.Withdraw); hasty && r.unsure(d.Environment) {
			continue
		}
		err := r.carryOut(ctx, place, action)
		if _, display := action.(decide.SetStatus); display && err != nil && !errors.Is(err, errStopped) {
			notShown = errors.Join(notShown, err)
			continue
		}
		if err != nil {
			return errors.Join(notShown, err)
		}
	}
	return notShown
}

// note puts on record what is known before anything is done.
func (r *round) note(ctx context.Context, place Place, d decide.Decision) error {
	if err := r.publish(ctx, place); err != nil {
		return err
	}
	if err := r.propose(ctx, place); err != nil {
		return err
	}
	return r.decide(ctx, d)
}

// unsure reports whether nothing is known of an environment before this one. What people are asked to let in is not taken back
// for that: it is only for a moment that nobody knows whether it may enter.
func (r *round) unsure(environment string) bool {
	rules, _ := r.reading.Chain.Rules(environment)
	return slices.ContainsFunc(rules.After, func(before string) bool { return r.environment(before).Unknown != "" })
}

// errStopped ends a round where a test wants it to.
var errStopped = errors.New("the round was stopped")

// done notes what was done.
func (r *round) done(step, what string) error {
	r.outcome.Did = append(r.outcome.Did, what)
	return r.tell(step)
}

// tell tells a test that a step was done.
func (r *round) tell(step string) error {
	if r.Step == nil {
		return nil
	}
	if err := r.Step(step); err != nil {
		return errors.Join(errStopped, err)
	}
	return nil
}

// pin lets an environment that follows the branch name the commit that it has, so that what comes next comes by its rules.
// It reports whether something was done.
func (r *round) pin(ctx context.Context, place Place) (bool, error) {
	if place.Commit == "" {
		return false, nil
	}
	rules, _ := r.reading.Chain.Rules(place.Environment)
	for _, o := range place.Proposals {
		if o.From == o.Commit && (o.State == decide.ProposalClosed || o.Commit == place.Commit) {
			return false, nil // people are asked, or said no
		}
	}
	moved, err := r.pipeline.Move(ctx, Move{
		Environment: place.Environment, From: place.Commit, Commit: place.Commit, Approval: rules.Approval,
		Reason: "commits come in by promotion only from here on",
	})
	if err != nil || moved.Did == "" {
		return false, err
	}
	return true, r.done("pinned", moved.Did)
}

// publish puts on record when the manifests came to the GitOps branch: the time of the gate runs from there.
func (r *round) publish(ctx context.Context, place Place) error {
	at := place.Rollout
	page := r.journal.page(place.Environment)
	if _, known := page.published[at.Commit]; known || at.State != decide.RolloutMerged || page.entered() != place.Commit {
		return nil
	}
	err := r.record(ctx, place.Environment, place.Commit, Published, "the GitOps branch has its manifests", Detail{Revision: at.Commit})
	if err != nil {
		return err
	}
	return r.done("published", fmt.Sprintf("%s is published in %s at %s", fleet.ShortCommit(place.Commit), place.Environment, fleet.ShortCommit(at.Commit)))
}

// propose puts on record what people are asked.
func (r *round) propose(ctx context.Context, place Place) error {
	page := r.journal.page(place.Environment)
	for _, o := range place.Proposals {
		key := asked{o.Commit, o.URL}
		if o.State != decide.ProposalOpen || o.From == "" || page.proposed[key] {
			continue
		}
		reason := fmt.Sprintf("people are asked whether it takes the place of %s", fleet.ShortCommit(o.From))
		if err := r.record(ctx, place.Environment, o.Commit, Proposed, reason, Detail{URL: o.URL, From: o.From}); err != nil {
			return err
		}
		if err := r.tell("proposal recorded"); err != nil {
			return err
		}
	}
	return nil
}

// decide puts a decision on record when it is another one than before. One that is only on its way to the next is left out.
func (r *round) decide(ctx context.Context, d decide.Decision) error {
	for _, a := range d.Actions {
		if _, first := a.(decide.Record); first {
			return nil
		}
	}
	page := r.journal.page(d.Environment)
	last, detail := page.decided, r.detail(d)
	changed := last.Phase != d.Phase || last.commit != about(d) || last.Candidate != d.Candidate || last.Revision != detail.Revision
	if about(d) == "" || !changed && last.reason == d.Reason {
		return nil
	}
	if soon := last.at.Add(sparing); !changed && r.at.Before(soon) && !r.at.Before(last.at) {
		r.outcome.wake(soon)
		return nil
	}
	if err := r.record(ctx, d.Environment, about(d), Decided, d.Reason, detail); err != nil {
		return err
	}
	return r.tell("decided")
}

func (r *round) detail(d decide.Decision) Detail {
	return Detail{Phase: d.Phase, Candidate: d.Candidate, Revision: r.place(d.Environment).Rollout.Commit, Since: r.since(d)}
}

// about is the commit that a decision is filed under.
func about(d decide.Decision) string {
	if d.Commit == "" {
		return d.Candidate
	}
	return d.Commit
}

// carryOut does what an action says. Each finds out by itself whether it was done already.
func (r *round) carryOut(ctx context.Context, place Place, action decide.Action) error {
	switch a := action.(type) {
	case decide.Record:
		return r.recordHistory(ctx, a)
	case decide.SetStatus:
		return r.show(ctx, place, a)
	case decide.RunCheck:
		return r.check(a)
	case decide.FulfillOrder:
		err := r.record(ctx, a.Environment, place.Commit, Fulfilled, "", Detail{Order: a.ID})
		if err != nil {
			return err
		}
		return r.done("fulfilled", a.String())
	case decide.Promote:
		m := Move{Environment: a.Environment, From: a.From, Commit: a.Commit, Approval: a.By}
		if o := r.environment(a.Environment).Order; o != nil && o.Commit == a.Commit {
			m.Reason = strings.TrimSuffix(fmt.Sprintf("ordered by %s: %s", o.By, o.Why), ": ")
		}
		return r.move(ctx, m)
	case decide.ProposeRollback:
		return r.move(ctx, Move{
			Environment: a.Environment, From: a.From, Commit: a.To, Approval: v1alpha1.ApprovalPullRequest, Back: true, Reason: a.Reason,
		})
	case decide.Withdraw:
		return r.withdraw(ctx, a)
	default:
		return fmt.Errorf("%s: this promoter does not know how", action)
	}
}

// move makes an environment name another commit, or asks people.
func (r *round) move(ctx context.Context, m Move) error {
	moved, err := r.pipeline.Move(ctx, m)
	if err != nil || moved.Did == "" {
		return err
	}
	if moved.URL == "" {
		return r.done("promoted", moved.Did)
	}
	return r.done("proposed", moved.Did)
}

// withdraw takes back what people were asked, and puts that on record first: afterwards nobody would know that it is missing.
func (r *round) withdraw(ctx context.Context, a decide.Withdraw) error {
	page := r.journal.page(a.Environment)
	for _, o := range r.place(a.Environment).Proposals {
		key := asked{o.Commit, o.URL}
		if o.State != decide.ProposalOpen || o.Commit != a.Commit || !page.proposed[key] || page.withdrawn[key] {
			continue // one that was cut off while it was made was never on record
		}
		if err := r.record(ctx, a.Environment, a.Commit, Withdrawn, a.Reason, Detail{URL: o.URL}); err != nil {
			return err
		}
	}
	if err := r.pipeline.Withdraw(ctx, a); err != nil {
		return err
	}
	return r.done("withdrawn", a.String())
}

// show sets a status. One that only counts on waits for a while.
func (r *round) show(ctx context.Context, place Place, a decide.SetStatus) error {
	const counting = "Deploying"
	last := r.journal.page(a.Environment).shown[a.Commit]
	if soon := last.at.Add(sparing); strings.HasPrefix(last.Description, counting) && strings.HasPrefix(a.Description, counting) &&
		r.at.Before(soon) && !r.at.Before(last.at) {
		r.outcome.wake(soon)
		return nil
	}
	err := r.pipeline.SetStatus(ctx, a)
	if err != nil && !errors.Is(err, ErrNoCommit) { // what nobody has is not asked for again
		return fmt.Errorf("set the status of %s: %w", fleet.ShortCommit(a.Commit), err)
	}
	filed := place.Commit
	if a.Commit != place.Head && a.Commit != place.Commit {
		filed = last.filed // it was superseded
	}
	if err := r.record(ctx, a.Environment, filed, Shown, a.Description, Detail{On: a.Commit, Status: a.State}); err != nil {
		return err
	}
	return r.done("shown", a.String())
}
