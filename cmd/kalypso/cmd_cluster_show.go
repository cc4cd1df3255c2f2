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
		Short:   "Show a cluster: memberships, reconcilers and latest events",
		Example: `  kalypso cluster show large-07`,
		Args:    cli.Exactly("NAME"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	c.place.Bind(cmd)
	cmd.ValidArgsFunction = completeFirst(completeFleet(&c.place, t, clusterNames))
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(query.ClusterDetail{})
	return cmd
}

func (c *clusterShowCommand) run(cmd *cobra.Command, name string) error {
	fleet, err := c.place.Open(cmd, c.t)
	if err != nil {
		return err
	}
	detail, err := fleet.Cluster(cmd.Context(), query.ClusterQuery{Name: name})
	if err := errors.Join(backend.Hint(err), fleet.Close()); err != nil {
		return err
	}
	return c.output.Write(c.t.Out, detail, func(w io.Writer) error { return output.NewPrinter(c.t).Cluster(w, detail) })
}
