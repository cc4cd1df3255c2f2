package agent

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// Snapshot is the state of all reconcilers of a cluster at one time.
type Snapshot struct {
	// Reports have no time yet.
	Reports []hub.Report
	// Others are the reports about other clusters, by their name. A cluster that is missing could not be read.
	Others map[string][]hub.Report
	// Unassigned counts reconcilers that are in no report because no cluster is known for their destination.
	Unassigned map[string]int
	// Complete is set when everything was read: a reconciler missing from Reports does not exist, unless its kind is in Unread.
	Complete bool
	// Alive is set while the cluster answers.
	Alive bool
	// Unread lists kinds that could not be read.
	Unread []string
}

// maxSuperseded bounds the superseded reports that wait for the server: a few megabytes.
const maxSuperseded = 5000

// Queue holds the reports of a cluster until the server accepts them. The zero value is empty.
type Queue struct {
	latest map[reconciler]*entry
	// superseded holds reports that were followed by others before they could be sent, the oldest first.
	superseded []hub.Report
	// dropped counts reports that were given up.
	dropped int64
	// introduced is set when the server knows which reconcilers exist.
	introduced bool
	// floor is the time of the last report about any forgotten reconciler: it may come back.
	floor time.Time
}

type reconciler struct{ kind, namespace, name string }

// entry is the last known report of a reconciler.
type entry struct {
	hub.Report
	sent bool
}

func idOf(r *hub.Report) reconciler { return reconciler{r.Kind, r.Namespace, r.Name} }

// Observe adds what is new in a snapshot and reports whether there was anything. An incomplete snapshot is ignored.
func (q *Queue) Observe(s Snapshot, now time.Time) bool {
	if !s.Complete {
		return false
	}
	present := make(map[reconciler]bool, len(s.Reports))
	changed := false
	for _, r := range s.Reports {
		present[idOf(&r)] = true
		changed = q.add(r, now) || changed
	}
	for id, e := range q.latest {
		if !present[id] && !slices.Contains(s.Unread, id.kind) {
			changed = q.add(removed(e.Report), now) || changed
		}
	}
	// The order of a map is random; which reports are dropped must not be.
	slices.SortStableFunc(q.superseded, byTime)
	for ; len(q.superseded) > maxSuperseded; q.dropped++ {
		q.superseded = q.superseded[1:]
	}
	return changed
}

// add adds the current report of a reconciler and reports whether it is new.
func (q *Queue) add(next hub.Report, now time.Time) bool {
	if q.latest == nil {
		q.latest = map[reconciler]*entry{}
	}
	next.Observed = instant(now)
	last := q.latest[idOf(&next)]
	if last == nil {
		next.Observed = after(q.floor, next.Observed)
		q.latest[idOf(&next)] = &entry{Report: next}
		return true
	}
	if next = settle(last.Report, next); next.SameOutcome(&last.Report) {
		return false
	}
	next.Observed = after(last.Observed, next.Observed)
	if !last.sent {
		q.superseded = append(q.superseded, last.Report)
	}
	*last = entry{Report: next}
	return true
}

// settle returns last if next only shows that the reconciler is repeating what it did before, and otherwise next.
// Reconcilers retry all the time. A retry is not a change, nor is an error message in which only a duration differs.
func settle(last, next hub.Report) hub.Report {
	again := last.Repository == next.Repository && last.Ref == next.Ref && last.Path == next.Path && last.Revision == next.Revision
	switch {
	case !again:
		return next
	case next.State == hub.StateProgressing && next.Message == "" &&
		(last.State == hub.StateReady || last.State == hub.StateFailed || len(last.Unhealthy) > 0):
		return last
	case next.State == last.State && withoutDigits(next.Message) == withoutDigits(last.Message) && sameHealth(&last, &next):
		return last
	}
	return next
}

