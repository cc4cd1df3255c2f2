package local

import (
	"context"
	"database/sql"
	"errors"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// explain converts *err to an error of package forge, and adds operation and location. Defer it in every operation.
func explain(op, where string, err *error) {
	if *err == nil {
		return
	}
	var known *forge.Error
	switch {
	case errors.As(*err, &known):
		named := *known
		if named.Op == "" {
			named.Op, named.Where = op, where
		}
		*err = &named
	case errors.Is(*err, context.Canceled), errors.Is(*err, context.DeadlineExceeded):
	case errors.Is(*err, sql.ErrNoRows):
		*err = &forge.Error{Kind: forge.ErrNotFound, Op: op, Where: where}
	default:
		*err = &forge.Error{
			Kind: forge.ErrUnavailable, Op: op, Where: where, Detail: secret.Scrub((*err).Error()),
			Hint: "look at the disk and the folder of the forge",
		}
	}
}

func invalid(detail string) error  { return &forge.Error{Kind: forge.ErrInvalid, Detail: detail} }
func conflict(detail string) error { return &forge.Error{Kind: forge.ErrConflict, Detail: detail} }
func notFound(detail string) error { return &forge.Error{Kind: forge.ErrNotFound, Detail: detail} }

func denied(a Account, needed Right) error {
	return &forge.Error{
		Kind: forge.ErrDenied, Detail: "the token of " + a.Name + " does not allow it", Right: string(needed),
		Hint: "use a token with the right " + string(needed) + " for this repository",
	}
}
