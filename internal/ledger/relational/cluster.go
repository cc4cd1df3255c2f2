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

const (
	insertCluster = `INSERT INTO cluster (name) VALUES ($1) ON CONFLICT DO NOTHING`
	findCluster   = `SELECT id FROM cluster WHERE name = $1`

	insertRegistration = `
INSERT INTO registration (cluster_id, at, until, labels, credential_hash, public_key, revoked, by_whom)
VALUES ($1, $2, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`
	findRegistration = `SELECT id FROM registration WHERE cluster_id = $1 AND at = $2`

	// Each registration ends where the next one begins, in whichever order they were made.
	chainRegistrations = `
UPDATE registration SET until = COALESCE(
    (SELECT MIN(n.at) FROM registration n WHERE n.cluster_id = registration.cluster_id AND n.at > registration.at), 9223372036854775807)
WHERE cluster_id = $1`

	insertMembership = `INSERT INTO membership (registration_id, environment, cluster_type) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`
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
	if err := checkText("registration", string(labels), r.CredentialHash, r.PublicKey, r.By); err != nil {
		return err
	}
	err = s.inTransaction(ctx, func(tx *sql.Tx) error { return register(ctx, tx, r, string(labels)) })
	if err != nil {
		return fmt.Errorf("register cluster %q: %w", r.Cluster, err)
	}
	return nil
}

func register(ctx context.Context, tx *sql.Tx, r ledger.Registration, labels string) error {
	cluster, err := ensure(ctx, tx, insertCluster, findCluster, r.Cluster)
	if err != nil {
		return err
	}
	at := micros(r.At)
	inserted, err := tx.ExecContext(ctx, insertRegistration, cluster, at, labels, r.CredentialHash, r.PublicKey, number(r.Revoked), r.By)
	if err != nil {
		return err
	}
	if n, err := inserted.RowsAffected(); err != nil || n == 0 {
		return err // it is there already
	}
	var id int64
	if err := tx.QueryRowContext(ctx, findRegistration, cluster, at).Scan(&id); err != nil {
		return err
	}
	for _, m := range r.Memberships {
		if _, err := tx.ExecContext(ctx, insertMembership, id, m.Environment, m.ClusterType); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, chainRegistrations, cluster)
	return err
}

// number is a truth value as databases have it.
func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// selectClusters joins the registration that is in force at a time; a cluster that was only heard of has none.
const selectClusters = `
SELECT c.name, COALESCE(g.id, 0), COALESCE(g.at, 0), COALESCE(g.labels, ''), COALESCE(g.credential_hash, ''),
       COALESCE(g.public_key, ''), COALESCE(g.revoked, 0), COALESCE(g.by_whom, ''), COALESCE(h.heard, 0)
FROM cluster c
LEFT JOIN heartbeat h ON h.cluster_id = c.id
LEFT JOIN registration g ON g.cluster_id = c.id AND g.at <= $1 AND g.until > $1`

const selectMemberships = `SELECT registration_id, environment, cluster_type FROM membership`

// clusterRow is a cluster, and the registration whose memberships it still lacks.
type clusterRow struct {
	ledger.Cluster
	registration int64
}

func scanCluster(row scanner) (c clusterRow, err error) {
	var at, revoked, heard int64
	var labels string
	r := &c.Registration
	if err := row.Scan(&c.Name, &c.registration, &at, &labels, &r.CredentialHash, &r.PublicKey, &revoked, &r.By, &heard); err != nil {
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

// inForce is the time at which the registrations are in force that count at a time, of which zero means now:
// never-1, since those end at never.
func inForce(asOf time.Time) int64 {
	if asOf.IsZero() {
		return never - 1
	}
	return micros(asOf)
}

// Clusters implements [ledger.Clusters].
func (s *Store) Clusters(ctx context.Context, q ledger.ClusterQuery) ([]ledger.Cluster, error) {
	w := where{args: []any{inForce(q.AsOf)}}
	w.text("c.name = ?", q.Name)
	w.text("c.name > ?", q.After)
	if q.Environment != "" || q.ClusterType != "" {
		w.conditions = append(w.conditions, "g.revoked = 0", memberCondition(&w, q))
	}
	rows, err := query(ctx, s.Read, scanCluster, selectClusters+w.String()+" ORDER BY c.name"+limit(q.Limit), w.args...)
	if err != nil {
		return nil, fmt.Errorf("read clusters: %w", err)
	}
	clusters, err := s.withMemberships(ctx, rows)
	if err != nil {
		return nil, fmt.Errorf("read memberships: %w", err)
	}
	return clusters, nil
}

func memberCondition(w *where, q ledger.ClusterQuery) string {
	var m where
	m.args = w.args
	m.text("environment = ?", q.Environment)
	m.text("cluster_type = ?", q.ClusterType)
	w.args = m.args
	return "g.id IN (SELECT registration_id FROM membership" + m.String() + ")"
}

// withMemberships fills in the memberships of clusters. They are read for the whole range of registrations:
// a page of clusters is mostly one of registrations, too.
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
	}, selectMemberships+" WHERE registration_id BETWEEN $1 AND $2", least, greatest)
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

const credentialCluster = `
SELECT c.name FROM registration g JOIN cluster c ON c.id = g.cluster_id
WHERE g.credential_hash = $1 AND g.credential_hash <> '' AND g.revoked = 0 AND g.until = 9223372036854775807`

// ClusterByCredential implements [ledger.Clusters].
func (s *Store) ClusterByCredential(ctx context.Context, hash string) (ledger.Cluster, error) {
	names, err := query(ctx, s.Read, scanText, credentialCluster, hash)
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

const selectRegistrations = `
SELECT c.name, g.id, g.at, g.labels, g.credential_hash, g.public_key, g.revoked, g.by_whom, 0
FROM registration g JOIN cluster c ON c.id = g.cluster_id`

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
	rows, err := query(ctx, s.Read, scanCluster, selectRegistrations+w.String()+order, w.args...)
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
