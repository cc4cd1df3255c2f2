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

// UnknownError means that a name does not exist. It matches [ledger.ErrNotFound].
type UnknownError struct {
	// What is the kind of name: "environment", "control plane", "workload", "cluster", "promotion of commit".
	What string
	Name string
	// Near are up to three similar names, the most similar first; empty if none exist yet.
	Near []string
	// Removed means that the ledger has its history, but no control plane has it any more.
	Removed bool
}

// Error names what is unknown, with similar names.
func (e *UnknownError) Error() string {
	if e.Removed {
		return fmt.Sprintf("%s %q does not exist any more: no control plane has it; its history is in the ledger", e.What, e.Name)
	}
	if len(e.Near) == 0 {
		return fmt.Sprintf("no %s %q: nothing of the kind is known yet", e.What, e.Name)
	}
	return fmt.Sprintf("no %s %q; near it are %s", e.What, e.Name, strings.Join(e.Near, ", "))
}

// Is reports whether target is [ledger.ErrNotFound].
func (e *UnknownError) Is(target error) bool { return target == ledger.ErrNotFound }

// maxName limits names in comparisons, whose cost grows with the square of it. Of longer ones, the beginning is compared.
const maxName = 253

// Unknown returns an [UnknownError] with the names that are most similar.
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
			distance[n] = 1 // a part of a name is a better hint than a few common letters
		}
	}
	near := slices.SortedFunc(slices.Values(names), func(a, b string) int {
		return cmp.Or(cmp.Compare(distance[a], distance[b]), cmp.Compare(a, b))
	})
	e.Near = slices.Compact(near)
	e.Near = e.Near[:min(3, len(e.Near))]
	return e
}

// unknownIn returns the error for a name that the ledger does not know.
func (o *Observer) unknownIn(ctx context.Context, kind ledger.NameKind, name string) error {
	names, err := o.Ledger.Names(ctx, kind)
	if err != nil {
		return err
	}
	return Unknown(string(kind), name, names)
}

// ambiguous returns the error for a commit that matches several.
func ambiguous(commit string) error {
	return fmt.Errorf("%w: several commits are called %q; give more of its digits, or what it is promoted of", ledger.ErrInvalid, commit)
}
