package solution

import "fmt"

// NotRebuiltError is returned for a merged commit with other files than its inputs give.
type NotRebuiltError struct {
	Environment, Commit string
	// Differences are from the rebuilt files to those of the commit. There is at least one.
	Differences []Difference
	// Advice says what to do.
	Advice string
}

// Error names the first file that differs.
func (e *NotRebuiltError) Error() string {
	d := e.Differences[0]
	more := ""
	if n := len(e.Differences) - 1; n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	where := d.File
	if d.Line > 0 {
		where = fmt.Sprintf("%s:%d", d.File, d.Line)
	}
	return fmt.Sprintf("commit %.7s of %s has files that its inputs do not render: %s%s", e.Commit, e.Environment, where, more)
}

// Hint says what to do.
func (e *NotRebuiltError) Hint() string { return e.Advice }
