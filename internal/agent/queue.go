package agent

import (
	"cmp"
	"maps"
	"slices"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// Snapshot is what all reconcilers of a cluster say at one time.
type Snapshot struct {
	// Reports have no time yet.
	Reports []hub.Report
	// Complete says that everything was read: what is not in Reports is not in the cluster, unless its kind is in Unread.
	Complete bool
	// Alive says that the cluster answers.
	Alive bool
	// Unread are kinds that could not be read.
	Unread []string
}

// bound is how many superseded states wait for the server at most: some megabytes.
const bound = 5000

// Queue holds what there is to report. The zero value is empty.
type Queue struct {
	latest map[reconciler]*entry
	// superseded are states that were followed by others before they could be sent, the oldest first.
	superseded []hub.Report
	// dropped counts those that were forgotten.
	dropped int64
	// introduced says that the server was told which reconcilers there are.
	introduced bool
	// floor is the last time that was said of a reconciler that is forgotten: it may come back.
	floor time.Time
}

type reconciler struct{ kind, namespace, name string }

// entry is the last that is known of a reconciler.
type entry struct {
	hub.Report
	sent bool
}

func idOf(r *hub.Report) reconciler { return reconciler{r.Kind, r.Namespace, r.Name} }

// Observe compares a snapshot with what is known, and says whether it has news.
// A snapshot that is not complete is ignored.
func (q *Queue) Observe(s Snapshot, now time.Time) bool {
	if !s.Complete {
		return false
	}
	there := make(map[reconciler]bool, len(s.Reports))
	news := false
	for _, r := range s.Reports {
		there[idOf(&r)] = true
		news = q.note(r, now) || news
	}
	for id, e := range q.latest {
		if !there[id] && !slices.Contains(s.Unread, id.kind) {
			news = q.note(removed(e.Report), now) || news
		}
	}
	// The order of a map is random, and what is dropped should not be.
	slices.SortStableFunc(q.superseded, byTime)
	for ; len(q.superseded) > bound; q.dropped++ {
		q.superseded = q.superseded[1:]
	}
	return news
}

// note takes what is said of a reconciler now, and says whether it is news.
func (q *Queue) note(next hub.Report, now time.Time) bool {
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

// instant is a time as the ledger keeps it.
func instant(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// after is t, or when that is not after another time, the time after it.
func after(other, t time.Time) time.Time {
	if t.After(other) {
		return t
	}
	return other.Add(time.Microsecond)
}

// Next returns up to n reports that were not sent yet, in the order of their times. They stay in the queue.
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

// Waiting is how many reports were not sent yet.
func (q *Queue) Waiting() int {
	n := len(q.superseded)
	for _, e := range q.latest {
		if !e.sent {
			n++
		}
	}
	return n
}

// Sent takes out what the server has taken. What was observed in the meantime stays.
func (q *Queue) Sent(reports []hub.Report) {
	taken := make(map[hub.Report]bool, len(reports))
	for i := range reports {
		taken[reports[i]] = true
		e := q.latest[idOf(&reports[i])]
		if e != nil && e.Report == reports[i] {
			e.sent = true
		}
	}
	q.superseded = slices.DeleteFunc(q.superseded, func(r hub.Report) bool { return taken[r] })
	q.forgetRemoved()
}

// Drop gives up a report that the server does not take.
func (q *Queue) Drop(r hub.Report) {
	q.Sent([]hub.Report{r})
	q.dropped++
}

// forgetRemoved forgets reconcilers that are gone, once the server knows.
func (q *Queue) forgetRemoved() {
	for id, e := range q.latest {
		if e.sent && e.SameOutcome(ptr(removed(e.Report))) {
			delete(q.latest, id)
			if e.Observed.After(q.floor) {
				q.floor = e.Observed
			}
		}
	}
}

func ptr[T any](v T) *T { return &v }

// Present lists what is in the cluster, until the server was told so: what was said of reconcilers that are gone may have been
// forgotten with the queue. It is nil when the server knows, and when the list would be too long.
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

// Introduced says that the server was told what [Queue.Present] lists.
func (q *Queue) Introduced() { q.introduced = true }

// Resend puts the last of each reconciler into the queue once more, with the time that it has, and the list of them.
func (q *Queue) Resend() {
	q.introduced = false
	for _, e := range q.latest {
		e.sent = false
	}
}

func byTime(a, b hub.Report) int {
	return cmp.Or(a.Observed.Compare(b.Observed), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// ids are all reconcilers that are known, sorted.
func (q *Queue) ids() []reconciler {
	return slices.SortedFunc(maps.Keys(q.latest), func(a, b reconciler) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
}
