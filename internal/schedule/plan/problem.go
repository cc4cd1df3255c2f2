package plan

import (
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// RootProblem is a problem once, however many assignments suffer from it.
type RootProblem struct {
	// Problem has an Assignment only when it is the only one.
	fleet.Problem
	// Assignments are those that suffer, in the order of the problems; empty for a problem of no assignment.
	Assignments []string
}

// RootProblems merges problems that differ in nothing but the assignment, in the order of the first of each.
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
