package backend

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Registrar manages clusters and their credentials: an [ingest.Registrar] on a ledger, or a server.
type Registrar interface {
	Register(ctx context.Context, request ingest.ClusterRequest) (api.Credential, error)
	Rotate(ctx context.Context, name string) (api.Credential, error)
	Revoke(ctx context.Context, name string) (api.Credential, error)
}

// WithRegistrar calls do with the registrar that the flags choose. open decides whether a missing ledger is created.
func (f *Flags) WithRegistrar(cmd *cobra.Command, t *terminal.Terminal, open openFunc, do func(Registrar) error) error {
	at, err := f.Resolve(cmd, t)
	if err != nil {
		return err
	}
	if at.Server != nil {
		return Hint(do(serverRegistrar{at.Server}))
	}
	return WithLedger(cmd.Context(), open, at.Ledger, func(l ledger.Ledger) error {
		return Hint(do(&localRegistrar{NewRegistrar(l), l, t}))
	})
}

// NewRegistrar returns a registrar on a ledger that creates a credential for each cluster.
func NewRegistrar(l ledger.Ledger) ingest.Registrar {
	return ingest.Registrar{Ledger: l, NewSecret: func(role string) secret.Value { return access.NewToken(access.Role(role)) }}
}

// localRegistrar writes to a ledger, in the name of the local user.
type localRegistrar struct {
	registrar ingest.Registrar
	ledger    ledger.Ledger
	t         *terminal.Terminal
}

func (r *localRegistrar) Register(ctx context.Context, c ingest.ClusterRequest) (api.Credential, error) {
	if err := record(ctx, r.t, r.ledger, "register cluster", c.Name, FormatMemberships(c.Memberships)); err != nil {
		return api.Credential{}, err
	}
	removed, err := r.registrar.Removed(ctx, c)
	if err != nil {
		return api.Credential{}, err
	}
	credential, registration, err := r.registrar.Register(ctx, c, localUser(r.t).String(), r.t.Now())
	made := credentialOf(registration, credential)
	made.Removed = removed
	return made, err
}

func (r *localRegistrar) Rotate(ctx context.Context, name string) (api.Credential, error) {
	if err := record(ctx, r.t, r.ledger, "rotate cluster", name, ""); err != nil {
		return api.Credential{}, err
	}
	credential, made, err := r.registrar.Rotate(ctx, name, localUser(r.t).String(), r.t.Now())
	return credentialOf(made, credential), err
}

func (r *localRegistrar) Revoke(ctx context.Context, name string) (api.Credential, error) {
	if err := record(ctx, r.t, r.ledger, "revoke cluster", name, ""); err != nil {
		return api.Credential{}, err
	}
	made, err := r.registrar.Revoke(ctx, name, localUser(r.t).String(), r.t.Now())
	return credentialOf(made, secret.Value{}), err
}

func credentialOf(r ledger.Registration, credential secret.Value) api.Credential {
	return api.Credential{
		Cluster: r.Cluster, Credential: credential.Reveal(), Memberships: append([]ledger.Membership{}, r.Memberships...),
		Labels: r.Labels, ReportedBy: r.ReportedBy, At: r.At, By: r.By,
	}
}

// localUser identifies the user who runs the program. Access to the ledger makes the user an admin.
func localUser(t *terminal.Terminal) access.Identity {
	a := repository.Author(t.Env)
	return access.Identity{Name: a.Name + " <" + a.Email + ">", Role: access.Admin, Source: "local"}
}

// record adds an action to the audit trail before it is done, as a server does.
func record(ctx context.Context, t *terminal.Terminal, l ledger.Ledger, action, subject, detail string) error {
	return access.Trail{Store: l, Now: t.Now}.Record(ctx, localUser(t), action, subject, detail)
}

// serverRegistrar calls a server, which identifies the user by the token.
type serverRegistrar struct{ client *client.Client }

// Register registers a cluster. With a token of the role join, the cluster registers itself.
func (s serverRegistrar) Register(ctx context.Context, c ingest.ClusterRequest) (api.Credential, error) {
	identity, err := client.Ask[access.Identity](ctx, s.client, "whoami", nil)
	if err != nil {
		return api.Credential{}, err
	}
	path := "clusters"
	if identity.Role == access.Join {
		path = "clusters/join"
	}
	return client.Tell[api.Credential](ctx, s.client, path, nil, c)
}

// Rotate implements [Registrar].
func (s serverRegistrar) Rotate(ctx context.Context, name string) (api.Credential, error) {
	return client.Tell[api.Credential](ctx, s.client, "clusters/{name}/rotate", api.ClusterPath{Name: name}, nil)
}

// Revoke implements [Registrar].
func (s serverRegistrar) Revoke(ctx context.Context, name string) (api.Credential, error) {
	return client.Tell[api.Credential](ctx, s.client, "clusters/{name}/revoke", api.ClusterPath{Name: name}, nil)
}

// FormatMemberships returns memberships as users type them.
func FormatMemberships(all []ledger.Membership) string {
	texts := make([]string, len(all))
	for i, m := range all {
		texts[i] = m.Environment + "/" + m.ClusterType
	}
	return strings.Join(texts, ", ")
}
