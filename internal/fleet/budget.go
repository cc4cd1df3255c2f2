package fleet

import (
	"fmt"
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

// The default budget is DefaultBudgetPercent of what is published.
// MinimumBudget removals are within every budget.
const (
	DefaultBudgetPercent = 20
	MinimumBudget        = 5
)

// Allows returns how many removals are within the budget when published assignments or targets exist.
func (b DeletionBudget) Allows(published int) int {
	n := b.Count
	switch {
	case !b.Set:
		n = published * DefaultBudgetPercent / 100
	case b.Percent:
		n = published * b.Count / 100
	}
	return max(n, MinimumBudget)
}

// ParseDeletionBudget parses 7, "7" and "20%"; nil is the default budget. field names the value in the problem, which has no position yet
// and is nil for a valid budget. An invalid budget is an error, and the default budget is returned;
// a budget below [MinimumBudget], which has no effect, is a notice.
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
	budget := DeletionBudget{Set: true, Count: count, Percent: percent}
	if count < MinimumBudget && (count == 0 || !percent) {
		return budget, &Problem{
			Severity: SeverityNotice, Kind: KindInvalidValue, Hint: "protect the branch if every pull request with removals needs a review",
			Message: fmt.Sprintf("%s is %s, and %d removals are within every budget", field, value.String(), MinimumBudget),
		}
	}
	return budget, nil
}
