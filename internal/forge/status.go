package forge

import (
	"slices"
	"strings"
	"time"
)

// StatusState is the state of a status.
type StatusState string

// The states of a status.
const (
	Pending StatusState = "pending"
	Success StatusState = "success"
	Failure StatusState = "failure" // the check failed
	Errored StatusState = "error"   // the check could not run
)

// Status is the result of a program for a commit.
type Status struct {
	// Context identifies the program, such as "kalypso/plan".
	Context     string // required
	State       StatusState
	Description string
	// URL leads to details.
	URL string
	// Required means that the commit must not be merged before the status succeeds. The embedded forge enforces it.
	// Other forges do not store it: there, branch protection says which statuses are required.
	Required bool
	// Time is set by the forge.
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
