package schedule

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// aText is that of a change that removes more than the budget.
func aText(agreed bool) wanted {
	p := &plan.Plan{
		Environment: "dev", Before: "gitops dev@1", After: "control plane dev@2",
		Refusals: []plan.Refusal{{Reason: plan.RefusedBudget, Message: "8 removals exceed the deletion budget of 5"}},
	}
	for i := range 200 {
		p.Problems = append(p.Problems, fleet.Problem{Severity: fleet.SeverityError, Message: fmt.Sprintf("problem %d", i)})
	}
	return wanted{
		plan: p, base: "dev", agreed: agreed,
		inputs: Inputs{Branch: Input{Name: "dev", Commit: strings.Repeat("1", 40)}, Main: Input{Name: "main", Commit: strings.Repeat("2", 40)}},
	}
}

func TestABodySaysHowToAgreeAndWhoHasAgreed(t *testing.T) {
	waits, agreed := aText(false).body(0), aText(true).body(0)
	if !strings.Contains(waits, "8 removals exceed the deletion budget of 5; the label kalypso/allow-deletions agrees") {
		t.Errorf("it does not say how to agree:\n%s", waits)
	}
	if strings.Contains(agreed, "exceed the deletion budget") || !strings.Contains(agreed, "agreed to by the label `kalypso/allow-deletions`") {
		t.Errorf("it does not say that somebody agreed:\n%s", agreed)
	}
}

func TestABodyFitsTheForge(t *testing.T) {
	for _, room := range []int{2000, 4000, 65536} {
		if n := len([]rune(aText(false).body(room))); n > room {
			t.Errorf("room for %d: the body has %d characters", room, n)
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
