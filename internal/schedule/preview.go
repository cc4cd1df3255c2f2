package schedule

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// StatusPlan is the context of the status on the changes of a control plane.
const StatusPlan = "kalypso/plan"

// previewMarker is how the comment with the plans is found again.
const previewMarker = "kalypso/plan"

// Previewer says on each open change of a control plane what it would do to the fleet.
type Previewer struct {
	// Drafter makes the drafts. // required
	Drafter *Drafter
	// Forges host the control plane. // required
	Forges pullrequest.Forges
	// Forks previews changes from forks as well. Such a change may name any repository and any template,
	// and whoever can fork can open one: planning it reads what strangers choose, with our credentials.
	Forks bool
}

// Preview is what a change of a control plane would do.
type Preview struct {
	// Drafts has one for each environment that the change touches, in the order of their names.
	Drafts []*Draft
	// Change is the one that a [Trial] asked about; nil where it asked about something else.
	Change *forge.PullRequest
}

// Preview compares the control plane with and without a change, for each environment that it touches,
// and says the result as a comment and as a status of the change's head.
//
// A change to an environment's branch touches that environment. A change to main touches all of them,
// each as it will be when the change is promoted to it.
//
// Nothing is read of a change from a fork unless [Previewer.Forks] allows it: its status says so, and the preview is nil.
func (p *Previewer) Preview(ctx context.Context, controlPlane string, change forge.PullRequest) (*Preview, error) {
	host, err := p.Forges.Forge(controlPlane)
	if err != nil {
		return nil, fmt.Errorf("find the control plane: %w", err)
	}
	repo, err := host.Repository(controlPlane)
	if err != nil {
		return nil, fmt.Errorf("find the control plane: %w", err)
	}
	if change.Head.Fork != "" && !p.Forks {
		return nil, setStatus(ctx, repo, host.Limits(), change.Head.Commit, notPlanned)
	}
	preview, err := p.merged(ctx, controlPlane, mergeOf(change))
	if err != nil {
		return nil, p.unable(ctx, repo, host.Limits(), change, err)
	}
	return preview, p.say(ctx, repo, host.Limits(), change, preview)
}

// notPlanned is the status of changes from forks.
var notPlanned = forge.Status{
	Context: StatusPlan, State: forge.Errored, Description: "changes from forks are not planned; previewForks allows it",
}

// merge is a commit that would be merged into a branch of a control plane.
type merge struct {
	head, base string
	// fetch is where the commit can be fetched from, when it is on no branch.
	fetch string
	// environment is the only one that is asked about; empty for all.
	environment string
}

func mergeOf(c forge.PullRequest) merge {
	return merge{head: c.Head.Commit, base: c.Base.Branch, fetch: c.Fetch}
}

// merged plans every environment that a merge touches.
func (p *Previewer) merged(ctx context.Context, controlPlane string, m merge) (*Preview, error) {
	request := Request{ControlPlane: controlPlane}
	branches, err := p.Drafter.Loader.EnvironmentBranches(ctx, request)
	if err != nil {
		return nil, err
	}
	fork, err := p.Drafter.Loader.Repositories.Fork(ctx, Location{Repo: controlPlane, Branch: m.base}, m.fetch, m.head)
	if err != nil {
		return nil, fmt.Errorf("find where the change begins: %w", err)
	}
	preview := &Preview{}
	if m.environment != "" && !slices.ContainsFunc(branches, func(b EnvironmentBranch) bool { return b.Environment == m.environment }) {
		return nil, fmt.Errorf("%w: the control plane has no environment %q", ErrTrial, m.environment)
	}
	for _, b := range branches {
		if m.environment != "" && b.Environment != m.environment {
			continue
		}
		before, after := request, request
		before.Environment, after.Environment = b.Environment, b.Environment
		switch m.base {
		case b.Branch:
			before.BranchRef, after.BranchRef = fork, m.head
		case DefaultBase:
			before.MainRef, after.MainRef = fork, m.head
		default:
			continue
		}
		draft, err := p.Drafter.Draft(ctx, DraftRequest{Request: after, Base: &before})
		if err != nil {
			return nil, err
		}
		preview.Drafts = append(preview.Drafts, draft)
	}
	return preview, nil
}

