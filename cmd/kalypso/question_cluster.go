package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/client"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/reporting"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/secret"
	"github.com/kalypso-io/kalypso/internal/server/access"
	"github.com/kalypso-io/kalypso/internal/server/api"
	"github.com/kalypso-io/kalypso/internal/terminal"
)

// registrar is who says what is a cluster: a [reporting.Registrar] on a ledger, or a server.
type registrar interface {
	Register(ctx context.Context, request api.ClusterRequest) (api.Credential, error)
	Rotate(ctx context.Context, name string) (api.Credential, error)
	Revoke(ctx context.Context, name string) (api.Credential, error)
}

// register finds who registers clusters, and does something with them. open says whether a ledger may come about by that.
func (f *placeFlags) register(cmd *cobra.Command, t *terminal.Terminal, open openFunc, do func(registrar) error) error {
	at, err := f.find(cmd, t)
	if err != nil {
		return err
	}
	if at.server != nil {
		return askServer(do(serverRegistrar{at.server}))
	}
	return withLedger(cmd.Context(), open, at.ledger, func(l ledger.Ledger) error {
		return registering(do(&localRegistrar{newRegistrar(l), l, t}))
	})
}

func newRegistrar(l ledger.Ledger) reporting.Registrar {
	return reporting.Registrar{Ledger: l, NewSecret: func(role string) secret.Value { return access.NewToken(access.Role(role)) }}
}

// registering adds to an error what to do now.
func registering(err error) error {
	switch {
	case errors.Is(err, reporting.ErrNotFound):
		return failed(err, "kalypso cluster list has those that are registered")
	case errors.Is(err, access.ErrNoSuchToken):
		return failed(err, "kalypso token list --all shows their IDs")
	case errors.Is(err, reporting.ErrInvalid), errors.Is(err, access.ErrInvalidToken):
		return &failure{exitUsage, err, ""}
	}
	return err
}

// localRegistrar registers in a ledger, in the name of whoever runs the program.
type localRegistrar struct {
	registrar reporting.Registrar
	ledger    ledger.Ledger
	t         *terminal.Terminal
}

// Register implements [registrar].
func (r *localRegistrar) Register(ctx context.Context, c api.ClusterRequest) (api.Credential, error) {
	if err := record(ctx, r.t, r.ledger, "register cluster", c.Name, memberships(c.Memberships)); err != nil {
		return api.Credential{}, err
	}
	request := reporting.ClusterRequest{Name: c.Name, Memberships: c.Memberships, Labels: c.Labels, PublicKey: c.PublicKey}
	credential, made, err := r.registrar.Register(ctx, request, who(r.t).String(), r.t.Now())
	return credentialOf(made, credential), err
}

// Rotate implements [registrar].
func (r *localRegistrar) Rotate(ctx context.Context, name string) (api.Credential, error) {
	if err := record(ctx, r.t, r.ledger, "rotate cluster", name, ""); err != nil {
		return api.Credential{}, err
	}
	credential, made, err := r.registrar.Rotate(ctx, name, who(r.t).String(), r.t.Now())
	return credentialOf(made, credential), err
}

// Revoke implements [registrar].
func (r *localRegistrar) Revoke(ctx context.Context, name string) (api.Credential, error) {
	if err := record(ctx, r.t, r.ledger, "revoke cluster", name, ""); err != nil {
		return api.Credential{}, err
	}
	made, err := r.registrar.Revoke(ctx, name, who(r.t).String(), r.t.Now())
	return credentialOf(made, secret.Value{}), err
}

func credentialOf(r ledger.Registration, credential secret.Value) api.Credential {
	return api.Credential{
		Cluster: r.Cluster, Credential: credential.Reveal(), Memberships: append([]ledger.Membership{}, r.Memberships...),
		Labels: r.Labels, At: r.At, By: r.By,
	}
}

// who is whoever runs the program, who may do with a ledger at hand what an admin may do with a server.
func who(t *terminal.Terminal) access.Identity {
	a := repository.Author(t.Env)
	return access.Identity{Name: a.Name + " <" + a.Email + ">", Role: access.Admin, Source: "local"}
}

// record puts a write on record before it is done, as a server does.
func record(ctx context.Context, t *terminal.Terminal, l ledger.Ledger, action, subject, detail string) error {
	return access.Trail{Store: l, Now: t.Now}.Record(ctx, who(t), action, subject, detail)
}

// serverRegistrar asks a server, which knows by the token who is asking.
type serverRegistrar struct{ client *client.Client }

// Register implements [registrar]. With a token to join, a cluster registers itself.
func (s serverRegistrar) Register(ctx context.Context, c api.ClusterRequest) (made api.Credential, err error) {
	var who access.Identity
	if err = s.client.Get(ctx, "whoami", nil, &who); err != nil {
		return made, err
	}
	path := "clusters"
	if who.Role == access.Join {
		path = "clusters/join"
	}
	err = s.client.Post(ctx, path, c, &made)
	return made, err
}

// Rotate implements [registrar].
func (s serverRegistrar) Rotate(ctx context.Context, name string) (made api.Credential, err error) {
	err = s.client.Post(ctx, client.Path("clusters", name, "rotate"), nil, &made)
	return made, err
}

// Revoke implements [registrar].
func (s serverRegistrar) Revoke(ctx context.Context, name string) (made api.Credential, err error) {
	err = s.client.Post(ctx, client.Path("clusters", name, "revoke"), nil, &made)
	return made, err
}
