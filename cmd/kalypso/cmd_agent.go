package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/agent"
	"github.com/kalypso-io/kalypso/internal/cluster"
	"github.com/kalypso-io/kalypso/internal/server"
)

// agentCommand is "kalypso agent".
type agentCommand struct {
	t          *terminal
	server     string
	tokenFile  string
	kubeconfig string
	cluster    string
	stateDir   string
	interval   time.Duration
	watch      []string
	export     string
	keyFile    string
	check      bool
}

func newAgent(t *terminal) *cobra.Command {
	c := &agentCommand{t: t}
	cmd := &cobra.Command{
		Use:   "agent --server URL --token-file FILE",
		Short: "Report what the reconcilers of a cluster do",
		// The server does not take reports yet; whoever builds that can run the agent already.
		Hidden: true,
		Long: `Report what the reconcilers of a cluster do: what they follow, at which revision, in what state.

    Flux, Argo CD ─► kalypso agent ─► one outgoing connection ─► kalypso serve
     read only            └─ a queue on disk, for when there is none

It runs in the cluster, or beside it with a kubeconfig, needs rights to get, list and watch and no others, and listens to nobody.
The token is the cluster's own, from "kalypso cluster register". Its file is read before each attempt, so that a new token
needs no restart. Kinds that the cluster does not serve are normal, and may come later. With GOMEMLIMIT=28MiB in its
environment it stays below 60 MB.

A cluster without a connection writes its reports to a file, which is carried to "kalypso ledger import". It is signed with
the cluster's ed25519 key, which "openssl genpkey -algorithm ed25519" makes; each line of it is a DSSE envelope. With
--state-dir it has what happened between two exports, as far as an export saw it.`,
		Example: `  kalypso agent --server https://kalypso.example.com --token-file token --state-dir state
  kalypso agent --server https://kalypso.example.com --token-file token --watch apps/deployments
  kalypso agent --export reports.jsonl --key key.pem --cluster large-07
  kalypso agent --check --state-dir state`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.server, "server", "", "the `URL` of the server")
	flags.StringVar(&c.tokenFile, "token-file", "", "the `file` with the cluster's token")
	flags.StringVar(&c.kubeconfig, "kubeconfig", "", "the `file` that says how to reach the cluster (default: the cluster it runs in, or kubectl's)")
	flags.StringVar(&c.cluster, "cluster", "", "the `name` of the cluster (default: the one whose token it is)")
	flags.StringVar(&c.stateDir, "state-dir", "", "the `folder` for the queue and the agent's health (default: memory only)")
	flags.DurationVar(&c.interval, "interval", time.Minute, "how long to be silent when nothing changes")
	flags.StringArrayVar(&c.watch, "watch", nil, "report on a further kind, as `GROUP/RESOURCE`; may be repeated")
	flags.StringVar(&c.export, "export", "", "read the cluster once and write signed reports to a `file`, or - for stdout")
	flags.StringVar(&c.keyFile, "key", "", "the `file` with the cluster's private key, for --export")
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
	log, err := newLogger(c.t, server.LogConfig{}, nil)
	if err != nil {
		return err
	}
	a, err := c.agent(log)
	if err != nil {
		return err
	}
	if c.export != "" {
		return c.exportReports(cmd.Context(), a)
	}
	return c.report(cmd.Context(), a)
}

func (c *agentCommand) checkFlags(cmd *cobra.Command) error {
	switch {
	case c.check && c.stateDir == "":
		return usage(cmd, "--check needs the --state-dir of the agent")
	case c.check:
		return nil
	case c.export != "" && (c.keyFile == "" || c.cluster == ""):
		return usage(cmd, "--export needs --key and --cluster")
	case c.export == "" && (c.server == "" || c.tokenFile == ""):
		return usage(cmd, "--server and --token-file are missing, or --export")
	case c.interval < time.Second:
		return usage(cmd, "--interval is %s, want at least a second", c.interval)
	}
	if _, err := c.kinds(); err != nil {
		return asUsage(cmd, err)
	}
	if c.export == "" {
		if _, err := agent.ParseServer(c.server); err != nil {
			return asUsage(cmd, err)
		}
	}
	return nil
}

