package forge

import (
	"slices"
	"strings"
	"time"
)

// StatusState is what a status says.
type StatusState string

// The states of a status.
const (
	Pending StatusState = "pending"
	Success StatusState = "success"
	Failure StatusState = "failure" // what was checked is not good
	Errored StatusState = "error"   // it could not be checked
)

// Status is what a program says about a commit.
type Status struct {
	// Context is the name under which it is said: "kalypso/plan".
	Context     string // required
	State       StatusState
	Description string
	// URL leads people to the details.
	URL string
	// Time is when it was said; the forge sets it.
	Time time.Time
}

// LatestStatuses returns the last status of each context, sorted by context.
// statuses are in the order in which they were set.
func LatestStatuses(statuses []Status) []Status {
	latest := map[string]int{}
	for i, s := range statuses {
		latest[s.Context] = i
	}
	kept := make([]Status, 0, len(latest))
	for i, s := range statuses {
		if latest[s.Context] == i {
			kept = append(kept, s)
		}
	}
	slices.SortFunc(kept, func(a, b Status) int { return strings.Compare(a.Context, b.Context) })
	return kept
}
