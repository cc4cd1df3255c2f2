package bundle

import (
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
)

// needs finds which of the published assignments of a folder that nothing wants any more have to stay, because a published assignment
// that stays depends on them: whatever the reason is for which they are not wanted. What an assignment depends on is what its files
// were written with, and what its target says now.
type needs struct {
	*folderBuild
	leaving map[string][]*Assignment // by workload
	there   map[string][]*Assignment // the assignments that stay or are added, by workload
}

// neededOf returns why assignments that nothing wants any more have to stay. It has no entry for those that can be removed.
func (f *folderBuild) neededOf(leaving []*Assignment) map[*Assignment]*fleet.Problem {
	if len(leaving) == 0 || f.options.Approved {
		return nil
	}
	n := needs{f, map[string][]*Assignment{}, map[string][]*Assignment{}}
	for _, a := range leaving {
		n.leaving[a.Workload] = append(n.leaving[a.Workload], a)
	}
	var dependents []*Assignment
	for i := range f.result.Assignments {
		a := &f.result.Assignments[i]
		if len(a.Files) == 0 {
			continue
		}
		n.there[a.Workload] = append(n.there[a.Workload], a)
		if _, published := f.published.Assignment(a.Target); published {
			dependents = append(dependents, a)
		}
	}
	kept := map[*Assignment][]*Assignment{} // with those that need them
	for queue := dependents; len(queue) > 0; {
		next := n.keep(queue, kept)
		dependents, queue = append(dependents, next...), next
	}
	reasons := make(map[*Assignment]*fleet.Problem, len(kept))
	for a, by := range kept {
		reasons[a] = n.reason(a, by)
	}
	return reasons
}

// keep adds what assignments need to what is kept, and returns what is new there: it may need others itself.
func (n *needs) keep(dependents []*Assignment, kept map[*Assignment][]*Assignment) []*Assignment {
	var added []*Assignment
	for _, of := range dependents {
		for _, dep := range n.dependencies(of) {
			leaving := n.meant(dep, n.leaving[dep.Workload])
			if len(leaving) == 0 || len(n.meant(dep, n.there[dep.Workload])) > 0 {
				continue
			}
			for _, a := range leaving {
				if a == of {
					continue
				}
				if kept[a] == nil {
					added = append(added, a)
				}
				if !slices.Contains(kept[a], of) {
					kept[a] = append(kept[a], of)
				}
			}
		}
	}
	return added
}

// dependencies returns what an assignment depends on.
func (n *needs) dependencies(a *Assignment) []fleet.Dependency {
	var all []fleet.Dependency
	for _, text := range a.needs {
		workload, target, _ := strings.Cut(text, "/")
		all = append(all, fleet.Dependency{Workload: workload, Target: target})
	}
	if t := n.target(a.Target); t != nil {
		all = append(all, t.DependsOn...)
	}
	return all
}

// meant returns those of a workload's assignments that a dependency means. As in decisions, what the platform team registered under the
// name of the workload comes first.
func (n *needs) meant(dep fleet.Dependency, all []*Assignment) []*Assignment {
	if dep.Target != "" {
		return slices.DeleteFunc(slices.Clone(all), func(a *Assignment) bool { return a.Target != fleet.TargetName(dep.Workload, dep.Target) })
	}
	own := func(a *Assignment) bool { return a.Registration == "" || a.Registration == dep.Workload }
	if slices.ContainsFunc(n.there[dep.Workload], own) || slices.ContainsFunc(n.leaving[dep.Workload], own) {
		return slices.DeleteFunc(slices.Clone(all), func(a *Assignment) bool { return !own(a) })
	}
	return all
}

// reason is the problem of an assignment that others need.
func (n *needs) reason(a *Assignment, by []*Assignment) *fleet.Problem {
	names := make([]string, len(by))
	p := withheld(a, "", fleet.Unreadable{Ref: fleet.Ref{Kind: "DeploymentTarget", Name: a.Target}})
	for i, dependent := range by {
		names[i] = dependent.title()
		if t := n.target(dependent.Target); t != nil && p.Position == (fleet.Position{}) {
			p.Position = t.Position
		}
	}
	p.Kind = fleet.KindDependency
	p.Message = "it is no longer scheduled, and not removed: " + placement.NeededText(names)
	p.Hint = "remove what needs it first, or the dependency; or approve the removal"
	return p
}

// title returns the name of the target for users: "<workload>/<short name>", or its name if the workload is unknown.
func (a *Assignment) title() string {
	if short, ok := strings.CutPrefix(a.Target, a.Workload+"-"); ok && a.Workload != "" {
		return a.Workload + "/" + short
	}
	return a.Target
}
