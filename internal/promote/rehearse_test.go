package promote_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
)

// captured takes the steps of commands.
type captured struct{ steps []ledger.Step }

func (c *captured) RecordStep(_ context.Context, s ledger.Step) error {
	c.steps = append(c.steps, s)
	return nil
}

// TestARehearsalChangesNothing rehearses the rollback of an environment with rings: it names each ring with its
// clusters and commits, and nothing is recorded or moved. Given in earnest, the rollback does what was said.
func TestARehearsalChangesNothing(t *testing.T) {
	b := ringed(t, "")
	b.follow()
	b.merge("two")
	b.follow()
	b.follow()
	if b.commits() != of("two", "two", "two") {
		t.Fatalf("the rings run %s", b.commits())
	}
	steps := func() int {
		all, err := b.ledger.Steps(t.Context(), ledger.StepQuery{})
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	before, moves := steps(), len(b.fakePipeline.moves)
	var command captured
	control := &promote.Control{Ledger: &command, Now: b.promoter.Now}
	err := control.RollBack(t.Context(), promote.Command{Subject: controlPlane, Environment: "prod", Commit: sha("two"), By: "ada", Why: "slow"})
	if err != nil {
		t.Fatal(err)
	}
	is, err := b.promoter.Preview(t.Context(), b.fakePipeline)
	if err != nil {
		t.Fatal(err)
	}
	would, err := b.promoter.Rehearse(t.Context(), b.fakePipeline, command.steps...)
	if err != nil {
		t.Fatal(err)
	}
	type change struct {
		Place    string
		Clusters int
		From, To string
	}
	var got []change
	for _, e := range promote.Effects(is, would) {
		got = append(got, change{e.Place, e.Clusters, e.From, e.To})
	}
	one, two := sha("one"), sha("two")
	want := []change{
		{"prod", 0, two, one},
		{"prod/canary", 1, revision("prod", two), revision("prod", one)},
		{"prod/early", 1, revision("prod", two), revision("prod", one)},
		{"prod/others", 1, revision("prod", two), revision("prod", one)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
	b.round()
	if steps() != before || len(b.fakePipeline.moves) != moves || b.commits() != of("two", "two", "two") {
		t.Errorf("it did something: %d steps, %v, %s", steps()-before, b.fakePipeline.moves[moves:], b.commits())
	}
	b.rollBack("prod", two)
	b.round()
	if got := b.fakePipeline.place("prod").Commit; got != one {
		t.Errorf("the rollback goes to %s", got[:6])
	}
}
