package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

// clusterListCommand is "kalypso cluster list".
type clusterListCommand struct {
	t           *terminal.Terminal
	place       backend.Flags
	output      *cli.Output
	environment string
	clusterType string
	state       string
	labels      map[string]string
	limit       int
}

func newClusterList(t *terminal.Terminal) *cobra.Command {
	c := &clusterListCommand{t: t}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List clusters and whether they are up to date",
		Long: `List clusters and whether they are up to date. A cluster that has not reported for some time is offline: what it runs is unknown.
Clusters that are not registered are listed as unknown: their reports are stored, but not counted.`,
		Example: `  kalypso cluster list -e prod
  kalypso cluster list --state failed`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.place.Bind(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(query.Page[query.Cluster]{})
	flags := cmd.Flags()
	flags.StringVarP(&c.environment, "environment", "e", "", "only members of the environment with this `name`")
	completeFlag(cmd, "environment", completeFleet(&c.place, t, environmentNames))
	flags.StringVar(&c.clusterType, "type", "", "only clusters of the cluster type with this `name`")
	flags.StringVar(&c.state, "state", "", "only clusters in this `state`: reached, behind, failed, offline or missing")
	flags.StringToStringVar(&c.labels, "label", nil, "only clusters with this label, `KEY=VALUE`; may be repeated")
	flags.IntVar(&c.limit, "limit", query.MaxLimit, "the maximum number of clusters")
	return cmd
}

func (c *clusterListCommand) run(cmd *cobra.Command) error {
	states := []comply.State{"", comply.Reached, comply.Behind, comply.Broken, comply.Offline, comply.Missing}
	switch {
	case !slices.Contains(states, comply.State(c.state)):
		return cli.Usage(cmd, "--state %q is not one of reached, behind, failed, offline and missing", c.state)
	case c.limit < 1:
		return cli.Usage(cmd, "--limit is %d, want at least 1", c.limit)
	}
	fleet, err := c.place.Open(cmd, c.t)
	if err != nil {
		return err
	}
	clusters, more, err := backend.All(c.limit, func(at query.Paging) (query.Page[query.Cluster], error) {
		return fleet.Clusters(cmd.Context(), query.ClustersQuery{
			Environment: c.environment, ClusterType: c.clusterType, Labels: c.labels, State: comply.State(c.state), Paging: at,
		})
	})
	if err := errors.Join(err, fleet.Close()); err != nil {
		return err
	}
	if more {
		fmt.Fprintf(c.t.Err, "there are more than %d clusters; use --limit to show more\n", c.limit)
	}
	return c.output.Write(c.t.Out, query.Page[query.Cluster]{Items: clusters}, func(w io.Writer) error { return output.NewPrinter(c.t).Clusters(w, clusters) })
}
