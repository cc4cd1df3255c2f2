package query

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/text/nearest"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// UnknownError means that a name does not exist. It matches [ledger.ErrNotFound].
type UnknownError struct {
	// What is the kind of name: "environment", "control plane", "workload", "cluster", "promotion of commit".
	What string
	Name string
	// Near are up to three similar names, the most similar first; empty if none is similar.
	Near []string
	// Known are up to three names that exist, if none is similar, and More is how many others exist.
	Known []string
	More  int
	// None means that no name of the kind exists.
	None bool
	// Removed means that the ledger has its history, but no control plane has it any more.
	Removed bool
}

// Error names what is unknown, with similar names, or others that exist.
func (e *UnknownError) Error() string {
	unknown := fmt.Sprintf("no %s %q", e.What, e.Name)
	switch {
	case e.Removed:
		return fmt.Sprintf("%s %q does not exist any more: no control plane has it; its history is in the ledger", e.What, e.Name)
	case len(e.Near) > 0:
		return unknown + "; near it are " + strings.Join(e.Near, ", ")
	case e.More > 0:
		return fmt.Sprintf("%s; known are %s and %d more", unknown, strings.Join(e.Known, ", "), e.More)
	case len(e.Known) > 0:
		return unknown + "; known are " + strings.Join(e.Known, ", ")
	case e.None:
		return unknown + ": none exist yet"
	}
	return unknown
}

// Is reports whether target is [ledger.ErrNotFound].
func (e *UnknownError) Is(target error) bool { return target == ledger.ErrNotFound }

// maxName is the length of the longest names. Of longer ones, the beginning is shown.
const maxName = 253

// Unknown returns an [UnknownError] with similar names.
func Unknown(what, name string, names []string) error {
	const most = 3
	e := &UnknownError{What: what, Name: secret.Line(name), None: len(names) == 0}
	if len(name) > maxName {
		e.Name = strings.ToValidUTF8(e.Name[:min(len(e.Name), 40)], "") + "..."
	}
	e.Near = nearest.All(name, names)
	if e.Near = e.Near[:min(most, len(e.Near))]; len(e.Near) == 0 {
		all := slices.Compact(slices.Sorted(slices.Values(names)))
		e.Known = all[:min(most, len(all))]
		e.More = len(all) - len(e.Known)
	}
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

// registered returns an error if the ledger does not have a name.
func (o *Observer) registered(ctx context.Context, kind ledger.NameKind, name string) error {
	names, err := o.Ledger.Names(ctx, kind)
	if err != nil || slices.Contains(names, name) {
		return err
	}
	return Unknown(string(kind), name, names)
}

// ambiguous returns the error for a commit that matches several.
func ambiguous(commit string) error {
	return fmt.Errorf("%w: several commits are called %q; give more of its digits, or what it is promoted of", ledger.ErrInvalid, commit)
}
