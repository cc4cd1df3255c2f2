package access

import (
	"fmt"
	"slices"
)

// Rule is what an operation, a page or a tool requires. The zero value lets no client through: what has no rule is forbidden.
type Rule struct {
	// Role is the required role.
	Role Role
	// Scoped means that the role in a workspace is enough: the operation answers only about what the client's [Scope] sees, and asks
	// [Rule.Allow] before it changes something. Otherwise, a role of the server is required.
	Scoped bool
	// Public means that no role is required.
	Public bool
}

// Admit decides whether a client may use the operation at all. The error is a [Refusal].
func (r Rule) Admit(who Identity) error {
	switch {
	case r.Public:
		return nil
	case r.Role == "":
		return &Refusal{Kind: ErrForbidden, What: "this operation is disabled"}
	case r.Scoped && slices.ContainsFunc(who.Grants, func(g Grant) bool { return g.Role.Includes(r.Role) }):
		return nil
	case r.Scoped && who.Role == "" && len(who.Grants) > 0:
		return &Refusal{
			Kind: ErrForbidden, What: fmt.Sprintf("%q needs the role %s, in the workspace or of the server", who.Name, r.Role), Next: "ask an admin for a grant",
		}
	}
	return who.May(r.Role)
}

// Allow decides whether a client may do it to what belongs to a place. It returns the grant that allows it; nil if a role of the server
// does. The error is a [Refusal].
func (r Rule) Allow(who Identity, p Place) (*Grant, error) {
	if r.Public {
		return nil, nil
	}
	if err := r.Admit(who); err != nil {
		return nil, err
	}
	if who.Role.Includes(r.Role) {
		return nil, nil
	}
	for i := range who.Grants {
		if g := &who.Grants[i]; g.Role.Includes(r.Role) && g.covers(p) {
			return g, nil
		}
	}
	where := fmt.Sprintf("workspace %q", p.Workspace)
	if p.Environment != "" {
		where += fmt.Sprintf(" in environment %q", p.Environment)
	}
	return nil, &Refusal{
		Kind: ErrForbidden, What: fmt.Sprintf("%q is not %s of %s", who.Name, r.Role, where), Next: "ask an admin for a grant",
	}
}
