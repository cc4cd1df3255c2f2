package fleet_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

func TestDeletionBudgetIsANumberOrAPercentage(t *testing.T) {
	for value, want := range map[string]int{ // of 100 published
		"7": 7, "0": 0, "1": 1, "250": 250, "20%": 20, "1%": 1, "100%": 100, "0%": 0,
		"7x": -1, "x7": -1, "500%": -1, "101%": -1, "-1": -1, "-1%": -1, "7.5": -1, "%": -1, "": -1, "7%%": -1, "+7": -1, "99999999999": -1, " 7": -1,
	} {
		text := intstr.FromString(value)
		budget, problem := fleet.ParseDeletionBudget("spec.deletionBudget", &text)
		if invalid := problem != nil && problem.Severity == fleet.SeverityError; invalid != (want < 0) {
			t.Errorf("%q: got problem %v", value, problem)
		}
		if want < 0 {
			want = fleet.DefaultBudgetPercent
		}
		if got := budget.Allows(100); got != want {
			t.Errorf("%q allows %d, want %d", value, got, want)
		}
	}
}

// Untrusted input must not increase a budget by accident: unless it is a valid number of removals, it allows at most
// its percentage, which is not rounded up. The default alone has a minimum.
func TestPercentageNeverAllowsMoreThanItsShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		percent, published := rapid.IntRange(-1000, 1000).Draw(t, "percent"), rapid.IntRange(0, 100_000).Draw(t, "published")
		text := intstr.FromString(fmt.Sprintf("%d%%", percent))
		budget, problem := fleet.ParseDeletionBudget("f", &text)
		want := published * percent / 100
		if percent < 0 || percent > 100 {
			want = max(published*fleet.DefaultBudgetPercent/100, fleet.MinimumBudget)
			if problem == nil || problem.Severity != fleet.SeverityError {
				t.Fatalf("%s: got problem %v", text.StrVal, problem)
			}
		}
		if got := budget.Allows(published); got != want {
			t.Errorf("%s of %d allows %d, want %d", text.StrVal, published, got, want)
		}
	})
}
