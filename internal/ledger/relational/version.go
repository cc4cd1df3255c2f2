package relational

import (
	"context"
	"fmt"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

const (
	versionStates = `
SELECT v.workload, v.workspace, v.target, v.environment, v.path, v.version, v.build, v.commit_sha, v.built, v.state, `
	currentVersions = versionStates + `v.reconcilers, v.since FROM current_workload v`
	// Of the past, nothing is counted yet.
	pastVersions = versionStates + `SUM(n.reconcilers), MIN(v.first_observed)
FROM (SELECT p.outcome_id, p.source_id, COUNT(*) AS reconcilers
      FROM (SELECT x.source_id, (SELECT y.outcome_id ` + newestUntil + `) AS outcome_id FROM follower x WHERE 1 = 1`
	pastVersionsOf = `) p GROUP BY p.outcome_id, p.source_id) n
JOIN outcome_version v ON v.outcome_id = n.outcome_id AND v.source_id = n.source_id`
	pastVersionsBy = ` GROUP BY v.workload, v.workspace, v.target, v.environment, v.path, v.version, v.build, v.commit_sha, v.built, v.state`
	versionOrder   = ` ORDER BY v.environment, v.workload, v.target, v.version, v.state`
)

// Versions implements [ledger.States].
func (s *Store) Versions(ctx context.Context, q ledger.VersionQuery) ([]ledger.VersionState, error) {
	var w where
	text, by := currentVersions, ""
	switch {
	case q.AsOf.IsZero():
	case q.Workload == "" && q.Workspace == "":
		all, err := s.everyPastVersion(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("read versions as of %s: %w", q.AsOf, err)
		}
		return all, nil
	default:
		w.arg(micros(q.AsOf)) // $1 of newestUntil
		text, by = pastVersions+versionSources(&w, q)+pastVersionsOf, pastVersionsBy
	}
	w.workload("v.", q.Environment, q.Workload, q.Workspace)
	return read(ctx, s, "versions", scanVersionState, text+w.String()+by+versionOrder, w.args...)
}

// versionSources restricts followers to sources in which versions are that a query wants.
func versionSources(w *where, q ledger.VersionQuery) string {
	var v where
	v.args = w.args
	v.workload("v.", q.Environment, q.Workload, q.Workspace)
	w.args = v.args
	if len(v.conditions) == 0 {
		return ""
	}
	return " AND x.source_id IN (SELECT s.id FROM version v JOIN source s ON s.branch_id = v.branch_id AND s.path = v.path" + v.String() + ")"
}

func scanVersionState(row scanner) (v ledger.VersionState, err error) {
	var severity int
	err = row.Scan(append(versionFields(&v.Version), &severity, &v.Reconcilers, (*microTime)(&v.Since))...)
	v.State = ledger.StateOf(severity)
	return v, err
}
