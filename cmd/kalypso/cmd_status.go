package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// statusCommand is "kalypso status".
type statusCommand struct {
	t      *terminal.Terminal
	place  lookFlags
	output *cli.Output
	watch  bool
}

func newStatus(t *terminal.Terminal) *cobra.Command {
	c := &statusCommand{t: t}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the chain of environments at a glance",
		Long: `Show the chain of environments at a glance: which commit each of them has, where that stands, how many clusters run it,
and what it waits for.

    ENVIRONMENT  COMMIT   PHASE      GATE   REASON
    dev          3f2a9c1  deployed   3/3    3 of 3 clusters run it
    stage        3f2a9c1  deploying  1/2    1 of 2 clusters behind: large-03
    prod         9be01d4  deployed   37/37  3f2a9c1 waits: it has to run in stage first

The gate is how many reconcilers run the commit, of those that have to; while a commit is only proposed, how many run the
one before, which it names. Below are the applications that a server delivers, with the build that each environment has.
A server knows more than a ledger alone: what waits to be merged, what is held, and what comes next. Beside a ledger,
--control-plane reads that.`,
		Example: `  kalypso status --server https://kalypso.example.com
  kalypso status --ledger kalypso-data/ledger.db
  kalypso status --ledger kalypso-data/ledger.db --control-plane https://github.com/acme/control-plane
  kalypso status --watch`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.place.bind(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML)
	cmd.Flags().BoolVarP(&c.watch, "watch", "w", false, "show it again whenever something changes")
	return cmd
}

func (c *statusCommand) run(cmd *cobra.Command) error {
	if c.watch && c.output.Format != cli.FormatText {
		return cli.Usage(cmd, "--watch shows text; ask again for %s", c.output.Format)
	}
	who, err := c.place.ask(cmd, c.t)
	if err != nil {
		return err
	}
	if c.watch {
		return errors.Join(c.watchIt(cmd.Context(), who), who.Close())
	}
	found, err := c.find(cmd.Context(), who)
	if err := errors.Join(err, who.Close()); err != nil {
		return err
	}
	return c.output.Write(c.t.Out, found, func(w io.Writer) error { return c.show(w, found) })
}

// fleetStatus is the result of the command.
type fleetStatus struct {
	Items []query.Environment `json:"items"`
	// Applications are those that the server delivers.
	Applications []query.Application `json:"applications,omitempty"`
}

func (c *statusCommand) find(ctx context.Context, who *backend.Fleet) (found fleetStatus, err error) {
	if err := who.Refresh(ctx); err != nil {
		return found, err
	}
	if found.Items, err = environments(ctx, who, c.place.named()); err != nil {
		return found, err
	}
	found.Applications, _, err = backend.All(math.MaxInt, func(at query.Paging) (query.Page[query.Application], error) {
		return who.Applications(ctx, query.ApplicationsQuery{ControlPlane: c.place.named(), Paging: at})
	})
	return found, err
}

func (c *statusCommand) show(w io.Writer, found fleetStatus) error {
	if err := output.NewPrinter(c.t).Environments(w, found.Items); err != nil || len(found.Applications) == 0 {
		return err
	}
	fmt.Fprintln(w)
	return output.NewPrinter(c.t).Applications(w, found.Applications)
}

// environments are those of a control plane, or of all.
func environments(ctx context.Context, who backend.Querier, controlPlane string) ([]query.Environment, error) {
	found, _, err := backend.All(math.MaxInt, func(at query.Paging) (query.Page[query.Environment], error) {
		return who.Environments(ctx, query.EnvironmentsQuery{ControlPlane: controlPlane, Paging: at})
	})
	return found, err
}

// watchIt shows the status again and again, until somebody stops it, which is a good end.
func (c *statusCommand) watchIt(ctx context.Context, who *backend.Fleet) error {
	shown := ""
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	changes := who.Changes(ctx)
	for {
		found, err := c.find(ctx, who)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		var text strings.Builder
		if err := c.show(&text, found); err != nil {
			return err
		}
		if text.String() != shown {
			shown = text.String()
			if err := c.redraw(shown); err != nil {
				return err
			}
		}
		if _, more := <-changes; !more {
			return nil
		}
	}
}

// redraw replaces what is on a terminal; elsewhere one status follows the other, each with its time.
func (c *statusCommand) redraw(text string) error {
	if terminal.IsTerminal(c.t.Out) {
		_, err := fmt.Fprint(c.t.Out, "\x1b[H\x1b[2J", text)
		return err
	}
	_, err := fmt.Fprintf(c.t.Out, "%s\n%s\n", output.NewPrinter(c.t).When(c.t.Now()), text)
	return err
}
