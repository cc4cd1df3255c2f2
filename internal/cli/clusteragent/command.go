// Package clusteragent has the command that reports a cluster: "kalypso-agent", and "kalypso agent", which is the same.
package clusteragent

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/agent"
	"github.com/kalypso-io/kalypso/internal/agent/direct"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/text/secret"
	"github.com/kalypso-io/kalypso/internal/text/secret/secretfile"
)

// command has the flags of the agent.
type command struct {
	t         *terminal.Terminal
	source    Source
	server    string
	tokenFile string
	cluster   string
	interval  time.Duration
	check     bool
	runJobs   bool
	apply     bool
	serverKey string
}

// New returns the command. Path is how users call it: "kalypso-agent", or "kalypso agent".
func New(t *terminal.Terminal, path string) *cobra.Command {
	c := &command{t: t}
	name := path[strings.LastIndex(path, " ")+1:]
	cmd := &cobra.Command{
		Use:   name + " --server URL --token-file FILE",
		Short: "Report the reconcilers of a cluster to the server",
		Long: `Report the reconcilers of a cluster to the server: their source, revision and state.

    Flux, Argo CD, Fleet ─► kalypso-agent ─► one outgoing connection ─► kalypso serve
     read only            └─ a queue on disk, for when there is none

"kalypso-agent" is a small program for clusters, and "kalypso agent" is the same as kalypso-agent, within the large one.

Run it in the cluster, or elsewhere with a kubeconfig. It only needs the verbs get, list and watch, and opens no port. With
--run-jobs it also creates Jobs for verifications, in namespaces that let it.

On a cluster without a reconciler, --apply makes the agent apply the cluster's desired state, and remove what is no longer part of it. The server sends
the desired state, signed with the key in --server-key. The agent keeps the latest copy in --state-dir, so the cluster keeps working offline.
The token belongs to the cluster and comes from "kalypso cluster register". Its file is read before each attempt, so a new token
needs no restart. Kinds that the cluster does not serve are skipped until they appear.

An Argo CD can apply its Applications to other clusters. Their state is reported only for destinations that --destination maps to a
registered cluster: as that cluster's, with the same token. An admin grants this with "kalypso cluster register CLUSTER --reported-by".
The agent logs how many Applications have other destinations.

For a cluster without a connection, use "kalypso cluster report", which writes a file.`,
		Example: strings.ReplaceAll(`  PATH --server https://kalypso.example.com --token-file token --state-dir state
  PATH --server https://kalypso.example.com --token-file token --watch apps/deployments
  PATH --server https://kalypso.example.com --token-file token --cluster hub --destination store=store-01
  PATH --check --state-dir state`, "PATH", path),
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.server, "server", "", "the server's `URL`")
	flags.StringVar(&c.tokenFile, "token-file", "", "a `file` with the cluster's token")
	flags.StringVar(&c.cluster, "cluster", "", "the `name` of the cluster (default: the cluster that owns the token)")
	c.source.Bind(cmd)
	BindDestinations(cmd, &c.source.destinations, "")
	flags.DurationVar(&c.interval, "interval", time.Minute, "the time between heartbeats while nothing changes")
	flags.BoolVar(&c.runJobs, "run-jobs", false, "run the Jobs of verifications, from suspended CronJobs that came through Git")
	flags.BoolVar(&c.apply, "apply", false, "apply the desired state that the server sends, for a cluster without a reconciler")
	flags.StringVar(&c.serverKey, "server-key", "", "with --apply: a PEM `file` with the public key of the server")
	flags.BoolVar(&c.check, "check", false, "check the health of the agent that uses --state-dir, and exit")
	cmd.AddCommand(newMakeSecrets(t, path))
	return cmd
}

func (c *command) run(cmd *cobra.Command) error {
	if err := c.checkFlags(cmd); err != nil {
		return err
	}
	if c.check {
		return c.checkHealth()
	}
	log, err := cli.NewLogger(c.t, "", "")
	if err != nil {
		return err
	}
	a, err := c.source.Agent(c.cluster, log)
	if err != nil {
		return err
	}
	a.Interval = c.interval
	if c.runJobs {
		if a.Jobs, err = c.source.jobs(log); err != nil {
			return err
		}
	}
	if c.apply {
		if err := c.deliver(a, log); err != nil {
			return err
		}
	}
	return c.report(cmd.Context(), a)
}

