package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// historyCommand is "kalypso history".
type historyCommand struct {
	t              *terminal.Terminal
	place          backend.Flags
	output         *cli.Output
	environment    string
	target         string
	from, to, asOf cli.TimeFlag
	limit          int
}

// The subjects of "kalypso history".
const (
	ofEnvironment = "environment"
	ofWorkload    = "workload"
	ofCluster     = "cluster"
)

func newHistory(t *terminal.Terminal) *cobra.Command {
	c := &historyCommand{t: t, from: cli.TimeFlag{Terminal: t}, to: cli.TimeFlag{Terminal: t}, asOf: cli.TimeFlag{Terminal: t}}
	cmd := &cobra.Command{
		Use:   "history (environment|workload|cluster) NAME",
		Short: "Show the history of an environment, workload or cluster",
		Long: `Show the events of an environment, workload or cluster, newest first: promotions with their reasons, commits of GitOps branches,
registrations and state changes of clusters, pull requests. The history of an environment includes the steps of its rings. For the history of one
ring, pass ENVIRONMENT/RING.

With --as-of, show the state at a point in time instead: what ran, and what was expected to run.

Times are 2026-11-17, 2026-11-17T10:00, 2026-11-17T10:00:00Z, or relative: 36h or 7d ago.`,
		Example: `  kalypso history environment prod --from 7d
  kalypso history workload hello-world-app -e prod
  kalypso history workload hello-world-app -e dev --target functional-test
  kalypso history environment prod/canary
  kalypso history environment prod --as-of 2026-11-17T10:00`,
		Args: cli.Exactly("environment|workload|cluster", "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0], args[1]) },
	}
	cmd.ValidArgsFunction = c.complete
	c.place.Bind(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(query.Page[query.Event]{}, then{})
	flags := cmd.Flags()
	flags.StringVarP(&c.environment, "environment", "e", "", "for a workload: only events in the environment with this `name`")
	completeFlag(cmd, "environment", completeFleet(&c.place, t, environmentNames))
	flags.StringVar(&c.target, "target", "", "for a workload and an environment: only events of the target with this `name`, and those of all targets")
	completeFlag(cmd, "target", completeFleetWith(&c.place, t, func(ctx context.Context, f *backend.Fleet, args []string) ([]string, error) {
		if len(args) < 2 || args[0] != "workload" {
			return nil, nil
		}
		return targetNames(ctx, f, args[1], c.environment)
	}))
	flags.Var(&c.from, "from", "only events at or after this time")
	flags.Var(&c.to, "to", "only events before this time")
	flags.Var(&c.asOf, "as-of", "show the state at this time instead of events")
	flags.IntVar(&c.limit, "limit", 50, "the maximum number of events")
	return cmd
}

// complete completes the kind of subject, and then its name.
func (c *historyCommand) complete(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	names := map[string]func(context.Context, *backend.Fleet) ([]string, error){
		ofEnvironment: placeNames, ofWorkload: workloadNames, ofCluster: clusterNames,
	}
	if len(args) == 1 && names[args[0]] != nil {
		return completeFleet(&c.place, c.t, names[args[0]])(cmd, args, word)
	}
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []cobra.Completion{ofEnvironment, ofWorkload, ofCluster}, cobra.ShellCompDirectiveNoFileComp
}

func (c *historyCommand) run(cmd *cobra.Command, of, name string) error {
	if err := c.check(cmd, of, name); err != nil {
		return err
	}
	fleet, err := c.place.Open(cmd, c.t)
	if err != nil {
		return err
	}
	if !c.asOf.At.IsZero() {
		then, err := c.then(cmd.Context(), fleet, of, name)
		if err := errors.Join(err, fleet.Close()); err != nil {
			return err
		}
		return c.output.Write(c.t.Out, then, func(w io.Writer) error { return c.showThen(w, then) })
	}
	events, more, err := c.events(cmd.Context(), fleet, of, name)
	if err := errors.Join(err, fleet.Close()); err != nil {
		return err
	}
	if more {
		fmt.Fprintf(c.t.Err, "there are more than %d events; use --limit to show more, or --to for earlier ones\n", c.limit)
	}
	return c.output.Write(c.t.Out, query.Page[query.Event]{Items: events}, func(w io.Writer) error {
		if len(events) == 0 {
			_, err := fmt.Fprintf(w, "no events of %s %s in this time\n", of, terminal.Printable(name))
			return err
		}
		return output.NewPrinter(c.t).Events(w, events)
	})
}

func (c *historyCommand) check(cmd *cobra.Command, of, name string) error {
	switch _, ring := decide.SplitRing(name); {
	case of == ofEnvironment && ring != "" && !c.asOf.At.IsZero():
		return cli.Usage(cmd, "--as-of needs an environment; a ring has no state at a time")
	case !slices.Contains([]string{ofEnvironment, ofWorkload, ofCluster}, of):
		return cli.Usage(cmd, "%q is not one of environment, workload and cluster", of)
	case c.environment != "" && of != ofWorkload:
		return cli.Usage(cmd, "--environment requires a workload")
	case c.target != "" && (c.environment == "" || !c.asOf.At.IsZero()):
		return cli.Usage(cmd, "--target requires a workload and -e, and no --as-of")
	case !c.asOf.At.IsZero() && (!c.from.At.IsZero() || !c.to.At.IsZero()):
		return cli.Usage(cmd, "--as-of cannot be combined with --from and --to")
	case !c.from.At.IsZero() && !c.to.At.IsZero() && !c.from.At.Before(c.to.At):
		return cli.Usage(cmd, "--from is not before --to: no event can be in between")
	case c.limit < 1:
		return cli.Usage(cmd, "--limit is %d, want at least 1", c.limit)
	}
	return nil
}

func (c *historyCommand) events(ctx context.Context, fleet backend.Querier, of, name string) ([]query.Event, bool, error) {
	q := query.HistoryQuery{From: c.from.At, To: c.to.At}
	switch of {
	case ofEnvironment:
		q.Environment, q.Ring = decide.SplitRing(name)
	case ofWorkload:
		q.Workload, q.Environment, q.Target = name, c.environment, c.target
	case ofCluster:
		q.Cluster = name
	}
	return backend.All(c.limit, func(at query.Paging) (query.Page[query.Event], error) {
		q.Paging = at
		return fleet.History(ctx, q)
	})
}

// then is the state at a point in time. The subject decides which fields are set.
type then struct {
	AsOf        time.Time                `json:"asOf"`
	Environment *query.EnvironmentDetail `json:"environment,omitempty"`
	Cluster     *query.ClusterDetail     `json:"cluster,omitempty"`
	Versions    []query.Version          `json:"versions,omitempty"`
}

// maxVersions bounds the versions shown with --as-of.
const maxVersions = 5000

func (c *historyCommand) then(ctx context.Context, fleet backend.Querier, of, name string) (*then, error) {
	at := &then{AsOf: c.asOf.At.UTC()}
	q := query.VersionsQuery{AsOf: c.asOf.At}
	switch of {
	case ofCluster:
		detail, err := fleet.Cluster(ctx, query.ClusterQuery{Name: name, AsOf: c.asOf.At})
		at.Cluster = &detail
		return at, backend.Hint(err)
	case ofEnvironment:
		detail, err := fleet.Environment(ctx, query.EnvironmentQuery{Name: name, AsOf: c.asOf.At})
		if err != nil {
			return nil, backend.Hint(err)
		}
		at.Environment, q.Environment = &detail, name
	case ofWorkload:
		q.Workload, q.Environment = name, c.environment
	}
	var err error
	at.Versions, _, err = backend.All(maxVersions, func(p query.Paging) (query.Page[query.Version], error) {
		q.Paging = p
		return fleet.Versions(ctx, q)
	})
	return at, err
}

func (c *historyCommand) showThen(w io.Writer, at *then) error {
	v := output.NewPrinter(c.t)
	fmt.Fprintf(w, "as of %s\n\n", v.When(at.AsOf))
	if at.Cluster != nil {
		return v.Cluster(w, *at.Cluster)
	}
	if at.Environment != nil {
		if err := v.Environment(w, *at.Environment); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return v.Versions(w, at.Versions)
}
