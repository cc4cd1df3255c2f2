package api

import (
	"context"
	"net/http"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// ClusterRequest says what a cluster is to be.
type ClusterRequest struct {
	// Name is a DNS label.
	Name        string              `json:"name" minLength:"1" maxLength:"63"`
	Memberships []ledger.Membership `json:"memberships" maxItems:"100"`
	Labels      map[string]string   `json:"labels,omitempty"`
	// PublicKey is what its files are checked with, in PEM form; only for clusters without a connection.
	PublicKey string `json:"publicKey,omitempty" maxLength:"4096"`
}

func (r ClusterRequest) of() ingest.ClusterRequest {
	return ingest.ClusterRequest{Name: r.Name, Memberships: r.Memberships, Labels: r.Labels, PublicKey: r.PublicKey}
}

// Credential is what a cluster reports with. Its secrets are in this answer and nowhere else.
type Credential struct {
	Cluster string `json:"cluster"`
	// Credential is the bearer token of the cluster; absent when it keeps the one it has.
	Credential string `json:"credential,omitempty"`
	// FluxKey is what its Flux signs events with (generic-hmac); absent where the server takes no signatures.
	FluxKey     string              `json:"fluxKey,omitempty"`
	Memberships []ledger.Membership `json:"memberships"`
	Labels      map[string]string   `json:"labels,omitempty"`
	// At is since when that holds, and By who said so.
	At time.Time `json:"at"`
	By string    `json:"by,omitempty"`
}

// TokenRequest asks for a token.
type TokenRequest struct {
	// Name is whom or what it is for.
	Name string `json:"name" minLength:"1" maxLength:"128"`
	Role string `json:"role" enum:"reader,operator,admin,join"`
	// Expires is when it ends. Absent means never; a token to join has to end.
	Expires time.Time `json:"expires,omitzero"`
	// Join says what clusters may join with it; only for the role join.
	Join *ingest.JoinScope `json:"join,omitempty"`
}

// Token is a token without what makes it secret.
type Token struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Role    string    `json:"role"`
	By      string    `json:"by,omitempty"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"`
	Revoked time.Time `json:"revoked,omitzero"`
	// Scope restricts a token to join, as JSON.
	Scope string `json:"scope,omitempty"`
}

// NewToken is a token with what makes it secret, which is in this answer and nowhere else.
type NewToken struct {
	Token
	Secret string `json:"secret"`
}

// Tokens are all tokens, also those that ended.
type Tokens struct {
	// Items are sorted by time, the newest first.
	Items []Token `json:"items"`
}

type (
	registerInput struct{ Body ClusterRequest }
	namedCluster  struct {
		Name string `path:"name" maxLength:"63" doc:"The name of the cluster."`
	}
	tokenInput struct{ Body TokenRequest }
	tokenID    struct {
		ID string `path:"id" maxLength:"100" doc:"The ID of the token."`
	}
)

func registerCredentials(s *service) {
	tell(s, operation{
		id: "register-cluster", path: "/clusters", status: http.StatusCreated, summary: "Register a cluster, or change what it is",
		about: "A new cluster gets a credential, which is in the answer and nowhere else. One that is registered keeps its own.",
	}, s.registerCluster)
	tell(s, operation{
		id: "join-cluster", path: "/clusters/join", status: http.StatusCreated, summary: "Join as a new cluster",
		about: "With a token to join, and memberships that it allows. A cluster that is registered already is a conflict.",
	}, s.joinCluster)
	tell(s, operation{
		id: "rotate-cluster", path: "/clusters/{name}/rotate", summary: "Give a cluster another credential", about: "The old one ends at once.",
	}, s.rotateCluster)
	tell(s, operation{
		id: "revoke-cluster", path: "/clusters/{name}/revoke", summary: "End the memberships and the credential of a cluster",
		about: "What it reported stays.",
	}, s.revokeCluster)
	ask(s, operation{id: "list-tokens", path: "/tokens", summary: "The tokens of people and programs, also those that ended"}, s.listTokens)
	tell(s, operation{
		id: "create-token", path: "/tokens", status: http.StatusCreated, summary: "Make a token",
		about: "The secret is in the answer and nowhere else.",
	}, s.createToken)
	tell(s, operation{
		id: "revoke-token", path: "/tokens/{id}/revoke", summary: "End a token",
		about: "It ends on this server at once, and on others within seconds.",
	}, s.revokeToken)
}

