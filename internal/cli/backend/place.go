package backend

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// The variables that say whom to ask, and who is asking.
const (
	EnvServer = "KALYPSO_SERVER"
	EnvToken  = "KALYPSO_TOKEN"
)

// Flags say whom a command asks: a server, or a ledger directly.
type Flags struct {
	Server, tokenFile string
	Ledger            LedgerFlag
}

// Bind adds the flags to a command. The token has no flag of its own, since everybody on the machine sees those.
func (f *Flags) Bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Server, "server", "", "ask the server at this `URL` (default: $"+EnvServer+")")
	flags.StringVar(&f.tokenFile, "token-file", "", "the `file` with your token for the server (default: the token in $"+EnvToken+")")
	f.Ledger.Bind(cmd, "ask a ledger directly, without a server")
	_ = cmd.MarkFlagFilename("token-file") // the error only says that the flag does not exist
}

// place is whom to ask: exactly one field is set.
type place struct {
	Server *client.Client
	Ledger string
}

// Find says whom to ask. What is typed counts more than what the environment says.
func (f *Flags) Find(cmd *cobra.Command, t *terminal.Terminal) (place, error) {
	server, at := f.Server, f.Ledger.at
	if server == "" && at == "" {
		server, at = t.Env[EnvServer], t.Env[EnvLedger]
	}
	switch {
	case server != "" && at != "":
		return place{}, cli.Usage(cmd, "ask whom? a server and a ledger are named; choose one with --server or --ledger")
	case at != "" && f.tokenFile != "":
		return place{}, cli.Usage(cmd, "--token-file goes with --server; a ledger asks for no token")
	case at != "":
		return place{Ledger: at}, nil
	case server != "":
		c, err := f.connect(cmd, t, server)
		return place{Server: c}, err
	}
	return place{}, cli.Usage(cmd, "ask whom? name a server with --server or in %s, or a ledger with --ledger or in %s", EnvServer, EnvLedger)
}

// connect makes a client. Nothing is asked of the server yet.
func (f *Flags) connect(cmd *cobra.Command, t *terminal.Terminal, server string) (*client.Client, error) {
	address, err := client.ParseServer(server)
	if err != nil {
		return nil, cli.AsUsage(cmd, err)
	}
	token, err := f.token(t)
	if err != nil {
		return nil, err
	}
	if address.Scheme == "http" && !secret.IsLoopback(address.Hostname()) && !token.IsZero() {
		fmt.Fprintf(t.Err, "%s the token is sent to %s without encryption: use https\n", t.ErrStyle.Yellow("warning:"), terminal.Printable(address.Host))
	}
	return &client.Client{
		Server: address, Token: token, UserAgent: "kalypso/" + cli.Version(),
		Waiting: func(reason error, pause time.Duration) {
			fmt.Fprintf(t.Err, "%s; trying again in %s\n", terminal.Printable(reason.Error()), pause)
		},
	}, nil
}

// token returns the token from --token-file or the environment; zero for an anonymous client.
func (f *Flags) token(t *terminal.Terminal) (secret.Value, error) {
	switch text := t.Env[EnvToken]; {
	case f.tokenFile != "":
		return client.ReadToken(f.tokenFile)
	case text != "":
		return client.ParseToken(text, EnvToken)
	}
	return secret.Value{}, nil
}

// Hint adds to what a server says what to do now.
func Hint(err error) error {
	var r *client.Refusal
	var f *cli.Failure
	switch {
	case errors.As(err, &f):
		return err
	case errors.As(err, &r):
		return cli.Failed(err, r.Hint())
	case errors.Is(err, client.ErrNoAPI):
		return cli.Failed(err, "is the address right, and the server not older than this program?")
	case errors.Is(err, client.ErrUnreachable):
		return cli.Failed(err, "is the address right, and does the server run?")
	}
	return err
}

// get asks a server for a value.
func get[T any](ctx context.Context, c *client.Client, path string, query url.Values) (T, error) {
	var out T
	err := c.Get(ctx, path, query, &out)
	return out, Hint(err)
}

// Address is that of the server that is asked; empty when it is a ledger.
func (f *Flags) Address(t *terminal.Terminal) string {
	if f.Server != "" || f.Ledger.at != "" {
		return f.Server
	}
	return t.Env[EnvServer]
}
