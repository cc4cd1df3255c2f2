package plan

import (
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// RootProblem is a problem with all assignments that it affects.
type RootProblem struct {
	// Problem has an Assignment only if it affects exactly one.
	fleet.Problem
	// Assignments are the affected assignments, in the order of the problems; empty for a problem without assignment.
	Assignments []string
}

// RootProblems merges problems that differ only in their assignment, in the order of their first appearance.
func RootProblems(problems []fleet.Problem) []RootProblem {
	index := map[fleet.Problem]int{}
	var roots []RootProblem
	for _, p := range problems {
		root := p
		root.Assignment = ""
		at, known := index[root]
		if !known {
			at = len(roots)
			index[root] = at
			roots = append(roots, RootProblem{Problem: p})
		} else if roots[at].Assignment != p.Assignment {
			roots[at].Assignment = ""
		}
		if p.Assignment != "" {
			roots[at].Assignments = append(roots[at].Assignments, p.Assignment)
		}
	}
	return roots
}
