package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// waitCommand is "kalypso wait".
type waitCommand struct {
	t           *terminal.Terminal
	place       lookFlags
	output      *cli.Output
	environment string
	// application is the name of a workload; empty to wait for the platform.
	application string
	commit      string
	timeout     time.Duration
}

func newWait(t *terminal.Terminal) *cobra.Command {
	c := &waitCommand{t: t}
	cmd := &cobra.Command{
		Use:   "wait -e ENVIRONMENT [--application NAME] [--commit COMMIT]",
		Short: "Block until the clusters of an environment run a commit",
		Long: `Block until the clusters of an environment run a commit of main, or a newer one, and say what it waits for.
With --application it is a commit of the application's source, and the clusters are those that have its targets: a server that delivers it
knows that, or the ledger that "kalypso app promote" writes to.

It ends with 0 when the gate of the environment is passed, and with 3 when the gate failed, the commit was refused or given up,
or the time is up. Nobody passes a gate at which no cluster is expected.`,
		Example: `  kalypso wait -e stage --commit "$COMMIT" --timeout 30m
  kalypso wait -e dev --application hello-world-app --commit "$GITHUB_SHA" --timeout 30m
  kalypso wait -e dev --ledger kalypso-data/ledger.db`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.place.bind(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML)
	flags := cmd.Flags()
	flags.StringVarP(&c.environment, "environment", "e", "", "the `name` of the environment")
	flags.StringVar(&c.application, "application", "", "wait for the application of this workload: its `name`")
	flags.StringVar(&c.commit, "commit", "", "the `commit` of main or of the application's source, or at least seven digits of it (default: the one that the environment has)")
	flags.DurationVar(&c.timeout, "timeout", 0, "give up after this time (default: wait for as long as it takes)")
	return cmd
}

func (c *waitCommand) run(cmd *cobra.Command) error {
	switch {
	case c.environment == "":
		return cli.Usage(cmd, "wait for which environment? name it, as in -e stage")
	case c.timeout < 0:
		return cli.Usage(cmd, "--timeout is %s, want a time to come", c.timeout)
	case c.application == "" && cmd.Flags().Changed("application"):
		return cli.Usage(cmd, "--application is empty: name the workload whose application is meant")
	case c.application != "" && c.place.controlPlane != "":
		return cli.Usage(cmd, "--control-plane is for the platform's environments, and --application for those of an application")
	}
	who, err := c.place.ask(cmd, c.t)
	if err != nil {
		return err
	}
	progress, err := c.wait(cmd.Context(), who)
	if err := errors.Join(err, who.Close()); err != nil {
		return err
	}
	if err := c.output.Write(c.t.Out, progress, func(w io.Writer) error { return c.show(w, progress) }); err != nil {
		return err
	}
	switch progress.Result {
	case query.ProgressPassed:
		return nil
	case query.ProgressFailed:
		return cli.AnswerNo()
	}
	return &cli.Failure{Code: cli.ExitNo, Err: fmt.Errorf("%s are over", c.timeout), Next: "wait longer with --timeout; kalypso status shows the whole chain"}
}

// wait asks until there is a final answer, or the time is up: then it returns the last one.
func (c *waitCommand) wait(ctx context.Context, who *backend.Fleet) (query.Progress, error) {
	limited, stop := context.WithCancel(ctx)
	defer stop()
	if c.timeout > 0 {
		limited, stop = context.WithTimeout(ctx, c.timeout)
		defer stop()
	}
	changes := who.Changes(limited)
	last := query.Progress{
		Environment: c.environment, Commit: c.commit, Result: query.ProgressWaits, Reason: "there was no answer in this time",
	}
	for {
		progress, err := c.progress(limited, who)
		switch {
		case limited.Err() != nil:
			return last, ctx.Err()
		case err != nil:
			return progress, backend.Hint(err)
		case progress.Result != query.ProgressWaits:
			return progress, nil
		}
		if progress.Reason != last.Reason || progress.Phase != last.Phase {
			fmt.Fprintf(c.t.Err, "%s  %s waits: %s\n", c.t.Now().Format(time.TimeOnly), terminal.Printable(c.environment), terminal.Printable(terminal.ShortHashes(reasonOfProgress(progress))))
		}
		last = progress
		if _, more := <-changes; !more {
			return last, ctx.Err()
		}
	}
}

func (c *waitCommand) progress(ctx context.Context, who *backend.Fleet) (query.Progress, error) {
	if err := who.Refresh(ctx); err != nil {
		return query.Progress{}, err
	}
	return who.Progress(ctx, query.ProgressQuery{
		Environment: c.environment, ControlPlane: c.place.named(), Application: c.application, Commit: c.commit,
	})
}

func reasonOfProgress(p query.Progress) string {
	if p.Reason != "" {
		return p.Reason
	}
	return "it is " + string(p.Phase)
}

func (c *waitCommand) show(w io.Writer, p query.Progress) error {
	s := c.t.OutStyle
	result := terminal.Painted(s.Yellow, string(p.Result))
	switch p.Result {
	case query.ProgressPassed:
		result = terminal.Painted(s.Green, string(p.Result))
	case query.ProgressFailed:
		result = terminal.Painted(s.Red, string(p.Result))
	}
	var t terminal.Table
	t.Row(terminal.Plain(p.Environment), terminal.Plain(terminal.Short(p.Commit)), result, output.GateCell(s, p.Gate), terminal.Plain(terminal.ShortHashes(p.Reason)))
	return t.Write(w)
}
