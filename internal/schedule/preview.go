package schedule

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule/config"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
	"github.com/kalypso-io/kalypso/internal/text/markdown"
)

// StatusPlan is the context of the status on a control plane's pull requests.
const StatusPlan = "kalypso/plan"

// previewMarker identifies the comment with the plans.
const previewMarker = "kalypso/plan"

// Previewer comments on a control plane's pull requests with what they would change in the fleet.
type Previewer struct {
	// Drafter makes the drafts. // required
	Drafter *Drafter
	// Forges host the control plane. // required
	Forges pullrequest.Forges
	// People are the users who can open pull requests, for schemas that say who may edit a value. Without it, no user is known.
	People *forge.People
	// Vouched returns who set the values of a pull request that a program opened for a user; false for other pull requests. Optional.
	Vouched func(forge.PullRequest) (editing.Author, bool)
	// Forks also plans pull requests from forks. These can refer to any repository and template, and anyone who can
	// fork can open one. Planning reads what they choose, with the credentials of this program.
	Forks bool
}

// Preview is the result of planning a pull request, branch or commit.
type Preview struct {
	// Drafts has one for each affected environment, sorted by name.
	Drafts []*Draft
	// Change is the pull request of a [PlanRequest]; nil for other requests.
	Change *forge.PullRequest
	// Edits are the values that the author of a pull request may not edit; see package editing.
	Edits []fleet.Problem
}

// Open returns the open pull requests of a control plane; none if no forge hosts it.
func (p *Previewer) Open(ctx context.Context, controlPlane string) ([]forge.PullRequest, error) {
	host, err := p.Forges.Forge(controlPlane)
	if err != nil {
		return nil, nil //nolint:nilerr // a control plane may be a folder, which has no pull requests
	}
	repo, err := host.Repository(controlPlane)
	if err != nil {
		return nil, err
	}
	return repo.FindPullRequests(ctx, forge.PullRequestFilter{State: forge.Open})
}

// Preview compares the control plane with and without a pull request, for each environment that it affects, and posts
// the result as a comment and as a status on its head.
//
// A pull request for an environment's branch affects that environment. One for main affects all of them, each after
// promotion to it.
//
// Pull requests from forks are not read unless [Previewer.Forks] is set: they only get a status, and the preview is nil.
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
		return nil, setHeadStatus(ctx, repo, host.Limits(), change, notPlanned)
	}
	preview, err := p.merged(ctx, controlPlane, mergeOf(change))
	if err != nil {
		return nil, p.unable(ctx, repo, host.Limits(), change, err)
	}
	preview.checkEdits(Author(p.People, p.Vouched, host, change))
	return preview, p.post(ctx, repo, host.Limits(), change, preview)
}

// notPlanned is the status of changes from forks.
var notPlanned = forge.Status{
	Context: StatusPlan, State: forge.Errored, Description: "changes from forks are not planned; previewForks allows it",
}

// merge is a commit that would be merged into a branch of a control plane.
type merge struct {
	head, base string
	// fetch is where the commit can be fetched from if it is not on a branch.
	fetch string
	// environment is the only one to plan; empty for all.
	environment string
}

func mergeOf(c forge.PullRequest) merge {
	return merge{head: c.Head.Commit, base: c.Base.Branch, fetch: c.Fetch}
}

