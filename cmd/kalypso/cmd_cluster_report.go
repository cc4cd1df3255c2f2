package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/agent"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/serve"
)

// clusterReportCommand is "kalypso cluster report".
type clusterReportCommand struct {
	t       *terminal.Terminal
	source  clusterSource
	export  string
	keyFile string
}

func newClusterReport(t *terminal.Terminal) *cobra.Command {
	c := &clusterReportCommand{t: t}
	cmd := &cobra.Command{
		Use:   "report NAME --export FILE --key FILE",
		Short: "Write a signed report of a cluster without a connection",
		Long: `Read a cluster once and write the state of its reconcilers to a signed file, for a cluster without a connection to the server.
Copy the file to where "kalypso ledger import" can read it.

    Flux, Argo CD, Fleet ─► kalypso cluster report ─► a file, signed ─► kalypso ledger import

Each line is a DSSE envelope, signed with the cluster's ed25519 key. Create the key with "openssl genpkey -algorithm ed25519" and
register its public half with "kalypso cluster register --key". With --state-dir, the file also has changes since the last report.`,
		Example: `  kalypso cluster report large-07 --export reports.jsonl --key key.pem
  kalypso cluster report large-07 --export - --key key.pem --kubeconfig large-07.kubeconfig > reports.jsonl`,
		Args: cli.Exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.export, "export", "", "write signed reports to a `file`, or - for stdout")
	flags.StringVar(&c.keyFile, "key", "", "a `file` with the cluster's private key")
	c.source.bind(cmd)
	return cmd
}

func (c *clusterReportCommand) run(cmd *cobra.Command, name string) error {
	if c.export == "" || c.keyFile == "" {
		return cli.Usage(cmd, "--export and --key are required")
	}
	if _, err := c.source.kinds(); err != nil {
		return cli.AsUsage(cmd, err)
	}
	key, err := c.key()
	if err != nil {
		return cli.Failed(fmt.Errorf("read --key: %w", err), "")
	}
	log, err := newLogger(c.t, serve.LogConfig{}, nil)
	if err != nil {
		return err
	}
	a, err := c.source.agent(name, log)
	if err != nil {
		return err
	}
	return c.write(cmd.Context(), a, key)
}

// exportTimeout bounds reading a whole cluster.
const exportTimeout = 2 * time.Minute

func (c *clusterReportCommand) write(ctx context.Context, a *agent.Agent, key ed25519.PrivateKey) error {
	limited, done := context.WithTimeout(ctx, exportTimeout)
	defer done()
	err := a.Export(limited, func(batches []hub.ReportBatch) error {
		file, err := agent.SignFile(batches, key)
		if err != nil {
			return err
		}
		if c.export == "-" {
			_, err := c.t.Out.Write(file)
			return err
		}
		return agent.WriteFile(c.export, file)
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return cli.Failed(err, "check that the cluster is reachable and can be read; see the messages above")
	}
	return err
}

func (c *clusterReportCommand) key() (ed25519.PrivateKey, error) {
	text, err := os.ReadFile(c.keyFile)
	if err != nil {
		return nil, err
	}
	return hub.ParseReportKey(text)
}
