package placement

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// shortFleet is the short form of a snapshot in test cases: only what scheduling uses.
type shortFleet struct {
	Targets []struct {
		Name      string // workload/short name
		Workspace string
		Labels    map[string]string
	}
	ClusterTypes []struct {
		Name   string
		Labels map[string]string
	}
	Policies []struct {
		Name string
		Line int
		v1alpha1.SchedulingPolicySpec
	}
}

func parseFleet(t *testing.T, text []byte) *fleet.Snapshot {
	t.Helper()
	var short shortFleet
	if err := yaml.UnmarshalStrict(text, &short); err != nil {
		t.Fatalf("parse fleet: %v", err)
	}
	s := &fleet.Snapshot{Environment: "dev"}
	for _, o := range short.Targets {
		s.Targets = append(s.Targets, newTarget(o.Name, o.Workspace, o.Labels))
	}
	for _, o := range short.ClusterTypes {
		s.ClusterTypes = append(s.ClusterTypes, &fleet.ClusterType{Name: o.Name, Labels: o.Labels})
	}
	for _, o := range short.Policies {
		p := newPolicy(t, o.Name, o.SchedulingPolicySpec)
		p.Position = fleet.Position{Source: "dev", File: "policies.yaml", Line: o.Line}
		s.Policies = append(s.Policies, p)
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
