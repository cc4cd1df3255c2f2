package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// promoteCommand is "kalypso promote".
type promoteCommand struct {
	t       *terminal.Terminal
	place   fleetFlags
	output  *cli.Output
	to      string
	request requestFlags
}

func newPromote(t *terminal.Terminal) *cobra.Command {
	c := &promoteCommand{t: t}
	cmd := &cobra.Command{
		Use:   "promote [--to ENVIRONMENT --commit COMMIT]",
		Short: "Promote a commit, or show what each environment waits for",
		Long: `Promote a commit, or show what each environment waits for.

Without flags, show for each environment its commit, the next commit, and what the next commit waits for.
With --to, request that a commit of main, which may be an older one, is the next in an environment. The rules of the environment
still apply: earlier environments, soak time, windows and approval. If the commit was aborted there, the abort is lifted.

A ring of an environment is named ENVIRONMENT/RING, as in prod/canary, here and in the subcommands. Its commits are those of the
environment's GitOps branch; a promoted commit stands for the newest one with its manifests.

    candidate ─► proposed ─► applying ─► checking ─► awaiting ─► soaking ─► good

The server acts on requests within seconds. Without a server, run "kalypso promote round" in CI.`,
		Example: `  kalypso promote
  kalypso promote --to prod --commit 3f2a9c1 --why "the fix for the outage"
  kalypso promote --to prod/early --commit 3f2a9c1
  kalypso promote pause prod --why "sale until Monday"
  kalypso promote skip prod/canary --commit 3f2a9c1 --why "the canary is being repaired"
  kalypso promote rollback prod --dry-run
  kalypso promote rollback prod --why "sign-in is broken"
  kalypso promote approve prod release --commit 3f2a9c1
  kalypso promote round --control-plane https://github.com/acme/control-plane --ledger postgres://kalypso@db/kalypso`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UnknownWord(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.place.bind(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(query.Page[query.EnvironmentDetail]{}, api.Accepted{})
	cmd.Flags().StringVar(&c.to, "to", "", "request the commit for the environment or ring with this `name`")
	completeFlag(cmd, "to", completeFleet(&c.place.Flags, t, placeNames))
	c.request.bind(cmd, true)
	completeFlag(cmd, "commit", completeFleet(&c.place.Flags, t, commitNames))
	cmd.AddCommand(
		newPromoteRound(t),
		newPromoteAction(t, backend.Pause, "Stop promoting commits to an environment",
			"Stop promoting commits to an environment until it is resumed. A rollout in progress continues.", "sale until Monday"),
		newPromoteAction(t, backend.Resume, "Resume promoting commits to an environment", "Resume promoting commits to a paused environment.", ""),
		newPromoteAction(t, backend.Abort, "Abort a commit in an environment",
			"Abort a commit in an environment: it is not promoted to the environment, nor from there to the next. A newer commit replaces it.\nTo lift the abort, request the commit with \"kalypso promote --to\".", "it breaks sign-in"),
		newPromoteCheck(t, backend.Approve, "Approve a commit in an environment",
			"Approve a commit in an environment, for a verification that waits for it. The verification declares who may approve: groups of the sign-on, and\nwhether the commit's author may. Your approval is recorded.", "reviewed the dashboards"),
		newPromoteCheck(t, backend.Bypass, "Skip a verification for a commit",
			"Skip a verification for a commit in an environment. The reason is required. The bypass is recorded permanently, with your name: on the\ncommit's statuses, and in the history. On a server, this needs the role\nadmin or, in an emergency, break-glass with --break-glass.", "the load test is broken, see #1234"),
		newPromoteAction(t, backend.Rollback, "Roll back an environment to an earlier commit",
			"Take back the commit of an environment or ring. The environment or ring returns to the newest earlier commit that ran well there, or to\nthe commit in --commit. Pauses, windows and freezes do not delay a rollback. --list shows the commits to return to, and why others are not\navailable; --dry-run shows which rings and clusters change, and what else waits. The configuration on the environment's own branch goes back with\n\"kalypso platform rollback\".", "sign-in is broken"),
		newPromoteAction(t, backend.Skip, "Let a commit pass a ring without waiting for it",
			"Let a commit pass a ring of an environment: later rings do not wait until it has run there. The reason is recorded.\nTo undo it, request the commit for the ring with \"kalypso promote --to\".", "the canary is being repaired"),
	)
	return cmd
}

func (c *promoteCommand) run(cmd *cobra.Command) error {
	switch {
	case c.to == "" && (c.request.commit != "" || c.request.why != "" || c.request.dryRun):
		return cli.Usage(cmd, "no environment given; use --to, for example --to prod")
	case c.to == "":
		return c.explain(cmd)
	case c.request.commit == "":
		return cli.Usage(cmd, "no commit given; use --commit, for example --commit 3f2a9c1")
	}
	return request(cmd, c.t, &c.place.Flags, c.output, c.request.command(backend.Promote, c.to, c.place.subject()))
}

// explain shows what each environment waits for.
func (c *promoteCommand) explain(cmd *cobra.Command) error {
	fleet, err := c.place.open(cmd, c.t)
	if err != nil {
		return err
	}
	details, err := c.details(cmd.Context(), fleet)
	if err := errors.Join(err, fleet.Close()); err != nil {
		return err
	}
	return c.output.Write(c.t.Out, query.Page[query.EnvironmentDetail]{Items: details}, func(w io.Writer) error {
		return output.NewPrinter(c.t).WaitReasons(w, details)
	})
}

func (c *promoteCommand) details(ctx context.Context, fleet *backend.Fleet) ([]query.EnvironmentDetail, error) {
	if err := fleet.Refresh(ctx); err != nil {
		return nil, err
	}
	found, err := environments(ctx, fleet, c.place.subject())
	details := []query.EnvironmentDetail{}
	for _, e := range found {
		d, err := fleet.Environment(ctx, query.EnvironmentQuery{Name: e.Name, ControlPlane: e.ControlPlane})
		if err != nil {
			return nil, backend.Hint(err)
		}
		details = append(details, d)
	}
	return details, err
}