// agent makes an agent of the cluster that cannot send yet.
func (c *agentCommand) agent(log *slog.Logger) (*agent.Agent, error) {
	kinds, err := c.kinds()
	if err != nil {
		return nil, err
	}
	watcher, err := cluster.Connect(c.kubeconfig, "kalypso-agent/"+version(), kinds, log)
	if err != nil {
		return nil, failed(err, "run it in a cluster, or name a kubeconfig with --kubeconfig")
	}
	if c.stateDir != "" {
		// What is in it names the repositories and failures of the cluster: nobody else's business.
		if err := os.MkdirAll(c.stateDir, 0o700); err != nil {
			return nil, fmt.Errorf("make the folder of --state-dir: %w", err)
		}
	}
	return &agent.Agent{
		Cluster: watched{watcher}, Log: log, Name: c.cluster, Version: version(),
		Store: agent.Store{Dir: c.stateDir}, Interval: c.interval,
	}, nil
}

// report reports until somebody stops it, which is a good end.
func (c *agentCommand) report(ctx context.Context, a *agent.Agent) error {
	address, err := agent.ParseServer(c.server)
	if err != nil {
		return err
	}
	// Later on a missing token may come back; at the start it is a mistake.
	if _, err := os.Stat(c.tokenFile); err != nil {
		return failed(fmt.Errorf("read the token: %w", err), `"kalypso cluster register" makes one`)
	}
	if address.Scheme == "http" && !isLoopback(address.Hostname()) {
		a.Log.Warn("the token is sent without encryption: use https", "server", address.Redacted())
	}
	a.Server = &agent.Client{Server: address, TokenFile: c.tokenFile, UserAgent: "kalypso-agent/" + version()}
	a.Log.Info("the agent reports", "server", address.Redacted(), "cluster", c.cluster)
	a.Run(ctx)
	a.Log.Info("the agent ends")
	return nil
}

func (c *agentCommand) kinds() ([]cluster.Kind, error) {
	var kinds []cluster.Kind
	for _, text := range c.watch {
		k, err := cluster.ParseKind(text)
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, k)
	}
	return kinds, nil
}

// oneExport is how long it may take to read a cluster as a whole.
const oneExport = 2 * time.Minute

func (c *agentCommand) exportReports(ctx context.Context, a *agent.Agent) error {
	key, err := c.key()
	if err != nil {
		return failed(fmt.Errorf("read --key: %w", err), "")
	}
	limited, done := context.WithTimeout(ctx, oneExport)
	defer done()
	err = a.Export(limited, func(batches []hub.ReportBatch) error {
		file, err := agent.Signed(batches, key)
		if err != nil {
			return err
		}
		if c.export == "-" {
			_, err := c.t.out.Write(file)
			return err
		}
		return agent.WriteFile(c.export, file)
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return failed(err, "is the cluster reachable, and may it be read? the lines above say what did not work")
	}
	return err
}

func (c *agentCommand) key() (ed25519.PrivateKey, error) {
	text, err := os.ReadFile(c.keyFile)
	if err != nil {
		return nil, err
	}
	return hub.ParseReportKey(text)
}

// checkHealth is what a liveness probe calls, since the agent itself listens to nobody.
func (c *agentCommand) checkHealth() error {
	health, err := agent.ReadHealth(c.stateDir)
	if err != nil {
		return failed(err, "does an agent use this folder?")
	}
	if problem := health.Problem(c.t.now()); problem != "" {
		fmt.Fprintln(c.t.out, problem)
		return answerNo()
	}
	fmt.Fprintf(c.t.out, "the agent knows %d reconcilers, and %d reports wait to be sent\n", health.Reconcilers, health.Waiting)
	if health.Error != "" {
		fmt.Fprintln(c.t.out, printable(health.Error))
	}
	return nil
}
