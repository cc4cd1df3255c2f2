package placement

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// BenchmarkDecide measures fleets in which the policies of ten teams assign every pair.
func BenchmarkDecide(b *testing.B) {
	for _, size := range []struct{ targets, clusterTypes int }{{30, 20}, {100, 20}, {300, 50}, {1000, 100}} {
		b.Run(fmt.Sprintf("%dx%d", size.targets, size.clusterTypes), func(b *testing.B) {
			s := largeSnapshot(size.targets, size.clusterTypes)
			for team := range 10 {
				p := policyFor(b, fmt.Sprint("team-", team), map[string]string{"managed": "true"}, nil)
				p.Workspace = p.Name
				s.Policies = append(s.Policies, p)
			}
			measure(b, s, size.targets*size.clusterTypes)
		})
	}
}

// BenchmarkDecideSelective measures a large fleet in which each of 1000 policies selects one target and one cluster type:
// the naive loop would make 100 million checks.
func BenchmarkDecideSelective(b *testing.B) {
	s := largeSnapshot(1000, 100)
	for i := range 1000 {
		s.Policies = append(s.Policies, policyFor(b, fmt.Sprint("policy-", i),
			map[string]string{"number": fmt.Sprint(i % 100), "managed": "true"},
			map[string]string{"number": fmt.Sprint(i), "type": "application"}))
	}
	measure(b, s, 1000)
}

// BenchmarkDecideOverlapping measures the worst case for memory: each cluster type is selected by its own policies.
func BenchmarkDecideOverlapping(b *testing.B) {
	s := largeSnapshot(1000, 100)
	for i := range 100 {
		s.Policies = append(s.Policies, policyFor(b, fmt.Sprint("policy-", i),
			map[string]string{"number": fmt.Sprint(i)}, map[string]string{"type": "application"}))
	}
	measure(b, s, 100_000)
}

func BenchmarkExplain(b *testing.B) {
	s := largeSnapshot(1000, 100)
	s.Policies = append(s.Policies, policyFor(b, "none", map[string]string{"managed": "false"}, nil))
	d := Decide(s, Options{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Explain("app-999", "type-99"); err != nil {
			b.Fatal(err)
		}
	}
}

func measure(b *testing.B, s *fleet.Snapshot, assignments int) {
	b.ReportAllocs()
	for b.Loop() {
		if got := countAssignments(Decide(s, Options{})); got != assignments {
			b.Fatalf("%d assignments, want %d", got, assignments)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*assignments), "ns/assignment")
}

func largeSnapshot(targets, clusterTypes int) *fleet.Snapshot {
	s := &fleet.Snapshot{Environment: "dev"}
	for i := range targets {
		s.Targets = append(s.Targets, newTarget(fmt.Sprint("app/", i), fmt.Sprint("team-", i%10), map[string]string{
			"type": "application", "number": fmt.Sprint(i), "workload": "app", "workspace": fmt.Sprint("team-", i%10),
		}))
	}
	for i := range clusterTypes {
		s.ClusterTypes = append(s.ClusterTypes, &fleet.ClusterType{Name: fmt.Sprint("type-", i), Labels: map[string]string{
			"managed": "true", "number": fmt.Sprint(i), "region": fmt.Sprint("region-", i%8),
		}})
	}
	return s
}

func policyFor(b *testing.B, name string, clusterTypes, targets map[string]string) *fleet.Policy {
	b.Helper()
	var spec v1alpha1.SchedulingPolicySpec
	spec.ClusterTypeSelector.LabelSelector = &metav1.LabelSelector{MatchLabels: clusterTypes}
	spec.DeploymentTargetSelector.LabelSelector = &metav1.LabelSelector{MatchLabels: targets}
	return newPolicy(b, name, spec)
}