func (s *service) registerCluster(ctx context.Context, in *registerInput) (Credential, error) {
	if err := s.audit(ctx, "register cluster", in.Body.Name, in.Body.detail()); err != nil {
		return Credential{}, err
	}
	credential, r, err := s.Registrar.Register(ctx, in.Body.of(), access.From(ctx).String(), s.now())
	return s.credential(credential, r, err)
}

func (s *service) joinCluster(ctx context.Context, in *registerInput) (Credential, error) {
	if err := s.audit(ctx, "join cluster", in.Body.Name, in.Body.detail()); err != nil {
		return Credential{}, err
	}
	credential, r, err := s.Registrar.Join(ctx, access.From(ctx).Token, in.Body.of(), s.now())
	return s.credential(credential, r, err)
}

func (s *service) rotateCluster(ctx context.Context, in *namedCluster) (Credential, error) {
	if err := s.audit(ctx, "rotate cluster", in.Name, ""); err != nil {
		return Credential{}, err
	}
	credential, r, err := s.Registrar.Rotate(ctx, in.Name, access.From(ctx).String(), s.now())
	return s.credential(credential, r, err)
}

func (s *service) revokeCluster(ctx context.Context, in *namedCluster) (Credential, error) {
	if err := s.audit(ctx, "revoke cluster", in.Name, ""); err != nil {
		return Credential{}, err
	}
	r, err := s.Registrar.Revoke(ctx, in.Name, access.From(ctx).String(), s.now())
	return s.credential(secret.Value{}, r, err)
}

// credential answers what a cluster is from now on. What it was known by before ends at once.
func (s *service) credential(credential secret.Value, r ledger.Registration, err error) (Credential, error) {
	if err != nil {
		return Credential{}, err
	}
	s.Guard.Forget()
	s.Events.Publish(Signal{Type: SignalCluster, Cluster: r.Cluster})
	c := Credential{
		Cluster: r.Cluster, Credential: credential.Reveal(), Memberships: append([]ledger.Membership{}, r.Memberships...),
		Labels: r.Labels, At: r.At, By: r.By,
	}
	if !credential.IsZero() && !s.FluxSecret.IsZero() {
		c.FluxKey = ingest.FluxKey(s.FluxSecret, r).Reveal()
	}
	return c, nil
}

// detail is what the audit trail says of a registration.
func (r ClusterRequest) detail() string {
	var pairs []string
	for _, m := range r.Memberships {
		pairs = append(pairs, m.Environment, m.ClusterType)
	}
	return detail(pairs...)
}

func (s *service) listTokens(ctx context.Context, _ *struct{}) (Tokens, error) {
	all, err := s.tokens().List(ctx)
	shown := Tokens{Items: []Token{}}
	for _, t := range all {
		shown.Items = append(shown.Items, tokenOf(t))
	}
	return shown, err
}

func (s *service) createToken(ctx context.Context, in *tokenInput) (NewToken, error) {
	r := in.Body
	if err := s.audit(ctx, "create token", r.Name, detail("role", r.Role)); err != nil {
		return NewToken{}, err
	}
	by := access.From(ctx)
	var value secret.Value
	var stored ledger.Token
	var err error
	switch {
	case r.Role != string(access.Join) && r.Join != nil:
		err = newProblem(http.StatusUnprocessableEntity, "only tokens of the role join may join", "leave join out, or write the role join")
	case r.Role != string(access.Join):
		value, stored, err = s.tokens().Create(ctx, access.Wanted{Name: r.Name, Role: access.Role(r.Role), Expires: r.Expires}, by)
	case r.Join == nil:
		err = newProblem(http.StatusUnprocessableEntity, "nothing says what clusters may join as", `add "join": {"memberships": [...]}`)
	default:
		request := ingest.JoinTokenRequest{Scope: *r.Join, Description: r.Name, Expires: r.Expires}
		value, stored, err = s.Registrar.CreateJoinToken(ctx, request, by.String(), s.now())
	}
	return NewToken{Token: tokenOf(stored), Secret: value.Reveal()}, err
}

func (s *service) revokeToken(ctx context.Context, in *tokenID) (Token, error) {
	if err := s.audit(ctx, "revoke token", in.ID, ""); err != nil {
		return Token{}, err
	}
	t, err := s.tokens().Revoke(ctx, in.ID)
	return tokenOf(t), err
}

func tokenOf(t ledger.Token) Token {
	return Token{
		ID: t.ID, Name: t.Description, Role: t.Role, By: t.By, Created: t.Created, Expires: t.Expires, Revoked: t.Revoked, Scope: t.Scope,
	}
}
