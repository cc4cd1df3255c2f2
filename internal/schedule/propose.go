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

// Proposer keeps the one living change of each environment what it should be.
//
// It is level-triggered: every round reads where things stand and does what is missing, so it may be killed after any step
// and run again, and two of them at once end in the same state. The steps of a round, in order:
//
//	read ─► plan ─► commit ─► push to kalypso/<environment> ─► status ─► open or edit ─► labels ─► merge
//
// A status precedes the text that speaks of it, and the text carries a marker of what was done,
// so that a round in which nothing changed needs two questions to the forge: for the change, and for the issues.
type Proposer struct {
	// Loader reads the control plane and the GitOps branch. // required
	Loader *Loader
	// Committer writes to the GitOps repository. // required
	Committer Committer
	// Forges host the GitOps repositories. // required
	Forges Forges

	// Memory holds the results of earlier rounds, so that only what changed is rendered again; nil for none.
	Memory *Memory

	// Trace is told when a part of a round begins, and returns how to say that it ended, and with what error; nil for nobody.
	Trace func(ctx context.Context, part string) (context.Context, func(error))

	// Step is told the name of each step after it is done; for tests that end a round there. May be nil.
	Step func(name string) error
}

// Forges know which forge hosts a repository.
type Forges interface {
	// Forge returns the forge of a URL; a forge.ErrInvalid when none that is configured hosts it.
	Forge(url string) (forge.Forge, error)
}

// What writes to repositories is the same for every change.
type (
	// Committer writes commits to repositories.
	Committer = pullrequest.Committer
	// Commit is a commit to be made.
	Commit = pullrequest.Commit
)

// ErrMoved says that a branch is not where it was when it was read; the next round reads it again.
var ErrMoved = pullrequest.ErrMoved

// Labels that mean something to Kalypso.
const (
	// LabelPromoted marks a change that carries a new promoted commit.
	LabelPromoted = "promoted"
	// LabelAllowDeletions is how a person agrees to more removals than the deletion budget.
	LabelAllowDeletions = "kalypso/allow-deletions"
	// StatusDeletions is the context of the status that waits for it.
	StatusDeletions = "kalypso/deletions"
)

// HeadBranch returns the branch that changes of an environment are proposed from.
func HeadBranch(environment string) string { return "kalypso/" + environment }

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
	// Change is the living change as it is after the round; nil when there is none.
	Change *forge.PullRequest
	// Refused is the change that a person closed, and that is not opened again until it would propose something else; nil when there is none.
	Refused *forge.PullRequest
	// Did lists what was done, in order; empty for a round in which nothing had to be.
	Did []string
	// Read are the places that were read, with the branch the change comes from: when one of them moves, a round may have to do.
	Read []Location
	// Waits says why the change is not merged automatically though it may be; empty otherwise.
	Waits string
}

