package schedule

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// history is a shelf on which every branch left the others at "fork".
type history struct{ *shelf }

func (h history) Fork(context.Context, Location, string, string) (string, error) { return "fork", nil }

// oneForge hosts everything, with one change.
type oneForge struct {
	anyForge
	change forge.PullRequest
}

type anyForge = forge.Forge

func (f oneForge) Forge(string) (forge.Forge, error) { return f, nil }
func (f oneForge) Repository(string) (forge.Repository, error) {
	return oneRepository{change: f.change}, nil
}

type oneRepository struct {
	forge.Repository
	change forge.PullRequest
}

func (r oneRepository) PullRequest(_ context.Context, number int) (forge.PullRequest, error) {
	if number != r.change.Number {
		return forge.PullRequest{}, forge.ErrNotFound
	}
	return r.change, nil
}

// trials is the hello fleet with its dev branch published, a branch "topic" of main that loses a workload, and a change of it.
func trials(t *testing.T) (*Previewer, *shelf) {
	t.Helper()
	s := helloFleet(t, nil)
	s.publish(t, "dev")
	topic := commitOf("control-plane/topic")
	for name, content := range helloFleet(t, nil).files {
		rest, ok := strings.CutPrefix(name, "control-plane/main/")
		if !ok {
			continue
		}
		for _, commit := range []string{"fork", "0123456", commitOf("control-plane/main"), commitOf("control-plane/main@0123456")} {
			s.files["control-plane/main@"+commit+"/"+rest] = content
		}
		if !strings.Contains(rest, "nginx") {
			s.files["control-plane/topic/"+rest], s.files["control-plane/main@"+topic+"/"+rest] = content, content
		}
	}
	host := oneForge{change: forge.PullRequest{Number: 7, Head: forge.Ref{Branch: "topic", Commit: topic}, Base: forge.Ref{Branch: "main"}}}
	return &Previewer{Drafter: &Drafter{Loader: &Loader{Repositories: history{s}}, Comparisons: &Comparisons{}}, Forges: host}, s
}

