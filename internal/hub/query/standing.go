package query

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/text/repourl"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// standing is an environment with the results of the last rounds. If only the ledger knows it, only the name is set.
type standing struct {
	name         string
	controlPlane string
	// application is the subject of an application's environment; empty for a control plane's.
	application string
	// order is the position in the chain; environments outside the chain come last.
	order     int
	promotion *promote.Standing
	lastRound time.Time
	// line are the commits of the source branch, the oldest first.
	line      []promote.Commit
	scheduled *Scheduled
}

// subject returns the subject of promotions in the ledger; empty if unknown.
func (s *standing) subject() string {
	if s.application != "" {
		return s.application
	}
	return ledger.CleanRepository(s.controlPlane)
}

// standings returns all environments of the fleet, by control plane and chain.
func (o *Observer) standings() []standing {
	if o.Fleet == nil {
		return nil
	}
	var all []standing
	for _, cp := range o.Fleet.ControlPlanes() {
		all = append(all, cp.standings()...)
	}
	return all
}

func (cp *ControlPlane) standings() []standing {
	byName := map[string]*standing{}
	if p := cp.Promotion; p != nil {
		for i := range p.Environments {
			e := &p.Environments[i]
			byName[e.Environment] = &standing{name: e.Environment, order: i, promotion: e, lastRound: p.At, line: p.Line}
		}
	}
	for name, scheduled := range cp.Scheduling {
		s := byName[name]
		if s == nil {
			s = &standing{name: name, order: len(byName) + len(cp.Scheduling)}
			byName[name] = s
		}
		s.scheduled = scheduled
		if scheduled.At.After(s.lastRound) {
			s.lastRound = scheduled.At
		}
	}
	if cp.Environments != nil {
		maps.DeleteFunc(byName, func(name string, _ *standing) bool { return !slices.Contains(cp.Environments, name) })
	}
	var all []standing
	for _, s := range byName {
		s.controlPlane = cp.URL
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b standing) int { return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.name, b.name)) })
	for i := range all {
		all[i].order = i
	}
	return all
}

// everywhere returns the environments of the fleet, or else those of the ledger. For the past, it returns those of the ledger.
func (o *Observer) everywhere(ctx context.Context, asOf time.Time) ([]standing, error) {
	if asOf.IsZero() {
		if all := o.standings(); len(all) > 0 || o.knowsEnvironments() {
			return all, nil
		}
	}
	names, err := o.recordedEnvironments(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]standing, len(names))
	for i, name := range names {
		all[i] = standing{name: name}
	}
	return all, nil
}

// knowsEnvironments reports whether rounds have read the environments of all control planes. Others are not served any more.
func (o *Observer) knowsEnvironments() bool {
	if o.Fleet == nil {
		return false
	}
	planes := o.Fleet.ControlPlanes()
	return len(planes) > 0 && !slices.ContainsFunc(planes, func(cp ControlPlane) bool { return cp.Environments == nil })
}

// exists reports whether a control plane has an environment.
func (o *Observer) exists(name string) bool {
	return slices.ContainsFunc(o.Fleet.ControlPlanes(), func(cp ControlPlane) bool { return slices.Contains(cp.Environments, name) })
}

// recordedEnvironments returns the environments in the ledger, without the placeholder for all.
func (o *Observer) recordedEnvironments(ctx context.Context) ([]string, error) {
	names, err := o.Ledger.Names(ctx, ledger.NameEnvironment)
	return slices.DeleteFunc(names, func(name string) bool { return name == deliver.Everywhere }), err
}

// environment returns an environment, or an [UnknownError].
func (o *Observer) environment(ctx context.Context, controlPlane, name string, asOf time.Time) (standing, error) {
	if name == "" {
		return standing{}, fmt.Errorf("%w: environment is required", ledger.ErrInvalid)
	}
	var found []standing
	if asOf.IsZero() {
		found = slices.DeleteFunc(o.standings(), func(s standing) bool {
			return s.name != name || controlPlane != "" && !repourl.Same(s.controlPlane, controlPlane)
		})
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return standing{}, fmt.Errorf("%w: %q and %q both have an environment %q; set the control plane",
			ledger.ErrInvalid, found[0].controlPlane, found[1].controlPlane, name)
	}
	names, err := o.recordedEnvironments(ctx)
	if err != nil {
		return standing{}, err
	}
	if asOf.IsZero() && slices.Contains(names, name) && o.knowsEnvironments() && !o.exists(name) {
		return standing{}, &UnknownError{What: "environment", Name: secret.Line(name), Removed: true}
	}
	// The ledger knows environments that the fleet no longer has, but not their control planes.
	if (controlPlane == "" || !asOf.IsZero()) && slices.Contains(names, name) {
		return standing{name: name, controlPlane: controlPlane}, nil
	}
	var there []string
	for _, s := range o.standings() {
		names = append(names, s.name)
		if repourl.Same(s.controlPlane, controlPlane) {
			there = append(there, s.name)
		}
	}
	switch {
	case controlPlane == "" || !asOf.IsZero():
		return standing{}, Unknown("environment", name, names)
	case len(there) == 0:
		return standing{}, Unknown("control plane", controlPlane, o.controlPlanes())
	}
	return standing{}, Unknown("environment", name, there)
}

// controlPlanes returns the URLs of the fleet's control planes.
func (o *Observer) controlPlanes() []string {
	var all []string
	for _, s := range o.standings() {
		all = append(all, s.controlPlane)
	}
	return all
}

// selected returns one environment, or all if name is empty.
func (o *Observer) selected(ctx context.Context, name string, asOf time.Time) ([]standing, error) {
	if name == "" {
		return o.everywhere(ctx, asOf)
	}
	s, err := o.environment(ctx, "", name, asOf)
	if err != nil {
		return nil, err
	}
	return []standing{s}, nil
}

// maxAhead is how much the clock of a client may be ahead.
const maxAhead = time.Minute

// knows returns an error if the state at a time is not known: that of the future, and for viewers of workspaces also that of the past. Each
// query about a time asks it first. The past is known from the platform's history, which those viewers do not see, and what belonged to
// their workspaces at that time is not recorded.
func (o *Observer) knows(asOf time.Time) error {
	switch {
	case asOf.IsZero():
	case o.Scoped():
		return fmt.Errorf("%w: a role in workspaces shows the current state, and not an earlier one; that needs a role of the server", ledger.ErrInvalid)
	case asOf.After(o.Now().Add(maxAhead)):
		return fmt.Errorf("%w: %s is in the future", ledger.ErrInvalid, utc(asOf).Format(time.RFC3339))
	}
	return nil
}

// at returns the time of an answer.
func (o *Observer) at(asOf time.Time) time.Time {
	if asOf.IsZero() {
		return o.Now()
	}
	return asOf
}

// until returns asOf as an exclusive end; zero for now.
func until(asOf time.Time) time.Time {
	if asOf.IsZero() {
		return time.Time{}
	}
	return asOf.Add(time.Microsecond) // the resolution of the ledger
}
