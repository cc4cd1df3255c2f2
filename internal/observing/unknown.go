package observing

import (
	"fmt"
	"strings"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// UnknownError says that there is nothing of a name. It is [ledger.ErrNotFound].
type UnknownError struct {
	// What is the word for what was asked for: "environment", "workload", "cluster", "promotion".
	What string
	Name string
	// Near are up to three names that look most like it, the nearest first; empty when there is nothing of the kind.
	Near []string
}

// Error names what was asked for, and those that may have been meant.
func (e *UnknownError) Error() string {
	if len(e.Near) == 0 {
		return fmt.Sprintf("no %s %q: there is none yet", e.What, e.Name)
	}
	return fmt.Sprintf("no %s %q; did you mean %s?", e.What, e.Name, strings.Join(e.Near, ", "))
}

// Is makes it a [ledger.ErrNotFound].
func (e *UnknownError) Is(target error) bool { return target == ledger.ErrNotFound }