func TestTrials(t *testing.T) {
	p, _ := trials(t)
	lost := map[string]plan.Counts{"dev": {Removed: 4, Unchanged: 6}, "stage": {Removed: 2, Unchanged: 4}}
	for name, test := range map[string]struct {
		trial PlanRequest
		want  map[string]plan.Counts
	}{
		"what is pending":                {PlanRequest{Environment: "dev"}, map[string]plan.Counts{"dev": {Unchanged: 10}}},
		"the branch of an environment":   {PlanRequest{Branch: "dev"}, map[string]plan.Counts{"dev": {Unchanged: 10}}},
		"a commit of main":               {PlanRequest{Commit: "0123456", Environment: "dev"}, map[string]plan.Counts{"dev": {Unchanged: 10}}},
		"main, promoted":                 {PlanRequest{Branch: "main", Environment: "dev"}, map[string]plan.Counts{"dev": {Unchanged: 10}}},
		"a branch of main":               {PlanRequest{Branch: "topic"}, lost},
		"a branch, for one environment":  {PlanRequest{Branch: "topic", Environment: "stage"}, map[string]plan.Counts{"stage": lost["stage"]}},
		"a change":                       {PlanRequest{Change: 7}, lost},
		"a branch into that of no other": {PlanRequest{Branch: "topic", Into: "elsewhere"}, map[string]plan.Counts{}},
	} {
		test.trial.ControlPlane = "control-plane"
		preview, err := p.Plan(t.Context(), test.trial)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := map[string]plan.Counts{}
		for _, one := range preview.Drafts {
			got[one.Plan.Environment] = one.Plan.Counts
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestInvalidPlanRequests(t *testing.T) {
	p, s := trials(t)
	stray := commitOf("control-plane/main@unmerged")
	s.files["control-plane/main@unmerged/readme.md"] = "a commit that is not on a branch"
	fork := p.Forges.(oneForge)
	fork.change.Head.Fork = "stranger/control-plane"
	strangers := &Previewer{Drafter: &Drafter{Loader: &Loader{Repositories: without{s, stray}}}, Forges: fork}
	for name, test := range map[string]struct {
		trial PlanRequest
		want  error
	}{
		"nothing":                     {PlanRequest{}, ErrInvalidPlan},
		"a commit, and nowhere":       {PlanRequest{Commit: "0123456"}, ErrInvalidPlan},
		"main, and nowhere":           {PlanRequest{Branch: "main"}, ErrInvalidPlan},
		"a commit that is not main's": {PlanRequest{Commit: "unmerged", Environment: "dev"}, ErrInvalidPlan},
		"an environment there is not": {PlanRequest{Branch: "topic", Environment: "moon"}, ErrInvalidPlan},
		"a branch there is not":       {PlanRequest{Branch: "gone"}, ErrNoBranch},
		"a change there is not":       {PlanRequest{Change: 8}, forge.ErrNotFound},
		"a change from a fork":        {PlanRequest{Change: 7}, ErrFork},
	} {
		test.trial.ControlPlane = "control-plane"
		if preview, err := strangers.Plan(t.Context(), test.trial); !errors.Is(err, test.want) {
			t.Errorf("%s: got %+v, %v, want %v", name, preview, err, test.want)
		}
	}
}

// Pages show the error to all users, so it must not contain the URL of the repository.
func TestUnknownCommitDoesNotShowTheRepository(t *testing.T) {
	p, s := trials(t)
	s.broken = map[string]error{"control-plane": fmt.Errorf("read commit of /var/data/control-plane.git: %w", ErrNoCommit)}
	_, err := p.Plan(t.Context(), PlanRequest{ControlPlane: "control-plane", Commit: "0123456", Environment: "dev"})
	if !errors.Is(err, ErrInvalidPlan) || strings.Contains(err.Error(), "/var/data") || !strings.Contains(err.Error(), "0123456") {
		t.Errorf("got %v", err)
	}
}

// without is a history in which one commit is on no branch.
type without struct {
	*shelf
	stray string
}

func (w without) Fork(context.Context, Location, string, string) (string, error) { return "fork", nil }

func (w without) Contains(_ context.Context, _ Location, commit string) (bool, error) {
	return commit != w.stray, nil
}

// The same commits are planned once. Another commit of what is published is another plan.
func TestComparisonsAreKeptByCommits(t *testing.T) {
	p, s := trials(t)
	ask := func() *Draft {
		t.Helper()
		preview, err := p.Plan(t.Context(), PlanRequest{ControlPlane: "control-plane", Branch: "topic", Environment: "dev"})
		if err != nil {
			t.Fatal(err)
		}
		return preview.Drafts[0]
	}
	first := ask()
	if ask() != first {
		t.Error("it was planned again")
	}
	s.files["control-plane/main@fork/more.yaml"] = "kind: ConfigMap\n"
	if ask() != first {
		t.Error("commits that are the same made another plan")
	}
	if preview, err := p.Plan(t.Context(), PlanRequest{ControlPlane: "control-plane", Branch: "topic", Environment: "stage"}); err != nil || preview.Drafts[0] == first {
		t.Errorf("another environment got the same plan (%v)", err)
	}
}

func TestComparisonsAreBounded(t *testing.T) {
	var c Comparisons
	one := func(key string, size int) {
		t.Helper()
		if _, err := c.get(key, func() (*Draft, error) { return &Draft{Plan: &plan.Plan{Counts: plan.Counts{Unchanged: size}}}, nil }); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 * maxComparisons {
		one(strconv.Itoa(i), 1)
		one("0", 1)
	}
	if kept := c.find("0") != nil; !kept || len(c.kept) != maxComparisons {
		t.Errorf("%d are kept, want %d, and the one that is asked for again and again: %t", len(c.kept), maxComparisons, kept)
	}
	one("large", maxKeptAssignments)
	if len(c.kept) != 1 {
		t.Errorf("%d are kept beside one that takes all the room", len(c.kept)-1)
	}
	one("too large", maxKeptAssignments+1)
	if len(c.kept) != 0 {
		t.Errorf("%d are kept, one of which is too large", len(c.kept))
	}
}
