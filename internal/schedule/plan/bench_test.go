package plan_test

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/largefleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// BenchmarkCompare compares two states of a fleet of 100,000 assignments: one value of one cluster type differs,
// or the namespaces of all.
func BenchmarkCompare(b *testing.B) {
	files := largefleet.Generate(largefleet.Spec{Targets: 1000, ClusterTypes: 100})
	renamed := largefleet.Generate(largefleet.Spec{Targets: 1000, ClusterTypes: 100})
	for path, text := range renamed.Main {
		if strings.Contains(text, "kind: Namespace") {
			renamed.Main[path] = strings.Replace(text, "name: \"{{ .Namespace }}\"", "name: \"x-{{ .Namespace }}\"", 1)
		}
	}
	before := bundle.Build(load(files), nil, nil)
	for name, files := range map[string]largefleet.Files{"one value": files.ChangeValue(), "all namespaces": renamed} {
		after := bundle.Build(load(files), nil, before)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var p *plan.Plan
			for b.Loop() {
				p = compare(b, plan.BundleState("before", before), after)
			}
			b.ReportMetric(float64(p.Counts.Changed), "changed")
		})
	}
}

func load(f largefleet.Files) *fleet.Snapshot {
	main, env, workloads := f.Sources()
	in := fleet.Inputs{
		Environment: f.Environment, Main: fleet.Read(nil, main), Branch: fleet.Read(nil, env),
		Workloads: map[string]fleet.Fetched{},
	}
	for name, source := range workloads {
		in.Workloads[name] = fleet.Fetched{Objects: fleet.Read(nil, source)}
	}
	return fleet.Assemble(in)
}
