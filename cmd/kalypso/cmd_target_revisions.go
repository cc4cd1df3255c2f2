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
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/open"
)

// targetRevisionsCommand is "kalypso target revisions".
type targetRevisionsCommand struct {
	t      *terminal.Terminal
	app    appFlags
	output *cli.Output
	place  backend.Flags
	limit  int
}

func newTargetRevisions(t *terminal.Terminal) *cobra.Command {
	c := &targetRevisionsCommand{t: t}
	cmd := &cobra.Command{
		Use:   "revisions TARGET",
		Short: "List what was deployed to a target",
		Long: `List the revisions of a target, newest first: each commit of the GitOps branch that changed its files, with when and by whom it was merged,
and the build and the commit of the configuration that it was rendered from.

With a ledger or a server, it also shows since when clusters run each revision, and how many reconcilers run it now. Unknown values are a
dash. TARGET is the target's name in the Workload, WORKLOAD/TARGET, or its name in the fleet; -e is only needed if several environments have it.`,
		Example: `  kalypso target revisions functional-test
  kalypso target revisions functional-test --ledger ledger.db
  kalypso target revisions hello-world-app-functional-test --server https://kalypso.example.com`,
		Args: cli.Exactly("TARGET"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	c.app.bind(cmd)
	c.app.bindEnvironment(cmd)
	c.app.bindGitOps(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(query.TargetRevisions{})
	c.place.Bind(cmd)
	bindPast(cmd, &c.limit)
	cmd.ValidArgsFunction = completeFirst(c.app.completeTargets(&c.place, t))
	return cmd
}

func (c *targetRevisionsCommand) run(cmd *cobra.Command, target string) error {
	if err := checkPast(cmd, c.limit); err != nil {
		return err
	}
	var past query.TargetRevisions
	var err error
	if c.place.Server != "" || c.t.Env[backend.EnvServer] != "" && c.place.Ledger.Place(c.t) == "" {
		past, err = c.ask(cmd, target)
	} else {
		past, err = c.read(cmd.Context(), target)
	}
	if err != nil {
		return err
	}
	return c.output.Write(c.t.Out, past, func(w io.Writer) error { return output.NewPrinter(c.t).Revisions(w, past) })
}

// ask asks a server.
func (c *targetRevisionsCommand) ask(cmd *cobra.Command, target string) (past query.TargetRevisions, err error) {
	if err := leaveOut(cmd, serverReads, "source", "branch", "path", "map", "config", "gitops"); err != nil {
		return past, err
	}
	at, err := c.place.Resolve(cmd, c.t)
	if err != nil {
		return past, err
	}
	server := backend.ServerQuerier{Client: at.Server}
	t, err := backend.FindTarget(cmd.Context(), server, target, c.app.workload, c.app.environment)
	if err != nil {
		return past, err
	}
	return server.Revisions(cmd.Context(), query.RevisionsQuery{
		ApplicationQuery: query.ApplicationQuery{Name: t.Workload}, Environment: t.Environment, Target: t.ShortName, Limit: c.limit,
	})
}

// read reads the repositories, and the ledger if there is one.
func (c *targetRevisionsCommand) read(ctx context.Context, target string) (revisions query.TargetRevisions, err error) {
	var past *deliver.TargetPast
	err = c.app.past(ctx, c.t, func(ctx context.Context, p *deliver.Past, r deliver.Request) (err error) {
		past, err = p.Revisions(ctx, deliver.PastRequest{Request: r, Environment: c.app.environment, Target: target, Limit: c.limit})
		return err
	})
	if err != nil {
		return revisions, err
	}
	at := c.place.Ledger.Place(c.t)
	if at == "" {
		return query.Reported(ctx, nil, past)
	}
	err = backend.WithLedger(ctx, open.Existing, at, func(l ledger.Ledger) error {
		revisions, err = query.Reported(ctx, l, past)
		return err
	})
	return revisions, err
}
