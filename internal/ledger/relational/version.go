package relational

import (
	"context"
	"fmt"
	"strings"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

const (
	pastVersionsBy = ` GROUP BY v.workload, v.workspace, v.target, v.environment, v.path, v.version, v.build, v.commit_sha, v.built, v.state`
	versionOrder   = ` ORDER BY v.environment, v.workload, v.target, v.version, v.state`
)

// Versions implements [ledger.States].
func (s *Store) Versions(ctx context.Context, q ledger.VersionQuery) ([]ledger.VersionState, error) {
	var w where
	text, by := queries.Get("currentVersions"), ""
	switch {
	case q.AsOf.IsZero():
	case q.Workload == "" && q.Workspace == "":
		all, err := s.everyPastVersion(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("read versions as of %s: %w", q.AsOf, err)
		}
		return all, nil
	default:
		w.arg(micros(q.AsOf)) // $1
		text, by = queries.Get("pastVersions"), pastVersionsBy
	}
	w.workload("v.", q.Environment, q.Workload, q.Workspace)
	text = strings.Replace(text, "/* conditions */", strings.Join(w.conditions, " AND "), 1)
	return read(ctx, s, "versions", scanVersionState, text+w.String()+by+versionOrder, w.args...)
}

func scanVersionState(row scanner) (v ledger.VersionState, err error) {
	var severity int
	err = row.Scan(append(versionFields(&v.Version), &severity, &v.Reconcilers, (*microTime)(&v.Since))...)
	v.State = hub.StateOf(severity)
	return v, err
}
