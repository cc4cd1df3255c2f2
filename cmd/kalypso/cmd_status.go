package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

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
	place  fleetFlags
	output *cli.Output
	watch  bool
}

func newStatus(t *terminal.Terminal) *cobra.Command {
	c := &statusCommand{t: t}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the commit and state of each environment",
		Long: `Show the commit of each environment, its phase, how many clusters run it, and what it waits for.

    ENVIRONMENT  COMMIT   PHASE     GATE   REASON
    dev          3f2a9c1  good      3/3    3 of 3 clusters run it
    stage        3f2a9c1  applying  1/2    1 of 2 clusters behind: large-03
    prod         9be01d4  good      37/37  3f2a9c1 waits: it has to run in stage first

An environment with rings has a line for each of them, such as prod/canary. Its batches are summed up.

GATE counts the reconcilers that run the commit, of those that are expected to. While a commit is only proposed, it counts those
that run the previous commit. Applications that a server delivers follow, with their build in each environment.

With --watch it shows the status again whenever it changes, until you end it: it follows the events of the server, and connects again
when the connection is lost; a ledger is read every two seconds. On a terminal it is redrawn, elsewhere each status follows the one before,
and with -o json each is one line.

A ledger alone does not know open pull requests, held assignments and the next commit. Add --control-plane to read them.`,
		Example: `  kalypso status --server https://kalypso.example.com
  kalypso status --ledger kalypso-data/ledger.db
  kalypso status --ledger kalypso-data/ledger.db --control-plane https://github.com/acme/control-plane
  kalypso status --watch
  kalypso status --watch -o json`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.place.bind(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(fleetStatus{})
	cmd.Flags().BoolVarP(&c.watch, "watch", "w", false, "show the status again whenever it changes")
	return cmd
}

func (c *statusCommand) run(cmd *cobra.Command) error {
	if c.watch && c.output.Format == cli.FormatYAML {
		return cli.Usage(cmd, "--watch cannot be combined with -o %s", c.output.Format)
	}
	fleet, err := c.place.open(cmd, c.t)
	if err != nil {
		return err
	}
	if c.watch {
		return errors.Join(c.watchIt(cmd.Context(), fleet), fleet.Close())
	}
	found, err := c.find(cmd.Context(), fleet)
	if err := errors.Join(err, fleet.Close()); err != nil {
		return err
	}
	return c.output.Write(c.t.Out, found, func(w io.Writer) error { return c.show(w, found) })
}

// fleetStatus is the result of the command.
type fleetStatus struct {
	Items        []query.Environment `json:"items"`
	Applications []query.Application `json:"applications,omitempty"`
}

func (c *statusCommand) find(ctx context.Context, fleet *backend.Fleet) (found fleetStatus, err error) {
	if err := fleet.Refresh(ctx); err != nil {
		return found, err
	}
	if found.Items, err = environments(ctx, fleet, c.place.subject()); err != nil {
		return found, err
	}
	found.Applications, _, err = backend.All(math.MaxInt, func(at query.Paging) (query.Page[query.Application], error) {
		return fleet.Applications(ctx, query.ApplicationsQuery{ControlPlane: c.place.subject(), Paging: at})
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

// environments lists the environments of a control plane, or of all if it is empty.
func environments(ctx context.Context, fleet backend.Querier, controlPlane string) ([]query.Environment, error) {
	found, _, err := backend.All(math.MaxInt, func(at query.Paging) (query.Page[query.Environment], error) {
		return fleet.Environments(ctx, query.EnvironmentsQuery{ControlPlane: controlPlane, Paging: at})
	})
	return found, err
}

// line returns the status as JSON on one line, and what has to change for another one. The time of the last round does not count, nor
// when a gate may change by itself: each report of a cluster moves that.
func (f fleetStatus) line() (text, state string, err error) {
	whole, err := json.Marshal(f)
	if err != nil {
		return "", "", err
	}
	f.Items = slices.Clone(f.Items)
	for i := range f.Items {
		f.Items[i].LastRound = time.Time{}
		if f.Items[i].Gate != nil {
			gate := *f.Items[i].Gate
			gate.Next = time.Time{}
			f.Items[i].Gate = &gate
		}
	}
	f.Applications = slices.Clone(f.Applications)
	for i := range f.Applications {
		f.Applications[i].LastRound = time.Time{}
	}
	rest, err := json.Marshal(f)
	return string(whole) + "\n", string(rest), err
}

// frame returns what is shown of a status, and what has to change for the next one.
func (c *statusCommand) frame(found fleetStatus) (text, state string, err error) {
	if c.output.Format == cli.FormatJSON {
		return found.line()
	}
	var b strings.Builder
	err = c.show(&b, found)
	return b.String(), b.String(), err
}

// watchIt prints the status whenever it changes, until the context ends.
func (c *statusCommand) watchIt(ctx context.Context, fleet *backend.Fleet) error {
	shown := ""
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	changes := fleet.Changes(ctx)
	for {
		found, err := c.find(ctx, fleet)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		text, state, err := c.frame(found)
		if err != nil {
			return err
		}
		if state != shown {
			shown = state
			if err := c.redraw(text); err != nil {
				return err
			}
		}
		if _, more := <-changes; !more {
			return nil
		}
	}
}

// redraw replaces the content of a terminal. Elsewhere it appends the status, with the time unless it is JSON.
func (c *statusCommand) redraw(text string) error {
	switch {
	case c.output.Format == cli.FormatJSON:
		_, err := io.WriteString(c.t.Out, text)
		return err
	case terminal.IsTerminal(c.t.Out):
		// Each line is overwritten, and what is left of the one before erased: clearing everything first would flicker.
		_, err := fmt.Fprint(c.t.Out, "\x1b[H", strings.ReplaceAll(text, "\n", "\x1b[K\n"), "\x1b[J")
		return err
	}
	_, err := fmt.Fprintf(c.t.Out, "%s\n%s\n", output.NewPrinter(c.t).When(c.t.Now()), text)
	return err
}
