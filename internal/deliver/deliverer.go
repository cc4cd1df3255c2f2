package deliver

import (
	"context"
	"errors"
	"fmt"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// LabelKeepDrift keeps files that were changed by hand.
const LabelKeepDrift = "kalypso/keep-drift"

// Inputs in a pull request's mark, in addition to commits: the build, and that a user has to merge.
const (
	inputVersion         = "version"
	inputImage           = "image"
	inputApproval        = "approval"
	approvalPullRequests = "pullRequest"
)

// Deliverer keeps the one pull request of each environment of any application up to date.
//
// It is level-triggered: every round reads where things stand and does what is missing, so it may be killed after any step and run
// again, and two of them at once end in the same state.
type Deliverer struct {
	Drafter // required
	// Committer writes to GitOps repositories. // required
	Committer pullrequest.Committer
	// Forges host them. // required
	Forges pullrequest.Forges
}

// Order asks for a round.
type Order struct {
	Request     Request
	Environment string // required
	// Build is what to deliver; without a commit, what the environment has.
	Build Build
	// ByHand prevents an automatic merge, whatever the environment says.
	ByHand bool
}

// Outcome is what a round found and did.
type Outcome struct {
	// App is the application at the head of the source. Draft is rendered from the environment's commit; nil if the
	// environment has no commit, or the round failed before.
	App   *Application
	Draft *Draft
	// GitOps is the branch, at the commit that was read.
	GitOps *GitOps
	// Build is what the environment has: the build of its open pull request, of the one that a user closed, or the published one.
	Build Build
	// PullRequest is open, or was merged in this round; nil if there is none.
	PullRequest *forge.PullRequest
	// Refused is the pull request that a user closed. It stays closed until the draft differs. Nil if there is none.
	Refused *forge.PullRequest
	// Closed is the build of the newest pull request if a user closed it.
	Closed Build
	// Stray is set if the environment's commit is no longer on the branch because of a forced push. The files stay
	// unchanged until another commit is delivered.
	Stray error
	// Merges is whether the pull request is merged automatically when its checks succeed.
	Merges bool
	// Did lists what was done, in order.
	Did []string
	// Waits says why the pull request is not merged automatically.
	Waits string
	// Read are the places that were read, with the head branch. When one of them moves, another round may be needed.
	Read []schedule.Location
}

// round is one round in progress.
type round struct {
	*Deliverer
	order   Order
	outcome *Outcome
	pull    *pullrequest.PullRequest
	byHand  bool
}

// Round updates the pull request of an environment. With an error, the outcome says how far it came.
func (d *Deliverer) Round(ctx context.Context, order Order) (*Outcome, error) {
	r, err := d.find(ctx, order)
	if err != nil || r.outcome.Build.Commit == "" { // nothing was ever delivered here
		return r.outcome, err
	}
	if err := r.draft(ctx); err != nil || r.outcome.Stray != nil {
		return r.outcome, err
	}
	return r.outcome, r.publish(ctx)
}

// Look returns what a round would find, and changes nothing. Without a forge that hosts the GitOps repository,
// the outcome has no pull request.
func (d *Deliverer) Look(ctx context.Context, order Order) (*Outcome, error) {
	r, err := d.find(ctx, order)
	if err != nil && !errors.Is(err, errNoForge) {
		return r.outcome, err
	}
	r.outcome.Merges = r.merges()
	if r.outcome.Build.Commit == "" {
		return r.outcome, nil
	}
	return r.outcome, r.draft(ctx)
}

// errNoForge is the error for a GitOps repository that no configured forge hosts.
var errNoForge = errors.New("find the GitOps repository")

// find reads the head of the source, what is published and the pull request. It returns a round also with an error.
func (d *Deliverer) find(ctx context.Context, order Order) (*round, error) {
	r := &round{Deliverer: d, order: order, outcome: &Outcome{}}
	if err := r.read(ctx); err != nil {
		return r, err
	}
	g, environment := r.outcome.GitOps, order.Environment
	r.outcome.Build = g.Build
	r.pull = &pullrequest.PullRequest{
		Committer: r.Committer, URL: g.Location.Repo, Base: g.Location.Branch, Commit: g.Commit, Time: g.Time,
		Head: r.outcome.App.HeadBranch(environment), Name: environment,
		Fork: func(ctx context.Context, ref, commit string) (string, error) {
			return r.Loader.Repositories.Fork(ctx, schedule.Location{Repo: g.Location.Repo, Branch: g.Location.Branch}, ref, commit)
		},
	}
	if err := r.pull.Locate(r.Forges); err != nil {
		return r, fmt.Errorf("%w: %w", errNoForge, err)
	}
	if err := r.pull.Find(ctx); err != nil {
		return r, err
	}
	r.identify()
	return r, nil
}

// read reads the head of the source, and what is published.
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

// identify finds out which build the environment has, and who merges it.
func (r *round) identify() {
	r.outcome.PullRequest = r.pull.Open
	mark := r.pull.Published()
	if b := buildOf(mark); b.Commit != "" {
		r.outcome.Build, r.byHand = b, mark.Inputs[inputApproval] != ""
	}
	if closed := r.pull.Closed(); closed != nil {
		if mark := pullrequest.MarkOf(closed.Body); mark.Digest != "" {
			r.outcome.Closed = buildOf(mark)
		}
	}
	if r.order.Build.Commit != "" {
		r.outcome.Build, r.byHand = r.order.Build, r.order.ByHand
	}
}

func (r *round) merges() bool {
	return r.outcome.App.environment(r.order.Environment).AutoMerge && !r.byHand
}

// buildOf returns the build that a pull request proposes. The text is not trusted: users may have edited it.
func buildOf(m pullrequest.Mark) Build {
	b := Build{Commit: commitOf(m.Inputs["source"]), Version: m.Inputs[inputVersion], Image: m.Inputs[inputImage]}
	if b.check() != nil {
		return Build{}
	}
	return b
}

// draft renders the build with the current configuration.
func (r *round) draft(ctx context.Context) error {
	wish := Wish{Request: r.order.Request, Environment: r.order.Environment, Build: r.outcome.Build}
	wish.KeepDrift = r.pull.Open != nil && r.pull.Open.HasLabel(LabelKeepDrift)
	a, err := r.Loader.Application(ctx, wish.Request, wish.Build.Commit)
	if errors.Is(err, ErrNotOnBranch) && r.order.Build.Commit == "" {
		r.outcome.Stray = err
		return nil
	}
	if err != nil {
		return err
	}
	// The head says where an environment's files go, and how they are merged; the commit says what is rendered.
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

// publish updates the pull request.
func (r *round) publish(ctx context.Context) error {
	d, g := r.outcome.Draft, r.outcome.GitOps
	r.outcome.Merges = r.merges()
	draft := d.proposed()
	draft.Inputs, draft.Statuses, draft.AutoMerge = r.inputs(), r.scanStatuses(), r.outcome.Merges
	draft.Page = func(limit int, approved bool) string {
		return d.Markdown(MarkdownOptions{
			Link:   func(repo, commit string) string { return commitURL(r.Forges, repo, commit) },
			Agreed: approved, Limit: limit,
		})
	}
	err := r.pull.Publish(ctx, draft)
	g.Exists, g.Commit = r.pull.Commit != "", r.pull.Commit
	r.outcome.PullRequest, r.outcome.Refused = r.pull.Open, r.pull.Refused
	r.outcome.Waits, r.outcome.Did = r.pull.Waits, r.pull.Did
	return err
}

// proposed returns the draft for its pull request.
func (d *Draft) proposed() pullrequest.Draft {
	put, remove := schedule.Edits(d.changes)
	p := pullrequest.Draft{
		Folders: "a folder per deployment target", Put: put, Delete: remove, Message: d.message(), When: d.work.when(),
		Title: d.Plan.Title(), Source: "Rendered by Kalypso from", From: d.work.inputsText(), Digest: d.digest(),
		Removals: d.Plan.Counts.Removed, Allowed: d.Plan.Budget, Findings: d.Findings, Broken: d.Plan.broken(),
		Promotes: d.Plan.Promotes(), Promoted: "carries a new commit of the source",
	}
	if len(d.Plan.Refusals) > 0 {
		p.Refusal = d.Plan.Refusals[0]
	}
	if len(d.Plan.Drift) > 0 {
		p.Labels = append(p.Labels, pullrequest.Label{
			Label: forge.Label{Name: LabelKeepDrift, Color: "fbca04", Description: "keeps what was changed by hand"}, ByUsers: true,
		})
	}
	return p
}

// inputs returns what the pull request is made from, for its mark.
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
