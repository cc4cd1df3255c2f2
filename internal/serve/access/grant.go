package access

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/text/repourl"
)

// Grant gives the members of groups a role in workspaces.
type Grant struct {
	// Role is reader, approver, operator or break-glass. // required
	Role Role `json:"role"`
	// Groups are groups of the issuer; a user needs one of them. Grants of tokens have none.
	Groups []string `json:"groups,omitempty"`
	// Workspaces are the workspaces. // required
	Workspaces []string `json:"workspaces"`
	// Environments are the environments; empty means all.
	Environments []string `json:"environments,omitempty"`
	// ControlPlane is the URL of the control plane whose workspaces these are; empty means all control planes.
	ControlPlane string `json:"controlPlane,omitempty"`
	// From is where the grant is written, such as "access.grants[0]" or "access.yaml:3".
	From string `json:"from,omitempty"`
}

// Limits of one grant.
const (
	maxListed    = 1000
	maxGrantName = 253
)

// Check returns an error that says what is wrong with a grant of groups; all at once.
func (g Grant) Check() error {
	problems := []error{g.checkScope()}
	if len(g.Groups) == 0 {
		problems = append(problems, errors.New("groups: name at least one group of the identity provider"))
	}
	return errors.Join(append(problems, checkNames("groups", g.Groups))...)
}

// checkScope checks all but the groups, which tokens do not have.
func (g Grant) checkScope() error {
	var problems []error
	if !slices.Contains(GrantRoles(), g.Role) {
		problems = append(problems, fmt.Errorf("role: %q is not reader, approver, operator or break-glass", g.Role))
	}
	if len(g.Workspaces) == 0 {
		problems = append(problems, errors.New("workspaces: name at least one; for all of them, give the group a role of the server"))
	}
	if isEmpty(g.Environments) {
		problems = append(problems, errors.New("environments: name at least one, or leave it out for all"))
	}
	return errors.Join(append(problems, checkNames("workspaces", g.Workspaces), checkNames("environments", g.Environments))...)
}

// isEmpty reports whether a list is written and has nothing, for example because a program that wrote it found nothing.
func isEmpty(names []string) bool { return names != nil && len(names) == 0 }

func checkNames(field string, names []string) error {
	if len(names) > maxListed {
		return fmt.Errorf("%s: want at most %d", field, maxListed)
	}
	for _, name := range names {
		if name == "" || len(name) > maxGrantName || name != clean(name) || strings.ContainsAny(name, "*?") && field != "groups" {
			return fmt.Errorf("%s: %.40q is not a name; patterns are not supported", field, name)
		}
	}
	return nil
}

// String describes the grant for the audit trail: "operator of shop in dev, stage (access.grants[0])".
func (g Grant) String() string {
	text := string(g.Role)
	if len(g.Workspaces) > 0 {
		text += " of " + strings.Join(g.Workspaces, ", ")
	}
	if len(g.Environments) > 0 {
		text += " in " + strings.Join(g.Environments, ", ")
	}
	if len(g.Groups) > 0 {
		text += " as " + strings.Join(g.Groups, ", ")
	}
	if g.From != "" {
		text += " (" + g.From + ")"
	}
	return text
}

// Place is where something belongs.
type Place struct {
	// ControlPlane is the URL of the control plane that registers the workspace.
	ControlPlane string
	Workspace    string
	// Environment is empty for what concerns all environments: only a grant for all of them covers it.
	Environment string
}

// covers reports whether the grant is about a place. What has no workspace is the platform's, and never covered.
func (g *Grant) covers(p Place) bool {
	return p.Workspace != "" && slices.Contains(g.Workspaces, p.Workspace) &&
		(len(g.Environments) == 0 || slices.Contains(g.Environments, p.Environment)) &&
		(g.ControlPlane == "" || repourl.Same(g.ControlPlane, p.ControlPlane))
}

// Granted returns the grants to the members of groups, with only those of their groups that the members have.
func Granted(all []Grant, groups []string) []Grant {
	var found []Grant
	for _, g := range all {
		shared := slices.DeleteFunc(slices.Clone(g.Groups), func(group string) bool { return !slices.Contains(groups, group) })
		if len(shared) > 0 {
			g.Groups = shared
			found = append(found, g)
		}
	}
	return found
}

// Scope is what an identity sees. The zero value is nothing.
type Scope struct {
	all    bool
	grants []Grant
}

// Everything returns the scope of identities with a role of the server.
func Everything() Scope { return Scope{all: true} }

// All reports whether the scope has everything.
func (s Scope) All() bool { return s.all }

// Sees reports whether the scope includes a place.
func (s Scope) Sees(p Place) bool {
	return s.all || slices.ContainsFunc(s.grants, func(g Grant) bool { return g.covers(p) })
}

// Acts reports whether a grant of the scope has a role at a place. It knows nothing of roles of the server.
func (s Scope) Acts(role Role, p Place) bool {
	return slices.ContainsFunc(s.grants, func(g Grant) bool { return g.Role.Includes(role) && g.covers(p) })
}

// Key returns a text that is equal for scopes with the same grants, and differs for those that see something else. Answers that are made
// for one viewer are given to another one only if their keys are equal.
func (s Scope) Key() string {
	if s.all {
		return "all"
	}
	var parts []string
	for _, g := range s.grants {
		sorted := func(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }
		text, _ := json.Marshal([]any{g.ControlPlane, sorted(g.Workspaces), sorted(g.Environments)}) // texts
		parts = append(parts, string(text))
	}
	slices.Sort(parts)
	return strings.Join(slices.Compact(parts), "")
}

// RolesKey is a [Scope.Key] that also differs for those who may do something else.
func (s Scope) RolesKey() string {
	key := s.Key()
	for _, role := range GrantRoles() {
		key += " " + string(role) + Scope{grants: slices.DeleteFunc(slices.Clone(s.grants), func(g Grant) bool { return !g.Role.Includes(role) })}.Key()
	}
	return key
}
