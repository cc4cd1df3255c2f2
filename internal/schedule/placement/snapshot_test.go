package placement

import (
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/fleettest"
)

// shortFleet is the short form of a snapshot in test cases: only what scheduling uses.
type shortFleet struct {
	Targets []struct {
		Name             string // workload/short name
		Workspace        string
		Labels           map[string]string
		Requests         map[string]any
		RequiredFeatures []v1alpha1.RequiredFeature
		DependsOn        []v1alpha1.Dependency
		Registration     string
	}
	ClusterTypes []struct {
		Name   string
		Labels map[string]string
		v1alpha1.ClusterTypeSpec
	}
	Policies []struct {
		Name string
		Line int
		v1alpha1.SchedulingPolicySpec
	}
	// Published are the policies that assigned a target to a cluster type, by "<cluster type>/<target>".
	Published map[string][]string
	// Unreadable are objects as "<kind>/<name>", and Elsewhere the environments of targets of other environments.
	Unreadable []string
	Elsewhere  map[string]string
	// Stays are the published pairs that stay because something cannot be read.
	Stays []string
}

func parseFleet(t testing.TB, text []byte) *fleet.Snapshot {
	t.Helper()
	s, _ := parseCase(t, text)
	return s
}

// parseCase returns the snapshot of a case, with policies and targets as they are read, and its options.
func parseCase(t testing.TB, text []byte) (*fleet.Snapshot, Options) {
	t.Helper()
	var short shortFleet
	if err := yaml.UnmarshalStrict(text, &short); err != nil {
		t.Fatalf("parse fleet: %v", err)
	}
	read := assembled(t, short)
	s := &fleet.Snapshot{Environment: "dev", ClusterTypes: read.ClusterTypes, Policies: read.Policies}
	for _, o := range short.Targets {
		target := newTarget(o.Name, o.Workspace, o.Labels)
		i := slices.IndexFunc(read.Targets, func(t *fleet.Target) bool { return t.Name == target.Name })
		target.Requests, target.RequiredFeatures = read.Targets[i].Requests, read.Targets[i].RequiredFeatures
		target.DependsOn, target.Registration = read.Targets[i].DependsOn, o.Registration
		s.Targets = append(s.Targets, target)
	}
	for i, o := range short.Policies {
		n := slices.IndexFunc(s.Policies, func(p *fleet.Policy) bool { return p.Name == short.Policies[i].Name })
		s.Policies[n].Position = fleet.Position{Source: "dev", File: "policies.yaml", Line: o.Line}
	}
	s.Elsewhere = short.Elsewhere
	for _, name := range short.Unreadable {
		kind, name, _ := strings.Cut(name, "/")
		s.Unreadable = append(s.Unreadable, fleet.Unreadable{Ref: fleet.Ref{Kind: kind, Name: name}})
	}
	options := Options{Stays: func(p Pair) bool { return slices.Contains(short.Stays, p.ClusterType+"/"+p.Target) }}
	options.Published = func(yield func(Pair, []string) bool) {
		for _, name := range slices.Sorted(maps.Keys(short.Published)) {
			clusterType, target, _ := strings.Cut(name, "/")
			if !yield(Pair{Target: target, ClusterType: clusterType}, short.Published[name]) {
				return
			}
		}
	}
	return s, options
}

// assembled reads the documents of a short fleet.
func assembled(t testing.TB, short shortFleet) *fleet.Snapshot {
	t.Helper()
	files := map[string]string{}
	add := func(kind, name string, labels map[string]string, spec any) {
		document, err := yaml.Marshal(map[string]any{
			"apiVersion": "scheduler.kalypso.io/v1alpha1", "kind": kind, "metadata": map[string]any{"name": name, "labels": labels}, "spec": spec,
		})
		if err != nil {
			t.Fatal(err)
		}
		files["env/"+kind+"-"+name+".yaml"] = string(document)
	}
	for _, o := range short.Targets {
		workload, name, _ := strings.Cut(o.Name, "/")
		add("DeploymentTarget", workload+"-"+name, map[string]string{"workload": workload}, map[string]any{
			"environment": "dev", "requests": o.Requests, "requiredFeatures": o.RequiredFeatures, "dependsOn": o.DependsOn,
		})
	}
	for _, o := range short.ClusterTypes {
		add("ClusterType", o.Name, o.Labels, o.ClusterTypeSpec)
	}
	for _, o := range short.Policies {
		add("SchedulingPolicy", o.Name, nil, o.SchedulingPolicySpec)
	}
	s := fleet.Assemble(fleettest.Inputs("dev", files))
	for _, p := range s.Problems {
		if p.Severity == fleet.SeverityError && p.Kind != fleet.KindMissingObject { // it needs no GitOpsRepo
			t.Fatalf("%s: %s: %s", p.Position, p.Object, p.Message)
		}
	}
	return s
}

func newTarget(name, workspace string, labels map[string]string) *fleet.Target {
	workload, short, _ := strings.Cut(name, "/")
	return &fleet.Target{
		Name: workload + "-" + short, Workload: workload, ShortName: short,
		Workspace: workspace, Labels: labels, Manifests: map[string]string{},
	}
}

func newPolicy(t testing.TB, name string, spec v1alpha1.SchedulingPolicySpec) *fleet.Policy {
	t.Helper()
	return &fleet.Policy{
		Name:         name,
		Workspace:    spec.DeploymentTargetSelector.Workspace,
		Targets:      selector(t, spec.DeploymentTargetSelector.LabelSelector),
		ClusterTypes: selector(t, spec.ClusterTypeSelector.LabelSelector),
		Scheduler:    spec.SchedulerName,
		Extenders:    spec.Extenders,
	}
}

func selector(t testing.TB, s *metav1.LabelSelector) labels.Selector {
	t.Helper()
	if s == nil {
		return labels.Everything()
	}
	compiled, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func countAssignments(d *Decisions) int {
	count := 0
	for _, row := range d.selected.rows {
		count += len(row.targets)
	}
	return count
}
