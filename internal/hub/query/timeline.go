package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// History returns the events that q selects, newest first.
func (o *Observer) History(ctx context.Context, q HistoryQuery) (Page[Event], error) {
	page := Page[Event]{Items: []Event{}}
	t, err := o.timeline(ctx, q)
	if err != nil {
		return page, err
	}
	var all []Event
	for _, s := range t.sources() {
		if len(q.Kinds) > 0 && !slices.Contains(q.Kinds, s.kind) {
			continue
		}
		events, err := t.read(ctx, s)
		if err != nil {
			return page, err
		}
		all = append(all, events...)
	}
	number(all)
	return cut(all, q.Paging, func(e *Event) string { return e.place })
}

// timeline answers one history query.
type timeline struct {
	o *Observer
	q HistoryQuery
	// place and after are the place and the time of the last event of the previous page; zero for the first page.
	place string
	after time.Time
	// branches are the selected GitOps branches; nil selects all.
	branches map[branch]bool
	// subjects identify the workload's application in the ledger. former are subjects that applications had earlier, whose
	// steps are also recorded under the current one.
	subjects []string
	former   map[string]bool
	// target is the selected target; nil for all.
	target *targetStatus
}

// branch is a branch of a GitOps repository. Environments can share a repository, but not a branch.
type branch struct{ repository, name string }

// source is one kind of facts. read returns up to limit facts before a time, newest first.
type source struct {
	kind EventKind
	read func(ctx context.Context, to time.Time, limit int) ([]Event, error)
	// ordered means that facts with the same time are always read in the same order, and have their number in it.
	ordered bool
}

// timeline validates a query.
func (o *Observer) timeline(ctx context.Context, q HistoryQuery) (*timeline, error) {
	place, err := q.Place()
	if err != nil {
		return nil, err
	}
	t := &timeline{o: o, q: q, place: place}
	if place != "" {
		if t.after, err = placeTime(place); err != nil {
			return nil, err
		}
	}
	if q.Cluster != "" && (q.Environment != "" || q.Workload != "") {
		return nil, fmt.Errorf("%w: the history of a cluster, or of a workload or environment; not both", ledger.ErrInvalid)
	}
	if q.Ring != "" && (q.Environment == "" || q.Workload != "") {
		return nil, fmt.Errorf("%w: the history of a ring is that of an environment: name it, and no workload", ledger.ErrInvalid)
	}
	if q.Target != "" && (q.Environment == "" || q.Workload == "") {
		return nil, fmt.Errorf("%w: the history of a target is that of a workload in an environment: name both", ledger.ErrInvalid)
	}
	if err := t.check(ctx); err != nil || q.Target == "" {
		return t, err
	}
	return t, t.findTarget(ctx)
}

// findTarget finds the selected target, by its name in the fleet or in the workload. Only the pull requests of its branch are selected.
func (t *timeline) findTarget(ctx context.Context) error {
	environmentViews, err := t.o.environmentViews(ctx, t.q.Environment, targetFilter{workload: t.q.Workload})
	if err != nil {
		return err
	}
	var names []string
	for _, sc := range environmentViews {
		for i := range sc.statuses {
			p := &sc.statuses[i]
			if names = append(names, p.name); p.name == t.q.Target || p.shortName == t.q.Target {
				t.target = p
			}
		}
	}
	if t.target == nil {
		return Unknown("target", t.q.Target, names)
	}
	if p := t.target; p.source != (ledger.Source{}) {
		t.branches = map[branch]bool{{p.source.Repository, p.source.Ref}: true}
	}
	return nil
}

// check returns an error for unknown names, and finds the selected branches.
func (t *timeline) check(ctx context.Context) error {
	if t.q.Cluster != "" {
		found, err := t.o.Ledger.Clusters(ctx, ledger.ClusterQuery{Name: t.q.Cluster, Limit: 1})
		if err == nil && len(found) == 0 {
			err = t.o.unknownIn(ctx, ledger.NameCluster, t.q.Cluster)
		}
		return err
	}
	if t.q.Environment != "" {
		_, err := t.o.environment(ctx, "", t.q.Environment, time.Time{})
		var unknown *UnknownError
		if removed := errors.As(err, &unknown) && unknown.Removed; err != nil && !removed { // the history of a removed one stays
			return err
		}
	}
	var err error
	if t.q.Workload == "" {
		t.former, err = t.o.former(ctx)
	} else {
		t.subjects, err = t.o.subjectsOf(ctx, t.q.Workload)
	}
	if err != nil || t.q.Environment == "" && t.q.Workload == "" {
		return err
	}
	wanted, err := t.o.Ledger.Wanted(ctx, ledger.WantedQuery{Environment: t.q.Environment, Workload: t.q.Workload})
	if err != nil {
		return err
	}
	t.branches = map[branch]bool{}
	for _, v := range wanted.Versions {
		t.branches[branch{v.Repository, v.Branch}] = true
	}
	if t.q.Workload == "" {
		for _, head := range wanted.Heads {
			t.branches[branch{head.Repository, head.Branch}] = true
		}
		return nil
	}
	if len(wanted.Versions)+len(wanted.Assignments)+len(t.subjects) > 0 {
		return nil
	}
	return t.o.noVersions(ctx, t.q.Workload)
}

