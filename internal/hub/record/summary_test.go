package record_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/hub/record"
)

func TestRecordedOutcomeIsDescribed(t *testing.T) {
	branch := record.Branch{Repository: "https://forge.example.com/teams/shop-gitops", Branch: "dev"}
	var r record.Summary
	r.Add(&record.Outcome{Branch: branch, Recorded: []string{"1"}, Problems: []fleet.Problem{
		{Message: "the branch is odd"}, {Position: fleet.Position{File: "web/descriptor.yaml", Line: 3}, Message: "no version"},
	}})
	r.Add(&record.Outcome{Branch: branch, Recorded: []string{"2", "3"}, Gone: true})
	const name = "branch dev of https://forge.example.com/teams/shop-gitops"
	want := record.Summary{Did: []string{"recorded 1 commit of " + name, "recorded 2 commits of " + name}, Problems: []string{
		name + ": the branch is odd", name + ": web/descriptor.yaml:3: no version", name + " no longer exists; its recorded commits are kept",
	}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
