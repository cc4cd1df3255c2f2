package backend

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Tokens manages the tokens of users and programs, on a ledger or a server.
type Tokens interface {
	Create(ctx context.Context, wanted api.TokenRequest) (api.NewToken, error)
	List(ctx context.Context) (api.Tokens, error)
	Revoke(ctx context.Context, id string) (api.Token, error)
}

// WithTokens calls do with the tokens of the server or ledger that the flags choose. open decides whether a missing ledger
// is created.
func (f *Flags) WithTokens(cmd *cobra.Command, t *terminal.Terminal, open openFunc, do func(Tokens) error) error {
	at, err := f.Resolve(cmd, t)
	if err != nil {
		return err
	}
	if at.Server != nil {
		return Hint(do(serverTokens{at.Server}))
	}
	return WithLedger(cmd.Context(), open, at.Ledger, func(l ledger.Ledger) error {
		return Hint(do(&localTokens{l, t}))
	})
}

// localTokens writes to a ledger, in the name of the local user.
type localTokens struct {
	ledger ledger.Ledger
	t      *terminal.Terminal
}

func (l *localTokens) store() access.Tokens {
	return access.Tokens{Store: l.ledger, Guard: &access.Guard{Store: l.ledger, Now: l.t.Now}}
}

func (l *localTokens) Create(ctx context.Context, wanted api.TokenRequest) (api.NewToken, error) {
	if err := record(ctx, l.t, l.ledger, "create token", wanted.Name, wanted.Role); err != nil {
		return api.NewToken{}, err
	}
	value, created, err := l.create(ctx, wanted)
	return api.NewToken{Token: api.TokenOf(created), Secret: value.Reveal()}, err
}

func (l *localTokens) create(ctx context.Context, wanted api.TokenRequest) (secret.Value, ledger.Token, error) {
	if wanted.Join == nil {
		return l.store().Create(ctx, wanted.Request(), localUser(l.t))
	}
	r := NewRegistrar(l.ledger)
	request := ingest.JoinTokenRequest{Scope: *wanted.Join, Description: wanted.Name, Expires: wanted.Expires}
	return r.CreateJoinToken(ctx, request, localUser(l.t).String(), l.t.Now())
}

func (l *localTokens) List(ctx context.Context) (api.Tokens, error) {
	all, err := l.store().List(ctx)
	tokens := api.Tokens{Items: []api.Token{}}
	for _, t := range all {
		tokens.Items = append(tokens.Items, api.TokenOf(t))
	}
	return tokens, err
}

func (l *localTokens) Revoke(ctx context.Context, id string) (api.Token, error) {
	if err := record(ctx, l.t, l.ledger, "revoke token", id, ""); err != nil {
		return api.Token{}, err
	}
	revoked, err := l.store().Revoke(ctx, id)
	return api.TokenOf(revoked), err
}

// serverTokens calls a server, which requires an admin.
type serverTokens struct{ client *client.Client }

func (s serverTokens) Create(ctx context.Context, wanted api.TokenRequest) (api.NewToken, error) {
	return client.Tell[api.NewToken](ctx, s.client, "tokens", nil, wanted)
}

func (s serverTokens) List(ctx context.Context) (api.Tokens, error) {
	return client.Ask[api.Tokens](ctx, s.client, "tokens", nil)
}

func (s serverTokens) Revoke(ctx context.Context, id string) (api.Token, error) {
	revoked, err := client.Tell[api.Token](ctx, s.client, "tokens/{id}/revoke", api.TokenPath{ID: id}, nil)
	var refusal *client.Refusal
	if errors.As(err, &refusal) && refusal.NotFound() {
		err = noSuchToken(err) // the server's advice is a request of its API
	}
	return revoked, err
}
