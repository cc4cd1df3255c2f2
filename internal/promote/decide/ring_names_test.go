package decide_test

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// TestAnEnvironmentIsNotCalledLikeABranchOfARing checks that an environment whose branch Kalypso would move as a ring is refused.
func TestAnEnvironmentIsNotCalledLikeABranchOfARing(t *testing.T) {
	at := func(line int) fleet.Position {
		return fleet.Position{Source: "main", File: "environments.yaml", Line: line}
	}
	_, problems := decide.NewChain([]decide.Stage{
		{Name: "prod", Promotion: &v1alpha1.Promotion{Rings: []v1alpha1.Ring{{Name: "canary"}, {Name: "others"}}}, Position: at(1)},
		{Name: "prod-ring-canary", Position: at(10)},
		{Name: "dev", Promotion: &v1alpha1.Promotion{}, Position: at(20)},
		{Name: "dev-ring-canary", Position: at(30)}, // dev has no rings
		{Name: "prod-rings", Position: at(40)},
	}, nil)
	if len(problems) != 1 || problems[0].Position != at(10) || problems[0].Severity != fleet.SeverityError || !strings.Contains(problems[0].Message, `"prod-ring-"`) {
		t.Errorf("got %+v", problems)
	}
}
