package web

import (
	"slices"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/text/natural"
)

// choices is a filter by name: a list of the names, or a text box if there are too many of them.
type choices struct {
	Label, Name, Value string
	// All are the names; empty for a text box.
	All []string
}

// maxChoices limits the names of a list. More of them would be a large page, and take longer to search than to type.
const maxChoices = 300

// choicesOf returns a filter. The value is one of its names, even if nothing has that name any more.
func choicesOf(label, name, value string, all []string) choices {
	c := choices{Label: label, Name: name, Value: value}
	if len(all) == 0 || len(all) > maxChoices {
		return c
	}
	if value != "" {
		all = append(slices.Clone(all), value)
	}
	c.All = slices.Compact(natural.Sort(slices.Clone(all)))
	return c
}

// ledgerNames returns the names of workloads or clusters.
func (s *site) ledgerNames(q *pageRequest, kind ledger.NameKind) ([]string, error) {
	return q.observer.Ledger.Names(q.Context(), kind)
}

// snapshotNames returns the names of cluster types and workspaces that the last rounds read; none for users with roles in workspaces.
func (s *site) snapshotNames(q *pageRequest) (clusterTypes, workspaces []string) {
	if q.observer.Scoped() {
		return nil, nil
	}
	for _, standing := range q.observer.Standings() {
		if standing.Scheduling == nil || standing.Scheduling.Snapshot == nil {
			continue
		}
		for _, t := range standing.Scheduling.Snapshot.ClusterTypes {
			clusterTypes = append(clusterTypes, t.Name)
		}
		for _, t := range standing.Scheduling.Snapshot.Targets {
			if t.Workspace != "" && !slices.Contains(workspaces, t.Workspace) {
				workspaces = append(workspaces, t.Workspace)
			}
		}
	}
	slices.Sort(clusterTypes)
	return slices.Compact(clusterTypes), workspaces
}
