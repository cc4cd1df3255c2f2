package reporting

import (
	"context"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/secret"
)

// Registrar says who is a cluster, and of what.
type Registrar struct {
	Ledger interface { // required
		ledger.Clusters
		ledger.Tokens
	}
	// NewSecret makes a credential of a role, "cluster" or "join", of at least 256 random bits. // required
	NewSecret func(role string) secret.Value
}

// JoinScope is what a join token allows: the scope of a [ledger.Token], as JSON.
type JoinScope struct {
	// Memberships are those that a cluster may join with. "*" stands for every environment, or every cluster type. // required
	Memberships []ledger.Membership `json:"memberships"`
	// Uses is how many clusters may still join; 0 means any number.
	Uses int `json:"uses,omitempty"`
}

// JoinTokenRequest asks for a join token.
type JoinTokenRequest struct {
	Scope       JoinScope // required
	Description string
	Expires     time.Time // required
}

// CreateJoinToken makes a token with which clusters can join. The secret is returned only here; the ledger has its hash.
func (r *Registrar) CreateJoinToken(ctx context.Context, request JoinTokenRequest, by string, now time.Time) (secret.Value, ledger.Token, error) {
	return secret.Value{}, ledger.Token{}, ctx.Err()
}

// ClusterRequest says what a cluster is to be.
type ClusterRequest struct {
	Name        string              // required; a DNS label
	Memberships []ledger.Membership // required
	Labels      map[string]string
	// PublicKey is what its files are checked with, in PEM form; see [hub.ParseReportPublicKey]. May be empty.
	PublicKey string
}

// Join registers a cluster by a join token, whose ID was found by whoever checked the token. The credential is returned only here.
// A cluster that is registered already is [ErrConflict]: a join token must not take over what somebody else is.
func (r *Registrar) Join(ctx context.Context, tokenID string, request ClusterRequest, now time.Time) (secret.Value, ledger.Registration, error) {
	return secret.Value{}, ledger.Registration{}, ctx.Err()
}

// Register registers a cluster, or changes what a registered one is, because an operator says so.
// A new cluster, and one that was revoked, gets a credential, which is returned only here; others keep theirs, and what is returned is none.
func (r *Registrar) Register(ctx context.Context, request ClusterRequest, by string, now time.Time) (secret.Value, ledger.Registration, error) {
	return secret.Value{}, ledger.Registration{}, ctx.Err()
}

// Rotate gives a cluster another credential, which is returned only here. The old one ends at once.
func (r *Registrar) Rotate(ctx context.Context, cluster, by string, now time.Time) (secret.Value, ledger.Registration, error) {
	return secret.Value{}, ledger.Registration{}, ctx.Err()
}

// Revoke ends the memberships and the credential of a cluster. What it reported stays.
func (r *Registrar) Revoke(ctx context.Context, cluster, by string, now time.Time) (ledger.Registration, error) {
	return ledger.Registration{}, ctx.Err()
}
