package promote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// countInterval is the minimum time between updates that only change a count, such as the number of clusters that are ready.
// With thousands of clusters, not every change needs a commit status and a ledger entry.
const countInterval = time.Minute

// act carries out the decisions. An error in one environment does not stop the others.
func (r *round) act(ctx context.Context) error {
	failed := errors.Join(r.keepSilences(ctx), r.recordHeads(ctx))
	for _, l := range r.lanes {
		started, err := r.startStages(ctx, l)
		if err != nil {
			failed = errors.Join(failed, err)
		} else if started {
			continue // the next round decides about what is there now
		}
		if err := r.markFormer(ctx, l); err != nil {
			return errors.Join(failed, err)
		}
		for _, d := range l.decisions {
			if err := r.actIn(ctx, d); err != nil {
				failed = joinIn(d.Environment, failed, err)
			}
			if ctx.Err() != nil {
				return failed
			}
		}
		if err := r.moveFormer(ctx, l); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	return errors.Join(failed, r.recordWatched(ctx))
}

// actIn carries out the decision for one environment, in the order of its actions.
// A status that cannot be posted is not fatal: the next round tries again.
func (r *round) actIn(ctx context.Context, d decide.Decision) error {
	place := r.place(d.Environment)
	if place.Unknown != "" || d.State == decide.Unknown {
		return nil
	}
	if place.start != "" {
		return nil // it could not be started
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
		if _, hasty := action.(decide.Withdraw); hasty && r.earlierUnknown(d.Environment) {
			continue
		}
		err := r.carryOut(ctx, place, action)
		if _, display := action.(decide.SetStatus); display && err != nil {
			notShown = errors.Join(notShown, err)
			continue
		}
		if err != nil {
			return errors.Join(notShown, err)
		}
	}
	return notShown
}

// note records what is known before the round changes anything.
func (r *round) note(ctx context.Context, place EnvironmentState, d decide.Decision) error {
	if err := r.recordStarted(ctx, d); err != nil {
		return err
	}
	if err := r.publish(ctx, place); err != nil {
		return err
	}
	if err := r.propose(ctx, place); err != nil {
		return err
	}
	if err := r.noteReviews(ctx, place); err != nil {
		return err
	}
	if err := r.recordOutcome(ctx, place, d); err != nil {
		return err
	}
	return r.decide(ctx, d)
}

// earlierUnknown reports whether the state of an earlier environment is unknown. Proposals are not withdrawn in that case,
// because the state is only unknown for a short time.
func (r *round) earlierUnknown(environment string) bool {
	rules, _ := r.lane(environment).facts.Chain.Rules(environment)
	return slices.ContainsFunc(rules.After, func(before string) bool { return r.environment(before).Unknown != "" })
}

// pin sets the commit of an environment that follows the branch to the current head, so that later commits are promoted
// by its rules. It reports whether it did something.
func (r *round) pin(ctx context.Context, place EnvironmentState) (bool, error) {
	if place.Commit == "" {
		return false, nil
	}
	rules, _ := r.reading.Chain.Rules(place.Environment)
	for _, o := range place.Proposals {
		if o.From == o.Commit && (o.State == decide.ProposalClosed || o.Commit == place.Commit) {
			return false, nil // a proposal is open or was closed
		}
	}
	moved, err := r.pipeline.Move(ctx, Move{
		Environment: place.Environment, From: place.Commit, Commit: place.Commit, Approval: rules.Approval,
		Reason: "commits come in by promotion only from here on",
	})
	if err != nil || moved.Did == "" {
		return false, err
	}
	r.did(moved.Did)
	return true, nil
}

// publish writes down when the branch got a revision, which is a fact: the gate's timeout starts at that time.
func (r *round) publish(ctx context.Context, place EnvironmentState) error {
	at := place.Rollout
	page := r.journal.page(place.Environment)
	if at.State != decide.RolloutMerged {
		return nil
	}
	if n := len(page.publications); n > 0 && page.publications[n-1].revision == at.Commit && page.publications[n-1].commit == place.Commit {
		return nil
	}
	reason := "the GitOps branch has its manifests"
	if place.Version != "" {
		reason = "the GitOps branch has the manifests of " + place.Version
	}
	err := r.record(ctx, place.Environment, place.Commit, Published, reason, Detail{Revision: at.Commit, Version: place.Version, Image: place.Image})
	if err != nil {
		return err
	}
	r.did(fmt.Sprintf("%s is published in %s at %s", fleet.ShortCommit(place.Commit), place.Environment, fleet.ShortCommit(at.Commit)))
	return nil
}

// propose records open proposals.
func (r *round) propose(ctx context.Context, place EnvironmentState) error {
	for _, o := range place.Proposals {
		if o.State != decide.ProposalOpen || o.From == "" {
			continue
		}
		if err := r.recordProposal(ctx, place.Environment, o.From, o.Commit, o.URL); err != nil {
			return err
		}
	}
	return nil
}

// recordProposal records once that a pull request proposes a commit.
func (r *round) recordProposal(ctx context.Context, environment, from, commit, url string) error {
	if r.journal.page(environment).proposed[proposalKey{commit, url}] {
		return nil
	}
	reason := fmt.Sprintf("a pull request proposes to replace %s", fleet.ShortCommit(from))
	return r.record(ctx, environment, commit, Proposed, reason, Detail{URL: url, From: from})
}

// decide records a decision that differs from the last one.
func (r *round) decide(ctx context.Context, d decide.Decision) error {
	page := r.journal.page(d.Environment)
	last, detail := page.decided, r.detail(d)
	changed := last.Phase != d.State || last.commit != about(d) || last.Candidate != d.Candidate || last.Revision != detail.Revision ||
		!slices.Equal(last.Asks, detail.Asks)
	if about(d) == "" || !changed && last.reason == d.Reason {
		return nil
	}
	if soon := last.at.Add(countInterval); !changed && r.at.Before(soon) && !r.at.Before(last.at) {
		r.outcome.wake(soon)
		return nil
	}
	return r.record(ctx, d.Environment, about(d), StateChanged, d.Reason, detail)
}

func (r *round) detail(d decide.Decision) Detail {
	return Detail{Phase: d.State, Candidate: d.Candidate, Revision: r.place(d.Environment).Rollout.Commit, Since: r.since(d), Failure: d.Failure, InRing: d.InRing, Asks: d.Asks}
}

// about returns the commit under which a decision is recorded.
func about(d decide.Decision) string {
	if d.Commit == "" {
		return d.Candidate
	}
	return d.Commit
}

// carryOut carries out an action. Every action checks first whether it is already done.
func (r *round) carryOut(ctx context.Context, place EnvironmentState, action decide.Action) error {
	switch a := action.(type) {
	case decide.SetStatus:
		return r.show(ctx, place, a)
	case decide.BeginCheck:
		err := r.record(ctx, a.Environment, a.Commit, Verifying, "", Detail{Revision: a.Revision, Check: a.Check, Result: decide.CheckBegun})
		if err != nil {
			return err
		}
		r.did(a.String())
		return nil
	case decide.RunCheck:
		return r.check(ctx, a)
	case decide.Promote:
		m := Move{Environment: a.Environment, From: a.From, Commit: a.Commit, Approval: a.By}
		if o := r.environment(a.Environment).Request; o != nil && o.Commit == a.Commit {
			m.Reason = strings.TrimSuffix(fmt.Sprintf("requested by %s: %s", o.By, o.Why), ": ")
		}
		return r.move(ctx, m)
	case decide.ProposeRollback:
		return r.move(ctx, Move{
			Environment: a.Environment, From: a.From, Commit: a.To, Approval: a.By, Back: true, Reason: a.Reason,
		})
	case decide.Withdraw:
		return r.withdraw(ctx, a)
	default:
		return fmt.Errorf("%s: this promoter does not know how", action)
	}
}

// move promotes a commit to an environment, directly or with a proposal.
func (r *round) move(ctx context.Context, m Move) error {
	if _, ring := decide.SplitRing(m.Environment); m.From == "" && ring == "" && !r.reading.OnlyMoves && r.journal.page(m.Environment).entered() == m.Commit {
		return nil // it was started, and its branch does not have it yet
	}
	moved, err := r.pipeline.Move(ctx, m)
	if err != nil || moved.Did == "" {
		return err
	}
	r.did(moved.Did)
	if r.reading.OnlyMoves && moved.URL != "" {
		return r.recordProposal(ctx, m.Environment, m.From, m.Commit, moved.URL)
	}
	if r.reading.OnlyMoves || moved.Revision != "" {
		// Recorded at once, so that a commit that comes in by another way can be told apart.
		kind := decide.StepStarted
		if m.Former {
			kind = Emptied
		}
		if err := r.recordOnce(ctx, m.Environment, recordedStep{Kind: kind, Commit: m.Commit}, Detail{}, m.Reason); err != nil {
			return err
		}
	}
	if moved.Revision == "" {
		return nil
	}
	// Now, because clusters may fail before the next round.
	return r.record(ctx, m.Environment, m.Commit, Published, m.Reason, Detail{Revision: moved.Revision})
}

// withdraw closes a proposal. It records that first, because a later round cannot detect that the record is missing.
func (r *round) withdraw(ctx context.Context, a decide.Withdraw) error {
	page := r.journal.page(a.Environment)
	for _, o := range r.place(a.Environment).Proposals {
		key := proposalKey{o.Commit, o.URL}
		if o.State != decide.ProposalOpen || o.Commit != a.Commit || !page.proposed[key] || page.withdrawn[key] {
			continue // an interrupted proposal was never recorded
		}
		if err := r.record(ctx, a.Environment, a.Commit, Withdrawn, a.Reason, Detail{URL: o.URL}); err != nil {
			return err
		}
	}
	if err := r.pipeline.Withdraw(ctx, a); err != nil {
		return err
	}
	r.did(a.String())
	return nil
}
