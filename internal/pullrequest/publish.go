package pullrequest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/text/markdown"
)

// Labels and statuses of pull requests to GitOps branches.
const (
	// LabelPromoted marks a pull request with a new promoted commit.
	LabelPromoted = "promoted"
	// LabelAllowDeletions approves more removals than the deletion budget.
	LabelAllowDeletions = "kalypso/allow-deletions"
	// StatusDeletions is the context of the status that waits for the label.
	StatusDeletions = "kalypso/deletions"
	// StatusChecks is the context of the status, and of annotations, with what checks report.
	StatusChecks = "kalypso/checks"
)

// HeadBranch returns the branch of an environment's pull requests.
func HeadBranch(environment string) string { return "kalypso/" + environment }

// Draft is what a GitOps branch should hold, as its pull request shows it.
type Draft struct {
	// Folders says what the folders of the branch are, for its README if Kalypso has to create the branch.
	Folders string
	// Put are files to write, Delete files to remove. Without either the pull request is withdrawn.
	Put     map[string][]byte
	Delete  []string
	Message string
	When    time.Time
	Title   string
	// Page writes plan and findings in at most limit bytes; 0 means no limit.
	// It shows why approval is needed, unless the plan is approved.
	Page func(limit int, approved bool) string
	// Source ends the text: "Scheduled by Kalypso from", and From which commits.
	Source, From string
	// Digest identifies the files that the draft wants. // required
	Digest string
	// Inputs are the commits that it was made from, by name.
	Inputs map[string]string
	// Removals are within the budget of Allowed, unless Refusal says why the plan needs approval.
	Removals, Allowed int
	Refusal           string
	Findings          []check.Finding
	// Broken says what could not be rendered; it fails the checks like a finding that refuses.
	Broken string
	// Statuses and Labels are further ones. Every status is required: neither Kalypso nor the embedded forge merges before it succeeds.
	Statuses []forge.Status
	Labels   []Label
	// Promotes is whether a new commit is promoted, and Promoted describes the label that says so.
	Promotes  bool
	Promoted  string
	AutoMerge bool
	// Again opens it also if a user closed a pull request that proposed the same.
	Again bool
}

// Publish proposes a draft. It creates the GitOps branch if it does not exist,
// and withdraws the pull request if the branch holds everything already.
func (p *PullRequest) Publish(ctx context.Context, d Draft) error {
	if err := p.createBase(ctx, d); err != nil {
		return err
	}
	if len(d.Put)+len(d.Delete) == 0 {
		return p.Withdraw(ctx, "The GitOps branch holds all of this already: nothing is left to change.")
	}
	deletions := p.deletionStatus(d)
	statuses := append([]forge.Status{deletions, CheckStatus(d.Findings, d.Broken)}, d.Statuses...)
	var required []string
	for i := range statuses {
		statuses[i].Required = true
		required = append(required, statuses[i].Context)
	}
	labels := []Label{{Label: forge.Label{Name: LabelPromoted, Color: "1d76db", Description: d.Promoted}, Applied: d.Promotes}}
	if deletions.State == forge.Failure {
		labels = append(labels, Label{
			Label: forge.Label{Name: LabelAllowDeletions, Color: "b60205", Description: "approves more removals than the deletion budget"}, ByUsers: true,
		})
	}
	return p.Propose(ctx, Proposal{
		Put: d.Put, Delete: d.Delete, Message: d.Message, When: d.When, Title: d.Title, Digest: d.Digest, Inputs: d.Inputs,
		Body:     func(limit int) string { return p.text(d, deletions.State == forge.Success, limit) },
		Statuses: statuses, Labels: append(labels, d.Labels...), Findings: d.Findings, AutoMerge: d.AutoMerge, RequiredChecks: required, Again: d.Again,
	})
}

// createBase creates the GitOps branch: a pull request needs a base.
func (p *PullRequest) createBase(ctx context.Context, d Draft) error {
	if p.Commit != "" {
		return nil
	}
	readme := fmt.Sprintf("# %s\n\nWhat runs in this environment: %s.\nThe files are proposed by Kalypso, and merged here. Clusters follow this branch.\n", p.Name, d.Folders)
	id, err := p.Committer.Commit(ctx, Commit{
		Repo: p.URL, Branch: p.Base, Put: map[string][]byte{"README.md": []byte(readme)},
		Message: "Start the branch of environment " + p.Name, When: d.When,
	})
	if err == nil {
		err = p.Committer.Push(ctx, p.URL, p.Base, "", id)
	}
	if err != nil {
		return fmt.Errorf("start branch %q: %w", p.Base, err)
	}
	p.Commit = id
	p.did("started branch %s", p.Base)
	return nil
}

// deletionStatus says whether the removals are within the budget, or approved by the label.
func (p *PullRequest) deletionStatus(d Draft) forge.Status {
	s := forge.Status{Context: StatusDeletions, State: forge.Success}
	switch {
	case d.Refusal == "":
		s.Description = fmt.Sprintf("%d removals, within the budget of %d", d.Removals, d.Allowed)
	case p.Open != nil && p.Open.HasLabel(LabelAllowDeletions):
		s.Description = fmt.Sprintf("%d removals, approved by the label %s", d.Removals, LabelAllowDeletions)
	default:
		s.State = forge.Failure
		s.Description = ToApprove(d.Refusal)
	}
	return s
}

// ToApprove adds to a refusal how to approve it.
func ToApprove(refusal string) string {
	return refusal + "; the label " + LabelAllowDeletions + " approves them"
}

// CheckStatus says whether the checks refuse a draft: a finding does, or something that is broken.
func CheckStatus(findings []check.Finding, broken string) forge.Status {
	s := forge.Status{Context: StatusChecks, State: forge.Success, Description: check.Summary(findings)}
	switch {
	case check.Worst(findings) == check.Refuse:
		s.State = forge.Failure
	case broken != "":
		s.State, s.Description = forge.Failure, broken
	}
	return s
}

// text returns the page with its end, at most limit bytes.
func (p *PullRequest) text(d Draft, approved bool, limit int) string {
	var b strings.Builder
	if d.Refusal != "" && approved {
		fmt.Fprintf(&b, "\nThe removals are approved by the label `%s`.\n", LabelAllowDeletions)
	}
	fmt.Fprintf(&b, "\nMerging it publishes it: clusters follow %s. It is kept up to date while it is open, and what others push to its branch is replaced. "+
		"Closed, it stays closed until there is something else to propose.\n", markdown.Code(p.Base))
	fmt.Fprintf(&b, "\n%s%s %s.</sub>\n", sourcePrefix, d.Source, markdown.Code(d.From))
	if limit > 0 {
		limit = max(limit-b.Len(), 200)
	}
	return d.Page(limit, approved) + b.String()
}
