package api

import (
	"context"
	"fmt"
	"strings"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// breakGlass is the action of audit entries about commands that override rules in an emergency.
const breakGlass = "break-glass"

// override decides whether a client may give a command that overrides rules: an admin, or with breakGlass the role
// of that name, also that of a grant for a place. It is recorded under its own name before the command, which names
// it, too.
func (s *service) override(ctx context.Context, w *promote.Command, at access.Place, broken, dryRun bool, action string) error {
	who := access.From(ctx)
	if !broken && who.Role.Includes(access.Admin) {
		return nil
	}
	if _, err := (access.Rule{Role: access.BreakGlass, Scoped: true}).Allow(who, at); err != nil {
		return err
	}
	switch {
	case !broken:
		return &access.Refusal{
			Kind: access.ErrForbidden, What: fmt.Sprintf("%q may do this in an emergency only", who.Name), Next: "say so with breakGlass and a reason (--break-glass --why), or ask an admin",
		}
	case strings.TrimSpace(w.Why) == "":
		return fmt.Errorf("%w: say why the rules are overridden", ledger.ErrInvalid)
	}
	w.BreakGlass = true
	if dryRun {
		return nil
	}
	return s.audit(ctx, breakGlass, w.Environment, detail("action", action, "commit", w.Commit, "to", w.To, "check", w.Check, "why", w.Why))
}
