package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// platformVersionsCommand is "kalypso platform versions".
type platformVersionsCommand struct {
	t      *terminal.Terminal
	source sourceFlags
	output *cli.Output
	limit  int
}

func newPlatformVersions(t *terminal.Terminal) *cobra.Command {
	c := &platformVersionsCommand{t: t}
	cmd := &cobra.Command{
		Use:   "versions -e ENVIRONMENT",
		Short: "List the versions of the platform in an environment",
		Long: `List the versions of the platform in an environment, newest first: each commit of its GitOps branch that changed the files there, with when
and by whom it was merged, the commits of the environment's branch and of main that it was made from, and the cluster types that changed.

It reads Git. A dash means that the commits are not known, because the merged commits do not name them, for example after a merge that rewrites
their messages.`,
		Example: `  kalypso platform versions -e dev
  kalypso platform versions -e prod --control-plane https://github.com/acme/control-plane --limit 100 -o json`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.source.bind(cmd, t)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(schedule.PlatformPast{})
	bindPast(cmd, &c.limit)
	return cmd
}

func (c *platformVersionsCommand) run(cmd *cobra.Command) error {
	if err := c.source.wantEnvironment(cmd); err != nil {
		return err
	}
	if err := checkPast(cmd, c.limit); err != nil {
		return err
	}
	s, err := c.source.open(cmd.Context(), c.t)
	if err != nil {
		return err
	}
	defer s.close()
	past, err := (&schedule.Past{Loader: s.drafter.Loader, Histories: repository.NewReader(s.client)}).Versions(cmd.Context(), s.request, c.limit)
	if err != nil {
		return err
	}
	s.progress.End()
	return c.output.Write(c.t.Out, past, func(w io.Writer) error { return output.NewPrinter(c.t).PlatformVersions(w, past) })
}
