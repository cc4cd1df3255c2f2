package schedule

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// StatusPlan is the context of the status on the changes of a control plane.
const StatusPlan = "kalypso/plan"

// previewMarker is how the comment with the plans is found again.
const previewMarker = "kalypso/plan"

// Previewer says on each open change of a control plane what it would do to the fleet.
type Previewer struct {
	// Loader reads the control plane. // required
	Loader *Loader
	// Forges host the control plane. // required
	Forges pullrequest.Forges
	// Forks previews changes from forks as well. Such a change may name any repository and any template,
	// and whoever can fork can open one: planning it reads what strangers choose, with our credentials.
	Forks bool
	// Answers keeps what merges would do; nil keeps nothing.
	Answers *Answers
}

// Preview is what a change of a control plane would do.
type Preview struct {
	// Plans has one for each environment that the change touches, in the order of their names.
	Plans []*plan.Plan
	// Problems are errors that the change brings in, by environment.
	Problems map[string][]fleet.Problem
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
	branches, err := p.Loader.EnvironmentBranches(ctx, request)
	if err != nil {
		return nil, err
	}
	fork, err := p.Loader.Repositories.Fork(ctx, Location{Repo: controlPlane, Branch: m.base}, m.fetch, m.head)
	if err != nil {
		return nil, fmt.Errorf("find where the change begins: %w", err)
	}
	preview := &Preview{Problems: map[string][]fleet.Problem{}}
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
		if err := p.environment(ctx, before, after, preview); err != nil {
			return nil, err
		}
	}
	return preview, nil
}

// environment adds the plan of one environment.
func (p *Previewer) environment(ctx context.Context, before, after Request, preview *Preview) error {
	was, err := p.Loader.Load(ctx, before)
	if err != nil {
		return err
	}
	is, err := p.Loader.Load(ctx, after)
	if err != nil {
		return err
	}
	one, err := p.Answers.get(answerKey(was, is), func() (planned, error) {
		p.Loader.progress("planning " + after.Environment)
		old := bundle.Build(was.Snapshot, nil, nil)
		now := bundle.Build(is.Snapshot, nil, old)
		result, err := plan.Compare(plan.BundleState(was.Name(), old), is.Name(), now)
		return planned{result, newErrors(old.Problems, now.Problems)}, err
	})
	if err != nil {
		return err
	}
	preview.Plans = append(preview.Plans, one.plan)
	if len(one.problems) > 0 {
		preview.Problems[after.Environment] = one.problems
	}
	return nil
}

// newErrors returns the errors that were not there before, wherever their lines have moved to.
func newErrors(before, after []fleet.Problem) []fleet.Problem {
	known := rootErrors("", before).problems
	var found []fleet.Problem
	roots := rootErrors("", after)
	for _, id := range roots.ids {
		if _, old := known[id]; !old {
			found = append(found, roots.problems[id])
		}
	}
	return found
}

// say writes the comment, and then the status that leads to it.
func (p *Previewer) say(ctx context.Context, repo forge.Repository, limits forge.Limits, change forge.PullRequest, preview *Preview) error {
	comment, err := repo.UpsertComment(ctx, change.Number, previewMarker, previewText(preview, limits.Comment))
	if err != nil {
		return fmt.Errorf("comment on change %d: %w", change.Number, err)
	}
	status := forge.Status{Context: StatusPlan, State: forge.Success, Description: preview.Summary(), URL: comment.URL}
	if n := preview.errors(); n > 0 {
		status.State = forge.Failure
		problems := "problems"
		if n == 1 {
			problems = "problem"
		}
		status.Description = fmt.Sprintf("%d new %s; %s", n, problems, status.Description)
	}
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

func (p *Preview) errors() int {
	n := 0
	for _, problems := range p.Problems {
		n += len(problems)
	}
	return n
}

// Summary says in one line what happens in each environment.
func (p *Preview) Summary() string {
	var parts []string
	for _, result := range p.Plans {
		if c := result.Counts; c.Added+c.Changed+c.Removed > 0 {
			parts = append(parts, result.Title())
		}
	}
	if len(parts) == 0 {
		return "changes nothing in the fleet"
	}
	return strings.Join(parts, "; ")
}

// previewText is the comment: a plan for each environment, each with its share of the room.
func previewText(p *Preview, limit int) string {
	if len(p.Plans) == 0 {
		return "This change touches no environment."
	}
	room := 0
	if limit > 0 {
		room = (limit - 400) / len(p.Plans)
	}
	var b strings.Builder
	b.WriteString("What this change does to the fleet, when it is merged and promoted:\n\n")
	for _, result := range p.Plans {
		b.WriteString(result.Markdown(plan.MarkdownOptions{Diffs: true, Limit: room}))
		b.WriteString("\n")
	}
	return b.String()
}
