package schedule

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// Proposer keeps the pull request of each environment up to date.
//
// It is level-triggered: every round reads the current state and does what is missing. It can be killed after any step
// and run again, and concurrent rounds end in the same state. A round without changes makes two requests to the forge:
// for the pull request, and for the issues.
type Proposer struct {
	// Drafter makes the drafts. Its Trace is also called for the other steps of a round. // required
	Drafter *Drafter
	// Committer writes to the GitOps repositories. // required
	Committer pullrequest.Committer
	// Forges host them. // required
	Forges pullrequest.Forges
	// Accept is called with each draft before anything is written, which its error prevents; optional.
	Accept func(*Draft) error
}

// Outcome is the result of a round.
type Outcome struct {
	// Inputs are the commits that the environment was read at; zero if it could not be read.
	Inputs Inputs
	// GitOps is the branch for the files, and Head its commit that they were compared with.
	GitOps Location
	Head   string
	// Loaded is what was read, Bundle and Plan what was made from it; nil if the round failed before. They are shared,
	// and must not be changed.
	Loaded *Loaded
	Bundle *bundle.Bundle
	Plan   *plan.Plan
	// Findings are those about the files to write.
	Findings []check.Finding
	// Files is how many files change.
	Files int
	// Rendered is Head if the branch has there what its commits render. It is empty if it has something else, which
	// is a problem of the plan, or if that is not known.
	Rendered string
	// PullRequest is open, or was merged in this round; nil if there is none.
	PullRequest *forge.PullRequest
	// Refused is the pull request that a user closed. It stays closed until the draft differs. Nil if there is none.
	Refused *forge.PullRequest
	// Did lists what was done, in order.
	Did []string
	// Read are the locations that were read, and the head branch. If one of them moves, another round may be needed.
	Read []Location
	// Waits explains why the pull request is not merged automatically.
	Waits string
	// Next is when another round is needed without an event; zero for never.
	Next time.Time
}

// Round updates an environment's pull request.
func (p *Proposer) Round(ctx context.Context, request Request) (*Outcome, error) {
	r := &round{Proposer: p, environment: request.Environment}
	if err := r.draft(ctx, DraftRequest{Request: request}); err != nil {
		return r.outcome, err
	}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{{"find the pull request", r.find}, {"approve", r.approve}, {"audit", r.audit}, {"propose", r.propose}, {"report", r.report}} {
		if err := p.Drafter.Trace.run(ctx, step.name, step.do); err != nil {
			return r.outcome, err
		}
	}
	return r.outcome, nil
}

// Outcome returns the outcome of a round that only made the draft, which may be incomplete.
func (d *Draft) Outcome() *Outcome {
	if d.GitOps == nil {
		return &Outcome{}
	}
	at := d.GitOps.Location
	o := &Outcome{
		Inputs: d.Loaded.Inputs, GitOps: at, Head: d.GitOps.Commit, Loaded: d.Loaded, Bundle: d.Bundle, Plan: d.Plan, Findings: d.Findings,
		Read: slices.Concat(d.Loaded.Read, []Location{at, {Repo: at.Repo, Branch: pullrequest.HeadBranch(d.Loaded.Snapshot.Environment)}}),
	}
	if d.Bundle != nil {
		o.Files = len(d.Bundle.Changes())
	}
	return o
}

// Draft returns the draft of the round, which is shared; nil if the environment could not be read. Its diffs can no longer be read.
func (o *Outcome) Draft() *Draft {
	if o == nil || o.Loaded == nil || o.Bundle == nil {
		return nil
	}
	return &Draft{Loaded: o.Loaded, Bundle: o.Bundle, Plan: o.Plan, Findings: o.Findings}
}

type round struct {
	*Proposer
	*Draft
	environment string
	request     Request
	outcome     *Outcome

	pull *pullrequest.PullRequest
}

// draft makes the draft of the round.
func (r *round) draft(ctx context.Context, request DraftRequest) (err error) {
	r.Draft, err = r.Drafter.Draft(ctx, request)
	r.request, r.outcome = request.Request, r.Draft.Outcome()
	if err == nil && r.Accept != nil {
		err = r.Accept(r.Draft)
	}
	return err
}

// approve makes the draft again if a user has set the label that approves what is held only for lack of an approval.
func (r *round) approve(ctx context.Context) error {
	open := r.outcome.PullRequest
	if open == nil || !open.HasLabel(pullrequest.LabelAllowDeletions) || !r.Bundle.Approvable() {
		return nil
	}
	if err := r.draft(ctx, DraftRequest{Request: r.request, Approved: true}); err != nil {
		return err
	}
	return r.find(ctx) // the branch may have moved
}

// find finds the environment's pull request.
func (r *round) find(ctx context.Context) error {
	at := r.GitOps.Location
	r.pull = &pullrequest.PullRequest{
		Committer: r.Committer, URL: at.Repo, Base: at.Branch, Commit: r.GitOps.Commit, Time: r.GitOps.Time,
		Head: pullrequest.HeadBranch(r.environment), Name: r.environment, Trace: r.Drafter.Trace,
		Fork: func(ctx context.Context, ref, commit string) (string, error) {
			return r.Drafter.Loader.Repositories.Fork(ctx, at, ref, commit)
		},
	}
	if err := r.pull.Locate(r.Forges); err != nil {
		return fmt.Errorf("find the GitOps repository: %w", err)
	}
	err := r.pull.Find(ctx)
	r.outcome.PullRequest = r.pull.Open
	return err
}

// propose updates the pull request.
func (r *round) propose(ctx context.Context) error {
	err := r.pull.Publish(ctx, r.proposed())
	if r.pull.Commit != r.GitOps.Commit { // the branch was created
		r.GitOps.Exists, r.GitOps.Commit, r.outcome.Head = true, r.pull.Commit, r.pull.Commit
		r.Plan.Before = r.GitOps.String()
	}
	r.outcome.PullRequest, r.outcome.Refused = r.pull.Open, r.pull.Refused
	r.outcome.Waits, r.outcome.Next, r.outcome.Did = r.pull.Waits, r.pull.Next, r.pull.Did
	return err
}
