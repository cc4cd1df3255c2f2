package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/agent"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/clusteragent"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/text/secret/secretfile"
)

// clusterReportCommand is "kalypso cluster report".
type clusterReportCommand struct {
	t       *terminal.Terminal
	source  clusteragent.Source
	export  string
	keyFile string
	// maps lead from the URLs outside to those that reconcilers follow.
	maps []git.Mapping
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
register its public half with "kalypso cluster register --key". With --state-dir, the file also has changes since the last report.

A report counts only if the reconciler follows the repository in the GitOpsRepo object. If it follows a copy at another URL, as after
"kalypso bundle apply", name the copy with --map: reports then contain the original URL.`,
		Example: `  kalypso cluster report large-07 --export reports.jsonl --key key.pem
  kalypso cluster report large-07 --export reports.jsonl --key key.pem --map https://github.com/acme=https://git.inside/acme
  kalypso cluster report large-07 --export - --key key.pem --kubeconfig large-07.kubeconfig > reports.jsonl`,
		Args: cli.Exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.export, "export", "", "write signed reports to a `file`, or - for stdout")
	flags.StringVar(&c.keyFile, "key", "", "a `file` with the cluster's private key")
	flags.Var((*mapFlag)(&c.maps), "map", "report the repository `URL=COPY` by its URL if a reconciler follows the copy; may be repeated")
	c.source.Bind(cmd)
	return cmd
}

func (c *clusterReportCommand) run(cmd *cobra.Command, name string) error {
	if c.export == "" || c.keyFile == "" {
		return cli.Usage(cmd, "--export and --key are required")
	}
	if _, err := c.source.Kinds(); err != nil {
		return cli.AsUsage(cmd, err)
	}
	key, err := c.key()
	if err != nil {
		return cli.Failed(fmt.Errorf("read --key: %w", err), "")
	}
	log, err := cli.NewLogger(c.t, "", "")
	if err != nil {
		return err
	}
	a, err := c.source.Agent(name, log)
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
		file, err := agent.SignFile(c.mapped(batches), key)
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

// mapped returns batches with the URLs of repositories outside.
func (c *clusterReportCommand) mapped(batches []hub.ReportBatch) []hub.ReportBatch {
	var back []git.Mapping
	for _, m := range c.maps {
		back = append(back, git.Mapping{From: m.To, To: m.From})
	}
	all := slices.Clone(batches)
	for i := range all {
		all[i].Reports = slices.Clone(all[i].Reports)
		for j := range all[i].Reports {
			r := &all[i].Reports[j]
			if outside, ok := git.Rewrite(back, r.Repository); ok && r.Repository != "" {
				r.Repository = outside
			}
		}
	}
	return all
}

func (c *clusterReportCommand) key() (ed25519.PrivateKey, error) {
	text, err := secretfile.Read(c.keyFile)
	if err != nil {
		return nil, err
	}
	return hub.ParseReportKey(text)
}
