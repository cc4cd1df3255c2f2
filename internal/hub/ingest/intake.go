package ingest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Store is what the intake needs of the ledger.
type Store interface {
	ledger.Intake
	ledger.Clocks
	States(ctx context.Context, q ledger.StateQuery) (ledger.StatePage, error)
	Clusters(ctx context.Context, q ledger.ClusterQuery) ([]ledger.Cluster, error)
}

// Intake stores reports of clusters in the ledger. It has no state of its own: several may share a ledger.
// It is safe for concurrent use.
//
// Errors are a [Refusal] for invalid input, and the ledger's otherwise. On error nothing was stored, and the client may retry.
type Intake struct {
	Ledger Store // required
	// Stored is called with reports after they were stored; optional. It must not block.
	Stored func(reports []ledger.Report)
}

// Take stores a batch that was sent with the credential of a cluster; now is when it arrived. The batch is about this cluster, or
// about one that is registered as reported by it. Batches may be repeated, late and reordered.
func (i *Intake) Take(ctx context.Context, sender string, batch *hub.ReportBatch, now time.Time) (hub.ReportReceipt, error) {
	var receipt hub.ReportReceipt
	if err := batch.Check(); err != nil {
		return receipt, refuse(ErrInvalid, "%v", err)
	}
	cluster, err := i.subject(ctx, sender, batch.Cluster)
	if err != nil {
		return receipt, err
	}
	unknown, err := i.unknown(ctx, cluster)
	if err != nil {
		return receipt, err
	}
	clock, err := i.clockOf(ctx, arrival{cluster, batch.Sent, now, observed(batch.Reports)})
	if err != nil {
		return receipt, err
	}
	receipt.Resend = unknown || clock.wasBehind(now)
	reports := batch.Reports
	if batch.Present != nil {
		gone, err := i.gone(ctx, cluster, batch.Present, clock.correct(batch.Sent))
		if err != nil {
			return receipt, err
		}
		for _, ref := range gone {
			reports = append(reports[:len(reports):len(reports)], ref.Gone(batch.Sent))
		}
	}
	return receipt, i.store(ctx, cluster, reports, clock, now)
}

// subject returns the cluster that a batch is about, if the sender may report about it. The answer is the same for a cluster that does
// not exist, so that a credential cannot be used to find out which clusters there are.
func (i *Intake) subject(ctx context.Context, sender, about string) (string, error) {
	if about == "" || about == sender {
		return sender, nil
	}
	granted, err := i.Ledger.Clusters(ctx, ledger.ClusterQuery{Name: about, ReportedBy: sender})
	if err == nil && len(granted) == 0 {
		err = refuse(ErrDenied, "the credential belongs to cluster %q, which does not report for %.253q: an admin can register that one with --reported-by %s",
			sender, about, sender)
	}
	return about, err
}

// gone returns the known reconcilers that are not among the present ones.
func (i *Intake) gone(ctx context.Context, cluster string, present *hub.Present, at time.Time) ([]hub.ReconcilerRef, error) {
	page, err := i.Ledger.States(ctx, ledger.StateQuery{Cluster: cluster})
	if err != nil {
		return nil, err
	}
	there := make(map[hub.ReconcilerRef]bool, len(present.Reconcilers))
	for _, ref := range present.Reconcilers {
		there[ref] = true
	}
	var gone []hub.ReconcilerRef
	for n := range page.States {
		s := &page.States[n]
		ref := hub.ReconcilerRef{Kind: s.Reconciler.Kind, Namespace: s.Reconciler.Namespace, Name: s.Reconciler.Name}
		follows := s.Source != ledger.Source{} || s.Revision != ""
		if follows && !there[ref] && !slices.Contains(present.Unread, ref.Kind) && s.Since.Before(at) {
			gone = append(gone, ref)
		}
	}
	return gone, nil
}

func observed(reports []hub.Report) []time.Time {
	times := make([]time.Time, len(reports))
	for n := range reports {
		times[n] = reports[n].Observed
	}
	return times
}

// unknown reports whether the ledger has no state of a cluster, because one of the two is new.
func (i *Intake) unknown(ctx context.Context, cluster string) (bool, error) {
	page, err := i.Ledger.States(ctx, ledger.StateQuery{Cluster: cluster, Limit: 1})
	return len(page.States) == 0, err
}

// store stores reports with corrected times; heard is when the cluster sent them, by the server's clock.
func (i *Intake) store(ctx context.Context, cluster string, reports []hub.Report, clock clock, heard time.Time) error {
	clean := spelling{}
	facts := make([]ledger.Report, len(reports))
	for n := range reports {
		facts[n] = fact(cluster, &reports[n], clean)
		facts[n].Observed, facts[n].Received = clock.bound(reports[n].Observed, heard), heard
	}
	return i.record(ctx, cluster, facts, heard)
}

// record stores facts, or a heartbeat if there are none.
func (i *Intake) record(ctx context.Context, cluster string, facts []ledger.Report, heard time.Time) error {
	if len(facts) == 0 {
		return i.Ledger.Heard(ctx, cluster, heard)
	}
	err := i.Ledger.Report(ctx, facts...)
	if errors.Is(err, ledger.ErrInvalid) {
		return refuse(ErrInvalid, "%v", err)
	}
	if err == nil && i.Stored != nil {
		i.Stored(facts)
	}
	return err
}

// spelling caches clean URLs, because most reports of a batch share a few repositories.
type spelling map[string]string

func (s spelling) of(repository string) string {
	clean, ok := s[repository]
	if !ok {
		clean = oneLine(ledger.CleanRepository(repository), hub.MaxAddress)
		s[repository] = clean
	}
	return clean
}

// fact converts a report, except for its times.
func fact(cluster string, r *hub.Report, clean spelling) ledger.Report {
	f := ledger.Report{
		Reconciler: ledger.ReconcilerID{Cluster: cluster, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name},
		Outcome: ledger.Outcome{
			Source:   ledger.Source{Repository: clean.of(r.Repository), Ref: ref(r.Ref), Path: folder(r.Path)},
			Revision: revision(r.Revision), State: r.State, Message: message(r.Message),
			Applied: revision(r.Applied), Health: hub.HealthOf(r.Health.Severity()),
		},
	}
	for _, o := range r.Unhealthy {
		o.Message, o.Health = withoutMiddle(message(o.Message), hub.MaxObjectMessage), hub.HealthOf(o.Health.Severity())
		f.Unhealthy = append(f.Unhealthy, o)
	}
	limitByHealth(&f.Outcome)
	return f
}

// limitByHealth makes sure that a state is not more favourable than the health: what is not healthy is not ready. Applied keeps
// what the state said.
func limitByHealth(o *ledger.Outcome) {
	if o.State != hub.StateReady {
		return
	}
	switch o.Health {
	case hub.HealthDegraded:
		o.State = hub.StateFailed
	case hub.HealthProgressing:
		o.State = hub.StateProgressing
	default:
		return
	}
	o.Applied = cmp.Or(o.Applied, o.Revision)
	if o.Message == "" && len(o.Unhealthy) > 0 {
		o.Message = message(o.Unhealthy[0].String())
	}
}
