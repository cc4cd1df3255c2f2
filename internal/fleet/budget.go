package fleet

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// DeletionBudget limits how many assignments, or targets of an application, one pull request may remove without approval.
// The zero value is the default budget.
type DeletionBudget struct {
	// Set is false for the default budget.
	Set bool
	// Count is a number of removals, or with Percent a percentage of what is published.
	Count   int
	Percent bool
}

// The default budget is DefaultBudgetPercent of what is published, and at least MinimumBudget. A budget that is set is exact.
const (
	DefaultBudgetPercent = 20
	MinimumBudget        = 5
)

// Allows returns how many removals are within the budget when published assignments or targets exist.
func (b DeletionBudget) Allows(published int) int {
	switch {
	case !b.Set:
		return max(published*DefaultBudgetPercent/100, MinimumBudget)
	case b.Percent:
		return published * b.Count / 100
	}
	return b.Count
}

// ParseDeletionBudget parses 7, "7" and "20%"; nil is the default budget. field names the value in the problem, which has no position yet
// and is nil for a valid budget. An invalid budget is an error, and the default budget is returned.
func ParseDeletionBudget(field string, value *intstr.IntOrString) (DeletionBudget, *Problem) {
	if value == nil {
		return DeletionBudget{}, nil
	}
	digits, percent := strings.CutSuffix(value.String(), "%")
	number, err := strconv.ParseUint(digits, 10, 31)
	count := int(number)
	if err != nil || percent && count > 100 {
		return DeletionBudget{}, &Problem{
			Severity: SeverityError, Kind: KindInvalidValue, Hint: `write a number such as 7, or a percentage such as "20%"`,
			Message: field + " " + quoteShort(value.String()) + " is neither a number nor a percentage up to 100%; the default applies",
		}
	}
	return DeletionBudget{Set: true, Count: count, Percent: percent}, nil
}
