package bundle_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// needy is a fleet of workloads that depend on each other, as it can be written in a control plane.
type needy struct {
	workloads map[string]*needyWorkload
	types     map[string]*needyType
	policies  map[string]needyPolicy
	broken    map[string]bool // files that cannot be read
}

type needyWorkload struct {
	targets   []string
	dependsOn []string
	url       string
	lost      bool // its registration
}

type needyType struct {
	label, taint string
	capacity     int
}

type needyPolicy struct {
	workload, label, mode string
	priority              int
}

var needyNames = []string{"a", "b", "c", "d"}

func drawNeedy(t *rapid.T) *needy {
	n := &needy{workloads: map[string]*needyWorkload{}, types: map[string]*needyType{}, policies: map[string]needyPolicy{}, broken: map[string]bool{}}
	for _, name := range needyNames {
		n.workloads[name] = &needyWorkload{targets: []string{"t"}, url: "one"}
		n.policies[name] = needyPolicy{workload: name, mode: "include", priority: rapid.IntRange(0, 2).Draw(t, "priority")}
	}
	for _, name := range []string{"one", "two"} {
		n.types[name] = &needyType{label: "yes"}
	}
	n.depend(t)
	return n
}

// depend draws dependencies, of later workloads on earlier ones so that most are met.
func (n *needy) depend(t *rapid.T) {
	for i, name := range needyNames {
		n.workloads[name].dependsOn = nil
		for _, on := range needyNames[:i] {
			if rapid.Bool().Draw(t, "depends") {
				n.workloads[name].dependsOn = append(n.workloads[name].dependsOn, on+rapid.SampledFrom([]string{"", "/t"}).Draw(t, "target"))
			}
		}
	}
}

// edit makes one change that may remove something.
func (n *needy) edit(t *rapid.T) {
	name, ct := rapid.SampledFrom(needyNames).Draw(t, "workload"), n.types[rapid.SampledFrom([]string{"one", "two"}).Draw(t, "type")]
	w := n.workloads[name]
	switch rapid.SampledFrom([]string{"target", "registration", "policy", "exclude", "taint", "capacity", "label", "needs", "change", "break", "mend"}).Draw(t, "edit") {
	case "target":
		w.targets = rapid.SampledFrom([][]string{nil, {"t"}, {"u"}, {"t", "u"}}).Draw(t, "targets")
	case "registration":
		w.lost = !w.lost
	case "policy":
		if p, ok := n.policies[name]; ok && p.label == "" {
			p.label = "yes"
			n.policies[name] = p
		} else {
			delete(n.policies, name)
		}
	case "exclude":
		n.policies["no-"+name] = needyPolicy{workload: name, mode: "exclude"}
	case "taint":
		ct.taint = rapid.SampledFrom([]string{"", "NoSchedule", "NoExecute"}).Draw(t, "taint")
	case "capacity":
		ct.capacity = rapid.IntRange(0, 4).Draw(t, "capacity")
	case "label":
		ct.label = rapid.SampledFrom([]string{"yes", "other"}).Draw(t, "label")
	case "needs":
		n.depend(t)
	case "change":
		w.url += "x"
	case "break":
		n.broken[rapid.SampledFrom(append([]string{"policy"}, needyNames...)).Draw(t, "broken")] = true
	case "mend":
		clear(n.broken)
	}
}

