package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/repository"
)

// solutionVersionsCommand is "kalypso solution versions".
type solutionVersionsCommand struct {
	t      *terminal.Terminal
	app    appFlags
	output *cli.Output
	place  backend.Flags
	limit  int
}

func newSolutionVersions(t *terminal.Terminal) *cobra.Command {
	c := &solutionVersionsCommand{t: t}
	cmd := &cobra.Command{
		Use:   "versions [NAME] -e ENVIRONMENT",
		Short: "List the versions of an application in an environment",
		Long: `List the solution versions of an application in an environment, newest first: each commit of its GitOps branch that changed what the
environment has of it, with when and by whom it was merged, the build and the commit of the configuration that it was rendered from, and
the targets that changed.

It reads Git. What is not known is a dash: the configuration, if the merged commits do not name its commit, as after a merge that rewrites their
messages. With --server, the server reads the repositories.`,
		Example: `  kalypso solution versions -e dev
  kalypso solution versions hello-world-app -e prod --server https://kalypso.example.com
  kalypso solution versions -e prod --limit 100 -o json`,
		Args: cli.AtMost("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) },
	}
	c.app.bind(cmd)
	c.app.bindEnvironment(cmd)
	c.app.bindGitOps(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(deliver.EnvironmentPast{})
	c.place.BindServer(cmd, "ask the server at a `URL`, which delivers the application")
	bindPast(cmd, &c.limit)
	cmd.ValidArgsFunction = completeFirst(completeFleet(&c.place, t, applicationNames))
	return cmd
}

// bindPast adds the flag that says how much of a history is shown.
func bindPast(cmd *cobra.Command, limit *int) {
	cmd.Flags().IntVar(limit, "limit", deliver.DefaultPast, "the maximum number of commits to show, at most 200")
}

// checkPast refuses a number of commits that is not answered.
func checkPast(cmd *cobra.Command, limit int) error {
	if limit < 1 || limit > deliver.MaxPast {
		return cli.Usage(cmd, "--limit is %d, want 1 to %d", limit, deliver.MaxPast)
	}
	return nil
}

func (c *solutionVersionsCommand) run(cmd *cobra.Command, args []string) error {
	if err := c.app.wantEnvironment(cmd); err != nil {
		return err
	}
	if err := checkPast(cmd, c.limit); err != nil {
		return err
	}
	server, err := c.place.ClientUnless(cmd, c.t, nil, "source", "branch", "path", "map", "config", "gitops")
	if err != nil {
		return err
	}
	var past deliver.EnvironmentPast
	if server != nil {
		past, err = c.ask(cmd, backend.ServerQuerier{Client: server}, args)
	} else {
		past, err = c.read(cmd, args)
	}
	if err != nil {
		return err
	}
	return c.output.Write(c.t.Out, past, func(w io.Writer) error { return output.NewPrinter(c.t).SolutionVersions(w, past) })
}

// ask asks a server.
func (c *solutionVersionsCommand) ask(cmd *cobra.Command, server backend.ServerQuerier, args []string) (past deliver.EnvironmentPast, err error) {
	if err := leaveOut(cmd, serverReads, "config", "gitops"); err != nil {
		return past, err
	}
	name := ""
	if len(args) > 0 {
		name = args[0]
	} else if name, err = c.app.name(cmd.Context(), c.t); err != nil {
		return past, err
	}
	return server.SolutionVersions(cmd.Context(), query.SolutionVersionsQuery{
		ApplicationQuery: query.ApplicationQuery{Name: name}, Environment: c.app.environment, Limit: c.limit,
	})
}

// read reads the repositories.
func (c *solutionVersionsCommand) read(cmd *cobra.Command, args []string) (deliver.EnvironmentPast, error) {
	if len(args) > 0 {
		if err := leaveOut(cmd, "NAME says which application", "workload"); err != nil {
			return deliver.EnvironmentPast{}, err
		}
		c.app.workload = args[0]
	}
	var past *deliver.EnvironmentPast
	err := c.app.past(cmd.Context(), c.t, func(ctx context.Context, p *deliver.Past, r deliver.Request) (err error) {
		past, err = p.Versions(ctx, deliver.PastRequest{Request: r, Environment: c.app.environment, Limit: c.limit})
		return err
	})
	if err != nil {
		return deliver.EnvironmentPast{}, err
	}
	return *past, nil
}

// past reads the history of the application.
func (f *appFlags) past(ctx context.Context, t *terminal.Terminal, read func(context.Context, *deliver.Past, deliver.Request) error) error {
	s, err := f.open(ctx, t)
	if err != nil {
		return err
	}
	defer s.close()
	err = read(ctx, &deliver.Past{Loader: s.drafter.Loader, Histories: repository.NewDeliveryReader(s.client)}, s.request)
	s.progress.End()
	return err
}
