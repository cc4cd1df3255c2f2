package placement

import (
	"fmt"
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// BenchmarkDecideRules measures policies with expressions, scores, spread and capacity: "labels" is the same fleet with
// policies that only select. "published" has all of the assignments on the GitOps branch already.
func BenchmarkDecideRules(b *testing.B) {
	for _, size := range []struct{ targets, clusterTypes int }{{300, 50}, {2000, 100}} {
		wanted := size.targets * size.clusterTypes / 2
		for _, kind := range []string{"labels", "rules", "published"} {
			b.Run(fmt.Sprintf("%s-%dx%d", kind, size.targets, size.clusterTypes), func(b *testing.B) {
				s := ruledFleet(b, size.targets, size.clusterTypes, kind != "labels")
				var o Options
				if kind == "published" {
					o.Published = published(s, Decide(s, Options{}))
				}
				b.ReportAllocs()
				for b.Loop() {
					if got := countAssignments(Decide(s, o)); got != wanted {
						b.Fatalf("%d assignments, want %d", got, wanted)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*wanted), "ns/assignment")
			})
		}
	}
}

// ruledFleet assigns half of all pairs.
func ruledFleet(b *testing.B, targets, clusterTypes int, rules bool) *fleet.Snapshot {
	text := "targets:\n"
	for i := range targets {
		text += fmt.Sprintf("- {name: app/t%d, labels: {half: h%d, team: team-%d}, requests: {cpu: 100m}}\n", i, i%2, i%10)
	}
	text += "clusterTypes:\n"
	for i := range clusterTypes {
		text += fmt.Sprintf("- {name: type-%d, labels: {half: h%d, region: r%d, size: \"%d\"}", i, i%2, i%6, i%7)
		if rules {
			text += fmt.Sprintf(", capacity: {cpu: %d, assignments: %d}", targets, targets)
		}
		text += "}\n"
	}
	text += "policies:\n"
	for half := range 2 {
		text += fmt.Sprintf("- name: half-%d\n  deploymentTargetSelector: {labelSelector: {matchLabels: {half: h%d}}}\n", half, half)
		if !rules {
			text += fmt.Sprintf("  clusterTypeSelector: {labelSelector: {matchLabels: {half: h%d}}}\n", half)
			continue
		}
		text += fmt.Sprintf(`  filters: [{expression: "clusterType.labels.half == target.labels.half"}]
  maxClusterTypes: %d
  spread: [{key: region, maxSkew: 3}]
  preferences:
  - {weight: 50, expression: "int(clusterType.labels.size) * 10"}
  - {weight: 20, expression: "clusterType.labels.region.endsWith(target.labels.team.substring(5))"}
`, clusterTypes/2)
	}
	s, _ := parseCase(b, []byte(text))
	return s
}
