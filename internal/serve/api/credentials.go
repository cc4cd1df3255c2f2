package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Credential is a cluster's registration, with the secrets that it reports with. They are returned only once.
type Credential struct {
	Cluster string `json:"cluster"`
	// Credential is the cluster's bearer token; absent if it keeps its token.
	Credential string `json:"credential,omitempty"`
	// FluxKey is the key with which its Flux signs events (generic-hmac); absent if the server accepts no signatures.
	FluxKey     string              `json:"fluxKey,omitempty"`
	Memberships []ledger.Membership `json:"memberships"`
	// Removed are the memberships that the cluster had before and that the registration replaced; absent if there are none.
	Removed []ledger.Membership `json:"removed,omitempty"`
	Labels  map[string]string   `json:"labels,omitempty"`
	// ReportedBy is the cluster that reports for it; the cluster itself then has no credential.
	ReportedBy string `json:"reportedBy,omitempty"`
	// At is the time of the registration, By who requested it.
	At time.Time `json:"at"`
	By string    `json:"by,omitempty"`
}

// TokenRequest requests a token.
type TokenRequest struct {
	// Name is the person or program that uses it.
	Name string `json:"name" minLength:"1" maxLength:"128"`
	Role string `json:"role" enum:"reader,approver,operator,break-glass,admin,join"`
	// Workspaces limit a token of the role reader, approver or operator to what belongs to them. Default: no limit.
	Workspaces []string `json:"workspaces,omitempty" maxItems:"1000"`
	// Environments limit a token of workspaces further. Default: all environments.
	Environments []string `json:"environments,omitempty" maxItems:"1000"`
	// Expires is required for the role join. Default: never.
	Expires time.Time `json:"expires,omitzero"`
	// Join restricts which clusters can join with it; only for the role join.
	Join *ingest.JoinScope `json:"join,omitempty"`
}

// Request returns the request of a token that is not for joining.
func (r *TokenRequest) Request() access.TokenRequest {
	return access.TokenRequest{Name: r.Name, Role: access.Role(r.Role), Workspaces: r.Workspaces, Environments: r.Environments, Expires: r.Expires}
}

// Token is a token without its secret.
type Token struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Role    string    `json:"role"`
	By      string    `json:"by,omitempty"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"`
	Revoked time.Time `json:"revoked,omitzero"`
	// Scope is the restriction of a join token, as JSON.
	Scope string `json:"scope,omitempty"`
	// Workspaces and Environments are what the token is limited to; absent if it is not.
	Workspaces   []string `json:"workspaces,omitempty"`
	Environments []string `json:"environments,omitempty"`
}

// Rights describes what the token allows: its role, and the workspaces and environments that it is limited to.
func (t *Token) Rights() string {
	return access.Grant{Role: access.Role(t.Role), Workspaces: t.Workspaces, Environments: t.Environments}.String()
}

// TokenPath identifies a token.
type TokenPath struct {
	ID string `path:"id" maxLength:"100" doc:"ID of the token."`
}

// ClusterPath identifies a cluster.
type ClusterPath struct {
	Name string `path:"name" maxLength:"63" doc:"Name of the cluster."`
}

// NewToken is a token with its secret, which is returned only once.
type NewToken struct {
	Token
	Secret string `json:"secret"`
}

// Tokens are all tokens, including expired and revoked ones.
type Tokens struct {
	// Items are sorted by time, newest first.
	Items []Token `json:"items"`
}

type (
	registerInput struct{ Body ingest.ClusterRequest }
	tokenInput    struct{ Body TokenRequest }
)

func registerCredentials(s *service) {
	tell(s, operation{
		id: "register-cluster", path: "/clusters", status: http.StatusCreated, summary: "Register a cluster, or change its registration",
		about: "A new cluster gets a credential, which is returned only once. A registered cluster keeps its own. A cluster that is reported by another one has none.",
	}, s.registerCluster)
	tell(s, operation{
		id: "join-cluster", path: "/clusters/join", status: http.StatusCreated, summary: "Join as a new cluster",
		about: "Requires a join token that allows the memberships. If the cluster is registered already, the answer is 409.",
	}, s.joinCluster)
	tell(s, operation{
		id: "rotate-cluster", path: "/clusters/{name}/rotate", summary: "Replace the credential of a cluster", about: "The old one is revoked immediately.",
	}, s.rotateCluster)
	tell(s, operation{
		id: "revoke-cluster", path: "/clusters/{name}/revoke", summary: "Revoke the memberships and the credential of a cluster",
		about: "Its reports are kept.",
	}, s.revokeCluster)
	ask(s, operation{id: "list-tokens", path: "/tokens", summary: "List the tokens of people and programs, including expired and revoked ones"}, s.listTokens)
	tell(s, operation{
		id: "create-token", path: "/tokens", status: http.StatusCreated, summary: "Create a token",
		about: "The secret is returned only once.",
	}, s.createToken)
	tell(s, operation{
		id: "revoke-token", path: "/tokens/{id}/revoke", summary: "Revoke a token",
		about: "It takes effect on this server immediately, and on others within seconds.",
	}, s.revokeToken)
}