func (n *needy) snapshot() *fleet.Snapshot {
	files := map[string]string{
		"env/gitops.yaml": group + "kind: GitOpsRepo\nmetadata: {name: g}\nspec: {repo: https://example.com/g, branch: dev}\n",
	}
	for name, w := range n.workloads {
		if !w.lost {
			files["main/"+name+".yaml"] = group + "kind: WorkloadRegistration\nmetadata: {name: " + name + "}\nspec: {workspace: w, workload: {repo: https://example.com/" + name + ", branch: main}}\n"
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%skind: Workload\nmetadata: {name: %s}\nspec:\n  dependsOn: [", group, name)
		for _, dep := range w.dependsOn {
			workload, target, _ := strings.Cut(dep, "/")
			fmt.Fprintf(&b, "{workload: %s, target: %q}, ", workload, target)
		}
		b.WriteString("]\n  deploymentTargets:\n")
		for _, target := range w.targets {
			fmt.Fprintf(&b, "    - {name: %s, environment: dev, manifests: {repo: https://example.com/%s}}\n", target, w.url)
		}
		if len(w.targets) == 0 {
			b.WriteString("    []\n")
		}
		if n.broken[name] {
			b.WriteString("broken: [\n")
		}
		files["workloads/"+name+"/workload.yaml"] = strings.ReplaceAll(b.String(), ", target: \"\"", "")
	}
	for name, ct := range n.types {
		text := group + "kind: ClusterType\nmetadata: {name: " + name + ", labels: {run: \"" + ct.label + "\"}}\nspec:\n  reconciler: flux\n  namespaceService: default\n  configType: none\n"
		if ct.taint != "" {
			text += "  taints: [{key: k, effect: " + ct.taint + "}]\n"
		}
		if ct.capacity > 0 {
			text += fmt.Sprintf("  capacity: {assignments: %d}\n", ct.capacity)
		}
		files["env/"+name+".yaml"] = text
	}
	for name, p := range n.policies {
		label := "{}"
		if p.label != "" {
			label = "{run: \"" + p.label + "\"}"
		}
		text := group + "kind: SchedulingPolicy\nmetadata: {name: " + name + "}\nspec:\n  mode: " + p.mode +
			"\n  deploymentTargetSelector: {labelSelector: {matchLabels: {workload: " + p.workload + "}}}\n  clusterTypeSelector: {labelSelector: {matchLabels: " + label + "}}\n"
		if p.mode == "include" {
			text += fmt.Sprintf("  priority: %d\n", p.priority)
		}
		if n.broken["policy"] && name == "a" {
			text = "broken: [\n" + text
		}
		files["env/policy-"+name+".yaml"] = text
	}
	return snapshot(files)
}

// written records what the files of assignments were written to depend on.
type written map[string][]fleet.Dependency

// TestNeededStays commits a few changes to a control plane, one after the other, and publishes each. Nothing is removed that a published
// assignment, which stays, depends on, whatever removes it: not without approval. Nothing stays for a need that nothing has.
func TestNeededStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawNeedy(t)
		branch, deps := map[string]string{}, written{}
		var previous *bundle.Bundle
		for commit := range 4 {
			for range rapid.IntRange(min(commit, 1), 3*min(commit, 1)).Draw(t, "edits") {
				n.edit(t)
			}
			s := n.snapshot()
			published, err := readBranch(s, branch)
			if err != nil {
				t.Fatal(err)
			}
			s = s.Settle(published.Owners)
			b := bundle.Build(s, published, nil)
			if again := bundle.Build(s, published, previous); fmt.Sprint(holdingsOf(b).Removed) != fmt.Sprint(holdingsOf(again).Removed) {
				t.Fatalf("it removes %v, and after an earlier build %v", b.Removed, again.Removed)
			}
			deps = deps.check(t, s, published, b)
			if approved := bundle.BuildWith(s, published, b, bundle.Options{Approved: true}); approved.Approvable() {
				t.Fatalf("something stays although its removal is approved: %v", approved.Problems)
			}
			branch, previous = apply(branch, b), b
		}
	})
}

// check returns what the files depend on once the bundle is published.
func (w written) check(t *rapid.T, s *fleet.Snapshot, published *bundle.Published, b *bundle.Bundle) written {
	now := maps.Clone(w)
	removed := map[string][]*bundle.Assignment{}
	for i := range b.Removed {
		a := &b.Removed[i]
		removed[a.Folder()] = append(removed[a.Folder()], a)
		delete(now, a.Name())
	}
	for _, f := range b.Folders {
		var there []*bundle.Assignment
		for i := range f.Assignments {
			if len(f.Assignments[i].Files) > 0 {
				there = append(there, &f.Assignments[i])
			}
		}
		for _, a := range there {
			var wants []fleet.Dependency
			for _, target := range s.Targets {
				if target.Name == a.Target {
					wants = target.DependsOn
				}
			}
			if a.Held == nil {
				now[a.Name()] = wants
			}
			if _, was := published.Assignment(f.Name, a.Target); !was {
				continue
			}
			for _, dep := range append(slices.Clone(wants), now[a.Name()]...) {
				if slices.ContainsFunc(there, means(dep)) {
					continue
				}
				if i := slices.IndexFunc(removed[f.Name], means(dep)); i >= 0 {
					t.Fatalf("%s needs %s, and %s is removed", a.Name(), dep, removed[f.Name][i].Name())
				}
			}
		}
		for _, a := range there {
			if a.Held == nil || !strings.Contains(a.Held.Message, "not removed: needed by ") {
				continue
			}
			needs := func(of *bundle.Assignment) bool {
				for _, target := range s.Targets {
					if target.Name == of.Target && slices.ContainsFunc(target.DependsOn, func(dep fleet.Dependency) bool { return means(dep)(a) }) {
						return true
					}
				}
				return slices.ContainsFunc(now[of.Name()], func(dep fleet.Dependency) bool { return means(dep)(a) })
			}
			if !slices.ContainsFunc(there, needs) {
				t.Fatalf("%s stays, and nothing needs it: %s", a.Name(), a.Held.Message)
			}
		}
	}
	return now
}

func means(dep fleet.Dependency) func(*bundle.Assignment) bool {
	return func(a *bundle.Assignment) bool {
		return a.Workload == dep.Workload && (dep.Target == "" || a.Target == dep.Workload+"-"+dep.Target)
	}
}
