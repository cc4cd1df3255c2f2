package plan_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// edits are edits of the base files: a text is replaced by another. Files are also deleted.
var edits = []struct{ path, old, new string }{
	{"env/config.yaml", "nowhere", "somewhere"},
	{"env/config.yaml", "PORT", "PORTS"},
	{"env/small-config.yaml", "size: small", "size: large"},
	{"env/drone.yaml", "service: ns", "service: lost"},
	{"env/drone.yaml", "Type: cm", "Type: none"},
	{"env/large.yaml", "size: large", "size: small"},
	{"env/large.yaml", "spec:", "spec: ["},
	{"env/everywhere.yaml", "kaizen", "others"},
	{"env/everywhere.yaml", "name: everywhere", "name: anywhere"},
	{"env/gitops.yaml", "path: .", "path: ., deletionBudget: 1"},
	{"env/gitops.yaml", "---", "---"},
	{"main/templates/ns.yaml", "{{ .Namespace }}", "x-{{ .Namespace }}"},
	{"main/templates/git.yaml", "{{ .Repo }}", "{{ .Manifests.absent }}"},
	{"main/templates/git.yaml", "url:", "address:"},
	{"workloads/shop/workload.yaml", "name: test", "name: smoke"},
	{"workloads/shop/workload.yaml", "environment: dev", "environment: prod"},
}

// drawControlPlane returns the base files after some edits.
func drawControlPlane(t *rapid.T, files map[string]string) map[string]string {
	files = maps.Clone(files)
	for range rapid.IntRange(0, 3).Draw(t, "edits") {
		e := rapid.SampledFrom(edits).Draw(t, "edit")
		if rapid.IntRange(0, 5).Draw(t, "delete") == 0 && e.path != "env/gitops.yaml" {
			delete(files, e.path)
		} else if text, ok := files[e.path]; ok {
			files[e.path] = strings.ReplaceAll(text, e.old, e.new)
		}
	}
	return files
}

// drawBranch returns a published branch of a control plane, with edits by hand.
func drawBranch(t *rapid.T, files map[string]string) map[string]string {
	branch := apply(bundle.Build(snapshot(files), nil, nil), nil)
	for range rapid.IntRange(0, min(2, len(branch))).Draw(t, "changes by hand") {
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(branch))).Draw(t, "file")
		if rapid.Bool().Draw(t, "delete") {
			delete(branch, name)
			continue
		}
		branch[name] = "by hand\n"
	}
	return branch
}

// drawPlan compares a branch with a later state of the control plane.
func drawPlan(t *rapid.T, tb testing.TB, base map[string]string) (*plan.Plan, *bundle.Bundle) {
	before := drawControlPlane(t, base)
	s := snapshot(drawControlPlane(t, before))
	published := read(tb, s, drawBranch(t, before))
	b := bundle.Build(s, published, nil)
	return compare(tb, plan.PublishedState("gitops", published), b), b
}

func TestPlanIsEmptyWhenNoFileChanges(t *testing.T) {
	base := baseFiles(t)
	rapid.Check(t, func(rt *rapid.T) {
		p, b := drawPlan(rt, t, base)
		if changes := b.Changes(); p.Empty() != (len(changes) == 0) {
			rt.Fatalf("empty %t with %d changes:\n%s", p.Empty(), len(changes), format(p))
		}
	})
}

