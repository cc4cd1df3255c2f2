package schedule

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

func TestPageSaysHowToApproveAndFits(t *testing.T) {
	p := plan.Plan{
		Environment: "dev", Before: "gitops dev@1", After: "control plane dev@2",
		Refusals: []plan.Refusal{{Reason: plan.RefusedBudget, Message: "8 removals exceed the deletion budget of 5"}},
	}
	for i := range 200 {
		p.Problems = append(p.Problems, fleet.Problem{Severity: fleet.SeverityError, Message: fmt.Sprintf("problem %d: größer", i)})
	}
	if page := pageOf(p, "dev", nil, 0, false); !strings.Contains(page, "8 removals exceed the deletion budget of 5; the label kalypso/allow-deletions approves them") {
		t.Errorf("it does not say how to approve:\n%s", page)
	}
	if page := pageOf(p, "dev", nil, 0, true); strings.Contains(page, "exceed the deletion budget") {
		t.Errorf("it asks for an approval that was given:\n%s", page)
	}
	for _, limit := range []int{2000, 4000, 65536} {
		if n := len(pageOf(p, "dev", nil, limit, false)); n > limit {
			t.Errorf("limit %d: the page has %d bytes", limit, n)
		}
	}
}

func TestOneIssueForEachRootProblem(t *testing.T) {
	broken := fleet.Problem{
		Severity: fleet.SeverityError, Message: "not valid YAML", Hint: "mend `it`",
		Position: fleet.Position{Source: "dev", File: "a.yaml", Line: 3},
	}
	moved, warning := broken, broken
	moved.Position.Line = 7
	warning.Severity = fleet.SeverityWarning
	other := broken
	other.Position.File = "b.yaml"
	roots := rootErrors("dev", []fleet.Problem{broken, moved, warning, other})
	if len(roots.ids) != 2 {
		t.Errorf("%d problems, want one for each file", len(roots.ids))
	}
	issue := issueOf("dev", roots.ids[0], broken, forge.Limits{})
	if problemOf(issue.Body, "dev") != roots.ids[0] || problemOf(issue.Body, "stage") != "" {
		t.Errorf("the issue does not tell its problem:\n%s", issue.Body)
	}
	if problemOf("> "+issue.Body[strings.LastIndex(issue.Body, "<!--"):], "dev") != "" {
		t.Error("a quoted marker counts")
	}
}

// TestFindingsDoNotExceedTheLimit checks that plan and findings together fit, and that both are shown.
func TestFindingsDoNotExceedTheLimit(t *testing.T) {
	d := &Draft{Plan: &plan.Plan{Environment: "dev", Before: "gitops dev@1", After: "control plane dev@2"}}
	for i := range 50 {
		message := fmt.Sprintf("finding %d: %s", i, strings.Repeat("very ", 40))
		d.Findings = append(d.Findings, check.Finding{Level: check.Warn, Rule: "own", Message: message})
		d.Plan.Problems = append(d.Plan.Problems, fleet.Problem{Severity: fleet.SeverityError, Message: "problem " + message})
	}
	for _, limit := range []int{1, 150, 300, 1000, 4000, 10000, 65536} {
		text := d.Markdown(plan.MarkdownOptions{Diffs: true, Limit: limit})
		if len(text) > limit {
			t.Errorf("limit %d: the text has %d bytes", limit, len(text))
		}
		if limit >= 1000 && (!strings.Contains(text, "finding 0") || !strings.Contains(text, "problem finding 0")) {
			t.Errorf("limit %d: plan or findings are missing:\n%s", limit, text)
		}
	}
}
