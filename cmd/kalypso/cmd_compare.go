package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// compareCommand is "kalypso compare".
type compareCommand struct {
	t        *terminal.Terminal
	place    backend.Flags
	output   *cli.Output
	asOf     cli.TimeFlag
	bAsOf    cli.TimeFlag
	exitCode bool
}

func newCompare(t *terminal.Terminal) *cobra.Command {
	c := &compareCommand{t: t, asOf: cli.TimeFlag{Terminal: t}, bAsOf: cli.TimeFlag{Terminal: t}}
	cmd := &cobra.Command{
		Use:   "compare ENVIRONMENT ENVIRONMENT",
		Short: "Compare two environments, or two times of one",
		Long: `Compare two environments: their commits, the running versions of workloads, the assignments, and the values of the platform
configuration. Targets are matched by workload and name.

With --as-of, an environment can be compared with itself: its state then, its state now or at --b-as-of, and the events in between.
Configuration values are not recorded, so they are compared only for the present.`,
		Example: `  kalypso compare dev prod
  kalypso compare stage prod --as-of 7d
  kalypso compare prod prod --as-of 7d
  kalypso compare stage prod --exit-code`,
		Args: cli.Exactly("ENVIRONMENT", "ENVIRONMENT"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0], args[1]) },
	}
	c.place.Bind(cmd)
	cmd.ValidArgsFunction = completeFleetWith(&c.place, t, func(ctx context.Context, f *backend.Fleet, args []string) ([]string, error) {
		if len(args) > 1 {
			return nil, nil
		}
		return environmentNames(ctx, f)
	})
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(query.Comparison{})
	cmd.Flags().Var(&c.asOf, "as-of", "compare the state at this time: 2026-11-17T10:00, or 36h or 7d ago")
	cmd.Flags().Var(&c.bAsOf, "b-as-of", "the time of the second environment (default: that of --as-of, and now for one environment twice)")
	cmd.Flags().BoolVar(&c.exitCode, "exit-code", false, "exit with 3 if the environments differ")
	return cmd
}

func (c *compareCommand) run(cmd *cobra.Command, a, b string) error {
	ask := query.CompareQuery{A: a, B: b, AsOf: c.asOf.At, BAsOf: c.bAsOf.At}
	if a == b && ask.AsOf.Equal(ask.BAsOf) {
		return cli.Usage(cmd, "both environments are %q; name two different ones, or an earlier time with --as-of", a)
	}
	fleet, err := c.place.Open(cmd, c.t)
	if err != nil {
		return err
	}
	result, err := fleet.Compare(cmd.Context(), ask)
	if err := errors.Join(backend.Hint(err), fleet.Close()); err != nil {
		return err
	}
	if err := c.output.Write(c.t.Out, result, func(w io.Writer) error { return output.NewPrinter(c.t).Comparison(w, result) }); err != nil {
		return err
	}
	if c.exitCode && differs(result) {
		return cli.AnswerNo()
	}
	return nil
}

func differs(c query.Comparison) bool {
	return !c.SameCommit || len(c.Targets) > 0 || len(c.Assignments) > 0 || c.Configuration != nil && len(c.Configuration.Differences) > 0
}
