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
)

// historyCommand is "kalypso history".
type historyCommand struct {
	t              *terminal.Terminal
	place          backend.Flags
	output         *cli.Output
	environment    string
	from, to, asOf cli.TimeFlag
	limit          int
}

// The words that "kalypso history" begins with.
const (
	ofEnvironment = "environment"
	ofWorkload    = "workload"
	ofCluster     = "cluster"
)

func newHistory(t *terminal.Terminal) *cobra.Command {
	c := &historyCommand{t: t, from: cli.TimeFlag{Terminal: t}, to: cli.TimeFlag{Terminal: t}, asOf: cli.TimeFlag{Terminal: t}}
	cmd := &cobra.Command{
		Use:   "history (environment|workload|cluster) NAME",
		Short: "Tell what happened to an environment, a workload or a cluster, or how it was at a time",
		Long: `Tell what happened to an environment, a workload or a cluster, the newest first: promotions with their reasons, commits of GitOps
branches, what clusters became, pull requests.

With --as-of it shows instead how things were at a time: what ran, and what should have.

A time is 2026-11-17, 2026-11-17T10:00 or with a zone 2026-11-17T10:00:00Z, or how long ago: 36h, 7d.`,
		Example: `  kalypso history environment prod --from 7d
  kalypso history workload hello-world-app -e prod
  kalypso history environment prod --as-of 2026-11-17T10:00`,
		Args:      cli.Exactly("environment|workload|cluster", "NAME"),
		RunE:      func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0], args[1]) },
		ValidArgs: []cobra.Completion{ofEnvironment, ofWorkload, ofCluster},
	}
	c.place.Bind(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML)
	flags := cmd.Flags()
	flags.StringVarP(&c.environment, "environment", "e", "", "of a workload, only in the environment of this `name`")
	flags.Var(&c.from, "from", "from this time on")
	flags.Var(&c.to, "to", "before this time")
	flags.Var(&c.asOf, "as-of", "how it was at this time, instead of what happened")
	flags.IntVar(&c.limit, "limit", 50, "how many events to show at most")
	return cmd
}

func (c *historyCommand) run(cmd *cobra.Command, of, name string) error {
	if err := c.check(cmd, of); err != nil {
		return err
	}
	who, err := c.place.Open(cmd, c.t)
	if err != nil {
		return err
	}
	if !c.asOf.At.IsZero() {
		then, err := c.then(cmd.Context(), who, of, name)
		if err := errors.Join(err, who.Close()); err != nil {
			return err
		}
		return c.output.Write(c.t.Out, then, func(w io.Writer) error { return c.showThen(w, then) })
	}
	events, more, err := c.events(cmd.Context(), who, of, name)
	if err := errors.Join(err, who.Close()); err != nil {
		return err
	}
	if more {
		fmt.Fprintf(c.t.Err, "there are more than %d; --limit shows more of them, and --to earlier ones\n", c.limit)
	}
	return c.output.Write(c.t.Out, query.Page[query.Event]{Items: events}, func(w io.Writer) error {
		if len(events) == 0 {
			_, err := fmt.Fprintf(w, "nothing is on record about %s %s in this time\n", of, terminal.Printable(name))
			return err
		}
		return output.NewPrinter(c.t).Events(w, events)
	})
}

func (c *historyCommand) check(cmd *cobra.Command, of string) error {
	switch {
	case !slices.Contains([]string{ofEnvironment, ofWorkload, ofCluster}, of):
		return cli.Usage(cmd, "the history of what? %q is none of environment, workload and cluster", of)
	case c.environment != "" && of != ofWorkload:
		return cli.Usage(cmd, "--environment goes with the history of a workload")
	case !c.asOf.At.IsZero() && (!c.from.At.IsZero() || !c.to.At.IsZero()):
		return cli.Usage(cmd, "--as-of is one time, and --from and --to are others; choose")
	case c.limit < 1:
		return cli.Usage(cmd, "--limit is %d, want at least 1", c.limit)
	}
	return nil
}

func (c *historyCommand) events(ctx context.Context, who backend.Querier, of, name string) ([]query.Event, bool, error) {
	q := query.HistoryQuery{From: c.from.At, To: c.to.At}
	switch of {
	case ofEnvironment:
		q.Environment = name
	case ofWorkload:
		q.Workload, q.Environment = name, c.environment
	case ofCluster:
		q.Cluster = name
	}
	return backend.All(c.limit, func(at query.Paging) (query.Page[query.Event], error) {
		q.Paging = at
		return who.History(ctx, q)
	})
}

// then is how something was at a time. Which fields are set depends on what was asked about.
type then struct {
	AsOf        time.Time                `json:"asOf"`
	Environment *query.EnvironmentDetail `json:"environment,omitempty"`
	Cluster     *query.ClusterDetail     `json:"cluster,omitempty"`
	// Versions are those of the environment or workload.
	Versions []query.Version `json:"versions,omitempty"`
}

// maxVersions is how many versions are shown of one time.
const maxVersions = 5000

func (c *historyCommand) then(ctx context.Context, who backend.Querier, of, name string) (*then, error) {
	at := &then{AsOf: c.asOf.At.UTC()}
	q := query.VersionsQuery{AsOf: c.asOf.At}
	switch of {
	case ofCluster:
		detail, err := who.Cluster(ctx, query.ClusterQuery{Name: name, AsOf: c.asOf.At})
		at.Cluster = &detail
		return at, backend.Hint(err)
	case ofEnvironment:
		detail, err := who.Environment(ctx, query.EnvironmentQuery{Name: name, AsOf: c.asOf.At})
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
		return who.Versions(ctx, q)
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
