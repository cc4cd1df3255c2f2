package largefleet

import (
	"fmt"
	"strings"
)

// addWorkloads adds the repositories of the application teams.
func (s Spec) addWorkloads(f Files) {
	for i := range s.workloads() {
		f.Workloads[workloadName(i)] = map[string]string{"workload.yaml": s.workload(i)}
	}
}

func (s Spec) workload(i int) string {
	name := workloadName(i)
	var b strings.Builder
	b.WriteString(header("Workload", name))
	fmt.Fprintf(&b, "  labels:\n    type: application\n    family: family-%d\nspec:\n  deploymentTargets:\n", i%7)
	first := i * s.TargetsPerWorkload
	for t := range min(s.TargetsPerWorkload, s.Targets-first) {
		s.writeTarget(&b, name, t)
	}
	return b.String()
}

func (s Spec) writeTarget(b *strings.Builder, workload string, t int) {
	purpose := purposes[t%len(purposes)]
	target := fmt.Sprintf("%s-%d", purpose, t)
	fmt.Fprintf(b, `    - name: %[1]s
      labels:
        purpose: %[2]s
        edge: "%[3]t"
      environment: %[4]s
      manifests:
        repo: https://git.example.com/%[5]s-gitops
        branch: %[4]s
        path: ./%[1]s
`, target, purpose, t%2 == 0, s.Environment, workload)
}
