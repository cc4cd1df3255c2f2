package promote

import (
	"context"
	"slices"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// RuleProblems returns the problems of the promotion rules of a control plane's environments, sorted. An environment with an error
// lets nothing in. What the chain in a server's configuration can still correct is a warning.
func RuleProblems(ctx context.Context, l *schedule.Loader, r schedule.Request) ([]fleet.Problem, error) {
	described, _, err := l.Descriptions(ctx, r)
	if err != nil {
		return nil, err
	}
	var stages []decide.Stage
	var plain []string
	for _, d := range described {
		stages = append(stages, decide.Stage{Name: d.Environment.Name, Promotion: d.Environment.Spec.Promotion, Position: d.Position})
		if d.Environment.Spec.Promotion == nil && !slices.Contains(plain, d.Environment.Name) {
			plain = append(plain, d.Environment.Name)
		}
	}
	_, problems := decide.NewChain(stages, nil)
	_, remaining := decide.NewChain(stages, plain)
	for i := range problems {
		if !slices.Contains(remaining, problems[i]) {
			problems[i].Severity = fleet.SeverityWarning
			problems[i].Hint += " of the server's configuration"
		}
	}
	return problems, nil
}
