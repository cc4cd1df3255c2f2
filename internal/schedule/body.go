package schedule

import (
	"slices"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// proposed returns the draft for its pull request.
func (r *round) proposed() pullrequest.Draft {
	p, inputs := r.Plan, r.Loaded.Inputs
	put, remove := Edits(r.Bundle.Changes())
	d := pullrequest.Draft{
		Folders: "a folder per cluster type, and in it one per deployment target", Put: put, Delete: remove,
		Message: CommitMessage(r.Loaded, p), When: inputs.Time(), Title: p.Headline(inputs.Main.Subject), Digest: bundle.Digest(r.Bundle.Files), Inputs: inputs.commits(),
		Page: func(limit int, approved bool) string {
			return pageOf(*p, r.GitOps.Location.Branch, r.Findings, limit, approved)
		},
		Source: "Scheduled by Kalypso from", From: inputs.String(),
		Removals: p.Budget.Removals, Allowed: p.Budget.Allowed, Findings: r.Findings,
		Promotes: p.Promotion != nil, Promoted: "carries a new promoted commit of main", AutoMerge: r.Loaded.Snapshot.GitOps.AutoMerge,
	}
	if len(p.Refusals) > 0 {
		d.Refusal = p.Refusals[0].Message
	}
	return d
}

// pageOf returns plan and findings in at most limit bytes; 0 means no limit.
func pageOf(p plan.Plan, base string, findings []check.Finding, limit int, approved bool) string {
	p.After, p.Before = "the control plane", "the branch "+base
	p.Refusals = slices.Clone(p.Refusals)
	for i := range p.Refusals {
		p.Refusals[i].Message = pullrequest.ToApprove(p.Refusals[i].Message)
	}
	if approved {
		p.Refusals = nil
	}
	return withFindings(&p, findings, plan.MarkdownOptions{Diffs: true, Limit: limit})
}

// withFindings returns plan and findings. If there is a limit, findings take at most half of it.
func withFindings(p *plan.Plan, findings []check.Finding, o plan.MarkdownOptions) string {
	end := plan.Page{Limit: (o.Limit + 1) / 2, Rest: "There are more findings than fit here; `kalypso plan` shows all of them."}
	end.Add(check.Markdown(findings))
	text := end.String()
	if o.Limit > 0 {
		o.Limit -= len(text)
	}
	return p.Markdown(o) + text
}
