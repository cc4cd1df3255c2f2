package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// UnknownError says that there is nothing of a name. It is [ledger.ErrNotFound].
type UnknownError struct {
	// What is the word for what was asked for: "environment", "control plane", "workload", "cluster", "promotion of commit".
	What string
	Name string
	// Near are up to three names that look most like it, the nearest first; empty when there is nothing of the kind.
	Near []string
}

// Error names what was asked for, and those that may have been meant.
func (e *UnknownError) Error() string {
	if len(e.Near) == 0 {
		return fmt.Sprintf("no %s %q: nothing of the kind is known yet", e.What, e.Name)
	}
	return fmt.Sprintf("no %s %q; near it are %s", e.What, e.Name, strings.Join(e.Near, ", "))
}

// Is makes it a [ledger.ErrNotFound].
func (e *UnknownError) Is(target error) bool { return target == ledger.ErrNotFound }

// maxName is the longest name that is compared with others: the work grows with the square of it. Longer ones are by their beginning.
const maxName = 253

// Unknown is an [UnknownError] for a name that is none of some, with hints from those that there are.
func Unknown(what, name string, names []string) error {
	e := &UnknownError{What: what, Name: secret.Line(name)}
	if len(name) > maxName {
		e.Name = strings.ToValidUTF8(e.Name[:min(len(e.Name), 40)], "") + "..."
		name = e.Name
	}
	distance := make(map[string]int, len(names))
	for _, n := range names {
		distance[n] = levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(n))
		if name != "" && strings.Contains(n, name) {
			distance[n] = 1 // a part of a name is a better sign than a few letters in common
		}
	}
	near := slices.SortedFunc(slices.Values(names), func(a, b string) int {
		return cmp.Or(cmp.Compare(distance[a], distance[b]), cmp.Compare(a, b))
	})
	e.Near = slices.Compact(near)
	e.Near = e.Near[:min(3, len(e.Near))]
	return e
}

// unknownIn is the error for a name that the ledger does not know.
func (o *Observer) unknownIn(ctx context.Context, kind ledger.NameKind, name string) error {
	names, err := o.Ledger.Names(ctx, kind)
	if err != nil {
		return err
	}
	return Unknown(string(kind), name, names)
}

// ambiguous is the error for a commit that may be several.
func ambiguous(commit string) error {
	return fmt.Errorf("%w: several commits are called %q; give more of its digits, or what it is promoted of", ledger.ErrInvalid, commit)
}
