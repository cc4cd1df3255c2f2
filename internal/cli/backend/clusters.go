package backend

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Registrar is who says what is a cluster: a [ingest.Registrar] on a ledger, or a server.
type Registrar interface {
	Register(ctx context.Context, request api.ClusterRequest) (api.Credential, error)
	Rotate(ctx context.Context, name string) (api.Credential, error)
	Revoke(ctx context.Context, name string) (api.Credential, error)
}

// Register finds who registers clusters, and does something with them. open says whether a ledger may come about by that.
func (f *Flags) Register(cmd *cobra.Command, t *terminal.Terminal, open openFunc, do func(Registrar) error) error {
	at, err := f.Find(cmd, t)
	if err != nil {
		return err
	}
	if at.Server != nil {
		return Hint(do(serverRegistrar{at.Server}))
	}
	return WithLedger(cmd.Context(), open, at.Ledger, func(l ledger.Ledger) error {
		return registering(do(&localRegistrar{NewRegistrar(l), l, t}))
	})
}

// NewRegistrar registers clusters in a ledger, with credentials of their own.
func NewRegistrar(l ledger.Ledger) ingest.Registrar {
	return ingest.Registrar{Ledger: l, NewSecret: func(role string) secret.Value { return access.NewToken(access.Role(role)) }}
}

// registering adds to an error what to do now.
func registering(err error) error {
	switch {
	case errors.Is(err, ingest.ErrNotFound):
		return cli.Failed(err, "kalypso cluster list has those that are registered")
	case errors.Is(err, access.ErrNoSuchToken):
		return cli.Failed(err, "kalypso token list --all shows their IDs")
	case errors.Is(err, ingest.ErrInvalid), errors.Is(err, access.ErrInvalidToken):
		return &cli.Failure{Code: cli.ExitUsage, Err: err}
	}
	return err
}

// localRegistrar registers in a ledger, in the name of whoever runs the program.
type localRegistrar struct {
	registrar ingest.Registrar
	ledger    ledger.Ledger
	t         *terminal.Terminal
}

// Register implements [Registrar].
func (r *localRegistrar) Register(ctx context.Context, c api.ClusterRequest) (api.Credential, error) {
	if err := record(ctx, r.t, r.ledger, "register cluster", c.Name, Memberships(c.Memberships)); err != nil {
		return api.Credential{}, err
	}
	request := ingest.ClusterRequest{Name: c.Name, Memberships: c.Memberships, Labels: c.Labels, PublicKey: c.PublicKey}
	credential, made, err := r.registrar.Register(ctx, request, who(r.t).String(), r.t.Now())
	return credentialOf(made, credential), err
}

// Rotate implements [Registrar].
func (r *localRegistrar) Rotate(ctx context.Context, name string) (api.Credential, error) {
	if err := record(ctx, r.t, r.ledger, "rotate cluster", name, ""); err != nil {
		return api.Credential{}, err
	}
	credential, made, err := r.registrar.Rotate(ctx, name, who(r.t).String(), r.t.Now())
	return credentialOf(made, credential), err
}

// Revoke implements [Registrar].
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

// Register implements [Registrar]. With a token to join, a cluster registers itself.
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

// Rotate implements [Registrar].
func (s serverRegistrar) Rotate(ctx context.Context, name string) (made api.Credential, err error) {
	err = s.client.Post(ctx, client.Path("clusters", name, "rotate"), nil, &made)
	return made, err
}

// Revoke implements [Registrar].
func (s serverRegistrar) Revoke(ctx context.Context, name string) (made api.Credential, err error) {
	err = s.client.Post(ctx, client.Path("clusters", name, "revoke"), nil, &made)
	return made, err
}

// Memberships are shown as they are typed, for people.
func Memberships(all []ledger.Membership) string {
	words := make([]string, len(all))
	for i, m := range all {
		words[i] = m.Environment + "/" + m.ClusterType
	}
	return strings.Join(words, ", ")
}
