package scheduling

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/plan"
)

// aChange wants a change that removes more than the budget.
func aChange(state forge.StatusState, limit int) wanted {
	p := &plan.Plan{
		Environment: "dev", Before: "gitops dev@1", After: "control plane dev@2",
		Refusals: []plan.Refusal{{Reason: plan.RefusedBudget, Message: "8 removals exceed the deletion budget of 5"}},
	}
	for i := range 200 {
		p.Problems = append(p.Problems, fleet.Problem{Severity: fleet.SeverityError, Message: fmt.Sprintf("problem %d", i)})
	}
	return wanted{
		plan: p, base: "dev", limit: limit, status: forge.Status{State: state},
		inputs: Inputs{Branch: Input{Name: "dev", Commit: strings.Repeat("1", 40)}, Main: Input{Name: "main", Commit: strings.Repeat("2", 40)}},
		mark:   mark{Environment: "dev", Digest: "d", Base: "b", Commit: "c", Deletions: state},
	}
}

func TestABodySaysHowToAgreeAndWhoHasAgreed(t *testing.T) {
	waits, agreed := aChange(forge.Failure, 0).body(), aChange(forge.Success, 0).body()
	if !strings.Contains(waits, "8 removals exceed the deletion budget of 5; the label kalypso/allow-deletions agrees") {
		t.Errorf("it does not say how to agree:\n%s", waits)
	}
	if strings.Contains(agreed, "exceed the deletion budget") || !strings.Contains(agreed, "agreed to by the label `kalypso/allow-deletions`") {
		t.Errorf("it does not say that somebody agreed:\n%s", agreed)
	}
}

func TestABodyFitsTheForge(t *testing.T) {
	for _, limit := range []int{2000, 4000, 65536} {
		body := aChange(forge.Failure, limit).body()
		if n := len([]rune(body)); n > limit {
			t.Errorf("limit %d: the body has %d characters", limit, n)
		}
		if got := markOf(body); got.Commit != "c" {
			t.Errorf("limit %d: the mark is cut: %+v", limit, got)
		}
	}
}

func TestABodyThatOnlyHasOtherInputsIsTheSame(t *testing.T) {
	one, other := aChange(forge.Success, 0), aChange(forge.Success, 0)
	other.inputs.Branch.Commit = strings.Repeat("3", 40)
	other.mark.Inputs = map[string]string{"dev": "3"}
	if !sameBody(one.body(), other.body()) {
		t.Error("other inputs count")
	}
	if !sameBody(strings.ReplaceAll(one.body(), "\n", "\r\n"), one.body()) {
		t.Error("the forge's line ends count")
	}
	other.mark.Commit = "another"
	if sameBody(one.body(), other.body()) {
		t.Error("another commit does not count")
	}
	if sameBody(strings.Replace(one.body(), "problem 7", "my own words", 1), one.body()) {
		t.Error("what a person wrote does not count")
	}
}

// TestAMarkSurvivesWhateverNamesTheInputsHave writes it into a body and reads it back.
func TestAMarkSurvivesWhateverNamesTheInputsHave(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.StringMatching(`[ -~äö]{0,12}`), rapid.StringMatching(`[-<>! a]{0,8}`))
		want := mark{
			Environment: text.Draw(t, "environment"), Digest: "d", Base: text.Draw(t, "base"), Commit: text.Draw(t, "commit"),
			Deletions: forge.Success, Inputs: map[string]string{text.Draw(t, "name"): text.Draw(t, "input")},
		}
		got := markOf(forge.Mark("the plan\n", want.String(), 0))
		if got.String() != want.String() {
			t.Errorf("wrote %s, read %s", want, got)
		}
	})
}

func TestAMarkOfSomebodyElseIsNone(t *testing.T) {
	for _, body := range []string{"", "kalypso:{", "<!-- kalypso:[1] -->", "<!-- kalypso:{\"digest\": 1} -->", "> <!-- kalypso:{\"digest\":\"quoted\"} -->"} {
		if diff := cmp.Diff(mark{}, markOf(body)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", body, diff)
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
