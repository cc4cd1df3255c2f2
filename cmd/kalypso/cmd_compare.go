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

// compareCommand is "kalypso compare".
type compareCommand struct {
	t        *terminal.Terminal
	place    backend.Flags
	output   *cli.Output
	asOf     cli.TimeFlag
	exitCode bool
}

func newCompare(t *terminal.Terminal) *cobra.Command {
	c := &compareCommand{t: t, asOf: cli.TimeFlag{Terminal: t}}
	cmd := &cobra.Command{
		Use:   "compare ENVIRONMENT ENVIRONMENT",
		Short: "Show how two environments differ",
		Long: `Show how two environments differ: in the commit that they have, in versions of workloads, and in what is assigned where.
Targets are compared by their workload and the name that they have within it.`,
		Example: `  kalypso compare dev prod
  kalypso compare stage prod --as-of 7d
  kalypso compare stage prod --exit-code`,
		Args: cli.Exactly("ENVIRONMENT", "ENVIRONMENT"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0], args[1]) },
	}
	c.place.Bind(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML)
	cmd.Flags().Var(&c.asOf, "as-of", "how they differed at this time: 2026-11-17T10:00, or how long ago, 36h or 7d")
	cmd.Flags().BoolVar(&c.exitCode, "exit-code", false, "exit with 3 when they differ")
	return cmd
}

func (c *compareCommand) run(cmd *cobra.Command, a, b string) error {
	if a == b {
		return cli.Usage(cmd, "%q does not differ from itself; name two environments", a)
	}
	who, err := c.place.Open(cmd, c.t)
	if err != nil {
		return err
	}
	result, err := who.Compare(cmd.Context(), query.CompareQuery{A: a, B: b, AsOf: c.asOf.At})
	if err := errors.Join(backend.Hint(err), who.Close()); err != nil {
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
	return !c.SameCommit || len(c.Targets) > 0 || len(c.Assignments) > 0
}
