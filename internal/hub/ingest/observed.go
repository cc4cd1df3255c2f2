package ingest

import (
	"context"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// silentAgent is how long after the last report of its agent a cluster may be reported by a service that observes it.
const silentAgent = 15 * time.Minute

// ErrOwnAgent means that a cluster reports itself, and that a service that observes it is not needed.
var ErrOwnAgent = refuse(ErrConflict, "the cluster reports itself")

// TakeObserved stores what a service, to which a cluster reports, knows about it. The cluster is registered; now is when the service was
// asked. Taking the same reports again changes nothing, also on another server.
//
// The cluster was heard when it reported to the service, not when the service was asked: both times of these reports are the same. A report
// of the cluster's own agent has two different times. If such a report, or a heartbeat, is the last one, and not older than 15 minutes,
// nothing is stored, and the error is [ErrOwnAgent].
//
// What the service knew before and does not list any more is recorded as gone, at the time of the newest report. What an agent reported
// is not, because a service may not know all.
func (i *Intake) TakeObserved(ctx context.Context, cluster string, reports []hub.Report, now time.Time) error {
	if len(reports) == 0 {
		return nil // nothing is known, which is not a heartbeat
	}
	known, err := i.Ledger.Clusters(ctx, ledger.ClusterQuery{Name: cluster})
	if err != nil {
		return err
	}
	page, err := i.Ledger.States(ctx, ledger.StateQuery{Cluster: cluster})
	if err != nil {
		return err
	}
	if len(known) == 1 && now.Sub(known[0].LastHeard) < silentAgent && !lastObserved(known[0].LastHeard, page.States) {
		return ErrOwnAgent
	}
	clean, there := spelling{}, map[ledger.ReconcilerID]bool{}
	var facts []ledger.Report
	var newest time.Time
	for n := range reports {
		r := &reports[n]
		at := r.Observed.Truncate(time.Microsecond)
		if at.Sub(now) > tolerance {
			return refuse(ErrInvalid, "its status is from the future, %s: the clock of the cluster is ahead", at.UTC().Format(time.RFC3339))
		}
		f := fact(cluster, r, clean)
		f.Observed, f.Received = at, at
		facts = append(facts, f)
		there[f.Reconciler] = true
		if at.After(newest) {
			newest = at
		}
	}
	for n := range page.States {
		s := &page.States[n]
		if there[s.Reconciler] || !observedOnly(s) || !s.Confirmed.Before(newest) {
			continue
		}
		ref := hub.ReconcilerRef{Kind: s.Reconciler.Kind, Namespace: s.Reconciler.Namespace, Name: s.Reconciler.Name}
		gone := ref.Gone(newest)
		f := fact(cluster, &gone, clean)
		if f.Outcome.Source == s.Source && f.Revision == s.Revision && f.State == s.State {
			continue // it is recorded
		}
		f.Observed, f.Received = newest, newest
		facts = append(facts, f)
	}
	return i.record(ctx, cluster, facts, newest)
}

// lastObserved reports whether the last report of a cluster came from a service. A cluster that was never heard has no other.
func lastObserved(heard time.Time, states []ledger.ReconcilerState) bool {
	if heard.IsZero() {
		return true
	}
	for n := range states {
		if states[n].Received.Equal(heard) && observedOnly(&states[n]) {
			return true
		}
	}
	return false
}

// observedOnly reports whether a state was confirmed last by a service. An agent observes before the server receives.
func observedOnly(s *ledger.ReconcilerState) bool { return s.Confirmed.Equal(s.Received) }