func (c *command) checkFlags(cmd *cobra.Command) error {
	switch {
	case c.check && c.source.stateDir == "":
		return cli.Usage(cmd, "--check requires the --state-dir of the agent")
	case c.check:
		return nil
	case c.server == "" || c.tokenFile == "":
		return cli.Usage(cmd, "--server and --token-file are required")
	case c.apply && (c.serverKey == "" || c.cluster == "" || c.source.stateDir == ""):
		return cli.Usage(cmd, "--apply requires --server-key, --cluster and --state-dir")
	case !c.apply && c.serverKey != "":
		return cli.Usage(cmd, "--server-key requires --apply")
	case c.interval < time.Second:
		return cli.Usage(cmd, "--interval is %s, want at least a second", c.interval)
	}
	if _, err := c.source.Kinds(); err != nil {
		return cli.AsUsage(cmd, err)
	}
	if _, _, err := ParseDestinations(c.source.destinations, c.cluster); err != nil {
		return cli.AsUsage(cmd, err)
	}
	if _, err := client.ParseServer(c.server); err != nil {
		return cli.AsUsage(cmd, err)
	}
	return nil
}

// report reports until the context ends.
func (c *command) report(ctx context.Context, a *agent.Agent) error {
	address, err := client.ParseServer(c.server)
	if err != nil {
		return err
	}
	// A running agent survives a missing file. At the start it is a mistake.
	if _, err := os.Stat(c.tokenFile); err != nil {
		return cli.Failed(fmt.Errorf("read the token: %w", err), "kalypso cluster register creates a token")
	}
	if address.Scheme == "http" && !secret.IsLoopback(address.Hostname()) {
		a.Log.Warn("the token is sent without encryption: use https", "server", address.Redacted())
	}
	a.Server = c.client(address)
	a.Log.Info("agent started", "server", address.Redacted(), "cluster", c.cluster)
	a.Run(ctx)
	a.Log.Info("agent stopped")
	return nil
}

func (c *command) client(address *url.URL) *client.Client {
	return &client.Client{Server: address, TokenFile: c.tokenFile, UserAgent: "kalypso-agent/" + cli.Version()}
}

// deliver makes the agent apply what the server says.
func (c *command) deliver(a *agent.Agent, log *slog.Logger) error {
	address, err := client.ParseServer(c.server)
	if err != nil {
		return err
	}
	text, err := secretfile.Read(c.serverKey)
	if err != nil {
		return cli.Failed(fmt.Errorf("read the server's key: %w", err), "kalypso cluster register --manifests --reconciler direct writes it")
	}
	key, err := hub.ParseReportPublicKey(text)
	if err != nil {
		return cli.Failed(fmt.Errorf("read the server's key: %w", err), "get it from /api/v1/deliveries/key of the server")
	}
	store := &direct.Store{Dir: filepath.Join(c.source.stateDir, "direct"), Cluster: c.cluster, Key: key}
	deliverer, err := c.source.deliverer(store, log)
	if err != nil {
		return err
	}
	a.Cluster = &direct.Watched{
		Cluster: a.Cluster, Deliverer: deliverer,
		Follower: &direct.Follower{Server: c.client(address), Store: store, Log: log, Changed: deliverer.Wake},
	}
	return nil
}

// checkHealth is called by liveness probes.
func (c *command) checkHealth() error {
	health, err := agent.ReadHealth(c.source.stateDir)
	if err != nil {
		return cli.Failed(err, "check that an agent uses this folder")
	}
	if problem := health.Problem(c.t.Now()); problem != "" {
		fmt.Fprintln(c.t.Out, problem)
		return cli.AnswerNo()
	}
	c.printHealth("the agent", health)
	for _, cluster := range health.Others {
		other, err := agent.ReadHealthOf(c.source.stateDir, cluster)
		if err != nil {
			fmt.Fprintf(c.t.Out, "for %s: %s\n", cluster, terminal.Printable(err.Error()))
			continue
		}
		c.printHealth("for "+cluster+" it", other)
	}
	for _, destination := range slices.Sorted(maps.Keys(health.Unassigned)) {
		fmt.Fprintf(c.t.Out, "%d applications for %s are not reported: map it with --destination\n", health.Unassigned[destination], terminal.Printable(destination))
	}
	return nil
}

func (c *command) printHealth(who string, health agent.Health) {
	fmt.Fprintf(c.t.Out, "%s knows %d reconcilers, %d reports are waiting\n", who, health.Reconcilers, health.Waiting)
	if health.Error != "" {
		fmt.Fprintln(c.t.Out, terminal.Printable(health.Error))
	}
}
