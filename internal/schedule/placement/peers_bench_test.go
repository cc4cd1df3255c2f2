package placement

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// BenchmarkDecideScale decides the fleet of KubeFleet's scalability report of 2026: 1,000 clusters in ten groups, and placements
// that select one group by a label, so 100 clusters each
// (https://github.com/kubefleet-dev/website/blob/main/content/en/blog/2026/perf-scalability-report-q1-2026/index.md).
//
// A placement is a target with a policy of its own here, and a cluster is a cluster type. "first" is the first placement and "all"
// are 1,000 of them. Whatever changes, everything is decided again, so "all" also stands for KubeFleet's re-processing after
// a restart, and "another", one placement more, takes as long. Three cases are not in the report: "pick" takes 50 of the 100
// clusters of each group, spread over the stages, "pick-again" decides that when all of it is published, and "wide" is a single
// placement on 100,000 clusters.
//
// The report's times are not comparable as they are. They include writing a Binding and a Work object for each assignment to an
// API server, applying these on the clusters and waiting for their status; Decide is a function that writes nothing.
// docs/performance.md says what the rest costs here.
func BenchmarkDecideScale(b *testing.B) {
	for _, bench := range []struct {
		name                         string
		placements, clusters, wanted int
		published, pick, whole       bool
	}{
		{name: "first", placements: 1, clusters: 1000, wanted: 100},
		{name: "all", placements: 1000, clusters: 1000, wanted: 100_000},
		{name: "another", placements: 1001, clusters: 1000, wanted: 100_100},
		{name: "pick", placements: 1000, clusters: 1000, pick: true, wanted: 50_000},
		{name: "pick-again", placements: 1000, clusters: 1000, pick: true, published: true, wanted: 50_000},
		{name: "wide", placements: 1, clusters: 100_000, whole: true, wanted: 100_000},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s := groupedFleet(b, bench.placements, bench.clusters)
			for _, p := range s.Policies {
				if bench.whole {
					p.ClusterTypes = selector(b, nil)
				}
				if bench.pick {
					p.Max, p.Spread = 50, []fleet.Spread{{Key: "stage", MaxSkew: 25}}
				}
			}
			var o Options
			if bench.published {
				o.Published = published(s, Decide(s, Options{}))
			}
			b.ReportAllocs()
			for b.Loop() {
				if got := countAssignments(Decide(s, o)); got != bench.wanted {
					b.Fatalf("%d assignments, want %d", got, bench.wanted)
				}
			}
		})
	}
}

// groupedFleet has a policy for each target, which selects a tenth of the cluster types.
func groupedFleet(b *testing.B, placements, clusters int) *fleet.Snapshot {
	b.Helper()
	s := &fleet.Snapshot{Environment: "dev"}
	for i := range clusters {
		stage := "live"
		switch {
		case i < clusters/5:
			stage = "trial"
		case i < clusters/2:
			stage = "early"
		}
		s.ClusterTypes = append(s.ClusterTypes, &fleet.ClusterType{
			Name: fmt.Sprint("cluster-", i), Labels: map[string]string{"group": fmt.Sprint(i % 10), "stage": stage},
		})
	}
	for i := range placements {
		name := fmt.Sprint(i)
		s.Targets = append(s.Targets, newTarget("app/"+name, "", map[string]string{"app": name}))
		var spec v1alpha1.SchedulingPolicySpec
		spec.DeploymentTargetSelector.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
		spec.ClusterTypeSelector.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"group": fmt.Sprint(i % 10)}}
		s.Policies = append(s.Policies, newPolicy(b, "placement-"+name, spec))
	}
	return s
}
