package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Registry is what the registrar needs of the ledger.
type Registry interface {
	ledger.Clusters
	ledger.Tokens
	Wanted(ctx context.Context, q ledger.WantedQuery) (ledger.Wanted, error)
}

// Registrar registers clusters.
//
// Credentials are stored as their SHA-256. They are 256 random bits, so that a slow hash would not make them safer,
// only every report slower.
type Registrar struct {
	Ledger Registry // required
	// NewSecret returns a new credential for a role, "cluster" or "join", of at least 256 random bits. // required
	NewSecret func(role string) secret.Value
	// Serves returns the cluster types of each environment, with nil for an environment that was not read yet. Memberships of others are
	// refused. A nil map, or a nil function, allows all.
	Serves func() map[string][]string
	// ClusterObject returns the cluster type in the Cluster object of a cluster in an environment, and whether there is one. A
	// registration with another type is refused. Nil allows all.
	ClusterObject func(environment, cluster string) (clusterType string, ok bool)
}

// Hash returns the hash under which a credential is stored.
func Hash(credential secret.Value) string {
	sum := sha256.Sum256([]byte(credential.Reveal()))
	return hex.EncodeToString(sum[:])
}

// ClusterRequest asks to register a cluster.
type ClusterRequest struct {
	// Name is a DNS label. // required
	Name        string              `json:"name" minLength:"1" maxLength:"63"`
	Memberships []ledger.Membership `json:"memberships" maxItems:"100"` // required
	Labels      map[string]string   `json:"labels,omitempty"`
	// PublicKey verifies report files, in PEM form; only for clusters without a connection. Empty means none, or keeps
	// the key of a registered cluster.
	PublicKey string `json:"publicKey,omitempty" maxLength:"4096"`
	// ReportedBy is a registered cluster whose credential reports for this one: a cluster whose Argo CD serves both. The cluster itself
	// then has no credential. Empty means that the cluster reports with its own.
	ReportedBy string `json:"reportedBy,omitempty" maxLength:"63"`
}

// Register registers a cluster or changes its registration, on behalf of an admin. Memberships and labels are replaced, see [Registrar.Removed].
// A new or revoked cluster gets a credential, which is returned only here, and starts without a state: what was reported under
// its name before no longer counts. Others keep theirs, and the returned credential is zero.
//
// Only one credential can report about a cluster: its own, or that of the cluster in ReportedBy. If that changes, the old one can no
// longer report about it, and the cluster starts without a state.
func (r *Registrar) Register(ctx context.Context, request ClusterRequest, by string, now time.Time) (secret.Value, ledger.Registration, error) {
	var credential secret.Value
	known, err := r.check(ctx, request)
	if err != nil {
		return credential, ledger.Registration{}, err
	}
	next := request.registration(known, by, now)
	if err := r.checkReporter(ctx, request); err != nil {
		return credential, next, err
	}
	if known.Registered && next.ReportedBy == "" {
		next.CredentialHash = known.Registration.CredentialHash
		if next.PublicKey == "" {
			next.PublicKey = known.Registration.PublicKey
		}
	}
	if next.CredentialHash == "" && next.ReportedBy == "" {
		credential = r.NewSecret("cluster")
		next.CredentialHash = Hash(credential)
	}
	if !known.Registered || known.Registration.ReportedBy != next.ReportedBy {
		// What an earlier cluster of this name, or another reporter, reported says nothing about what this one will report.
		if err := r.Ledger.Reset(ctx, next.Cluster, now); err != nil {
			return secret.Value{}, next, err
		}
	}
	return credential, next, r.Ledger.Register(ctx, next)
}

// Removed returns the memberships that a cluster has now, and would lose with a request: those of the request replace them.
func (r *Registrar) Removed(ctx context.Context, request ClusterRequest) ([]ledger.Membership, error) {
	known, err := r.cluster(ctx, request.Name)
	if err != nil || !known.Registered {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(known.Registration.Memberships), func(m ledger.Membership) bool {
		return slices.Contains(request.Memberships, m)
	}), nil
}