// merged plans every environment that a merge affects.
func (p *Previewer) merged(ctx context.Context, controlPlane string, m merge) (*Preview, error) {
	request := Request{ControlPlane: controlPlane}
	branches, err := p.Drafter.Loader.EnvironmentBranches(ctx, request)
	if err != nil {
		return nil, err
	}
	fork, err := p.Drafter.Loader.Repositories.Fork(ctx, Location{Repo: controlPlane, Branch: m.base}, m.fetch, m.head)
	if err != nil {
		if other := p.cutFrom(ctx, controlPlane, m, branches); other != "" {
			return nil, fmt.Errorf("%w: this branch was cut from %q, not from %q; use --into %s", ErrInvalidPlan, other, m.base, other)
		}
		return nil, fmt.Errorf("find where the change begins: %w", err)
	}
	preview := &Preview{}
	if m.environment != "" && !slices.ContainsFunc(branches, func(b EnvironmentBranch) bool { return b.Environment == m.environment }) {
		return nil, fmt.Errorf("%w: the control plane has no environment %q", ErrInvalidPlan, m.environment)
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

// cutFrom returns the branch of an environment that a change shares history with; empty if there is none.
func (p *Previewer) cutFrom(ctx context.Context, controlPlane string, m merge, branches []EnvironmentBranch) string {
	for _, b := range branches {
		at := Location{Repo: controlPlane, Branch: b.Branch}
		if _, err := p.Drafter.Loader.Repositories.Fork(ctx, at, m.fetch, m.head); err == nil && b.Branch != m.base {
			return b.Branch
		}
	}
	return ""
}

// Author returns who opened a pull request, or for whom: see [Previewer].
func Author(people *forge.People, vouched func(forge.PullRequest) (editing.Author, bool), on forge.Forge, change forge.PullRequest) editing.Author {
	if vouched != nil {
		if author, ok := vouched(change); ok {
			return author
		}
	}
	person, err := people.Author(on, change)
	if err != nil {
		return editing.Author{Login: change.Author}
	}
	return editing.Author{Name: person.User, Groups: person.Groups}
}

// checkEdits finds the values that the author may not edit, each once. A promotion alone edits nothing.
func (p *Preview) checkEdits(author editing.Author) {
	for _, d := range p.Drafts {
		p.Edits = append(p.Edits, d.CheckEdits(author)...)
	}
	p.Edits = fleet.SortProblems(p.Edits)
}

// CheckEdits returns a problem for each value that a draft with a base changes, and that the author of the change may not edit.
func (d *Draft) CheckEdits(author editing.Author) []fleet.Problem {
	if d.Base == nil {
		return nil
	}
	return config.CheckEdits(author, d.Base.Snapshot, d.Loaded.Snapshot, d.edited...)
}

// editedSources returns the sources that two requests read differently.
func editedSources(before, after Request) []string {
	var sources []string
	if before.BranchRef != after.BranchRef || before.Branch != after.Branch {
		sources = append(sources, after.Environment)
	}
	if before.MainRef != after.MainRef || before.Main != after.Main {
		sources = append(sources, DefaultBase)
	}
	return sources
}

// post writes the comment, and then the status that links to it.
func (p *Previewer) post(ctx context.Context, repo forge.Repository, limits forge.Limits, change forge.PullRequest, preview *Preview) error {
	comment, err := repo.UpsertComment(ctx, change.Number, previewMarker, previewText(preview, limits.Comment))
	if err != nil {
		return fmt.Errorf("comment on change %d: %w", change.Number, err)
	}
	status := preview.status()
	status.URL = comment.URL
	return setHeadStatus(ctx, repo, limits, change, status)
}

// unable posts a status with the reason why a pull request could not be planned, and returns the reason.
func (p *Previewer) unable(ctx context.Context, repo forge.Repository, limits forge.Limits, change forge.PullRequest, cause error) error {
	if ctx.Err() != nil {
		return cause
	}
	status := forge.Status{Context: StatusPlan, State: forge.Errored, Description: cause.Error()}
	if err := setHeadStatus(ctx, repo, limits, change, status); err != nil {
		return fmt.Errorf("%w (and %w)", cause, err)
	}
	return cause
}

// setHeadStatus posts a status on the head of a pull request. GitLab takes none for commits that only a fork has: that is not an error.
func setHeadStatus(ctx context.Context, repo forge.Repository, limits forge.Limits, change forge.PullRequest, s forge.Status) error {
	err := SetStatus(ctx, repo, limits, change.Head.Commit, s)
	if change.Head.Fork != "" {
		return forge.Ignore(err, forge.ErrNotFound)
	}
	return err
}

// SetStatus posts a status on a commit, unless the commit already has it. It shortens the description to the forge's limit.
func SetStatus(ctx context.Context, repo forge.Repository, limits forge.Limits, commit string, s forge.Status) error {
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

// status fails if there are new errors, or manifests that a check refuses.
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
	if n := len(p.Edits); n > 0 {
		noun := "changes of values that others edit"
		if n == 1 {
			noun = "change of a value that others edit"
		}
		s.State, s.Description = forge.Failure, fmt.Sprintf("%d %s; %s", n, noun, s.Description)
	}
	return s
}

// editsText lists the values that the author may not edit, at most as many as a comment has room for.
func (p *Preview) editsText() string {
	const most = 50
	var b strings.Builder
	for i, e := range p.Edits {
		switch i {
		case 0:
			b.WriteString("**Values that the author of this pull request may not edit:**\n\n")
		case most:
			fmt.Fprintf(&b, "- and %d more\n", len(p.Edits)-most)
		}
		if i < most {
			fmt.Fprintf(&b, "- %s %s: %s\n", markdown.Code(e.Position.String()), markdown.Escape(e.Object.String()), markdown.Escape(e.Message))
		}
	}
	if len(p.Edits) > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

// Summary returns the changes in each environment, on one line.
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

// previewText returns the comment: a plan for each environment, each with the same share of the limit.
func previewText(p *Preview, limit int) string {
	if len(p.Drafts) == 0 {
		return "This pull request affects no environment."
	}
	edits := p.editsText()
	share := 0
	if limit > 0 {
		share = max(1, (limit-400-len(edits))/len(p.Drafts))
	}
	var b strings.Builder
	b.WriteString(edits)
	b.WriteString("Changes in the fleet when this is merged and promoted:\n\n")
	for _, d := range p.Drafts {
		b.WriteString(d.Markdown(plan.MarkdownOptions{Diffs: true, Limit: share}))
		b.WriteString("\n")
	}
	return b.String()
}
