//go:build unix

package bundle_test

import (
	"fmt"
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/largefleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// BenchmarkMassRemovals builds a fleet with a thousand policies after all cluster types lost their labels, so that each of 20,000 published
// assignments is examined for typos, and for what needs it.
func BenchmarkMassRemovals(b *testing.B) {
	s := load(new(fleet.Cache), largefleet.Generate(largefleet.Spec{Targets: 1000, ClusterTypes: 20, Layers: 20}))
	for i := range 1000 {
		other := *s.Policies[0]
		other.Name, other.Workspace = fmt.Sprintf("zz-%04d", i), "another"
		s.Policies = append(s.Policies, &other)
	}
	published, err := bundle.Build(s, nil, nil).AsPublished()
	if err != nil {
		b.Fatal(err)
	}
	lost := *s
	lost.ClusterTypes = nil
	for _, ct := range s.ClusterTypes {
		bare := *ct
		bare.Labels = map[string]string{}
		lost.ClusterTypes = append(lost.ClusterTypes, &bare)
	}
	for b.Loop() {
		built = bundle.Build(&lost, published, nil)
	}
	b.ReportMetric(float64(len(built.Removed)), "removals")
}
