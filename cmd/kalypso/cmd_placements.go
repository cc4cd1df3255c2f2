package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/placementdecision"
)

// placementsCommand is "kalypso placements".
type placementsCommand struct {
	t         *terminal.Terminal
	source    sourceFlags
	api       string
	namespace string
	against   string
}

func newPlacements(t *terminal.Terminal) *cobra.Command {
	c := &placementsCommand{t: t}
	cmd := &cobra.Command{
		Use:   "placements -e ENVIRONMENT",
		Short: "Write what runs where as PlacementDecisions, for tools that read them",
		Long: `Write what runs where as PlacementDecisions of Open Cluster Management or SIG Multicluster, for tools that read them.

Each deployment target is a placement, and its decisions are the clusters of its cluster types. For a cluster type without Cluster objects,
the decision names the cluster type. One PlacementDecision has at most 100 decisions.

A target keeps the clusters on which it is published while a problem holds it, or while its removal needs approval. The problems go to
stderr, and the exit code is 3.

Open Cluster Management keeps decisions in the status: apply them with "kubectl apply --subresource=status".`,
		Example: `  kalypso placements -e dev --namespace fleet > decisions.yaml
  kalypso placements -e dev --api sig-multicluster`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.source.bind(cmd, t)
	flags := cmd.Flags()
	flags.StringVar(&c.api, "api", string(placementdecision.OCM), "the `API` to write: open-cluster-management or sig-multicluster")
	flags.StringVar(&c.against, "against", "", "`gitops` to keep what is held on the GitOps branch (default), or a folder to use instead of it")
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
	request := schedule.DraftRequest{Request: session.request}
	if c.against != "gitops" {
		request.Folder = c.against
	}
	draft, err := session.drafter.Draft(cmd.Context(), request)
	if err != nil {
		return err
	}
	text, err := placementdecision.Write(placementdecision.Of(draft.Loaded.Snapshot, draft.Placements(), c.namespace), api)
	if err != nil {
		return err
	}
	session.progress.End()
	if _, err := c.t.Out.Write(text); err != nil {
		return err
	}
	return c.warn(draft)
}

// warn prints what keeps the placements from being those that are wanted.
func (c *placementsCommand) warn(d *schedule.Draft) error {
	complete := true
	for _, p := range d.Bundle.Problems {
		if p.Severity == fleet.SeverityError {
			fmt.Fprintf(c.t.Err, "%s\n    %s\n", terminal.Printable(output.Message(p)), terminal.Printable(p.Position.String()))
			complete = false
		}
	}
	for _, r := range d.Plan.Refusals {
		fmt.Fprintln(c.t.Err, terminal.PrintableText(r.Message))
		complete = false
	}
	if !complete {
		return &cli.Failure{Code: cli.ExitNo, Err: errors.New("there are problems: what they hold keeps its published placements"), Next: "kalypso plan shows what is held"}
	}
	return nil
}