// sources returns the kinds of facts that the query selects.
func (t *timeline) sources() []source {
	var all []source
	switch {
	case t.q.Ring != "":
		all = []source{{kind: EventPromotion, read: t.promotions}}
	case t.q.Cluster != "":
		all = []source{{kind: EventTransition, read: t.transitions}, {EventRegistration, t.registrations, true}}
	case t.q.Workload != "":
		all = []source{{kind: EventPromotion, read: t.promotions}, {kind: EventRollout, read: t.rollouts}, {kind: EventChange, read: t.changes}}
	default:
		all = []source{
			{kind: EventPromotion, read: t.promotions},
			{kind: EventCommit, read: t.commits},
			{kind: EventRollout, read: t.rollouts},
			{kind: EventChange, read: t.changes},
			{EventRegistration, t.registrations, true},
		}
	}
	if t.q.Audits {
		all = append(all, source{kind: EventAudit, read: t.audits})
	}
	return all
}

// read reads enough of a source to fill a page. Most facts with the same time have no stable order. Those of the oldest
// time are therefore left for the next page, unless all of them were read.
func (t *timeline) read(ctx context.Context, s source) ([]Event, error) {
	to := t.q.To
	if !t.after.IsZero() && (to.IsZero() || t.after.Before(to)) {
		to = until(t.after)
	}
	for limit := t.q.limit() + 2; ; limit *= 8 {
		events, err := s.read(ctx, to, limit)
		if err != nil || len(events) < limit {
			return events, err
		}
		if oldest := events[len(events)-1].At; !s.ordered {
			events = slices.DeleteFunc(events, func(e Event) bool { return e.At.Equal(oldest) })
		}
		fresh := 0
		for i := range events {
			// Facts with the time of the previous page may have been on that page.
			if e := &events[i]; !e.At.Equal(t.after) || s.ordered && placeOf(e) > t.place {
				fresh++
			}
		}
		if fresh > t.q.limit() {
			return events, nil
		}
	}
}

// placeOf returns the part of an event's place that never changes: its time, what it is about, and its number among facts with this time.
func placeOf(e *Event) string {
	parts := []string{newestFirst(e.At), string(e.Kind), strings.TrimSuffix(decide.RingName(e.Environment, e.Ring), "/")}
	if e.number > 0 {
		parts = append(parts, fmt.Sprintf("%0*d", numberWidth, e.number))
	}
	parts = append(parts, e.Cluster, e.Reconciler, e.Workload, e.Target, e.Step, e.Commit, e.Revision, e.Version, string(e.State), e.By, e.URL, e.Summary)
	if e.Kind != EventRollout { // a rollout's message can differ between reads
		parts = append(parts, e.Reason)
	}
	return bounded(key(parts...))
}

// number sets the place of each event: its time, the part of it that never changes, and a number that distinguishes
// events for which both are equal. Those are ordered by the part that can change, since each page reads them again.
func number(all []Event) {
	for i := range all {
		all[i].place = placeOf(&all[i])
	}
	slices.SortFunc(all, func(a, b Event) int {
		return cmp.Or(
			strings.Compare(a.place, b.place), strings.Compare(a.Reason, b.Reason), strings.Compare(string(a.Phase), string(b.Phase)),
			cmp.Compare(a.Reconcilers, b.Reconcilers), a.Until.Compare(b.Until),
		)
	})
	same := 0
	for i := 1; i < len(all); i++ {
		previous := all[i-1].place
		if same > 0 {
			previous = previous[:len(previous)-numberWidth]
		}
		if all[i].place != previous {
			same = 0
			continue
		}
		same++
		all[i].place += fmt.Sprintf("\x00%0*d", numberWidth-1, same)
	}
}

// numberWidth is the number of digits of the number in a place.
const numberWidth = 7

// placeTime returns the time of the event at a place.
func placeTime(place string) (time.Time, error) {
	text, _, _ := strings.Cut(place, "\x00")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, ErrCursor
	}
	return time.UnixMicro(1<<62 - n).UTC(), nil
}
