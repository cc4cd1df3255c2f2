package deliver

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// Labels and statuses of changes: those of the platform's, and one by which people keep what they changed by hand.
const (
	LabelPromoted        = schedule.LabelPromoted
	LabelAllowDeletions  = schedule.LabelAllowDeletions
	LabelKeepDrift       = "kalypso/keep-drift"
	StatusChecks         = schedule.StatusChecks
	StatusDeletions      = schedule.StatusDeletions
	inputVersion         = "version"
	inputImage           = "image"
	inputApproval        = "approval"
	approvalPullRequests = "pullRequest"
)

// Deliverer keeps the one living change of an environment what it should be, for any application.
//
// It is level-triggered: every round reads where things stand and does what is missing, so it may be killed after any step and run
// again, and two of them at once end in the same state.
type Deliverer struct {
	Drafter // required
	// Committer writes to GitOps repositories. // required
	Committer pullrequest.Committer
	// Forges host them. // required
	Forges schedule.Forges
	// Step is told the name of each step after it is done; for tests that end a round there. May be nil.
	Step func(name string) error
}

// Order asks for a round.
type Order struct {
	Request     Request
	Environment string // required
	// Build is what the environment should have from now on; without a commit, what it has.
	Build Build
	// ByHand is that a person has to merge it, whatever the environment says.
	ByHand bool
}

// Outcome says what a round found and did.
type Outcome struct {
	// App is what the head of the source says, and Draft what was made of the commit that the environment has; nil when the
	// round did not come so far, or the environment has none.
	App   *Application
	Draft *Draft
	// GitOps is the branch, at the commit that was read.
	GitOps *GitOps
	// Build is the one that the environment has: that of its open change, of the one that a person closed, or the published one.
	Build Build
	// Change is the living change as it is after the round; nil when there is none. Refused is the one that a person
	// closed, and that is not opened again until it would propose something else.
	Change, Refused *forge.PullRequest
	// Closed is the build of the newest change, where a person closed it and nothing was merged since.
	Closed Build
	// Stray says that the commit that the environment has is not on the branch any more, which was pushed over. Then the files stay
	// as they are, until another commit comes.
	Stray error
	// Merges is that the change is merged without a person when its checks pass.
	Merges bool
	// Did lists what was done, in order; empty for a round in which nothing had to be.
	Did []string
	// Waits says why the change is not merged automatically though it may be.
	Waits string
	// Read are the places that were read, with the branch the change comes from: when one of them moves, a round may have to do.
	Read []schedule.Location
}

// round is one round in progress.
type round struct {
	*Deliverer
	order   Order
	outcome *Outcome
	host    forge.Forge
	repo    forge.Repository
	living  *pullrequest.Living
	// byHand is that a person has to merge.
	byHand bool
}

// Round makes the change of an environment what it should be.
// The outcome says how far it came, also with an error.
func (d *Deliverer) Round(ctx context.Context, order Order) (*Outcome, error) {
	r := &round{Deliverer: d, order: order, outcome: &Outcome{}}
	for _, step := range []func(context.Context) error{r.read, r.locate, r.find, r.draft, r.propose} {
		if err := step(ctx); err != nil {
			return r.outcome, err
		}
		if r.living != nil && r.outcome.Build.Commit == "" || r.outcome.Stray != nil {
			return r.outcome, nil // nothing was ever delivered here, or it is not known any more
		}
	}
	return r.outcome, nil
}

// Look finds out what a round would find, and does nothing. Without a forge that hosts the GitOps repository,
// it says nothing about changes.
func (d *Deliverer) Look(ctx context.Context, order Order) (*Outcome, error) {
	r := &round{Deliverer: d, order: order, outcome: &Outcome{}, living: &pullrequest.Living{}}
	if err := r.read(ctx); err != nil {
		return r.outcome, err
	}
	r.outcome.Build = r.outcome.GitOps.Build
	switch err := r.locate(ctx); {
	case err == nil:
		if err := r.find(ctx); err != nil {
			return r.outcome, err
		}
	case ctx.Err() != nil:
		return r.outcome, ctx.Err()
	}
	r.outcome.Merges = r.outcome.App.environment(order.Environment).AutoMerge && !r.byHand
	if r.outcome.Build.Commit == "" {
		return r.outcome, nil
	}
	return r.outcome, r.draft(ctx)
}

// done notes a step.
func (r *round) done(step, what string) error {
	r.outcome.Did = append(r.outcome.Did, what)
	if r.Step != nil {
		return r.Step(step)
	}
	return nil
}

