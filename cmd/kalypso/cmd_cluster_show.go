package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// clusterShowCommand is "kalypso cluster show".
type clusterShowCommand struct {
	t      *terminal.Terminal
	place  backend.Flags
	output *cli.Output
}

func newClusterShow(t *terminal.Terminal) *cobra.Command {
	c := &clusterShowCommand{t: t}
	cmd := &cobra.Command{
		Use:     "show NAME",
		Short:   "Show what a cluster runs, what it should run, and what happened last",
		Example: `  kalypso cluster show large-07`,
		Args:    cli.Exactly("NAME"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	c.place.Bind(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML)
	return cmd
}

func (c *clusterShowCommand) run(cmd *cobra.Command, name string) error {
	who, err := c.place.Open(cmd, c.t)
	if err != nil {
		return err
	}
	detail, err := who.Cluster(cmd.Context(), query.ClusterQuery{Name: name})
	if err := errors.Join(backend.Hint(err), who.Close()); err != nil {
		return err
	}
	return c.output.Write(c.t.Out, detail, func(w io.Writer) error { return output.NewPrinter(c.t).Cluster(w, detail) })
}
