package web

import (
	"strings"

	"github.com/kalypso-io/kalypso/internal/schedule/plan"
	"github.com/kalypso-io/kalypso/internal/text/words"
)

// diffLine is a line of a diff. Changed is what differs from the other version of the line, and empty if nothing is
// marked; Before and After surround it.
type diffLine struct {
	Op                     plan.Op
	Head                   bool
	Before, Changed, After string
}

// diffLines prepares the lines of a diff. They are cleaned first: no secret can hide by being divided.
func diffLines(diff []plan.DiffLine) []diffLine {
	all := make([]diffLine, len(diff))
	for i, l := range diff {
		all[i] = diffLine{Op: l.Op, Head: l.Head, Before: lines(l.Text)}
	}
	sign := func(i int) byte {
		switch all[i].Op {
		case plan.Added:
			return '+'
		case plan.Removed:
			return '-'
		}
		return ' '
	}
	words.Pairs(len(all), sign, func(removed, added int) {
		b, a, ok := words.Changed(strings.TrimPrefix(all[removed].Before, "-"), strings.TrimPrefix(all[added].Before, "+"))
		if ok {
			all[removed].divide("-", b)
			all[added].divide("+", a)
		}
	})
	return all
}

// divide sets the parts of a line.
func (l *diffLine) divide(sign string, p words.Parts) {
	l.Before, l.Changed, l.After = sign+p.Prefix, p.Changed, p.Suffix
}
