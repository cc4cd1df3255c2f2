package deliver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
)

// Dependencies are what the targets of an environment need of each other, on the cluster types that they are assigned to.
type Dependencies struct {
	// Snapshot and Decisions are those of the environment. // required
	Snapshot  *fleet.Snapshot
	Decisions *placement.Decisions
	// Uninstalled reports whether a target of another application is uninstalled. Nil if that is unknown: then all count as deployed.
	Uninstalled func(workload, target string) bool
}

// Depending is what [Policies] implement that know what targets need of each other.
type Depending interface {
	// Dependencies returns those of an environment.
	Dependencies(ctx context.Context, environment string) (*Dependencies, error)
}

var _ Depending = (*Platform)(nil)

// Dependencies implements [Depending].
func (p *Platform) Dependencies(ctx context.Context, environment string) (*Dependencies, error) {
	loaded, err := p.load(ctx, environment)
	if err != nil {
		return nil, err
	}
	return &Dependencies{Snapshot: loaded.Snapshot, Decisions: loaded.decisions}, nil
}

// need is a dependency of a target on a cluster type, with the targets that meet it there.
type need struct {
	of  *fleet.Target
	on  string
	dep fleet.Dependency
	met []*fleet.Target
}

// needs returns all that concern a workload.
func (d *Dependencies) needs(workload string) []need {
	var all []need
	for _, clusterType := range d.Snapshot.ClusterTypes {
		for _, a := range d.Decisions.For(clusterType.Name) {
			for _, dep := range a.Target.DependsOn {
				if dep.Workload != workload && a.Target.Workload != workload {
					continue
				}
				met := slices.DeleteFunc(slices.Clone(a.DependsOn), func(t *fleet.Target) bool { return !means(dep, t.Workload, t.ShortName) })
				all = append(all, need{a.Target, clusterType.Name, dep, met})
			}
		}
	}
	return all
}

// means reports whether a dependency can be met by a target.
func means(dep fleet.Dependency, workload, target string) bool {
	return dep.Workload == workload && (dep.Target == "" || dep.Target == target)
}

// withoutNeeded returns the targets that stay as published, with the problem that says why: those that are uninstalled or removed although
// another target needs them, and those that are deployed again although what they need is uninstalled.
func (d *Drafter) withoutNeeded(ctx context.Context, w *work) (map[string]fleet.Problem, error) {
	platform, ok := d.Policies.(Depending)
	leaving, coming := w.moving()
	if !ok || len(leaving)+len(coming) == 0 {
		return nil, nil
	}
	dependencies, err := platform.Dependencies(ctx, w.environment)
	if err != nil {
		return nil, fmt.Errorf("read what targets need: %w", err)
	}
	workload := w.app.Workload.Name
	held, needs := map[string]fleet.Problem{}, dependencies.needs(workload)
	away := func(of, target string) bool {
		if of != workload {
			return dependencies.Uninstalled != nil && dependencies.Uninstalled(of, target)
		}
		if _, stays := held[target]; stays {
			return coming[target]
		}
		return leaving[target] != "" || w.pins[target].Uninstalled
	}
	for { // what stays because of others can need others itself
		next := map[string]fleet.Problem{}
		for name, what := range leaving {
			if by := neededBy(needs, workload, name, what == removed, away); len(by) > 0 {
				next[name] = w.dependencyProblem(fmt.Sprintf("it is not %s: %s", what, placement.NeededText(by)), "uninstall what needs it first, or remove the dependency")
			}
		}
		for name := range coming {
			if lacks := lacksOf(needs, workload, name, away); len(lacks) > 0 {
				next[name] = w.dependencyProblem("it is not deployed: it needs "+strings.Join(lacks, ", ")+", which is uninstalled", "deploy what it needs first")
			}
		}
		maps.Copy(next, held)
		if len(next) == len(held) {
			return held, nil
		}
		held = next
	}
}

func (w *work) dependencyProblem(message, hint string) fleet.Problem {
	return fleet.Problem{
		Severity: fleet.SeverityError, Kind: fleet.KindDependency, Object: fleet.Ref{Kind: "Workload", Name: w.app.Workload.Name}, Message: message, Hint: hint,
	}
}

// What a leaving target becomes.
const (
	uninstalled = "uninstalled"
	removed     = "removed"
)

// moving returns the targets that lose all their objects by a pin or by their removal from the Workload, with which of both, and those that
// were uninstalled and are not any more.
func (w *work) moving() (leaving map[string]string, coming map[string]bool) {
	leaving, coming = map[string]string{}, map[string]bool{}
	if w.gitops.Published == nil {
		return leaving, coming
	}
	for _, t := range w.gitops.Published.Targets {
		pin := w.pins[t.Name].Pin
		switch {
		case !w.app.hasTarget(w.environment, t.Name):
			if w.only == nil && !t.Pin.Uninstalled {
				leaving[t.Name] = removed
			}
		case pin.Uninstalled && !t.Pin.Uninstalled:
			leaving[t.Name] = uninstalled
		case t.Pin.Uninstalled && !pin.Uninstalled:
			coming[t.Name] = true
		}
	}
	return leaving, coming
}

// neededBy returns the deployed targets that need a target of a workload, sorted: those for which no other target meets the dependency. What
// was removed from its Workload meets nothing any more, so that nothing meets the dependencies on it.
func neededBy(needs []need, workload, target string, removed bool, away func(workload, target string) bool) []string {
	by := map[string]bool{}
	for _, n := range needs {
		isIt := func(t *fleet.Target) bool { return t.Workload == workload && t.ShortName == target }
		switch {
		case !means(n.dep, workload, target), away(n.of.Workload, n.of.ShortName):
		case slices.ContainsFunc(n.met, func(t *fleet.Target) bool { return !isIt(t) && !away(t.Workload, t.ShortName) }): // another one meets it
		case removed || slices.ContainsFunc(n.met, isIt):
			by[n.of.String()+" on "+n.on] = true
		}
	}
	return slices.Sorted(maps.Keys(by))
}

// lacksOf returns what a target needs and only uninstalled targets would meet, sorted.
func lacksOf(needs []need, workload, target string, away func(workload, target string) bool) []string {
	found := map[string]bool{}
	for _, n := range needs {
		deployed := slices.ContainsFunc(n.met, func(t *fleet.Target) bool { return !away(t.Workload, t.ShortName) })
		if n.of.Workload == workload && n.of.ShortName == target && len(n.met) > 0 && !deployed {
			found[n.dep.String()+" on "+n.on] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
