package schedule

import (
	"context"
	"fmt"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// Proposer keeps the one pull request of each environment up to date.
//
// It is level-triggered: every round reads where things stand and does what is missing, so it may be killed after any step
// and run again, and two of them at once end in the same state. A round without changes makes two requests to the forge:
// for the pull request, and for the issues.
type Proposer struct {
	// Loader reads the control plane and the GitOps branch. // required
	Loader *Loader
	// Committer writes to the GitOps repository. // required
	Committer pullrequest.Committer
	// Forges host the GitOps repositories. // required
	Forges pullrequest.Forges

	// Memory holds the results of earlier rounds, so that only what changed is rendered again; nil for none.
	Memory *Memory

	// Trace is called when a step begins, and returns a function to call with its error when it ends; optional.
	Trace func(ctx context.Context, part string) (context.Context, func(error))
}

// Outcome says what a round found and did.
type Outcome struct {
	// Inputs are the commits that the environment was read at; zero when it could not be.
	Inputs Inputs
	// GitOps is the branch that the files go to, and Head its commit that they were compared with.
	GitOps Location
	Head   string
	// Loaded is what was read, and Bundle what was made of it; nil when the round did not come so far. They are shared: do not
	// change them.
	Loaded *Loaded
	Bundle *bundle.Bundle
	// Plan says what is to change; nil when the round did not come so far.
	Plan *plan.Plan
	// Findings are what the checks found in the files that are to be written.
	Findings []check.Finding
	// Files is how many files are to change: with a plan and none, the branch has all that the inputs ask for.
	Files int
	// PullRequest is open, or was merged in this round; nil if there is none.
	PullRequest *forge.PullRequest
	// Refused is the pull request that a user closed. It stays closed until the draft differs. Nil if there is none.
	Refused *forge.PullRequest
	// Did lists what was done, in order.
	Did []string
	// Read are the places that were read, with the head branch. When one of them moves, another round may be needed.
	Read []Location
	// Waits says why the pull request is not merged automatically.
	Waits string
}

// Round updates the pull request of an environment.
func (p *Proposer) Round(ctx context.Context, request Request) (*Outcome, error) {
	r := &round{Proposer: p, outcome: &Outcome{}}
	for _, step := range []struct {
		part string
		do   func(context.Context, Request) error
	}{
		{"read", r.read}, {"build", r.build}, {"plan", r.plan}, {"check", r.check}, {"find the pull request", r.find}, {"propose", r.propose}, {"report", r.report},
	} {
		if err := r.traced(ctx, step.part, func(ctx context.Context) error { return step.do(ctx, request) }); err != nil {
			return r.outcome, err
		}
	}
	return r.outcome, nil
}

// traced does a part of a round.
func (r *round) traced(ctx context.Context, part string, do func(context.Context) error) error {
	if r.Trace == nil {
		return do(ctx)
	}
	ctx, end := r.Trace(ctx, part)
	err := do(ctx)
	end(err)
	return err
}

// round is one round in progress.
type round struct {
	*Proposer
	outcome *Outcome

	loaded *Loaded
	gitops *GitOps
	bundle *bundle.Bundle
	pull   *pullrequest.PullRequest
}

// read loads the control plane and what is published.
func (r *round) read(ctx context.Context, request Request) error {
	var err error
	if r.loaded, err = r.Loader.Load(ctx, request); err != nil {
		return err
	}
	if r.gitops, err = r.Loader.GitOps(ctx, r.loaded, ""); err != nil {
		return err
	}
	at := r.gitops.Location
	r.outcome.Loaded, r.outcome.Inputs, r.outcome.GitOps = r.loaded, r.loaded.Inputs, at
	r.outcome.Read = append(r.loaded.Read, at, Location{Repo: at.Repo, Branch: pullrequest.HeadBranch(request.Environment)})
	r.outcome.Head = r.gitops.Commit
	return nil
}

// build schedules and renders.
func (r *round) build(_ context.Context, request Request) error {
	r.bundle = bundle.Build(r.loaded.Snapshot, r.gitops.Published, r.Memory.get(request))
	r.Memory.put(request, r.bundle)
	r.outcome.Bundle = r.bundle
	return nil
}

// plan compares what is wanted with what is published.
func (r *round) plan(context.Context, Request) (err error) {
	r.outcome.Files = len(r.bundle.Changes())
	r.outcome.Plan, err = r.gitops.Plan(r.loaded, r.bundle)
	return err
}

// find finds the pull request of the environment.
func (r *round) find(ctx context.Context, request Request) error {
	at := r.gitops.Location
	r.pull = &pullrequest.PullRequest{
		Committer: r.Committer, URL: at.Repo, Base: at.Branch, Commit: r.gitops.Commit, Time: r.gitops.Time,
		Head: pullrequest.HeadBranch(request.Environment), Name: request.Environment, Trace: r.Trace,
		Fork: func(ctx context.Context, ref, commit string) (string, error) {
			return r.Loader.Repositories.Fork(ctx, at, ref, commit)
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
func (r *round) propose(ctx context.Context, _ Request) error {
	err := r.pull.Publish(ctx, r.proposed())
	if r.pull.Commit != r.gitops.Commit { // the branch was created
		r.gitops.Exists, r.gitops.Commit, r.outcome.Head = true, r.pull.Commit, r.pull.Commit
		r.outcome.Plan.Before = r.gitops.String()
	}
	r.outcome.PullRequest, r.outcome.Refused = r.pull.Open, r.pull.Refused
	r.outcome.Waits, r.outcome.Did = r.pull.Waits, r.pull.Did
	return err
}

func short(commit string) string { return commit[:min(7, len(commit))] }
