package main

import (
	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/placementdecision"
)

// placementsCommand is "kalypso placements".
type placementsCommand struct {
	t         *terminal.Terminal
	source    sourceFlags
	api       string
	namespace string
}

func newPlacements(t *terminal.Terminal) *cobra.Command {
	c := &placementsCommand{t: t}
	cmd := &cobra.Command{
		Use:   "placements -e ENVIRONMENT",
		Short: "Write what runs where as PlacementDecisions, for tools that follow these",
		Long: `Write what runs where as PlacementDecisions of Open Cluster Management or SIG Multicluster, for tools that follow these.

Each deployment target is a placement, and its decisions are the clusters of its cluster types. A cluster type without Cluster objects
stands for itself. One PlacementDecision has at most 100 decisions.

The decisions of Open Cluster Management are in the status, which a cluster only takes with --subresource=status.`,
		Example: `  kalypso placements -e dev --namespace fleet > decisions.yaml
  kalypso placements -e dev --api sig-multicluster`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.source.bind(cmd, t)
	flags := cmd.Flags()
	flags.StringVar(&c.api, "api", string(placementdecision.OCM), "the `API` to write: open-cluster-management or sig-multicluster")
	flags.StringVar(&c.namespace, "namespace", "", "the `namespace` of the objects (default: none)")
	return cmd
}

func (c *placementsCommand) run(cmd *cobra.Command) error {
	if err := c.source.wantEnvironment(cmd); err != nil {
		return err
	}
	api := placementdecision.API(c.api)
	if api != placementdecision.OCM && api != placementdecision.SIG {
		return cli.Usage(cmd, "--api %q is neither %s nor %s", c.api, placementdecision.OCM, placementdecision.SIG)
	}
	session, err := c.source.open(cmd.Context(), c.t)
	if err != nil {
		return err
	}
	defer session.close()
	draft, err := session.drafter.Draft(cmd.Context(), schedule.DraftRequest{Request: session.request, Unpublished: true})
	if err != nil {
		return err
	}
	text, err := placementdecision.Write(placementdecision.Of(draft.Loaded.Snapshot, draft.Bundle.Decisions, c.namespace), api)
	if err != nil {
		return err
	}
	session.progress.End()
	_, err = c.t.Out.Write(text)
	return err
}
