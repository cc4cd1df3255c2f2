package backend

import (
	"context"
	"fmt"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// maxTargets is how many targets are searched for a name.
const maxTargets = 20_000

// FindTarget finds a target that a server knows: by the name that it has in the fleet, by the one in its workload, or by
// WORKLOAD/TARGET, as other commands show it. Empty filters match
// all.
func FindTarget(ctx context.Context, s ServerQuerier, name, workload, environment string) (query.Target, error) {
	all, _, err := All(maxTargets, func(p query.Paging) (query.Page[query.Target], error) {
		return s.Targets(ctx, query.TargetsQuery{Workload: workload, Environment: environment, Paging: p})
	})
	if err != nil {
		return query.Target{}, err
	}
	var found []query.Target
	var names []string
	for _, t := range all {
		names = append(names, t.Name)
		if t.Name == name || t.ShortName == name || t.Workload+"/"+t.ShortName == name {
			found = append(found, t)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return query.Target{}, cli.Failed(query.Unknown("target", name, names), "kalypso app status lists applications; the Workload lists its targets")
	}
	a, b := found[0], found[1]
	if a.Workload != b.Workload {
		return a, cli.Failed(fmt.Errorf("the workloads %q and %q have a target %q", a.Workload, b.Workload, name), "name one of them with --workload")
	}
	return a, cli.Failed(fmt.Errorf("the target %q is in %s and in %s", name, a.Environment, b.Environment), "name the environment with -e")
}
