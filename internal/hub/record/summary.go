package record

import (
	"fmt"

	"github.com/kalypso-io/kalypso/internal/schedule"
)

// Summary is the result of recording several branches.
type Summary struct {
	// Did lists what was recorded, in order.
	Did []string
	// Problems are the branches or files that could not be recorded, with reasons.
	Problems []string
	// Read are the branches that were read.
	Read []schedule.Location
}

// Add adds the result of one branch.
func (s *Summary) Add(o *Outcome) {
	name := fmt.Sprintf("branch %s of %s", o.Branch.Branch, o.Branch.Repository)
	if n := len(o.Recorded); n > 0 {
		commits := "commits"
		if n == 1 {
			commits = "commit"
		}
		s.Did = append(s.Did, fmt.Sprintf("recorded %d %s of %s", n, commits, name))
	}
	if o.Rewritten != nil {
		s.Problems = append(s.Problems, fmt.Sprintf("%s: %s", name, o.Rewritten.Reason))
	}
	if o.Gone {
		s.Problems = append(s.Problems, name+" no longer exists; its recorded commits are kept")
	}
	for _, p := range o.Problems {
		at := name
		if p.Position.File != "" { // otherwise it is about the whole branch
			at += ": " + p.Position.String()
		}
		s.Problems = append(s.Problems, at+": "+p.Message)
	}
}
