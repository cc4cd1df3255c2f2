package main

import (
	"context"
	"fmt"
	"net"
	"os"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/wiring"
)

// serveCommand is "kalypso serve".
type serveCommand struct {
	t             *terminal.Terminal
	file          string
	check         bool
	controlPlanes []string
	listen        string
	data          string
	ledger        string
	chain         []string
	maps          []git.Mapping
}

func newServe(t *terminal.Terminal) *cobra.Command {
	c := &serveCommand{t: t}
	cmd := &cobra.Command{
		Use:   "serve [--config FILE] [--control-plane URL]",
		Short: "Schedule and promote fleets continuously, with pages and an API",
		Long: `Schedule and promote fleets continuously: one process, and nothing else to install.

For every environment that main lists, the server keeps one open pull request in the GitOps repository, and updates it
whenever a repository changes. On the control plane's pull requests, it comments what they would do to the fleet.

    control plane ─┐                        ┌─► pull request to the GitOps repository, for each environment
    workloads     ─┼─ webhooks, polling ─►──┼─► plan as a comment on pull requests of the control plane
    GitOps        ─┤                        └─► promotion: the same commit, from environment to environment
    clusters      ─┘  reports

Promotion follows the environments' rules, or --chain. The ledger records what runs where: a file in the data folder, or a
PostgreSQL database.

Without a configured forge, it uses the embedded one, with repositories in the data folder and pages at its address.
It shows the fleet on pages at its address, and serves /api, /healthz, /readyz and /metrics. The administrator's token is in the data folder.`,
		Example: `  kalypso serve --control-plane http://127.0.0.1:8080/platform/control-plane
  kalypso serve --config kalypso.yaml
  kalypso serve --config kalypso.yaml --check-config`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.file, "config", "", "the configuration `file`")
	flags.BoolVar(&c.check, "check-config", false, "check the configuration, report what is wrong, and exit")
	flags.StringArrayVar(&c.controlPlanes, "control-plane", nil, "the `URL` of a control plane; may be repeated")
	flags.StringVar(&c.listen, "listen", "", "the `address` to serve on (default: "+serve.DefaultListen+")")
	flags.StringVar(&c.ledger, "ledger", "", "where the ledger is kept, a `file or postgres:// URL` (default: ledger.db in the data folder)")
	flags.StringSliceVar(&c.chain, "chain", nil, "`environments` in the order of promotion, for the control planes of --control-plane: dev,stage,prod")
	flags.StringVar(&c.data, "data", "", "the `folder` for what the server keeps (default: "+serve.DefaultData+")")
	flags.Var((*mapFlag)(&c.maps), "map", "read the repository `URL=PATH` from a path; may be repeated")
	return cmd
}

func (c *serveCommand) run(cmd *cobra.Command) error {
	config, err := c.config()
	if err != nil {
		return err
	}
	if err := config.Check(); err != nil {
		return cli.Failed(fmt.Errorf("the configuration is wrong:\n%w", err), "correct it; --check-config looks at it without serving")
	}
	if c.check {
		fmt.Fprintln(c.t.Out, "the configuration is right")
		return nil
	}
	return c.serve(cmd.Context(), config)
}

// config reads the file, and lays the flags over it.
func (c *serveCommand) config() (*serve.Config, error) {
	var text []byte
	if c.file != "" {
		var err error
		if text, err = os.ReadFile(c.file); err != nil {
			return nil, fmt.Errorf("read the configuration: %w", err)
		}
	}
	config, err := serve.ParseConfig(text, func(config *serve.Config) {
		config.ControlPlanes = append(config.ControlPlanes, c.controlPlanes...)
		if c.listen != "" {
			config.Listen = c.listen
		}
		if c.data != "" {
			config.Data = c.data
		}
		if c.ledger != "" {
			config.Ledger = c.ledger
		}
		c.addChain(config)
	})
	if err != nil {
		return nil, cli.Failed(err, "docs/schemas/serve.json describes it")
	}
	return config, nil
}

// addChain adds the chain of --chain.
func (c *serveCommand) addChain(config *serve.Config) {
	for _, url := range c.controlPlanes {
		if len(c.chain) > 0 {
			if config.Chains == nil {
				config.Chains = map[string][]string{}
			}
			config.Chains[url] = c.chain
		}
	}
}

// serve serves until the context ends.
func (c *serveCommand) serve(ctx context.Context, config *serve.Config) error {
	log, err := cli.NewLogger(c.t, config.Log.Format, config.Log.Level, wiring.Secrets(config, c.t.Env)...)
	if err != nil {
		return err
	}
	s, err := wiring.New(ctx, wiring.Options{
		Config: config, Env: c.t.Env, Log: log, Maps: c.maps, Version: cli.Version(),
		Listen: func() (net.Listener, error) {
			listener, err := net.Listen("tcp", config.Listen)
			if err != nil {
				return nil, cli.Failed(fmt.Errorf("listen on %s: %w", config.Listen, err), "choose another address with --listen")
			}
			return listener, nil
		},
	})
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Run(ctx)
}