// sameHealth reports whether two reports say the same about what is applied and whether it is healthy, except for numbers.
func sameHealth(a, b *hub.Report) bool {
	return a.Applied == b.Applied && a.Health == b.Health && slices.EqualFunc(a.Unhealthy, b.Unhealthy, func(x, y hub.ObjectHealth) bool {
		x.Message, y.Message = withoutDigits(x.Message), withoutDigits(y.Message)
		return x == y
	})
}

func withoutDigits(text string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, text)
}

// removed returns the report of a reconciler that no longer exists.
func removed(last hub.Report) hub.Report {
	return last.Reconciler().Gone(last.Observed)
}

// instant returns a time in the precision of the ledger.
func instant(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// after returns t, or the next possible time after other if t is not later.
func after(other, t time.Time) time.Time {
	if t.After(other) {
		return t
	}
	return other.Add(time.Microsecond)
}

// Next returns up to n unsent reports, ordered by time. They stay in the queue.
func (q *Queue) Next(n int) []hub.Report {
	waiting := slices.Clone(q.superseded)
	for _, e := range q.latest {
		if !e.sent {
			waiting = append(waiting, e.Report)
		}
	}
	slices.SortFunc(waiting, byTime)
	return waiting[:min(n, len(waiting))]
}

// Waiting returns the number of unsent reports.
func (q *Queue) Waiting() int {
	n := len(q.superseded)
	for _, e := range q.latest {
		if !e.sent {
			n++
		}
	}
	return n
}

// Accepted removes the reports of a batch that the server accepted. Reports observed in the meantime stay.
// If the receipt says so, everything is sent again.
func (q *Queue) Accepted(batch *hub.ReportBatch, receipt hub.ReportReceipt) {
	q.sent(batch.Reports)
	if batch.Present != nil {
		q.introduced = true
	}
	if receipt.Resend {
		q.introduced = false
		for _, e := range q.latest {
			e.sent = false
		}
	}
}

func (q *Queue) sent(reports []hub.Report) {
	// Observations of a reconciler have different times.
	type observation struct {
		id       reconciler
		observed time.Time
	}
	accepted := make(map[observation]bool, len(reports))
	for i := range reports {
		r := &reports[i]
		accepted[observation{idOf(r), r.Observed}] = true
		if e := q.latest[idOf(r)]; e != nil && e.Observed.Equal(r.Observed) && e.SameOutcome(r) {
			e.sent = true
		}
	}
	q.superseded = slices.DeleteFunc(q.superseded, func(r hub.Report) bool { return accepted[observation{idOf(&r), r.Observed}] })
	// Forget reconcilers that are gone once the server knows it.
	for id, e := range q.latest {
		if gone := removed(e.Report); e.sent && e.SameOutcome(&gone) {
			delete(q.latest, id)
			if e.Observed.After(q.floor) {
				q.floor = e.Observed
			}
		}
	}
}

// drop gives up a report that the server rejects.
func (q *Queue) drop(r hub.Report) {
	q.sent([]hub.Report{r})
	q.dropped++
}

// Present lists the reconcilers in the cluster until the server has accepted the list: if the queue was lost, so were the
// reports about removed reconcilers. It is nil once the server knows, and if the list would be too long.
func (q *Queue) Present(s Snapshot) *hub.Present {
	if q.introduced || !s.Complete || !s.Alive || len(s.Reports) > hub.MaxPresent {
		return nil
	}
	p := &hub.Present{Reconcilers: make([]hub.ReconcilerRef, 0, len(s.Reports)), Unread: s.Unread}
	for i := range s.Reports {
		p.Reconcilers = append(p.Reconcilers, s.Reports[i].Reconciler())
	}
	return p
}

func byTime(a, b hub.Report) int {
	return cmp.Or(a.Observed.Compare(b.Observed), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// ids returns all known reconcilers, sorted.
func (q *Queue) ids() []reconciler {
	return slices.SortedFunc(maps.Keys(q.latest), func(a, b reconciler) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
}