// Rotate replaces the credential of a cluster. The new one is returned only here; the old one is invalid at once.
func (r *Registrar) Rotate(ctx context.Context, cluster, by string, now time.Time) (secret.Value, ledger.Registration, error) {
	next, err := r.registered(ctx, cluster, by, now)
	if err == nil && next.ReportedBy != "" {
		err = refuse(ErrConflict, "cluster %q has no credential: it is reported by %q", cluster, next.ReportedBy)
	}
	if err != nil {
		return secret.Value{}, next, err
	}
	credential := r.NewSecret("cluster")
	next.CredentialHash = Hash(credential)
	return credential, next, r.Ledger.Register(ctx, next)
}

// Revoke ends the memberships and the credential of a cluster. Its reports are kept. Revoking again changes nothing.
//
// Clusters that it reported for stay registered, without a reporter: another cluster that gets the name must not report for them.
func (r *Registrar) Revoke(ctx context.Context, cluster, by string, now time.Time) (ledger.Registration, error) {
	known, err := r.cluster(ctx, cluster)
	if err == nil && known.Registration.Revoked {
		return known.Registration, nil
	}
	next, err := r.registered(ctx, cluster, by, now)
	if err != nil {
		return next, err
	}
	if err := r.release(ctx, cluster, by, now); err != nil {
		return next, err
	}
	next.Revoked, next.CredentialHash, next.PublicKey, next.ReportedBy = true, "", "", ""
	return next, r.Ledger.Register(ctx, next)
}

// release ends that a cluster reports for others.
func (r *Registrar) release(ctx context.Context, reporter, by string, now time.Time) error {
	others, err := r.Ledger.Clusters(ctx, ledger.ClusterQuery{ReportedBy: reporter})
	for _, c := range others {
		next := c.Registration
		next.By, next.At, next.ReportedBy = oneLine(by, maxText), following(c, now), ""
		err = errors.Join(err, r.Ledger.Register(ctx, next))
	}
	return err
}

// checkReporter returns an error if the requested reporter cannot report for the cluster. It must have a credential of its own.
func (r *Registrar) checkReporter(ctx context.Context, q ClusterRequest) error {
	if q.ReportedBy == "" {
		return nil
	}
	switch reporter, err := r.cluster(ctx, q.ReportedBy); {
	case err != nil:
		return err
	case !reporter.Registered:
		return refuse(ErrInvalid, "cluster %q, which is to report for %q, is not registered", q.ReportedBy, q.Name)
	case reporter.Registration.ReportedBy != "":
		return refuse(ErrInvalid, "cluster %q cannot report for %q: it is itself reported by %q", q.ReportedBy, q.Name, reporter.Registration.ReportedBy)
	}
	others, err := r.Ledger.Clusters(ctx, ledger.ClusterQuery{ReportedBy: q.Name, Limit: 1})
	if err == nil && len(others) > 0 {
		err = refuse(ErrConflict, "cluster %q reports for %q, so that it needs its own credential", q.Name, others[0].Name)
	}
	return err
}

// registered returns a copy of a cluster's registration, to be changed and stored as the next one.
func (r *Registrar) registered(ctx context.Context, cluster, by string, now time.Time) (ledger.Registration, error) {
	known, err := r.cluster(ctx, cluster)
	if err != nil {
		return ledger.Registration{}, err
	}
	if !known.Registered {
		return ledger.Registration{}, refuse(ErrNotFound, "cluster %.253q is not registered", cluster)
	}
	next := known.Registration
	next.By, next.At = oneLine(by, maxText), following(known, now)
	return next, nil
}

// cluster returns a cluster; only with its name if it is unknown.
func (r *Registrar) cluster(ctx context.Context, name string) (ledger.Cluster, error) {
	all, err := r.Ledger.Clusters(ctx, ledger.ClusterQuery{Name: name})
	if err != nil || len(all) == 0 || name == "" {
		return ledger.Cluster{Name: name}, err
	}
	return all[0], nil
}

// following returns the time of the next registration. It is later than the last one, even if another server's clock is ahead.
func following(known ledger.Cluster, now time.Time) time.Time {
	if last := known.Registration.At; !now.After(last) {
		return last.Add(time.Microsecond)
	}
	return now.Truncate(time.Microsecond)
}

// registration returns the requested registration without a credential.
func (q ClusterRequest) registration(known ledger.Cluster, by string, now time.Time) ledger.Registration {
	memberships := slices.Clone(q.Memberships)
	slices.SortFunc(memberships, compareMemberships)
	return ledger.Registration{
		Cluster: q.Name, Memberships: memberships, Labels: maps.Clone(q.Labels), PublicKey: q.PublicKey, ReportedBy: q.ReportedBy,
		At: following(known, now), By: oneLine(by, maxText),
	}
}

