package deliver

import (
	"maps"
	"slices"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
	"github.com/kalypso-io/kalypso/internal/schedule/render"
)

// Rights returns what the platform lets the manifests of a workload's targets change on clusters, by the target's name in the
// workload. It contains the targets that exist in the environment.
func Rights(s *fleet.Snapshot, decisions *placement.Decisions, workload string) map[string]check.Rights {
	targets := slices.DeleteFunc(slices.Clone(s.Targets), func(t *fleet.Target) bool { return t.Workload != workload })
	if len(targets) == 0 {
		return nil
	}
	namespaces := map[string]map[string]bool{}
	types := *s
	types.Clusters = nil // they have the namespaces and grants of their types
	options := bundle.Options{Charts: withoutCharts, Decisions: decisions, Workload: workload}
	for _, folder := range bundle.BuildWith(&types, nil, nil, options).Folders {
		for i := range folder.Assignments {
			a := &folder.Assignments[i]
			if namespaces[a.Target] == nil {
				namespaces[a.Target] = map[string]bool{}
			}
			for _, name := range namespacesOf(s.Environment, a) {
				namespaces[a.Target][name] = true
			}
		}
	}
	all := map[string]check.Rights{}
	for _, t := range targets {
		r := check.Rights{Known: true}
		grants := s.GrantsOf(t)
		for _, g := range grants {
			if len(g.Roles) > 0 {
				r.Grants = append(r.Grants, g.Name)
			}
		}
		for _, role := range fleet.RolesOf(grants) {
			r.ClusterWide = r.ClusterWide || role.ClusterWide
			if role.Namespace != "" && namespaces[t.Name] != nil {
				namespaces[t.Name][role.Namespace] = true
			}
		}
		r.Namespaces = slices.Sorted(maps.Keys(namespaces[t.Name]))
		all[t.ShortName] = r
	}
	return all
}

// namespacesOf returns the namespaces that an assignment creates. An assignment without any, because a chart writes them
// or it is held, has the suggested one.
func namespacesOf(environment string, a *bundle.Assignment) []string {
	var names []string
	for _, f := range a.Files {
		for _, o := range bundle.Objects(f.Content()) {
			if o.Kind == "Namespace" && o.Group == "" {
				names = append(names, o.Name)
			}
		}
	}
	if len(names) == 0 {
		names = []string{render.Namespace(environment, a.ClusterType, a.Target)}
	}
	return names
}