func TestCountsAddUp(t *testing.T) {
	base := baseFiles(t)
	rapid.Check(t, func(rt *rapid.T) {
		p, b := drawPlan(rt, t, base)
		c, total := p.Counts, plan.Counts{}
		if got := c.Added + c.Changed + c.Held + c.Unchanged; got != b.Count() {
			rt.Fatalf("%d assignments are counted of %d", got, b.Count())
		}
		if c.Removed != len(b.Removed) {
			rt.Fatalf("%d removals are counted of %d", c.Removed, len(b.Removed))
		}
		for _, a := range p.Assignments {
			switch a.Op {
			case plan.Added:
				total.Added++
			case plan.Changed:
				total.Changed++
			case plan.Removed:
				total.Removed++
			case plan.Held:
				total.Held++
			}
		}
		total.Unchanged = c.Unchanged
		if diff := cmp.Diff(c, total); diff != "" {
			rt.Fatalf("counts (-said +listed):\n%s", diff)
		}
		grouped := 0
		for _, g := range p.Groups() {
			grouped += len(g.Changes)
		}
		if grouped != len(p.Assignments) {
			rt.Fatalf("groups hold %d changes of %d", grouped, len(p.Assignments))
		}
	})
}

func TestPlanSurvivesJSON(t *testing.T) {
	base := baseFiles(t)
	rapid.Check(t, func(rt *rapid.T) {
		p, _ := drawPlan(rt, t, base)
		text, err := json.Marshal(p)
		if err != nil {
			rt.Fatal(err)
		}
		var got plan.Plan
		if err := json.Unmarshal(text, &got); err != nil {
			rt.Fatal(err)
		}
		options := []cmp.Option{cmpopts.IgnoreUnexported(plan.Plan{}, plan.FileChange{}), cmpopts.EquateEmpty()}
		if diff := cmp.Diff(*p, got, options...); diff != "" {
			rt.Fatalf("the plan differs (-before +after):\n%s", diff)
		}
		for _, list := range []string{`"assignments":null`, `"clusterTypes":null`} {
			if strings.Contains(string(text), list) {
				rt.Fatalf("the JSON has %s, which programs cannot iterate over", list)
			}
		}
	})
}

func TestMarkdownKeepsItsLimit(t *testing.T) {
	base := baseFiles(t)
	rapid.Check(t, func(rt *rapid.T) {
		p, _ := drawPlan(rt, t, base)
		limit := rapid.IntRange(1, 6000).Draw(rt, "limit")
		whole := p.Markdown(plan.MarkdownOptions{Diffs: true})
		got := p.Markdown(plan.MarkdownOptions{Diffs: true, Limit: limit})
		if len(got) > limit {
			rt.Fatalf("%d bytes are more than %d", len(got), limit)
		}
		if len(whole) <= limit && got != whole {
			rt.Fatal("the text fits and is cut")
		}
		if open, closed := strings.Count(got, "<details>"), strings.Count(got, "</details>"); open != closed {
			rt.Fatalf("%d folds begin and %d end:\n%s", open, closed, got)
		}
	})
}

func TestThousandAlikeAreOneGroup(t *testing.T) {
	p := &plan.Plan{}
	for range 1000 {
		p.Assignments = append(p.Assignments, plan.Change{
			Op: plan.Changed, ClusterType: "one", Title: "shop/test",
			Files: []plan.FileChange{{Op: plan.Changed, Path: "one/shop-test/platform-config.yaml"}},
		})
	}
	if groups := p.Groups(); len(groups) != 1 || len(groups[0].Changes) != 1000 {
		t.Errorf("%d groups", len(groups))
	}
}

func TestRootProblems(t *testing.T) {
	broken := fleet.Problem{Severity: fleet.SeverityError, Message: "broken"}
	of := func(p fleet.Problem, assignment string) fleet.Problem { p.Assignment = assignment; return p }
	other := fleet.Problem{Severity: fleet.SeverityWarning, Message: "other", Assignment: "one/b"}
	got := plan.RootProblems([]fleet.Problem{of(broken, "one/a"), of(broken, "one/b"), other, {Message: "of none"}})
	want := []plan.RootProblem{
		{Problem: broken, Assignments: []string{"one/a", "one/b"}},
		{Problem: other, Assignments: []string{"one/b"}},
		{Problem: fleet.Problem{Message: "of none"}},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("root problems (-got +want):\n%s", diff)
	}
}
