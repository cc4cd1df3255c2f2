package relational

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

const (
	ofCluster  = ` AND c.name = $1`
	ofWorkload = ` AND r.id IN (SELECT f.reconciler_id FROM version v
    JOIN source z ON z.branch_id = v.branch_id AND z.path = v.path
    JOIN follower f ON f.source_id = z.id WHERE v.workload = $1)`
)

// observation is a fact with names.
type observation struct {
	ledger.Transition
	outcome, reconciler int64
}

// repeats reports whether two observations have the same reconciler and outcome.
func (o observation) repeats(other observation) bool {
	return o.reconciler == other.reconciler && o.outcome == other.outcome
}

// Transitions implements [ledger.States].
func (s *Store) Transitions(ctx context.Context, q ledger.TransitionQuery) ([]ledger.Transition, error) {
	condition, name := ofCluster, q.Cluster
	if q.Cluster == "" {
		condition, name = ofWorkload, q.Workload
	}
	if name == "" {
		return nil, fmt.Errorf("read transitions: %w: a cluster or workload is required", ledger.ErrInvalid)
	}
	facts, err := query(ctx, s.Read, scanObservation, queries.Get("selectObservations")+condition+" ORDER BY r.id, x.observed", name)
	if err != nil {
		return nil, fmt.Errorf("read transitions of %q: %w", name, err)
	}
	all := slices.DeleteFunc(transitions(facts), func(t ledger.Transition) bool {
		return t.At.Before(q.From) || !q.To.IsZero() && !t.At.Before(q.To)
	})
	slices.SortStableFunc(all, func(a, b ledger.Transition) int { return b.At.Compare(a.At) })
	if q.Limit > 0 && len(all) > q.Limit {
		all = all[:q.Limit]
	}
	return all, nil
}

// transitions returns the observations that differ from the one before, each with its end.
func transitions(facts []observation) []ledger.Transition {
	var all []ledger.Transition
	for i, f := range facts {
		if i > 0 && f.repeats(facts[i-1]) {
			continue
		}
		if i > 0 && f.reconciler == facts[i-1].reconciler {
			all[len(all)-1].Until = f.At
		}
		all = append(all, f.Transition)
	}
	return all
}

func scanObservation(row scanner) (o observation, err error) {
	var state, health int
	var unhealthy string
	t := &o.Transition
	err = row.Scan(&t.Reconciler.Cluster, &t.Reconciler.Kind, &t.Reconciler.Namespace, &t.Reconciler.Name,
		&t.Source.Repository, &t.Source.Ref, &t.Source.Path, &t.Revision, &state, &t.Message,
		&t.Applied, &health, &unhealthy, (*microTime)(&t.At), (*microTime)(&t.Received), &o.outcome, &o.reconciler)
	return o, errors.Join(err, setHealth(&t.Outcome, state, health, unhealthy))
}

// Deployments implements [ledger.Figures].
func (s *Store) Deployments(ctx context.Context, q ledger.DeploymentQuery) ([]ledger.Deployment, error) {
	w := deploymentConditions(q, "COALESCE(deployed, failed)")
	return read(ctx, s, "deployments", scanDeployment,
		queries.Get("selectDeployments")+w.String()+" ORDER BY COALESCE(deployed, failed) DESC, workload, target, control_plane"+limit(q.Limit), w.args...)
}

func scanDeployment(row scanner) (d ledger.Deployment, err error) {
	err = row.Scan(append(versionFields(&d.Version), &d.ControlPlane, (*microTime)(&d.Deployed), (*microTime)(&d.Failed))...)
	return d, err
}

// Incidents implements [ledger.Figures].
func (s *Store) Incidents(ctx context.Context, q ledger.DeploymentQuery) ([]ledger.Incident, error) {
	w := deploymentConditions(q, "failed")
	return read(ctx, s, "incidents", scanIncident,
		queries.Get("selectIncidents")+w.String()+" ORDER BY failed DESC, environment, workspace, workload, control_plane"+limit(q.Limit), w.args...)
}

func deploymentConditions(q ledger.DeploymentQuery, at string) where {
	var w where
	w.workload("", q.Environment, q.Workload, q.Workspace)
	w.span(at, q.From, q.To)
	return w
}

func scanIncident(row scanner) (i ledger.Incident, err error) {
	err = row.Scan(&i.ControlPlane, &i.Workload, &i.Workspace, &i.Environment, &i.Failures, (*microTime)(&i.Failed), (*microTime)(&i.Restored))
	return i, err
}