// read reads what the head of the source says, and what is published.
func (r *round) read(ctx context.Context) error {
	a, err := r.Loader.Application(ctx, r.order.Request, "")
	if err != nil {
		return err
	}
	r.outcome.App = a
	if err := a.knows(r.order.Environment); err != nil {
		return err
	}
	r.outcome.Read = append(r.outcome.Read, schedule.Location{Repo: a.Request.Source, Branch: a.Request.Branch})
	g, err := r.Loader.GitOps(ctx, a, r.order.Environment)
	if err != nil {
		return err
	}
	r.outcome.GitOps = g
	r.outcome.Read = append(r.outcome.Read, g.Location, schedule.Location{Repo: g.Location.Repo, Branch: a.HeadBranch(r.order.Environment)})
	return nil
}

// locate finds the forge that hosts the GitOps repository.
func (r *round) locate(context.Context) (err error) {
	url := r.outcome.GitOps.Location.Repo
	if r.host, err = r.Forges.Forge(url); err != nil {
		return fmt.Errorf("find the GitOps repository: %w", err)
	}
	r.repo, err = r.host.Repository(url)
	return err
}

// find asks the forge for the change, and finds out which build the environment has.
func (r *round) find(ctx context.Context) error {
	g, environment := r.outcome.GitOps, r.order.Environment
	r.living = &pullrequest.Living{
		Repository: r.repo, Limits: r.host.Limits(), Committer: r.Committer, URL: g.Location.Repo,
		Base: g.Location.Branch, Commit: g.Commit, Time: g.Time,
		Head: r.outcome.App.HeadBranch(environment), Name: environment, Done: r.done,
		Fork: func(ctx context.Context, ref, commit string) (string, error) {
			return r.Loader.Repositories.Fork(ctx, schedule.Location{Repo: g.Location.Repo, Branch: g.Location.Branch}, ref, commit)
		},
	}
	if err := r.living.Find(ctx); err != nil {
		return err
	}
	r.outcome.Change, r.outcome.Build = r.living.Open, g.Build
	if r.living.Open != nil {
		mark := pullrequest.MarkOf(r.living.Open.Body)
		if b := buildOf(mark); b.Commit != "" {
			r.outcome.Build, r.byHand = b, mark.Inputs[inputApproval] != ""
		}
	}
	if closed := r.living.Closed(); closed != nil {
		if mark := pullrequest.MarkOf(closed.Body); mark.Digest != "" {
			r.outcome.Closed = buildOf(mark)
		}
	}
	if r.order.Build.Commit != "" {
		r.byHand = r.order.ByHand
		r.outcome.Build = r.order.Build
	}
	return nil
}

// buildOf is the build that a change proposes. Its text may be anybody's.
func buildOf(m pullrequest.Mark) Build {
	b := Build{Commit: commitOf(m.Inputs["source"]), Version: m.Inputs[inputVersion], Image: m.Inputs[inputImage]}
	if b.check() != nil {
		return Build{}
	}
	return b
}

// draft renders the build with the configuration as it is now.
func (r *round) draft(ctx context.Context) error {
	wish := Wish{Request: r.order.Request, Environment: r.order.Environment, Build: r.outcome.Build}
	if r.living.Open != nil {
		wish.KeepDrift = r.living.Open.HasLabel(LabelKeepDrift)
	}
	a, err := r.Loader.Application(ctx, wish.Request, wish.Build.Commit)
	if errors.Is(err, ErrNotOnBranch) && r.order.Build.Commit == "" {
		r.outcome.Stray = err
		return nil
	}
	if err != nil {
		return err
	}
	// Where an environment gets its files, and how it is merged, is a rule of the head; what is rendered is of the commit.
	a.Delivery.Spec.Environments = r.outcome.App.Delivery.Spec.Environments
	a.Delivery.Spec.GitOps, a.Alone = r.outcome.App.Delivery.Spec.GitOps, r.outcome.App.Alone
	draft, err := r.Drafter.draft(ctx, a, wish, r.outcome.GitOps)
	if draft != nil {
		r.outcome.Read = append(r.outcome.Read, draft.Read...)
	}
	if err != nil {
		return err
	}
	r.outcome.Draft = draft
	return nil
}

// startBranch makes the GitOps branch when there is none: a change needs a base.
func (r *round) startBranch(ctx context.Context) error {
	g := r.outcome.GitOps
	if g.Exists {
		return nil
	}
	id, err := r.Committer.Commit(ctx, pullrequest.Commit{
		Repo: g.Location.Repo, Branch: g.Location.Branch,
		Put: map[string][]byte{"README.md": []byte("# " + r.order.Environment + "\n\nWhat runs in this environment: a folder per deployment target.\n" +
			"The files are proposed by Kalypso, and merged here. Clusters follow this branch.\n")},
		Message: fmt.Sprintf("Start the branch of environment %s", r.order.Environment), When: r.outcome.Draft.work.when(),
	})
	if err != nil {
		return fmt.Errorf("start branch %q: %w", g.Location.Branch, err)
	}
	if err := r.Committer.Push(ctx, g.Location.Repo, g.Location.Branch, "", id); err != nil {
		return fmt.Errorf("start branch %q: %w", g.Location.Branch, err)
	}
	g.Exists, g.Commit = true, id
	r.living.Commit = id
	return r.done("branch started", "started branch "+g.Location.Branch)
}

