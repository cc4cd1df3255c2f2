package ingest

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// roleJoin is the role of join tokens in the ledger.
const roleJoin = "join"

// JoinScope is what a join token allows, stored as JSON in the scope of a [ledger.Token].
type JoinScope struct {
	// Memberships are allowed for clusters. "*" is every environment, or every cluster type. // required
	Memberships []ledger.Membership `json:"memberships"`
	// Uses is how many clusters may still join; 0 means any number.
	// Clusters that join at the same time may exceed it.
	Uses int `json:"uses,omitempty"`
	// Used means that no cluster may join any more.
	Used bool `json:"used,omitempty"`
}

// ParseJoinScope parses the scope of a token. An invalid scope allows nothing.
func ParseJoinScope(text string) JoinScope {
	var s JoinScope
	if json.Unmarshal([]byte(text), &s) != nil {
		return JoinScope{}
	}
	return s
}

// String returns the scope as JSON.
func (s JoinScope) String() string {
	text, _ := json.Marshal(s) //nolint:errchkjson // texts and numbers
	return string(text)
}

// Allows reports whether a cluster may join with a membership.
func (s JoinScope) Allows(m ledger.Membership) bool {
	return slices.ContainsFunc(s.Memberships, func(allowed ledger.Membership) bool {
		return (allowed.Environment == "*" || allowed.Environment == m.Environment) &&
			(allowed.ClusterType == "*" || allowed.ClusterType == m.ClusterType)
	})
}

// use returns the scope after a cluster joined.
func (s JoinScope) use() JoinScope {
	if s.Uses > 0 {
		s.Uses--
		s.Used = s.Uses == 0
	}
	return s
}

// Check returns an error for an invalid scope.
func (s JoinScope) Check() error {
	if len(s.Memberships) == 0 || len(s.Memberships) > maxMemberships {
		return refuse(ErrInvalid, "a join token allows 1 to %d memberships, got %d: */* allows all", maxMemberships, len(s.Memberships))
	}
	if s.Uses < 0 {
		return refuse(ErrInvalid, "uses is %d, want 0 for any number, or more", s.Uses)
	}
	for _, m := range s.Memberships {
		if err := label("environment", m.Environment); err != nil && m.Environment != "*" {
			return refuse(ErrInvalid, `%v, or "*"`, err)
		}
		if err := label("cluster type", m.ClusterType); err != nil && m.ClusterType != "*" {
			return refuse(ErrInvalid, `%v, or "*"`, err)
		}
	}
	return nil
}

// JoinTokenRequest asks for a join token.
type JoinTokenRequest struct {
	Scope       JoinScope `json:"scope"` // required
	Description string    `json:"description,omitempty"`
	Expires     time.Time `json:"expires"` // required
}

// CreateJoinToken creates a token with which clusters can join. The secret is returned only here; the ledger stores its hash.
func (r *Registrar) CreateJoinToken(ctx context.Context, request JoinTokenRequest, by string, now time.Time) (secret.Value, ledger.Token, error) {
	if err := request.Scope.Check(); err != nil {
		return secret.Value{}, ledger.Token{}, err
	}
	if !request.Expires.After(now) {
		return secret.Value{}, ledger.Token{}, refuse(ErrInvalid, "expires is missing or in the past")
	}
	token := r.NewSecret(roleJoin)
	stored := ledger.Token{
		Hash: Hash(token), Role: roleJoin, Description: oneLine(request.Description, maxText), By: oneLine(by, maxText),
		Created: now.Truncate(time.Microsecond), Expires: request.Expires.Truncate(time.Microsecond), Scope: request.Scope.String(),
	}
	// The hash does not reveal the token, so that a part of it can be the ID.
	stored.ID = stored.Hash[:12]
	return token, stored, r.Ledger.PutToken(ctx, stored)
}

// Join registers a cluster with a join token that the caller has authenticated. The credential is returned only here.
// The error is [ErrConflict] if the cluster is registered: a join token must not take over another cluster.
// A revoked cluster may join again.
func (r *Registrar) Join(ctx context.Context, tokenID string, request ClusterRequest, now time.Time) (secret.Value, ledger.Registration, error) {
	var none secret.Value
	token, err := r.joinToken(ctx, tokenID, request.Memberships, now)
	if err != nil {
		return none, ledger.Registration{}, err
	}
	if request.ReportedBy != "" {
		return none, ledger.Registration{}, refuse(ErrDenied, "a join token cannot let another cluster report: ask an admin to register the cluster")
	}
	known, err := r.check(ctx, request)
	if err != nil {
		return none, ledger.Registration{}, err
	}
	if known.Registered {
		return none, ledger.Registration{}, taken(request.Name)
	}
	if scope := ParseJoinScope(token.Scope); scope.Uses > 0 {
		token.Scope = scope.use().String()
		if err := r.Ledger.PutToken(ctx, token); err != nil {
			return none, ledger.Registration{}, err
		}
	}
	credential := r.NewSecret("cluster")
	next := request.registration(known, "join token "+token.ID, now)
	next.CredentialHash = Hash(credential)
	if err := r.Ledger.Reset(ctx, next.Cluster, now); err != nil {
		return none, next, err
	}
	if err := r.Ledger.Register(ctx, next); err != nil {
		return none, next, err
	}
	if err := r.first(ctx, next, known); err != nil {
		return none, ledger.Registration{}, err
	}
	return credential, next, nil
}

func taken(cluster string) error {
	return refuse(ErrConflict, "cluster %q is already registered: choose another name, or ask an admin to rotate its credential or revoke it", cluster)
}

// joinToken returns a token that is valid now and allows the memberships.
func (r *Registrar) joinToken(ctx context.Context, id string, memberships []ledger.Membership, now time.Time) (ledger.Token, error) {
	all, err := r.Ledger.Tokens(ctx)
	if err != nil {
		return ledger.Token{}, err
	}
	i := slices.IndexFunc(all, func(t ledger.Token) bool { return t.ID == id && t.Role == roleJoin })
	if i < 0 {
		return ledger.Token{}, refuse(ErrDenied, "this is not a join token")
	}
	token := all[i]
	scope := ParseJoinScope(token.Scope)
	switch {
	case !token.Revoked.IsZero():
		return token, refuse(ErrDenied, "the join token was revoked: ask for another one")
	case !token.Expires.IsZero() && !now.Before(token.Expires):
		return token, refuse(ErrDenied, "the join token expired at %s: ask for another one", token.Expires.Format(time.RFC3339))
	case scope.Used:
		return token, refuse(ErrDenied, "the join token has no uses left: ask for another one")
	}
	for _, m := range memberships {
		if !scope.Allows(m) {
			return token, refuse(ErrDenied, "the join token does not allow membership %.63s/%.63s", oneLine(m.Environment, maxText), oneLine(m.ClusterType, maxText))
		}
	}
	return token, nil
}

// first returns an error if another registration of the cluster was stored since known was read, and restores that one.
func (r *Registrar) first(ctx context.Context, mine ledger.Registration, known ledger.Cluster) error {
	all, err := r.Ledger.Registrations(ctx, mine.Cluster)
	if err != nil {
		return err
	}
	for _, other := range all {
		switch {
		case !other.At.After(known.Registration.At):
			continue
		case other.CredentialHash == mine.CredentialHash:
			return nil
		case other.At.Before(mine.At) && !other.Revoked:
			other.At = mine.At.Add(time.Microsecond)
			if err := r.Ledger.Register(ctx, other); err != nil {
				return err
			}
		}
		return taken(mine.Cluster)
	}
	return taken(mine.Cluster)
}