// check validates a request and returns the cluster as the ledger knows it.
func (r *Registrar) check(ctx context.Context, q ClusterRequest) (ledger.Cluster, error) {
	if err := q.check(); err != nil {
		return ledger.Cluster{}, err
	}
	if err := r.exist(q.Memberships); err != nil {
		return ledger.Cluster{}, err
	}
	if err := r.checkObjects(q); err != nil {
		return ledger.Cluster{}, err
	}
	wanted, err := r.targets(ctx, q.Memberships)
	if err != nil {
		return ledger.Cluster{}, err
	}
	if err := collision(q.Memberships, wanted); err != nil {
		return ledger.Cluster{}, err
	}
	if err := r.checkKey(ctx, q); err != nil {
		return ledger.Cluster{}, err
	}
	return r.cluster(ctx, q.Name)
}

// exist returns an error for memberships of unknown environments or cluster types.
func (r *Registrar) exist(memberships []ledger.Membership) error {
	if r.Serves == nil {
		return nil
	}
	known := r.Serves()
	if known == nil {
		return nil
	}
	for _, m := range memberships {
		types, ok := known[m.Environment]
		if !ok {
			return refuse(ErrInvalid, "environment %q does not exist; there %s", m.Environment, available(slices.Sorted(maps.Keys(known))))
		}
		if types != nil && !slices.Contains(types, m.ClusterType) {
			return refuse(ErrInvalid, "environment %q has no cluster type %q; there %s", m.Environment, m.ClusterType, available(types))
		}
	}
	return nil
}

// checkObjects returns an error if the Cluster object of the cluster names a type that it is not registered as.
func (r *Registrar) checkObjects(q ClusterRequest) error {
	if r.ClusterObject == nil {
		return nil
	}
	for _, m := range q.Memberships {
		clusterType, ok := r.ClusterObject(m.Environment, q.Name)
		if ok && !slices.Contains(q.Memberships, ledger.Membership{Environment: m.Environment, ClusterType: clusterType}) {
			return refuse(ErrInvalid, "the Cluster object of %q in environment %q says cluster type %q, not %q; change one of them",
				q.Name, m.Environment, clusterType, m.ClusterType)
		}
	}
	return nil
}

// available lists up to ten names.
func available(names []string) string {
	const most = 10
	switch n := len(names); {
	case n == 0:
		return "are none"
	case n == 1:
		return "is " + names[0]
	case n > most:
		return fmt.Sprintf("are %s and %d more", strings.Join(names[:most], ", "), n-most)
	}
	return "are " + strings.Join(names, ", ")
}

// checkKey returns an error if another cluster has the public key.
func (r *Registrar) checkKey(ctx context.Context, q ClusterRequest) error {
	if q.PublicKey == "" {
		return nil
	}
	keys, err := reportKeys(ctx, r.Ledger)
	if err != nil {
		return err
	}
	if other, ok := keys[keyID(q.PublicKey)]; ok && other.cluster != q.Name {
		return refuse(ErrConflict, "cluster %q has the same public key: each cluster needs its own", other.cluster)
	}
	return nil
}

// targets returns the deployment targets that are assigned to memberships at the recorded heads of GitOps branches.
func (r *Registrar) targets(ctx context.Context, memberships []ledger.Membership) (map[ledger.Membership][]string, error) {
	targets := map[ledger.Membership][]string{}
	if len(memberships) < 2 {
		return targets, nil // one membership cannot collide
	}
	environments := map[string]bool{}
	for _, m := range memberships {
		environments[m.Environment] = true
	}
	for _, environment := range slices.Sorted(maps.Keys(environments)) {
		wanted, err := r.Ledger.Wanted(ctx, ledger.WantedQuery{Environment: environment})
		if err != nil {
			return nil, fmt.Errorf("read assignments of %q: %w", environment, err)
		}
		for _, a := range wanted.Assignments {
			m := ledger.Membership{Environment: environment, ClusterType: a.ClusterType}
			targets[m] = append(targets[m], a.Target)
		}
	}
	return targets, nil
}
