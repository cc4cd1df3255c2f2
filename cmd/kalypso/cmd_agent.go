package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/agent"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// agentCommand is "kalypso agent".
type agentCommand struct {
	t         *terminal.Terminal
	source    clusterSource
	server    string
	tokenFile string
	cluster   string
	interval  time.Duration
	check     bool
}

func newAgent(t *terminal.Terminal) *cobra.Command {
	c := &agentCommand{t: t}
	cmd := &cobra.Command{
		Use:   "agent --server URL --token-file FILE",
		Short: "Report what the reconcilers of a cluster do",
		Long: `Report what the reconcilers of a cluster do: what they follow, at which revision, in what state.

    Flux, Argo CD ─► kalypso agent ─► one outgoing connection ─► kalypso serve
     read only            └─ a queue on disk, for when there is none

It runs in the cluster, or beside it with a kubeconfig, needs rights to get, list and watch and no others, and listens to nobody.
The token is the cluster's own, from "kalypso cluster register". Its file is read before each attempt, so that a new token
needs no restart. Kinds that the cluster does not serve are normal, and may come later. With GOMEMLIMIT=28MiB in its
environment it stays below 60 MB.

A cluster without a connection is read by "kalypso cluster report", which writes a file.`,
		Example: `  kalypso agent --server https://kalypso.example.com --token-file token --state-dir state
  kalypso agent --server https://kalypso.example.com --token-file token --watch apps/deployments
  kalypso agent --check --state-dir state`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.server, "server", "", "the `URL` of the server")
	flags.StringVar(&c.tokenFile, "token-file", "", "the `file` with the cluster's token")
	flags.StringVar(&c.cluster, "cluster", "", "the `name` of the cluster (default: the one whose token it is)")
	c.source.bind(cmd)
	flags.DurationVar(&c.interval, "interval", time.Minute, "how long to be silent when nothing changes")
	flags.BoolVar(&c.check, "check", false, "say whether the agent that uses --state-dir works, and end")
	return cmd
}

func (c *agentCommand) run(cmd *cobra.Command) error {
	if err := c.checkFlags(cmd); err != nil {
		return err
	}
	if c.check {
		return c.checkHealth()
	}
	log, err := newLogger(c.t, serve.LogConfig{}, nil)
	if err != nil {
		return err
	}
	a, err := c.source.agent(c.cluster, log)
	if err != nil {
		return err
	}
	a.Interval = c.interval
	return c.report(cmd.Context(), a)
}

func (c *agentCommand) checkFlags(cmd *cobra.Command) error {
	switch {
	case c.check && c.source.stateDir == "":
		return cli.Usage(cmd, "--check needs the --state-dir of the agent")
	case c.check:
		return nil
	case c.server == "" || c.tokenFile == "":
		return cli.Usage(cmd, "--server and --token-file are missing")
	case c.interval < time.Second:
		return cli.Usage(cmd, "--interval is %s, want at least a second", c.interval)
	}
	if _, err := c.source.kinds(); err != nil {
		return cli.AsUsage(cmd, err)
	}
	if _, err := client.ParseServer(c.server); err != nil {
		return cli.AsUsage(cmd, err)
	}
	return nil
}

// report reports until somebody stops it, which is a good end.
func (c *agentCommand) report(ctx context.Context, a *agent.Agent) error {
	address, err := client.ParseServer(c.server)
	if err != nil {
		return err
	}
	// Later on a missing token may come back; at the start it is a mistake.
	if _, err := os.Stat(c.tokenFile); err != nil {
		return cli.Failed(fmt.Errorf("read the token: %w", err), `"kalypso cluster register" makes one`)
	}
	if address.Scheme == "http" && !secret.IsLoopback(address.Hostname()) {
		a.Log.Warn("the token is sent without encryption: use https", "server", address.Redacted())
	}
	a.Server = &client.Client{Server: address, TokenFile: c.tokenFile, UserAgent: "kalypso-agent/" + cli.Version()}
	a.Log.Info("the agent reports", "server", address.Redacted(), "cluster", c.cluster)
	a.Run(ctx)
	a.Log.Info("the agent ends")
	return nil
}

// checkHealth is what a liveness probe calls, since the agent itself listens to nobody.
func (c *agentCommand) checkHealth() error {
	health, err := agent.ReadHealth(c.source.stateDir)
	if err != nil {
		return cli.Failed(err, "does an agent use this folder?")
	}
	if problem := health.Problem(c.t.Now()); problem != "" {
		fmt.Fprintln(c.t.Out, problem)
		return cli.AnswerNo()
	}
	fmt.Fprintf(c.t.Out, "the agent knows %d reconcilers, and %d reports wait to be sent\n", health.Reconcilers, health.Waiting)
	if health.Error != "" {
		fmt.Fprintln(c.t.Out, terminal.Printable(health.Error))
	}
	return nil
}
