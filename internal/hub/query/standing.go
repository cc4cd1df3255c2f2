package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
)

// standing is an environment, and what the last rounds found about it. Only its name is set where the ledger alone knows it.
type standing struct {
	name         string
	controlPlane string
	// application is the subject where it is one of an application; empty for those of control planes.
	application string
	// order is the place in the chain; those that are in no chain come last.
	order     int
	promotion *promote.Standing
	looked    time.Time
	// line are the commits of the source branch, the oldest first.
	line      []promote.Commit
	scheduled *Scheduled
}

// sameRepository reports whether two addresses are of one repository: people write them in other ways than the server does.
func sameRepository(a, b string) bool {
	return a == b || ledger.CleanRepository(a) == ledger.CleanRepository(b)
}

// subject is what is promoted, as the ledger knows it; empty where that is not known.
func (s *standing) subject() string {
	if s.application != "" {
		return s.application
	}
	return ledger.CleanRepository(s.controlPlane)
}

// standings returns all environments of the fleet, by control plane and chain; none without a fleet.
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
			byName[e.Environment] = &standing{name: e.Environment, order: i, promotion: e, looked: p.At, line: p.Line}
		}
	}
	for name, scheduled := range cp.Scheduling {
		s := byName[name]
		if s == nil {
			s = &standing{name: name, order: len(byName) + len(cp.Scheduling)}
			byName[name] = s
		}
		s.scheduled = scheduled
		if scheduled.At.After(s.looked) {
			s.looked = scheduled.At
		}
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

// everywhere returns the environments that there are: those of the fleet, and where it has none those of the ledger.
// Of the past, only the ledger knows.
func (o *Observer) everywhere(ctx context.Context, asOf time.Time) ([]standing, error) {
	if asOf.IsZero() {
		if all := o.standings(); len(all) > 0 {
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

// recordedEnvironments are the names of environments that are on record, without what stands for all of them.
func (o *Observer) recordedEnvironments(ctx context.Context) ([]string, error) {
	names, err := o.Ledger.Names(ctx, ledger.NameEnvironment)
	return slices.DeleteFunc(names, func(name string) bool { return name == deliver.Everywhere }), err
}

// environment returns the environment of a name; an [UnknownError] when there is none.
func (o *Observer) environment(ctx context.Context, controlPlane, name string, asOf time.Time) (standing, error) {
	if name == "" {
		return standing{}, fmt.Errorf("%w: of which environment?", ledger.ErrInvalid)
	}
	var found []standing
	if asOf.IsZero() {
		found = slices.DeleteFunc(o.standings(), func(s standing) bool {
			return s.name != name || controlPlane != "" && !sameRepository(s.controlPlane, controlPlane)
		})
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return standing{}, fmt.Errorf("%w: %q and %q both have an environment %q; say which control plane is meant",
			ledger.ErrInvalid, found[0].controlPlane, found[1].controlPlane, name)
	}
	names, err := o.recordedEnvironments(ctx)
	if err != nil {
		return standing{}, err
	}
	// A name that the fleet does not know any more has a past, and of the past the ledger knows names only.
	if (controlPlane == "" || !asOf.IsZero()) && slices.Contains(names, name) {
		return standing{name: name, controlPlane: controlPlane}, nil
	}
	var there []string
	for _, s := range o.standings() {
		names = append(names, s.name)
		if sameRepository(s.controlPlane, controlPlane) {
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

// controlPlanes are the addresses of those that the fleet knows.
func (o *Observer) controlPlanes() []string {
	var all []string
	for _, s := range o.standings() {
		all = append(all, s.controlPlane)
	}
	return all
}

// selected returns the environment of a name, or all of them when it is empty.
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

// now is the time that an answer is about.
func (o *Observer) at(asOf time.Time) time.Time {
	if asOf.IsZero() {
		return o.Now()
	}
	return asOf
}

// until is the end of what counts at a time, exclusive; zero for now.
func until(asOf time.Time) time.Time {
	if asOf.IsZero() {
		return time.Time{}
	}
	return asOf.Add(time.Microsecond) // the resolution of the ledger
}
