package backend

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Tokens is who keeps the tokens of people and programs: a ledger, or a server.
type Tokens interface {
	Create(ctx context.Context, wanted api.TokenRequest) (api.NewToken, error)
	List(ctx context.Context) (api.Tokens, error)
	Revoke(ctx context.Context, id string) (api.Token, error)
}

// Tokens finds who keeps them, and does something with them. open says whether a ledger may come about by that.
func (f *Flags) Tokens(cmd *cobra.Command, t *terminal.Terminal, open openFunc, do func(Tokens) error) error {
	at, err := f.Find(cmd, t)
	if err != nil {
		return err
	}
	if at.Server != nil {
		return Hint(do(serverTokens{at.Server}))
	}
	return WithLedger(cmd.Context(), open, at.Ledger, func(l ledger.Ledger) error {
		return registering(do(&localTokens{l, t}))
	})
}

// localTokens keeps tokens in a ledger, in the name of whoever runs the program.
type localTokens struct {
	ledger ledger.Ledger
	t      *terminal.Terminal
}

func (l *localTokens) kept() access.Tokens {
	return access.Tokens{Store: l.ledger, Guard: &access.Guard{Store: l.ledger, Now: l.t.Now}}
}

// Create implements [Tokens].
func (l *localTokens) Create(ctx context.Context, wanted api.TokenRequest) (api.NewToken, error) {
	if err := record(ctx, l.t, l.ledger, "create token", wanted.Name, wanted.Role); err != nil {
		return api.NewToken{}, err
	}
	value, made, err := l.create(ctx, wanted)
	return api.NewToken{Token: tokenOf(made), Secret: value.Reveal()}, err
}

func (l *localTokens) create(ctx context.Context, wanted api.TokenRequest) (secret.Value, ledger.Token, error) {
	if wanted.Join == nil {
		return l.kept().Create(ctx, access.Wanted{Name: wanted.Name, Role: access.Role(wanted.Role), Expires: wanted.Expires}, who(l.t))
	}
	r := NewRegistrar(l.ledger)
	request := ingest.JoinTokenRequest{Scope: *wanted.Join, Description: wanted.Name, Expires: wanted.Expires}
	return r.CreateJoinToken(ctx, request, who(l.t).String(), l.t.Now())
}

// List implements [Tokens].
func (l *localTokens) List(ctx context.Context) (api.Tokens, error) {
	kept, err := l.kept().List(ctx)
	shown := api.Tokens{Items: []api.Token{}}
	for _, t := range kept {
		shown.Items = append(shown.Items, tokenOf(t))
	}
	return shown, err
}

// Revoke implements [Tokens].
func (l *localTokens) Revoke(ctx context.Context, id string) (api.Token, error) {
	if err := record(ctx, l.t, l.ledger, "revoke token", id, ""); err != nil {
		return api.Token{}, err
	}
	ended, err := l.kept().Revoke(ctx, id)
	return tokenOf(ended), err
}

func tokenOf(t ledger.Token) api.Token {
	return api.Token{
		ID: t.ID, Name: t.Description, Role: t.Role, By: t.By, Created: t.Created, Expires: t.Expires, Revoked: t.Revoked, Scope: t.Scope,
	}
}

// serverTokens asks a server, which wants an admin.
type serverTokens struct{ client *client.Client }

// Create implements [Tokens].
func (s serverTokens) Create(ctx context.Context, wanted api.TokenRequest) (made api.NewToken, err error) {
	err = s.client.Post(ctx, "tokens", wanted, &made)
	return made, err
}

// List implements [Tokens].
func (s serverTokens) List(ctx context.Context) (all api.Tokens, err error) {
	err = s.client.Get(ctx, "tokens", nil, &all)
	return all, err
}

// Revoke implements [Tokens].
func (s serverTokens) Revoke(ctx context.Context, id string) (ended api.Token, err error) {
	err = s.client.Post(ctx, client.Path("tokens", id, "revoke"), nil, &ended)
	return ended, err
}
