package schedule

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Uncommitted is a revision: the state of a branch that is not committed yet, where one stands in for its head.
const Uncommitted = "@{uncommitted}"

// Change is a commit of a control plane with what will be committed after it.
type Change struct {
	// Branch is the branch that it is on; empty for a commit without one.
	Branch string
	// Commit is the newest commit; empty before the first one.
	Commit string
	// Into is the branch that it will be merged into. Default: what the control plane tells.
	Into string
}

// Destination is the branch of a control plane that a change affects.
type Destination struct {
	Branch string
	// Environments are those that the branch describes; empty for main, which concerns all of them.
	Environments []string
}

// Destination returns the branch that a change affects: its own, if that is main or the branch of an environment, and otherwise the one of these
// that it was cut from, which it will be merged into. A branch with a history of its own is that of a new environment.
func (l *Loader) Destination(ctx context.Context, r Request, c Change) (Destination, error) {
	if c.Into == "" && c.Branch == DefaultBase {
		return Destination{Branch: DefaultBase}, nil // which may be what cannot be read yet
	}
	branches, err := l.EnvironmentBranches(ctx, r)
	if err != nil {
		return Destination{}, err
	}
	names := []string{DefaultBase}
	for _, b := range branches {
		names = append(names, b.Branch)
	}
	into := c.Into
	switch {
	case into != "" && !slices.Contains(names, into) && into != r.Environment:
		return Destination{}, fmt.Errorf("%w: %q is neither main nor the branch of an environment: there are %s", ErrInvalidPlan, into, strings.Join(names, ", "))
	case into != "":
	case slices.Contains(names, c.Branch) || c.Branch != "" && c.Branch == r.Environment:
		into = c.Branch
	default:
		if into, err = l.cutFrom(ctx, r, c, names); err != nil {
			return Destination{}, err
		}
	}
	return destination(into, branches), nil
}

func destination(into string, branches []EnvironmentBranch) Destination {
	d := Destination{Branch: into}
	if into == DefaultBase {
		return d
	}
	for _, b := range branches {
		if b.Branch == into {
			d.Environments = append(d.Environments, b.Environment)
		}
	}
	if len(d.Environments) == 0 {
		d.Environments = []string{into}
	}
	return d
}

// cutFrom returns the branch that shares the most history with a change, or that of the change if none shares any.
// If several share the same, it is the first one.
func (l *Loader) cutFrom(ctx context.Context, r Request, c Change, names []string) (string, error) {
	best := ""
	for _, name := range names {
		if c.Commit == "" {
			break
		}
		fork, err := l.Repositories.Fork(ctx, Location{Repo: r.ControlPlane, Branch: name}, "", c.Commit)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil {
			continue
		}
		if best != "" {
			if known, err := l.Repositories.Contains(ctx, Location{Repo: r.ControlPlane, Branch: best}, fork); known || err != nil {
				continue
			}
		}
		best = name
	}
	switch {
	case best != "":
		return best, nil
	case c.Branch != "":
		return c.Branch, nil
	}
	return "", fmt.Errorf("%w: the commit that is checked out shares no history with main or the branch of an environment; name the branch that it will be merged into, as in --into main",
		ErrInvalidPlan)
}
