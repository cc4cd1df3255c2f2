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
)

// promoteCommand is "kalypso promote".
type promoteCommand struct {
	t      *terminal.Terminal
	place  lookFlags
	output *cli.Output
	to     string
	word   wordFlags
}

func newPromote(t *terminal.Terminal) *cobra.Command {
	c := &promoteCommand{t: t}
	cmd := &cobra.Command{
		Use:   "promote [--to ENVIRONMENT --commit COMMIT]",
		Short: "Move a commit on, or say why it waits",
		Long: `Move a commit on, or say why it waits.

Alone it says for each environment which commit it has, which one comes next, and what that waits for.
With --to, a commit of main, also an older one, is the next to enter an environment. All rules hold for it as well: the environments
before, soak, windows and approval. Where the commit was aborted before, that is lifted.

    candidate ─► promoted ─► proposed ─► deploying ─► verifying ─► deployed

A server heeds what people say from its next round on. Without a server, "kalypso promote round" is such a round, for CI.`,
		Example: `  kalypso promote
  kalypso promote --to prod --commit 3f2a9c1 --why "the fix for the outage"
  kalypso promote pause prod --why "sale until Monday"
  kalypso promote rollback prod --why "sign-in is broken"
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
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML)
	cmd.Flags().StringVar(&c.to, "to", "", "the `name` of the environment that the commit is to enter")
	c.word.bind(cmd, true)
	cmd.AddCommand(
		newPromoteRound(t),
		newPromoteWord(t, backend.Pause, "Let nothing enter an environment until it is resumed",
			"Let nothing enter an environment until it is resumed. What is rolled out there already goes on.", "sale until Monday"),
		newPromoteWord(t, backend.Resume, "End the pause of an environment", "End the pause of an environment.", ""),
		newPromoteWord(t, backend.Abort, "Give a commit up in an environment",
			"Give a commit up in an environment: it does not enter, nor go on from there. A newer commit takes its place;\nto order the commit there lifts it.", "it breaks sign-in"),
		newPromoteWord(t, backend.Rollback, "Go back to a commit that ran well in an environment",
			"Go back to a commit that ran well in an environment: the last one before the present one that did not fail since,\nor another one with --commit. It is ordered like any other commit, so the rules of the environment hold.", "sign-in is broken"),
	)
	return cmd
}

func (c *promoteCommand) run(cmd *cobra.Command) error {
	switch {
	case c.to == "" && (c.word.commit != "" || c.word.why != ""):
		return cli.Usage(cmd, "where to? name the environment, as in --to prod")
	case c.to == "":
		return c.explain(cmd)
	case c.word.commit == "":
		return cli.Usage(cmd, "which commit? name it, as in --commit 3f2a9c1")
	}
	return say(cmd, c.t, &c.place.Flags, c.output, c.word.about(backend.Promote, c.to, c.place.named()))
}

// explain says what each environment waits for.
func (c *promoteCommand) explain(cmd *cobra.Command) error {
	who, err := c.place.ask(cmd, c.t)
	if err != nil {
		return err
	}
	details, err := c.details(cmd.Context(), who)
	if err := errors.Join(err, who.Close()); err != nil {
		return err
	}
	return c.output.Write(c.t.Out, query.Page[query.EnvironmentDetail]{Items: details}, func(w io.Writer) error {
		return output.NewPrinter(c.t).WaitReasons(w, details)
	})
}

func (c *promoteCommand) details(ctx context.Context, who *backend.Fleet) ([]query.EnvironmentDetail, error) {
	if err := who.Refresh(ctx); err != nil {
		return nil, err
	}
	found, err := environments(ctx, who, c.place.named())
	details := []query.EnvironmentDetail{}
	for _, e := range found {
		d, err := who.Environment(ctx, query.EnvironmentQuery{Name: e.Name, ControlPlane: e.ControlPlane})
		if err != nil {
			return nil, backend.Hint(err)
		}
		details = append(details, d)
	}
	return details, err
}
