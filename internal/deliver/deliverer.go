package deliver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kalypso-io/kalypso/internal/deliver/tree"
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
	inputPins            = "pins"
	approvalPullRequests = "pullRequest"
	// pinsChanged means that the pull request changes which targets are pinned: the inventory of its commit says to what.
	pinsChanged = "changed"
)

// Deliverer keeps the pull request of each environment of any application up to date. Like [schedule.Proposer], it is
// level-triggered.
type Deliverer struct {
	Drafter // required
	// Committer writes to GitOps repositories. // required
	Committer pullrequest.Committer
	// Forges host them. // required
	Forges pullrequest.Forges
}

// RoundRequest selects the environment of a round, and what to deliver to it.
type RoundRequest struct {
	Request     Request
	Environment string // required
	// Build is what to deliver. Without a commit, it is what the environment has.
	Build Build
	// ByHand prevents an automatic merge, even if the environment is configured for it.
	ByHand bool
	// Pins change which targets are pinned, by target; the zero pin lets one follow the environment again. The other targets stay as they
	// are, and so does the build. It is an [OtherChangesError] if the environment's pull request proposes something else.
	Pins map[string]tree.Pin
	// Asked says who asks for Pins, and when.
	Asked tree.Request
}

// Outcome is the result of a round.
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
	// Withdrawn is the pull request in which nothing is left, so that it was closed; in a preview, it would be. Nil if there is none.
	Withdrawn *forge.PullRequest
	// Replaced are the requests for targets that the pull request had, and that other ones of this round replaced, by target.
	Replaced map[string]PinnedTarget
	// Refused is the pull request that a user closed. It stays closed until the draft differs. Nil if there is none.
	Refused *forge.PullRequest
	// Closed is the build of the newest pull request if a user closed it.
	Closed Build
	// OffBranch is set if the environment's commit is no longer on the branch because of a forced push. The files stay
	// unchanged until another commit is delivered.
	OffBranch error
	// Rendered is the commit of the branch if it has there what its commits render. It is empty if it has something
	// else, which is a problem of the plan, or if that is not known.
	Rendered string
	// Merges is whether the pull request is merged automatically when its checks succeed.
	Merges bool
	// Did lists what was done, in request.
	Did []string
	// Waits explains why the pull request is not merged automatically.
	Waits string
	// Next is when another round is needed without an event; zero for never.
	Next time.Time
	// Read are the locations that were read, and the head branch. If one of them moves, another round may be needed.
	Read []schedule.Location
}

type round struct {
	*Deliverer
	request RoundRequest
	outcome *Outcome
	pull    *pullrequest.PullRequest
	byHand  bool
	// pins are the wanted pins, with who asked for them; nil if they are as published.
	pins     map[string]tree.Pin
	requests map[string]tree.Request
}

// Round updates the pull request of an environment. With an error, the outcome says how far it came.
func (d *Deliverer) Round(ctx context.Context, request RoundRequest) (*Outcome, error) {
	r, err := d.find(ctx, request)
	if err != nil || r.outcome.Build.Commit == "" { // nothing was ever delivered here
		return r.outcome, err
	}
	if err := r.draft(ctx); err != nil || r.outcome.OffBranch != nil {
		return r.outcome, err
	}
	if err := r.audit(ctx); err != nil {
		return r.outcome, err
	}
	return r.outcome, r.publish(ctx)
}

// preview returns what a round would find, and changes nothing. Without a forge that hosts the GitOps repository,
// the outcome has no pull request.
func (d *Deliverer) preview(ctx context.Context, request RoundRequest) (*Outcome, error) {
	r, err := d.find(ctx, request)
	if err != nil && !errors.Is(err, errNoForge) {
		return r.outcome, err
	}
	r.outcome.Merges = r.merges()
	if r.outcome.Build.Commit == "" {
		return r.outcome, nil
	}
	err = r.draft(ctx)
	if d := r.outcome.Draft; err == nil && d != nil && len(d.changes) == 0 {
		r.outcome.Withdrawn = r.outcome.PullRequest
	}
	return r.outcome, err
}

// Plan returns what [Deliverer.Round] would propose, and changes nothing. It reads the open pull request, if a forge hosts the GitOps repository.
func (d *Deliverer) Plan(ctx context.Context, request RoundRequest) (*Outcome, error) {
	return d.preview(ctx, request)
}

// errNoForge is the error for a GitOps repository that no configured forge hosts.
var errNoForge = errors.New("find the GitOps repository")

