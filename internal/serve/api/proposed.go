package api

import (
	"cmp"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/check/scan"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/forge"
)

// ProposedEnvironment is what the pull request of an application's environment changes, and what was done about it.
type ProposedEnvironment struct {
	Environment string          `json:"environment"`
	Plan        *deliver.Plan   `json:"plan,omitempty"`
	Findings    []check.Finding `json:"findings,omitempty"`
	Scans       []scan.Result   `json:"scans,omitempty"`
	// PullRequest is open, or was merged just now; absent if nothing is left to change.
	PullRequest *ProposedPullRequest `json:"pullRequest,omitempty"`
	// Closes means that a request about targets left nothing in the pull request, so that it is closed.
	Closes bool `json:"closes,omitempty"`
	// Done lists what was done; empty if the pull request had all of it already, and for a preview.
	Done []string `json:"done"`
	// Waits says why the pull request is not opened or merged; absent if nothing is in the way.
	Waits string `json:"waits,omitempty"`
}

// ProposedPullRequest is a pull request that was opened or updated.
type ProposedPullRequest struct {
	Number int         `json:"number"`
	URL    string      `json:"url"`
	Title  string      `json:"title"`
	State  forge.State `json:"state"`
}

// ProposedIn returns the outcome of a round in an environment.
func ProposedIn(environment string, o *deliver.Outcome) *ProposedEnvironment {
	return &ProposedEnvironment{
		Environment: environment, Plan: o.Draft.Plan, Findings: o.Draft.Findings, Scans: o.Draft.Scans,
		PullRequest: ProposedPullRequestOf(cmp.Or(o.Withdrawn, o.PullRequest)), Closes: o.Withdrawn != nil,
		Done: append([]string{}, o.Did...), Waits: o.Waits,
	}
}

// ProposedPullRequestOf returns a pull request of a forge; nil for none.
func ProposedPullRequestOf(p *forge.PullRequest) *ProposedPullRequest {
	if p == nil {
		return nil
	}
	return &ProposedPullRequest{Number: p.Number, URL: p.URL, Title: p.Title, State: p.State}
}
