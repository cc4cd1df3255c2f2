package relational

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Register implements [ledger.Clusters].
func (s *Store) Register(ctx context.Context, r ledger.Registration) error {
	if err := require("registration", r.Cluster); err != nil {
		return err
	}
	for _, m := range r.Memberships {
		if err := require("membership of "+r.Cluster, m.Environment, m.ClusterType); err != nil {
			return err
		}
	}
	labels, err := json.Marshal(r.Labels)
	if err != nil {
		return err
	}
	if err := checkText("registration", string(labels), r.CredentialHash, r.PublicKey, r.ReportedBy, r.By); err != nil {
		return err
	}
	err = s.inTransaction(ctx, func(tx *sql.Tx) error { return register(ctx, tx, r, string(labels)) })
	if err != nil {
		return fmt.Errorf("register cluster %q: %w", r.Cluster, err)
	}
	return nil
}

func register(ctx context.Context, tx *sql.Tx, r ledger.Registration, labels string) error {
	cluster, err := ensure(ctx, tx, queries.Get("insertCluster"), queries.Get("findCluster"), r.Cluster)
	if err != nil {
		return err
	}
	at := micros(r.At)
	inserted, err := tx.ExecContext(ctx, queries.Get("insertRegistration"), cluster, at, labels, r.CredentialHash, r.PublicKey, r.ReportedBy, number(r.Revoked), r.By)
	if err != nil {
		return err
	}
	if n, err := inserted.RowsAffected(); err != nil || n == 0 {
		return err // it is already recorded
	}
	var id int64
	if err := tx.QueryRowContext(ctx, queries.Get("findRegistration"), cluster, at).Scan(&id); err != nil {
		return err
	}
	for _, m := range r.Memberships {
		if _, err := tx.ExecContext(ctx, queries.Get("insertMembership"), id, m.Environment, m.ClusterType); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, queries.Get("chainRegistrations"), cluster)
	return err
}

// Reset implements [ledger.Clusters].
func (s *Store) Reset(ctx context.Context, cluster string, at time.Time) error {
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, s.Exclusive); err != nil {
			return err
		}
		for _, name := range []string{"resetOutcomes", "resetStates", "resetClocks"} {
			if _, err := tx.ExecContext(ctx, queries.Get(name), cluster); err != nil {
				return err
			}
		}
		for _, name := range []string{"resetHeartbeat", "resetFacts"} {
			if _, err := tx.ExecContext(ctx, queries.Get(name), cluster, micros(at)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("reset cluster %q: %w", cluster, err)
	}
	return nil
}

// number converts a bool to a value of the database.
func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// clusterRow is a cluster without its memberships, and the id of its registration.
type clusterRow struct {
	ledger.Cluster
	registration int64
}

func scanCluster(row scanner) (c clusterRow, err error) {
	var at, revoked, heard int64
	var labels string
	r := &c.Registration
	if err := row.Scan(&c.Name, &c.registration, &at, &labels, &r.CredentialHash, &r.PublicKey, &r.ReportedBy, &revoked, &r.By, &heard); err != nil {
		return c, err
	}
	c.LastHeard = timeOf(heard)
	if c.registration == 0 {
		return c, nil
	}
	c.Registered = revoked == 0
	r.Cluster, r.At, r.Revoked = c.Name, timeOf(at), revoked != 0
	return c, json.Unmarshal([]byte(labels), &r.Labels)
}

// inForce returns the time for which registrations in force are selected. Zero means now: never-1, because current
// registrations end at never.
func inForce(asOf time.Time) int64 {
	if asOf.IsZero() {
		return never - 1
	}
	return micros(asOf)
}

// Clusters implements [ledger.Clusters].
func (s *Store) Clusters(ctx context.Context, q ledger.ClusterQuery) ([]ledger.Cluster, error) {
	read := s.clusters
	if q.Natural {
		read = s.naturalClusters
	}
	clusters, err := read(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("read clusters: %w", err)
	}
	return clusters, nil
}

// clusters returns the clusters that match a query, by name.
func (s *Store) clusters(ctx context.Context, q ledger.ClusterQuery) ([]ledger.Cluster, error) {
	w := clusterConditions(q)
	w.text("c.name > ?", q.After)
	if q.Environment != "" || q.ClusterType != "" {
		w.members(q)
	}
	return s.readClusters(ctx, w, q.Limit)
}

// clusterConditions returns the conditions of a query, without those on memberships and pages.
func clusterConditions(q ledger.ClusterQuery) where {
	w := where{args: []any{inForce(q.AsOf)}}
	w.text("c.name = ?", q.Name)
	w.text("g.reported_by = ?", q.ReportedBy)
	if q.ReportedBy != "" || q.Environment != "" || q.ClusterType != "" {
		w.conditions = append(w.conditions, "g.revoked = 0")
	}
	return w
}