// Round makes the change of an environment what it should be.
func (p *Proposer) Round(ctx context.Context, request Request) (*Outcome, error) {
	r := &round{Proposer: p, outcome: &Outcome{}}
	for _, step := range []struct {
		part string
		do   func(context.Context, Request) error
	}{
		{"read", r.read}, {"build", r.build}, {"plan", r.plan}, {"check", r.check}, {"find the change", r.find}, {"propose", r.propose}, {"report", r.report},
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
	host   forge.Forge
	repo   forge.Repository
	// living is the one change of the environment.
	living *pullrequest.Living
}

// done notes a step.
func (r *round) done(step, what string) error {
	r.outcome.Did = append(r.outcome.Did, what)
	if r.Step != nil {
		return r.Step(step)
	}
	return nil
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
	r.outcome.Read = append(r.loaded.Read, at, Location{Repo: at.Repo, Branch: HeadBranch(request.Environment)})
	if err := r.locate(r.gitops.Location.Repo); err != nil {
		return fmt.Errorf("find the GitOps repository: %w", err)
	}
	err = r.startBranch(ctx)
	r.outcome.Head = r.gitops.Commit
	return err
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

// locate finds the forge that hosts the GitOps repository.
func (r *round) locate(url string) (err error) {
	if r.host, err = r.Forges.Forge(url); err != nil {
		return err
	}
	r.repo, err = r.host.Repository(url)
	return err
}

// startBranch makes the GitOps branch when there is none: a change needs a base.
func (r *round) startBranch(ctx context.Context) error {
	if r.gitops.Exists {
		return nil
	}
	at := r.gitops.Location
	id, err := r.Committer.Commit(ctx, Commit{
		Repo: at.Repo, Branch: at.Branch,
		Put:     map[string][]byte{"README.md": []byte(branchReadme(r.loaded.Snapshot.Environment))},
		Message: fmt.Sprintf("Start the branch of environment %s", r.loaded.Snapshot.Environment),
		When:    r.loaded.Inputs.Time(),
	})
	if err != nil {
		return fmt.Errorf("start branch %q: %w", at.Branch, err)
	}
	if err := r.Committer.Push(ctx, at.Repo, at.Branch, "", id); err != nil {
		return fmt.Errorf("start branch %q: %w", at.Branch, err)
	}
	r.gitops.Exists, r.gitops.Commit = true, id
	return r.done("branch started", "started branch "+at.Branch)
}

func branchReadme(environment string) string {
	return "# " + environment + "\n\nWhat runs in this environment: a folder per cluster type, and in it one per deployment target.\n" +
		"The files are proposed by Kalypso, and merged here. Clusters follow this branch.\n"
}

// find asks the forge for the change of the environment.
func (r *round) find(ctx context.Context, request Request) error {
	at := r.gitops.Location
	r.living = &pullrequest.Living{
		Repository: r.repo, Limits: r.host.Limits(), Committer: r.Committer, URL: at.Repo,
		Base: at.Branch, Commit: r.gitops.Commit, Time: r.gitops.Time,
		Head: HeadBranch(request.Environment), Name: request.Environment, Done: r.done, Trace: r.Trace,
		Fork: func(ctx context.Context, ref, commit string) (string, error) {
			return r.Loader.Repositories.Fork(ctx, at, ref, commit)
		},
	}
	err := r.living.Find(ctx)
	r.outcome.Change = r.living.Open
	return err
}

// propose brings the change to where it should be.
func (r *round) propose(ctx context.Context, _ Request) error {
	err := r.proposed(ctx)
	r.outcome.Change, r.outcome.Refused, r.outcome.Waits = r.living.Open, r.living.Refused, r.living.Waits
	return err
}

func (r *round) proposed(ctx context.Context) error {
	changes := r.bundle.Changes()
	if len(changes) == 0 {
		return r.living.Withdraw(ctx, "The GitOps branch holds all of this already: nothing is left to change.")
	}
	put, remove := Edits(changes)
	deletions, checks := r.deletionStatus(), r.checkStatus()
	w := wanted{plan: r.outcome.Plan, inputs: r.loaded.Inputs, base: r.gitops.Location.Branch, agreed: deletions.State == forge.Success, findings: r.outcome.Findings}
	return r.living.Propose(ctx, pullrequest.Proposal{
		Put: put, Delete: remove, Message: CommitMessage(r.loaded, r.outcome.Plan), When: r.loaded.Inputs.Time(),
		Title: r.outcome.Plan.Title(), Body: w.body, Digest: digest(r.bundle), Inputs: r.loaded.Inputs.commits(),
		Statuses: []forge.Status{deletions, checks}, Labels: r.labels(deletions),
		AutoMerge: r.loaded.Snapshot.GitOps.AutoMerge, Demands: []string{StatusDeletions, StatusChecks}, Findings: r.outcome.Findings,
	})
}

func short(commit string) string { return commit[:min(7, len(commit))] }

// labels are those that a change wears, and the one by which people agree to its removals.
func (r *round) labels(deletions forge.Status) []pullrequest.Label {
	labels := []pullrequest.Label{{
		Label: forge.Label{Name: LabelPromoted, Color: "1d76db", Description: "carries a new promoted commit of main"},
		Worn:  r.outcome.Plan.Promotion != nil,
	}}
	if deletions.State == forge.Failure {
		labels = append(labels, pullrequest.Label{
			Label:  forge.Label{Name: LabelAllowDeletions, Color: "b60205", Description: "agrees to more removals than the deletion budget"},
			Theirs: true,
		})
	}
	return labels
}
