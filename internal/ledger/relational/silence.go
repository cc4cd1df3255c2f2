package relational

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// silenceSetting begins the names of the settings that say how short the silences are that a subject needs. Subjects that need no shorter
// ones than others have none.
const silenceSetting = "silence "

// KeepSilences implements [ledger.Silences].
func (s *Store) KeepSilences(ctx context.Context, subject string, atLeast time.Duration) error {
	atLeast = max(atLeast, ledger.MinSilence)
	name := silenceSetting + ledger.CleanSubject(subject)
	kept, err := query(ctx, s.Read, scanNumber, queries.Get("findSetting"), name)
	switch {
	case err != nil:
	case atLeast >= ledger.DefaultSilence && len(kept) > 0:
		_, err = s.Write.ExecContext(ctx, queries.Get("deleteSetting"), name)
	case atLeast < ledger.DefaultSilence && !slices.Contains(kept, atLeast.Microseconds()):
		_, err = s.Write.ExecContext(ctx, queries.Get("putSetting"), name, atLeast.Microseconds())
	}
	if err != nil {
		return fmt.Errorf("keep silences of %s for %q: %w", atLeast, subject, err)
	}
	return nil
}

func scanNumber(row scanner) (n int64, err error) { return n, row.Scan(&n) }

// namedClusters is how many clusters a query names. Of more, the silences of all are read.
const namedClusters = 500

// Silences implements [ledger.Silences].
func (s *Store) Silences(ctx context.Context, q ledger.SilenceQuery) ([]ledger.Silence, error) {
	var w where
	w.text("c.name = ?", q.Cluster)
	if !q.From.IsZero() {
		w.add("x.to_time > ?", micros(q.From))
	}
	if !q.To.IsZero() {
		w.add("x.from_time < ?", micros(q.To))
	}
	if q.Environment != "" {
		w.membersBetween(q)
	}
	if q.Clusters != nil && len(q.Clusters) <= namedClusters {
		w.in("c.name", q.Clusters)
	}
	all, err := read(ctx, s, "silences", scanSilence, queries.Get("selectSilences")+w.String()+" ORDER BY c.name, x.from_time", w.args...)
	if err != nil || len(q.Clusters) <= namedClusters {
		return all, err
	}
	named := make(map[string]bool, len(q.Clusters))
	for _, name := range q.Clusters {
		named[name] = true
	}
	return slices.DeleteFunc(all, func(s ledger.Silence) bool { return !named[s.Cluster] }), nil
}

// membersBetween adds the condition that a cluster was a member of the query's environment.
func (w *where) membersBetween(q ledger.SilenceQuery) {
	until := never
	if !q.To.IsZero() {
		until = micros(q.To)
	}
	w.conditions = append(w.conditions, fmt.Sprintf(`EXISTS (SELECT 1 FROM registration g JOIN membership m ON m.registration_id = g.id
    WHERE g.cluster_id = c.id AND m.environment = %s AND g.revoked = 0 AND g.until > %s AND g.at < %s)`,
		w.arg(q.Environment), w.arg(micros(q.From)), w.arg(until)))
}

// in adds the condition that a column has one of several values.
func (w *where) in(column string, values []string) {
	if len(values) == 0 {
		w.conditions = append(w.conditions, "1 = 0")
		return
	}
	places := make([]string, len(values))
	for i, value := range values {
		places[i] = w.arg(value)
	}
	w.conditions = append(w.conditions, column+" IN ("+strings.Join(places, ", ")+")")
}

func scanSilence(row scanner) (s ledger.Silence, err error) {
	err = row.Scan(&s.Cluster, (*microTime)(&s.From), (*microTime)(&s.To))
	return s, err
}

// Restore implements [ledger.Restorer].
func (s *Store) Restore(ctx context.Context, r ledger.Restored) error {
	if err := checkReports(r.Reports); err != nil {
		return err
	}
	for _, h := range r.Heartbeats {
		if err := require("heartbeat", h.Cluster); err != nil {
			return err
		}
	}
	if len(r.Reports) > 0 || len(r.Heartbeats) > 0 {
		if err := s.submit(ctx, &request{reports: r.Reports, heartbeats: r.Heartbeats, restored: true}); err != nil {
			return fmt.Errorf("restore %d reports and %d heartbeats: %w", len(r.Reports), len(r.Heartbeats), err)
		}
	}
	for _, one := range r.Silences {
		if err := s.restoreSilence(ctx, one); err != nil {
			return fmt.Errorf("restore a silence of %q: %w", one.Cluster, err)
		}
	}
	return nil
}

// restoreSilence stores a silence, unless it overlaps one that is stored.
func (s *Store) restoreSilence(ctx context.Context, one ledger.Silence) error {
	if err := require("silence", one.Cluster); err != nil {
		return err
	}
	from, to := micros(one.From), micros(one.To)
	if from <= 0 || to <= from {
		return fmt.Errorf("%w: it ends before it begins", ledger.ErrInvalid)
	}
	return s.inTransaction(ctx, func(tx *sql.Tx) error {
		cluster, err := ensure(ctx, tx, queries.Get("insertCluster"), queries.Get("findCluster")+s.Lock, one.Cluster)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, queries.Get("restoreSilence"), cluster, from, to)
		return err
	})
}

// Heartbeats are those of one cluster in a batch, in microseconds.
type Heartbeats struct {
	// Last is the newest one.
	Last int64
	// Times are those that can end silences, sorted.
	Times []int64
}

// Gap is a time between two heartbeats of a cluster.
type Gap struct{ From, To int64 }

// Gaps returns the gaps between heartbeats that can be silences. The first begins at 0, for the last heartbeat that is stored. All have to
// be cut to begin not before that one.
func (h Heartbeats) Gaps() []Gap {
	if len(h.Times) == 0 {
		return nil
	}
	gaps := []Gap{{0, h.Times[0]}}
	for i, to := range h.Times[1:] {
		if from := h.Times[i]; to-from >= ledger.MinSilence.Microseconds() {
			gaps = append(gaps, Gap{from, to})
		}
	}
	return gaps
}

// heartbeats collects the heartbeats of requests.
type heartbeats map[string]Heartbeats

// add adds a heartbeat. One that is quiet makes no silences.
func (h heartbeats) add(cluster string, at int64, quiet bool) {
	all := h[cluster]
	all.Last = max(all.Last, at)
	if last := len(all.Times) - 1; !quiet && (last < 0 || all.Times[last] != at) {
		all.Times = append(all.Times, at)
	}
	h[cluster] = all
}

// sort sorts the times of each cluster.
func (h heartbeats) sort() {
	for _, all := range h {
		slices.Sort(all.Times)
	}
}
