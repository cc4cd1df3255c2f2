package forgetest

import "testing"

// rule is behavior that every forge shares.
type rule struct {
	name  string
	check func(s *suite)
}

// Run runs all rules. It calls start for each.
func Run(t *testing.T, start func(t *testing.T) Harness) {
	for _, group := range []struct {
		name  string
		rules []rule
	}{
		{"repository", repositoryRules},
		{"pull requests", pullRequestRules},
		{"merge", mergeRules},
		{"merge queues", queueRules},
		{"labels", labelRules},
		{"statuses", statusRules},
		{"comments", commentRules},
		{"annotations", annotationRules},
		{"reviews", reviewRules},
		{"issues", issueRules},
		{"abilities", abilityRules},
		{"hooks", hookRules},
		{"rights", rightRules},
		{"faults", faultRules},
		{"late reads", lagRules},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, r := range group.rules {
				t.Run(r.name, func(t *testing.T) { r.check(newSuite(t, start(t))) })
			}
		})
	}
}