func (s *service) registerCluster(ctx context.Context, in *registerInput) (Credential, error) {
	if err := s.audit(ctx, "register cluster", in.Body.Name, registrationDetail(in.Body)); err != nil {
		return Credential{}, err
	}
	removed, err := s.Registrar.Removed(ctx, in.Body)
	if err != nil {
		return Credential{}, err
	}
	credential, r, err := s.Registrar.Register(ctx, in.Body, access.From(ctx).String(), s.now())
	made, err := s.credential(credential, r, err)
	made.Removed = removed
	return made, err
}

func (s *service) joinCluster(ctx context.Context, in *registerInput) (Credential, error) {
	if err := s.audit(ctx, "join cluster", in.Body.Name, registrationDetail(in.Body)); err != nil {
		return Credential{}, err
	}
	credential, r, err := s.Registrar.Join(ctx, access.From(ctx).Token, in.Body, s.now())
	return s.credential(credential, r, err)
}

func (s *service) rotateCluster(ctx context.Context, in *ClusterPath) (Credential, error) {
	if err := s.audit(ctx, "rotate cluster", in.Name, ""); err != nil {
		return Credential{}, err
	}
	credential, r, err := s.Registrar.Rotate(ctx, in.Name, access.From(ctx).String(), s.now())
	return s.credential(credential, r, err)
}

func (s *service) revokeCluster(ctx context.Context, in *ClusterPath) (Credential, error) {
	if err := s.audit(ctx, "revoke cluster", in.Name, ""); err != nil {
		return Credential{}, err
	}
	r, err := s.Registrar.Revoke(ctx, in.Name, access.From(ctx).String(), s.now())
	return s.credential(secret.Value{}, r, err)
}

// credential returns the answer to a change of a registration. Earlier credentials end immediately.
func (s *service) credential(credential secret.Value, r ledger.Registration, err error) (Credential, error) {
	if err != nil {
		return Credential{}, err
	}
	s.Guard.Forget()
	s.Events.Publish(Signal{Type: SignalCluster, Cluster: r.Cluster})
	c := Credential{
		Cluster: r.Cluster, Credential: credential.Reveal(), Memberships: append([]ledger.Membership{}, r.Memberships...),
		Labels: r.Labels, ReportedBy: r.ReportedBy, At: r.At, By: r.By,
	}
	if !credential.IsZero() && !s.FluxSecret.IsZero() {
		c.FluxKey = ingest.FluxKey(s.FluxSecret, r).Reveal()
	}
	return c, nil
}

// registrationDetail returns the detail of a registration in the audit trail.
func registrationDetail(r ingest.ClusterRequest) string {
	var pairs []string
	for _, m := range r.Memberships {
		pairs = append(pairs, m.Environment, m.ClusterType)
	}
	if r.ReportedBy != "" {
		pairs = append(pairs, "reported by", r.ReportedBy)
	}
	return detail(pairs...)
}

func (s *service) listTokens(ctx context.Context, _ struct{}) (Tokens, error) {
	all, err := s.tokens().List(ctx)
	shown := Tokens{Items: []Token{}}
	for _, t := range all {
		shown.Items = append(shown.Items, TokenOf(t))
	}
	return shown, err
}

func (s *service) createToken(ctx context.Context, in *tokenInput) (NewToken, error) {
	r := in.Body
	about := detail("role", r.Role, "workspaces", strings.Join(r.Workspaces, ","), "environments", strings.Join(r.Environments, ","))
	if err := s.audit(ctx, "create token", r.Name, about); err != nil {
		return NewToken{}, err
	}
	by := access.From(ctx)
	var value secret.Value
	var stored ledger.Token
	var err error
	switch {
	case r.Role != string(access.Join) && r.Join != nil:
		err = newProblem(http.StatusUnprocessableEntity, "join is only for the role join", "omit join, or set the role to join")
	case r.Role != string(access.Join):
		value, stored, err = s.tokens().Create(ctx, r.Request(), by)
	case len(r.Workspaces)+len(r.Environments) > 0:
		err = newProblem(http.StatusUnprocessableEntity, "a join token has no workspaces", "omit workspaces and environments")
	case r.Join == nil:
		err = newProblem(http.StatusUnprocessableEntity, "join is required for the role join", `add "join": {"memberships": [...]}`)
	default:
		request := ingest.JoinTokenRequest{Scope: *r.Join, Description: r.Name, Expires: r.Expires}
		value, stored, err = s.Registrar.CreateJoinToken(ctx, request, by.String(), s.now())
	}
	return NewToken{Token: TokenOf(stored), Secret: value.Reveal()}, err
}

func (s *service) revokeToken(ctx context.Context, in *TokenPath) (Token, error) {
	if err := s.audit(ctx, "revoke token", in.ID, ""); err != nil {
		return Token{}, err
	}
	t, err := s.tokens().Revoke(ctx, in.ID)
	return TokenOf(t), err
}

// TokenOf returns a token without its secret.
func TokenOf(t ledger.Token) Token {
	shown := Token{
		ID: t.ID, Name: t.Description, Role: t.Role, By: t.By, Created: t.Created, Expires: t.Expires, Revoked: t.Revoked, Scope: t.Scope,
	}
	if t.Role != string(access.Scoped) {
		return shown
	}
	if limit, err := access.LimitOf(t); err == nil {
		shown.Role, shown.Scope, shown.Workspaces, shown.Environments = string(limit.Role), "", limit.Workspaces, limit.Environments
	}
	return shown
}
