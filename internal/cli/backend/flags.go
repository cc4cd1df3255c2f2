package backend

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Environment variables with the server's address and the token.
const (
	EnvServer = "KALYPSO_SERVER"
	EnvToken  = "KALYPSO_TOKEN"
)

// Flags are the flags that choose a server or a ledger.
type Flags struct {
	Server, tokenFile string
	Ledger            LedgerFlag
}

// Bind adds the flags to a command. There is no flag for the token, because all users of a machine see command lines.
func (f *Flags) Bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Server, "server", "", "the server's `URL` (default: $"+EnvServer+")")
	flags.StringVar(&f.tokenFile, "token-file", "", "a `file` with your token for the server (default: the token in $"+EnvToken+")")
	f.Ledger.Bind(cmd, "use a ledger directly, without a server")
	cli.FlagGroup(cmd, cli.GroupServer, "server", "token-file")
	_ = cmd.MarkFlagFilename("token-file") // the error only says that the flag does not exist
}

// target is a server or a ledger: exactly one field is set.
type target struct {
	Server *client.Client
	Ledger string
}

// Resolve chooses the server or the ledger. Flags take precedence over the environment.
func (f *Flags) Resolve(cmd *cobra.Command, t *terminal.Terminal) (target, error) {
	server, at := f.Server, f.Ledger.at
	if server == "" && at == "" {
		server, at = t.Env[EnvServer], t.Env[EnvLedger]
	}
	switch {
	case server != "" && at != "":
		return target{}, cli.Usage(cmd, "both a server and a ledger are given; choose one with --server or --ledger")
	case at != "" && f.tokenFile != "":
		return target{}, cli.Usage(cmd, "--token-file requires --server; a ledger needs no token")
	case at != "":
		return target{Ledger: at}, nil
	case server != "":
		c, err := f.connect(cmd, t, server)
		return target{Server: c}, err
	}
	return target{}, cli.Usage(cmd, "no server given; set --server or %s, or use a ledger with --ledger or %s", EnvServer, EnvLedger)
}

// Given reports whether the flags or the environment choose a server or a ledger.
func (f *Flags) Given(t *terminal.Terminal) bool {
	return f.Server != "" || f.Ledger.at != "" || t.Env[EnvServer] != "" || t.Env[EnvLedger] != ""
}

// BindServer adds only the flags that choose a server, for commands that take a ledger with a [LedgerFlag] of their own.
func (f *Flags) BindServer(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVar(&f.Server, "server", "", usage+" (default: $"+EnvServer+")")
	cmd.Flags().StringVar(&f.tokenFile, "token-file", "", "a `file` with your token for the server (default: the token in $"+EnvToken+")")
	cli.FlagGroup(cmd, cli.GroupServer, "server", "token-file")
	_ = cmd.MarkFlagFilename("token-file") // the error only says that the flag does not exist
}

// Client returns a client of the server that the flag --server names; nil without the flag.
func (f *Flags) Client(cmd *cobra.Command, t *terminal.Terminal) (*client.Client, error) {
	if f.Server != "" {
		return f.connect(cmd, t, f.Server)
	}
	if f.tokenFile != "" {
		return nil, cli.Usage(cmd, "--token-file requires --server")
	}
	return nil, nil
}

// ClientUnless returns a client like Client, also of the server in the environment. The variable does not apply if the command line or the
// environment names a ledger, or if one of the given flags is set: those flags choose repositories to work on without a server.
func (f *Flags) ClientUnless(cmd *cobra.Command, t *terminal.Terminal, ledger *LedgerFlag, local ...string) (*client.Client, error) {
	address := t.Env[EnvServer]
	if f.Server != "" || address == "" || ledger != nil && ledger.Place(t) != "" || slices.ContainsFunc(local, cmd.Flags().Changed) {
		return f.Client(cmd, t)
	}
	return f.connect(cmd, t, address)
}

// connect returns a client. It sends nothing to the server yet.
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

// Address returns the server's address as given; empty for a ledger.
func (f *Flags) Address(t *terminal.Terminal) string {
	if f.Server != "" || f.Ledger.at != "" {
		return f.Server
	}
	return t.Env[EnvServer]
}

func noSuchToken(err error) error {
	return cli.Failed(err, "kalypso token list --all shows the IDs of tokens")
}

// Hint adds to an error what to do next, and makes invalid input a usage error.
func Hint(err error) error {
	var failure *cli.Failure
	var refusal *client.Refusal
	var unknown *query.UnknownError
	switch {
	case err == nil, errors.As(err, &failure):
		return err
	case errors.As(err, &refusal):
		return cli.Failed(err, refusal.Hint())
	case errors.Is(err, client.ErrNoAPI):
		return cli.Failed(err, "check the address, and that the server is not older than this program")
	case errors.Is(err, client.ErrUnreachable):
		return cli.Failed(err, "check the address, and that the server is running")
	case errors.As(err, &unknown):
		return cli.Failed(err, "kalypso status lists environments, and kalypso cluster list clusters")
	case errors.Is(err, ingest.ErrNotFound):
		return cli.Failed(err, "kalypso cluster list shows registered clusters")
	case errors.Is(err, access.ErrNoSuchToken):
		return noSuchToken(err)
	case errors.Is(err, ledger.ErrInvalid), errors.Is(err, ingest.ErrInvalid), errors.Is(err, access.ErrInvalidToken):
		return &cli.Failure{Code: cli.ExitUsage, Err: err}
	}
	return err
}