// say writes the comment, and then the status that leads to it.
func (p *Previewer) say(ctx context.Context, repo forge.Repository, limits forge.Limits, change forge.PullRequest, preview *Preview) error {
	comment, err := repo.UpsertComment(ctx, change.Number, previewMarker, previewText(preview, limits.Comment))
	if err != nil {
		return fmt.Errorf("comment on change %d: %w", change.Number, err)
	}
	status := preview.status()
	status.URL = comment.URL
	return setStatus(ctx, repo, limits, change.Head.Commit, status)
}

// unable says on the change that it could not be planned, and returns why.
func (p *Previewer) unable(ctx context.Context, repo forge.Repository, limits forge.Limits, change forge.PullRequest, cause error) error {
	if ctx.Err() != nil {
		return cause
	}
	status := forge.Status{Context: StatusPlan, State: forge.Errored, Description: cause.Error()}
	if err := setStatus(ctx, repo, limits, change.Head.Commit, status); err != nil {
		return fmt.Errorf("%w (and %w)", cause, err)
	}
	return cause
}

// setStatus sets a status that is not set already.
func setStatus(ctx context.Context, repo forge.Repository, limits forge.Limits, commit string, s forge.Status) error {
	s.Description = forge.OneLine(s.Description, limits.StatusDescription)
	statuses, err := repo.Statuses(ctx, commit)
	if err != nil {
		return fmt.Errorf("read statuses: %w", err)
	}
	same := func(is forge.Status) bool {
		return is.Context == s.Context && is.State == s.State && is.Description == s.Description
	}
	if slices.ContainsFunc(statuses, same) {
		return nil
	}
	if err := repo.SetStatus(ctx, commit, s); err != nil {
		return fmt.Errorf("set status %q: %w", s.Context, err)
	}
	return nil
}

// status fails if the change brings in errors, or manifests that a check refuses.
func (p *Preview) status() forge.Status {
	s := forge.Status{Context: StatusPlan, State: forge.Success, Description: p.Summary()}
	var findings []check.Finding
	problems := 0
	for _, d := range p.Drafts {
		findings = append(findings, d.Findings...)
		problems += len(d.NewProblems)
	}
	if check.Worst(findings) == check.Refuse {
		s.State, s.Description = forge.Failure, "checks: "+check.Summary(findings)+"; "+s.Description
	}
	if problems > 0 {
		noun := "problems"
		if problems == 1 {
			noun = "problem"
		}
		s.State, s.Description = forge.Failure, fmt.Sprintf("%d new %s; %s", problems, noun, s.Description)
	}
	return s
}

// Summary says in one line what happens in each environment.
func (p *Preview) Summary() string {
	var parts []string
	for _, d := range p.Drafts {
		if c := d.Plan.Counts; c.Added+c.Changed+c.Removed > 0 {
			parts = append(parts, d.Plan.Title())
		}
	}
	if len(parts) == 0 {
		return "changes nothing in the fleet"
	}
	return strings.Join(parts, "; ")
}

// previewText is the comment: a plan for each environment, each with its share of the room.
func previewText(p *Preview, limit int) string {
	if len(p.Drafts) == 0 {
		return "This change touches no environment."
	}
	room := 0
	if limit > 0 {
		room = (limit - 400) / len(p.Drafts)
	}
	var b strings.Builder
	b.WriteString("What this change does to the fleet, when it is merged and promoted:\n\n")
	for _, d := range p.Drafts {
		b.WriteString(d.Markdown(plan.MarkdownOptions{Diffs: true, Limit: room}))
		b.WriteString("\n")
	}
	return b.String()
}