// propose brings the change to where it should be.
func (r *round) propose(ctx context.Context) error {
	err := r.proposed(ctx)
	r.outcome.Change, r.outcome.Refused, r.outcome.Waits = r.living.Open, r.living.Refused, r.living.Waits
	return err
}

func (r *round) proposed(ctx context.Context) error {
	d := r.outcome.Draft
	if len(d.changes) == 0 {
		return r.living.Withdraw(ctx, "The GitOps branch holds all of this already: nothing is left to change.")
	}
	if err := r.startBranch(ctx); err != nil {
		return err
	}
	r.outcome.Merges = r.outcome.App.environment(r.order.Environment).AutoMerge && !r.byHand
	demands := []string{StatusDeletions, StatusChecks}
	put, remove := schedule.Edits(d.changes)
	deletions, checks := r.deletionStatus(), checkStatus(d)
	scans := r.scanStatuses()
	for _, s := range scans {
		demands = append(demands, s.Context)
	}
	agreed := deletions.State == forge.Success
	return r.living.Propose(ctx, pullrequest.Proposal{
		Put: put, Delete: remove, Message: d.message(), When: d.work.when(), Title: d.Plan.Title(),
		Body: func(room int) string {
			return d.Markdown(MarkdownOptions{Link: r.link, Agreed: agreed, Limit: room})
		},
		Digest: d.digest(), Inputs: r.inputs(), Statuses: append([]forge.Status{deletions, checks}, scans...), Labels: r.labels(deletions),
		AutoMerge: r.outcome.Merges, Demands: demands, Findings: d.Findings,
	})
}

// inputs are what the mark says that a change was made from.
func (r *round) inputs() map[string]string {
	inputs := map[string]string{}
	for _, i := range r.outcome.Draft.Inputs() {
		inputs[i.Name] = i.Commit
	}
	for name, value := range map[string]string{inputVersion: r.outcome.Build.Version, inputImage: r.outcome.Build.Image} {
		if value != "" {
			inputs[name] = value
		}
	}
	if r.byHand {
		inputs[inputApproval] = approvalPullRequests
	}
	return inputs
}

// link is the page of a commit, where a forge hosts the repository.
func (r *round) link(repo, commit string) string { return commitURL(r.Forges, repo, commit) }

// labels are those that a change wears, and those by which people agree.
func (r *round) labels(deletions forge.Status) []pullrequest.Label {
	p := r.outcome.Draft.Plan
	labels := []pullrequest.Label{{
		Label: forge.Label{Name: LabelPromoted, Color: "1d76db", Description: "carries a new commit of the source"}, Worn: p.Promotes(),
	}}
	if deletions.State == forge.Failure {
		labels = append(labels, pullrequest.Label{
			Label: forge.Label{Name: LabelAllowDeletions, Color: "b60205", Description: "agrees to more removals than the deletion budget"}, Theirs: true,
		})
	}
	if len(p.Drift) > 0 {
		labels = append(labels, pullrequest.Label{
			Label: forge.Label{Name: LabelKeepDrift, Color: "fbca04", Description: "keeps what was changed by hand"}, Theirs: true,
		})
	}
	return labels
}

// deletionStatus says whether the removals are within the budget, or agreed to by a label.
func (r *round) deletionStatus() forge.Status {
	p := r.outcome.Draft.Plan
	s := forge.Status{Context: StatusDeletions, State: forge.Success}
	switch {
	case len(p.Refusals) == 0:
		s.Description = fmt.Sprintf("%d removals, within the budget of %d", p.Counts.Removed, p.Budget)
	case r.living.Open != nil && r.living.Open.HasLabel(LabelAllowDeletions):
		s.Description = fmt.Sprintf("%d removals, agreed to by the label %s", p.Counts.Removed, LabelAllowDeletions)
	default:
		s.State = forge.Failure
		s.Description = fmt.Sprintf("%s; the label %s agrees", p.Refusals[0], LabelAllowDeletions)
	}
	return s
}

// checkStatus says whether anything refuses the change: a finding, or a target that cannot be rendered.
func checkStatus(d *Draft) forge.Status {
	s := forge.Status{Context: StatusChecks, State: forge.Success, Description: check.Summary(d.Findings)}
	held := slices.IndexFunc(d.Plan.Targets, func(t TargetChange) bool { return t.Op == plan.Held && t.Reason.Kind != KindDrift })
	switch {
	case check.Worst(d.Findings) == check.Refuse:
		s.State = forge.Failure
	case held >= 0 && d.Plan.Promotes():
		s.State = forge.Failure
		s.Description = fmt.Sprintf("target %s cannot be rendered: %s", d.Plan.Targets[held].Name, d.Plan.Targets[held].Reason.Message)
	}
	return s
}