// find reads the head of the source, what is published and the pull request. It returns a round also with an error.
func (d *Deliverer) find(ctx context.Context, request RoundRequest) (*round, error) {
	r := &round{Deliverer: d, request: request, outcome: &Outcome{}}
	if err := r.read(ctx); err != nil {
		return r, err
	}
	g, environment := r.outcome.GitOps, request.Environment
	r.outcome.Build = g.Build
	r.pull = &pullrequest.PullRequest{
		Committer: r.Committer, URL: g.Location.Repo, Base: g.Location.Branch, Commit: g.Commit, Time: g.Time,
		Head: r.outcome.App.HeadBranch(environment), Name: environment,
		Fork: func(ctx context.Context, ref, commit string) (string, error) {
			return r.Loader.Repositories.Fork(ctx, schedule.Location{Repo: g.Location.Repo, Branch: g.Location.Branch}, ref, commit)
		},
	}
	if err := r.pull.Locate(r.Forges); err != nil {
		if failed := r.identifyPins(ctx); failed != nil {
			return r, failed
		}
		return r, fmt.Errorf("%w: %w", errNoForge, err)
	}
	if err := r.pull.Find(ctx); err != nil {
		return r, err
	}
	r.identifyBuild()
	return r, r.identifyPins(ctx)
}

// read reads the head of the source, and what is published.
func (r *round) read(ctx context.Context) error {
	a, err := r.Loader.Application(ctx, r.request.Request, "")
	if err != nil {
		return err
	}
	r.outcome.App = a
	if err := a.checkEnvironment(r.request.Environment); err != nil {
		return err
	}
	r.outcome.Read = append(r.outcome.Read, schedule.Location{Repo: a.Request.Source, Branch: a.Request.Branch})
	g, err := r.Loader.GitOps(ctx, a, r.request.Environment)
	if err != nil {
		return err
	}
	r.outcome.GitOps = g
	r.outcome.Read = append(r.outcome.Read, g.Location, schedule.Location{Repo: g.Location.Repo, Branch: a.HeadBranch(r.request.Environment)})
	return nil
}

// identifyBuild finds out which build the environment has, and who merges it.
func (r *round) identifyBuild() {
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
	if r.request.Build.Commit != "" {
		r.outcome.Build, r.byHand = r.request.Build, r.request.ByHand
	}
}

func (r *round) merges() bool {
	return r.outcome.App.environment(r.request.Environment).AutoMerge && !r.byHand
}

// buildOf returns the build that a pull request proposes. The text is not trusted: users may have edited it.
func buildOf(m pullrequest.Mark) Build {
	b := Build{Commit: commitOf(m.Inputs["source"]), Version: m.Inputs[inputVersion], Image: m.Inputs[inputImage]}
	if b.Check() != nil {
		return Build{}
	}
	return b
}

// draft renders the build with the current configuration.
func (r *round) draft(ctx context.Context) error {
	request := DraftRequest{Request: r.request.Request, Environment: r.request.Environment, Build: r.outcome.Build}
	request.Pins, request.Requests = r.pins, r.requests
	request.KeepDrift = r.pull.Open != nil && r.pull.Open.HasLabel(LabelKeepDrift)
	a, err := r.Loader.Application(ctx, request.Request, request.Build.Commit)
	if errors.Is(err, ErrNotOnBranch) && r.request.Build.Commit == "" {
		r.outcome.OffBranch = err
		return nil
	}
	if err != nil {
		return err
	}
	// The head of the source defines environments and the GitOps repository; the commit defines what is rendered.
	a.Delivery.Spec.Environments = r.outcome.App.Delivery.Spec.Environments
	a.Delivery.Spec.GitOps, a.Alone = r.outcome.App.Delivery.Spec.GitOps, r.outcome.App.Alone
	draft, err := r.Drafter.draft(ctx, a, request, r.outcome.GitOps)
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
	draft.Again = len(r.request.Pins) > 0
	draft.Page = func(limit int, approved bool) string {
		return d.Markdown(MarkdownOptions{
			Link:     func(repo, commit string) string { return commitURL(r.Forges, repo, commit) },
			Approved: approved, Limit: limit,
		})
	}
	before := r.pull.Open
	err := r.pull.Publish(ctx, draft)
	if r.pull.Open == nil {
		r.outcome.Withdrawn = before
	}
	g.Exists, g.Commit = r.pull.Commit != "", r.pull.Commit
	r.outcome.PullRequest, r.outcome.Refused = r.pull.Open, r.pull.Refused
	r.outcome.Waits, r.outcome.Next, r.outcome.Did = cmp.Or(r.pull.Waits, r.outcome.Waits), r.pull.Next, r.pull.Did
	return err
}

// proposed returns the draft for its pull request.
func (d *Draft) proposed() pullrequest.Draft {
	put, remove := schedule.Edits(d.changes)
	p := pullrequest.Draft{
		Folders: "a folder per deployment target", Put: put, Delete: remove, Message: d.message(), When: d.work.when(),
		Title: d.Plan.Title(), Source: "Rendered by Kalypso from", From: d.work.inputsText(), Digest: d.digest(),
		Removals: d.Plan.removals, Allowed: d.Plan.Budget, Findings: d.Findings, Broken: d.Plan.broken(),
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
	if r.pins != nil {
		inputs[inputPins] = pinsChanged
	}
	return inputs
}