// member adds the conditions on a membership.
func (w *where) member(q ledger.ClusterQuery) {
	w.text("environment = ?", q.Environment)
	w.text("cluster_type = ?", q.ClusterType)
}

// members adds the condition that a registration has a membership.
func (w *where) members(q ledger.ClusterQuery) {
	m := where{args: w.args}
	m.member(q)
	w.args = m.args
	w.conditions = append(w.conditions, "g.id IN (SELECT registration_id FROM membership"+m.String()+")")
}

// readClusters returns the first clusters that match conditions, by name; 0 means all.
func (s *Store) readClusters(ctx context.Context, w where, most int) ([]ledger.Cluster, error) {
	rows, err := query(ctx, s.Read, scanCluster, queries.Get("selectClusters")+w.String()+" ORDER BY c.name"+limit(most), w.args...)
	if err != nil {
		return nil, err
	}
	return s.withMemberships(ctx, rows)
}

// withMemberships adds the memberships of clusters. It reads the whole range of registrations, because
// a page of clusters is usually a range of registrations, too.
func (s *Store) withMemberships(ctx context.Context, rows []clusterRow) ([]ledger.Cluster, error) {
	wanted := make(map[int64]*ledger.Cluster, len(rows))
	clusters := make([]ledger.Cluster, len(rows))
	least, greatest := never, int64(0)
	for i, row := range rows {
		clusters[i] = row.Cluster
		if row.registration != 0 {
			wanted[row.registration] = &clusters[i]
			least, greatest = min(least, row.registration), max(greatest, row.registration)
		}
	}
	_, err := query(ctx, s.Read, func(row scanner) (struct{}, error) {
		var id int64
		var m ledger.Membership
		err := row.Scan(&id, &m.Environment, &m.ClusterType)
		if c := wanted[id]; c != nil {
			c.Registration.Memberships = append(c.Registration.Memberships, m)
		}
		return struct{}{}, err
	}, queries.Get("selectMemberships")+" WHERE registration_id BETWEEN $1 AND $2", least, greatest)
	for i := range clusters {
		sortMemberships(clusters[i].Registration.Memberships)
	}
	return clusters, err
}

func sortMemberships(all []ledger.Membership) {
	slices.SortFunc(all, func(a, b ledger.Membership) int {
		return strings.Compare(a.Environment+"\x00"+a.ClusterType, b.Environment+"\x00"+b.ClusterType)
	})
}

// ClusterByCredential implements [ledger.Clusters].
func (s *Store) ClusterByCredential(ctx context.Context, hash string) (ledger.Cluster, error) {
	names, err := query(ctx, s.Read, scanText, queries.Get("credentialCluster"), hash)
	if err != nil {
		return ledger.Cluster{}, fmt.Errorf("read credential: %w", err)
	}
	if len(names) == 0 {
		return ledger.Cluster{}, fmt.Errorf("cluster of this credential: %w", ledger.ErrNotFound)
	}
	clusters, err := s.Clusters(ctx, ledger.ClusterQuery{Name: names[0]})
	if err != nil || len(clusters) == 0 {
		return ledger.Cluster{}, err
	}
	return clusters[0], nil
}

func scanText(row scanner) (text string, err error) {
	err = row.Scan(&text)
	return text, err
}

// Registrations implements [ledger.Clusters].
func (s *Store) Registrations(ctx context.Context, cluster string) ([]ledger.Registration, error) {
	var w where
	w.text("c.name = ?", cluster)
	all, err := s.registrations(ctx, w)
	if err != nil {
		return nil, fmt.Errorf("read registrations of %q: %w", cluster, err)
	}
	return all, nil
}

func (s *Store) registrations(ctx context.Context, w where) ([]ledger.Registration, error) {
	return s.registrationsBy(ctx, w, " ORDER BY c.name, g.at")
}

func (s *Store) registrationsBy(ctx context.Context, w where, order string) ([]ledger.Registration, error) {
	rows, err := query(ctx, s.Read, scanCluster, queries.Get("selectRegistrations")+w.String()+order, w.args...)
	if err != nil {
		return nil, err
	}
	clusters, err := s.withMemberships(ctx, rows)
	var all []ledger.Registration
	for _, c := range clusters {
		all = append(all, c.Registration)
	}
	return all, err
}

func scanHeartbeat(row scanner) (h ledger.Heartbeat, err error) {
	var at int64
	err = row.Scan(&h.Cluster, &at)
	h.At = time.UnixMicro(at).UTC()
	return h, err
}
