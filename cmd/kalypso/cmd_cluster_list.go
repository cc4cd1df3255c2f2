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
		Short: "List clusters, and whether they run what they should",
		Long: `List clusters, and whether they run what they should. A cluster that was not heard of for long is offline: what it runs, nobody knows.
Clusters that nobody registered are listed as unknown: what they report is kept, and counts nowhere.`,
		Example: `  kalypso cluster list -e prod
  kalypso cluster list --state failed`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.place.Bind(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML)
	flags := cmd.Flags()
	flags.StringVarP(&c.environment, "environment", "e", "", "only members of the environment of this `name`")
	flags.StringVar(&c.clusterType, "type", "", "only clusters of the cluster type of this `name`")
	flags.StringVar(&c.state, "state", "", "only clusters in this `state`: reached, behind, failed, offline or missing")
	flags.StringToStringVar(&c.labels, "label", nil, "only clusters with this label, `KEY=VALUE`; may be repeated")
	flags.IntVar(&c.limit, "limit", query.MaxLimit, "how many to list at most")
	return cmd
}

func (c *clusterListCommand) run(cmd *cobra.Command) error {
	states := []comply.State{"", comply.Reached, comply.Behind, comply.Broken, comply.Offline, comply.Missing}
	switch {
	case !slices.Contains(states, comply.State(c.state)):
		return cli.Usage(cmd, "--state %q is none of reached, behind, failed, offline and missing", c.state)
	case c.limit < 1:
		return cli.Usage(cmd, "--limit is %d, want at least 1", c.limit)
	}
	who, err := c.place.Open(cmd, c.t)
	if err != nil {
		return err
	}
	clusters, more, err := backend.All(c.limit, func(at query.Paging) (query.Page[query.Cluster], error) {
		return who.Clusters(cmd.Context(), query.ClustersQuery{
			Environment: c.environment, ClusterType: c.clusterType, Labels: c.labels, State: comply.State(c.state), Paging: at,
		})
	})
	if err := errors.Join(err, who.Close()); err != nil {
		return err
	}
	if more {
		fmt.Fprintf(c.t.Err, "there are more than %d; --limit shows more of them\n", c.limit)
	}
	return c.output.Write(c.t.Out, query.Page[query.Cluster]{Items: clusters}, func(w io.Writer) error { return output.NewPrinter(c.t).Clusters(w, clusters) })
}
