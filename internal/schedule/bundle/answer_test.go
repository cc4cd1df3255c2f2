package bundle_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	schedulingv1 "github.com/kalypso-io/kalypso/api/scheduling/v1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

const (
	external  = group + "kind: SchedulingPolicy\nmetadata: {name: cheapest}\nspec: {deploymentTargetSelector: {}, clusterTypeSelector: {}, schedulerName: cost}\n"
	gitOps    = group + "kind: GitOpsRepo\nmetadata: {name: dev}\nspec: {repo: https://example.com/gitops, branch: dev, path: fleet}\n"
	answersAt = "fleet/.kalypso/schedulers/cheapest.json"
)

func externalFleet() map[string]string {
	return map[string]string{"env/policy.yaml": external, "env/gitops.yaml": gitOps}
}

func answered(decisions ...schedulingv1.Decision) bundle.Options {
	if decisions == nil {
		decisions = []schedulingv1.Decision{}
	}
	return bundle.Options{Recorded: map[string][]bundle.Answer{"cheapest": {{
		Scheduler: "cost", Task: schedulingv1.Schedule, Digest: "d1", Decisions: decisions, Warnings: []string{"prices are old"},
	}}}}
}

var chosen = []schedulingv1.Decision{
	{Target: "shop-web", ClusterType: "small", Reason: `3 < 7 & "cheap"`},
	{Target: "shop-db", ClusterType: "large", Score: 7},
}

// recordedBranch is a branch with one recorded answer.
func recordedBranch(t *testing.T) (map[string]string, *fleet.Snapshot) {
	t.Helper()
	s := snapshot(externalFleet())
	branch := apply(nil, bundle.BuildWith(s, nil, nil, answered(chosen...)))
	if branch[answersAt] == "" {
		t.Fatalf("nothing was recorded: %v", paths(branch))
	}
	return branch, s
}

func TestAnswersAreRecordedAndReadBack(t *testing.T) {
	branch, s := recordedBranch(t)
	p := read(t, s, branch)
	want := answered(chosen[1], chosen[0]).Recorded["cheapest"]
	if diff := cmp.Diff(p.Answers("cheapest"), want); diff != "" {
		t.Errorf("read back, sorted (-got +want):\n%s", diff)
	}
	if err := p.Answers("cheapest")[0].Response().Check(&schedulingv1.Request{Digest: "d1", Task: schedulingv1.Schedule}); err == nil {
		t.Error("the recorded answer fits a question without candidates")
	}
	for name, o := range map[string]bundle.Options{"the same answer": answered(chosen...), "no new answer": {}} {
		if b := bundle.BuildWith(s, p, nil, o); len(b.Changes()) > 0 || b.ChangedAnswers() != nil {
			t.Errorf("%s changes the branch: %s", name, format(b))
		}
	}
	b := bundle.BuildWith(s, p, nil, answered())
	if diff := cmp.Diff(b.ChangedAnswers(), []string{"cheapest"}); diff != "" {
		t.Errorf("another answer (-got +want):\n%s", diff)
	}
	if got := read(t, s, apply(branch, b)).Answers("cheapest"); got[0].Decisions == nil {
		t.Error("the empty list became an absent one")
	}
}

func TestAnswersOfPoliciesThatAreGoneAreRemoved(t *testing.T) {
	branch, _ := recordedBranch(t)
	unreadable := strings.Replace(external, "deploymentTargetSelector: {}", "deploymentTargetSelector: [", 1)
	for name, tc := range map[string]struct {
		change  func(files map[string]string)
		removed bool
	}{
		"the policy is gone": {func(f map[string]string) { delete(f, "env/policy.yaml") }, true},
		"it has the default scheduler": {func(f map[string]string) {
			f["env/policy.yaml"] = strings.Replace(external, ", schedulerName: cost", "", 1)
		}, true},
		"it has an extender": {func(f map[string]string) {
			f["env/policy.yaml"] = strings.Replace(external, "schedulerName: cost", "extenders: [{name: cost}]", 1)
		}, false},
		"it cannot be read":             {func(f map[string]string) { f["env/policy.yaml"] = unreadable }, false},
		"a file of it may be elsewhere": {func(f map[string]string) { delete(f, "env/policy.yaml"); f["env/broken.yaml"] = "a: [" }, false},
	} {
		files := externalFleet()
		tc.change(files)
		s := snapshot(files)
		after := apply(branch, bundle.Build(s, read(t, s, branch), nil))
		if _, still := after[answersAt]; still == tc.removed {
			t.Errorf("%s: it is there: %v", name, still)
		}
	}
}

func TestRecordedAnswersThatAreNotOurs(t *testing.T) {
	ours, s := recordedBranch(t)
	for name, tc := range map[string]struct {
		content string
		problem fleet.ProblemKind
		// used: the answers are used; written: a new answer is written; deleted: without the policy, the file is deleted
		used, written, deleted bool
	}{
		"ours":                  {ours[answersAt], "", true, true, true},
		"changed by hand":       {strings.Replace(ours[answersAt], "small", "large", 1), fleet.KindInventoryCorrupted, false, true, true},
		"of another policy":     {strings.ReplaceAll(ours[answersAt], "cheapest", "nearest"), fleet.KindInventoryCorrupted, false, true, false},
		"another environment's": {strings.Replace(ours[answersAt], `"dev"`, `"prod"`, 1), "", false, false, false},
		"of somebody":           {"hello", fleet.KindInventoryCorrupted, false, true, false},
	} {
		branch := maps.Clone(ours)
		branch[answersAt] = tc.content
		p := read(t, s, branch)
		if used := p.Answers("cheapest") != nil; used != tc.used {
			t.Errorf("%s: used %v", name, used)
		}
		b := bundle.BuildWith(s, p, nil, answered())
		if written := apply(branch, b)[answersAt] != tc.content; written != tc.written {
			t.Errorf("%s: written %v", name, written)
		}
		if !tc.written && !strings.Contains(format(b), "cannot be recorded") {
			t.Errorf("%s: there is no problem", name)
		}
		if tc.problem != "" && (len(p.Problems) != 1 || p.Problems[0].Kind != tc.problem || !strings.Contains(p.Problems[0].Message, "recorded answers for policy cheapest")) {
			t.Errorf("%s: problems %+v", name, p.Problems)
		}
		files := externalFleet()
		delete(files, "env/policy.yaml")
		gone := snapshot(files)
		after := apply(branch, bundle.Build(gone, read(t, gone, branch), nil))
		if _, still := after[answersAt]; still == tc.deleted {
			t.Errorf("%s: without the policy, it is there: %v", name, still)
		}
	}
	branch := maps.Clone(ours)
	branch[answersAt] = strings.Replace(ours[answersAt], `"version": 1`, `"version": 2`, 1)
	if _, err := readBranch(s, branch); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("answers of a newer program: %v", err)
	}
}
