package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// waitCommand is "kalypso wait".
type waitCommand struct {
	t           *terminal.Terminal
	place       fleetFlags
	output      *cli.Output
	environment string
	// ring is a ring of the environment; empty for all.
	ring string
	// application is the name of a workload; empty for the platform.
	application string
	commit      string
	timeout     time.Duration
	// failing is how long a failure has to last.
	failing time.Duration
}

func newWait(t *terminal.Terminal) *cobra.Command {
	c := &waitCommand{t: t}
	cmd := &cobra.Command{
		Use:   "wait -e ENVIRONMENT [--ring RING | --application NAME] [--commit COMMIT]",
		Short: "Wait until the clusters of an environment run a commit",
		Long: `Wait until the clusters of an environment run a commit of main, or a newer one. Prints what it is waiting for.

With --ring, wait until the commit has passed a ring of the environment: all its clusters that the ring's rules require ran it, or a user
skipped the ring. The commit can be one of the GitOps branch.

With --application, wait for a commit of the application's source on the clusters that have its targets. This needs a server
that delivers the application, or the ledger that "kalypso app promote" writes to.

Exit codes:

    0   the gate passed
    3   the gate failed, the commit was refused or aborted, or the timeout expired

Clusters often recover from a failure, for example when something that they depend on becomes ready. A failure counts when it
has lasted for the time of --failing-for.

A gate without expected clusters never passes.`,
		Example: `  kalypso wait -e stage --commit "$COMMIT" --timeout 30m
  kalypso wait -e prod --ring canary --commit "$COMMIT" --timeout 1h
  kalypso wait -e dev --application hello-world-app --commit "$GITHUB_SHA" --timeout 30m
  kalypso wait -e dev --ledger kalypso-data/ledger.db`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.place.bind(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(query.Progress{})
	flags := cmd.Flags()
	flags.StringVarP(&c.environment, "environment", "e", "", "the `name` of the environment (required)")
	flags.StringVar(&c.ring, "ring", "", "wait for this `ring` of the environment")
	completeFlag(cmd, "ring", completeFleet(&c.place.Flags, t, ringNames(&c.environment)))
	flags.StringVar(&c.application, "application", "", "wait for the application of the workload with this `name`")
	completeFlag(cmd, "environment", completeFleet(&c.place.Flags, t, environmentNames))
	completeFlag(cmd, "application", completeFleet(&c.place.Flags, t, applicationNames))
	flags.StringVar(&c.commit, "commit", "", "a `commit` of main or of the application's source, or at least seven digits of it (default: the environment's current commit)")
	completeFlag(cmd, "commit", completeFleet(&c.place.Flags, t, commitNames))
	flags.DurationVar(&c.timeout, "timeout", 0, "stop waiting after this time (default: no limit)")
	flags.DurationVar(&c.failing, "failing-for", time.Minute, "how `long` clusters have to fail before this command gives up")
	return cmd
}

func (c *waitCommand) run(cmd *cobra.Command) error {
	switch {
	case c.environment == "":
		return cli.Usage(cmd, "no environment given; use -e, for example -e stage")
	case c.ring == "" && cmd.Flags().Changed("ring"):
		return cli.Usage(cmd, "--ring is empty; use the name of a ring")
	case c.ring != "" && c.application != "":
		return cli.Usage(cmd, "--ring and --application cannot be combined")
	case strings.Contains(c.environment, "/"):
		environment, ring := decide.SplitRing(c.environment)
		return cli.Usage(cmd, "%q is a ring; use -e %s --ring %s", c.environment, terminal.ShellWord(environment), terminal.ShellWord(ring))
	case c.timeout < 0:
		return cli.Usage(cmd, "--timeout is %s, want a positive duration", c.timeout)
	case c.failing < 0:
		return cli.Usage(cmd, "--failing-for is %s, want 0 or a positive duration", c.failing)
	case c.application == "" && cmd.Flags().Changed("application"):
		return cli.Usage(cmd, "--application is empty; use the name of a workload")
	case c.application != "" && c.place.controlPlane != "":
		return cli.Usage(cmd, "--control-plane and --application cannot be combined")
	}
	fleet, err := c.place.open(cmd, c.t)
	if err != nil {
		return err
	}
	progress, err := c.wait(cmd.Context(), fleet)
	if err := errors.Join(err, fleet.Close()); err != nil {
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
	return &cli.Failure{Code: cli.ExitNo, Err: fmt.Errorf("timed out after %s", c.timeout), Next: "increase --timeout; kalypso status shows all environments"}
}

// wait asks until the answer is final or the timeout expires. Then it returns the last answer.
func (c *waitCommand) wait(ctx context.Context, fleet *backend.Fleet) (query.Progress, error) {
	limited, stop := context.WithCancel(ctx)
	defer stop()
	if c.timeout > 0 {
		limited, stop = context.WithTimeout(ctx, c.timeout)
		defer stop()
	}
	changes := fleet.Changes(limited)
	last := query.Progress{
		Environment: c.environment, Ring: c.ring, Commit: c.commit, Result: query.ProgressWaits, Reason: "no answer within the timeout",
	}
	for {
		progress, err := c.progress(limited, fleet)
		switch {
		case limited.Err() != nil:
			return last, ctx.Err()
		case err != nil:
			return progress, backend.Hint(err)
		case progress.Result == query.ProgressFailed && c.mayRecover(progress) > 0:
		case progress.Result != query.ProgressWaits:
			return progress, nil
		}
		if progress.Reason != last.Reason || progress.Phase != last.Phase {
			fmt.Fprintf(c.t.Err, "%s  %s: %s\n", c.t.Now().Format(time.TimeOnly), terminal.Printable(placeOf(last)), terminal.Printable(terminal.ShortHashes(cmp.Or(progress.Reason, string(progress.Phase)))))
		}
		last = progress
		var final <-chan time.Time
		if progress.Result == query.ProgressFailed {
			final = time.After(c.mayRecover(progress))
		}
		select {
		case <-final:
		case _, more := <-changes:
			if !more {
				return last, ctx.Err()
			}
		}
	}
}

// mayRecover returns how long to wait for clusters to recover from a failure.
func (c *waitCommand) mayRecover(p query.Progress) time.Duration {
	if p.FailedAt.IsZero() {
		return 0
	}
	return c.failing - c.t.Now().Sub(p.FailedAt)
}

func (c *waitCommand) progress(ctx context.Context, fleet *backend.Fleet) (query.Progress, error) {
	if err := fleet.Refresh(ctx); err != nil {
		return query.Progress{}, err
	}
	return fleet.Progress(ctx, query.ProgressQuery{
		Environment: c.environment, ControlPlane: c.place.subject(), Ring: c.ring, Application: c.application, Commit: c.commit,
	})
}

// placeOf returns the name of the environment, or of the ring.
func placeOf(p query.Progress) string {
	return strings.TrimSuffix(decide.RingName(p.Environment, p.Ring), "/")
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
	t.Row(terminal.Plain(placeOf(p)), terminal.Plain(terminal.Short(p.Commit)), result, output.GateCell(s, p.Gate), terminal.Plain(terminal.ShortHashes(p.Reason)))
	return t.Write(w)
}
