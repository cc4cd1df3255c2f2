package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
)

// appPlanCommand is "kalypso app plan".
type appPlanCommand struct {
	t        *terminal.Terminal
	app      appFlags
	output   *cli.Output
	diff     bool
	exitCode bool
}

// appPlan is the result of the command.
type appPlan struct {
	*deliver.Plan
	Findings []check.Finding `json:"findings,omitempty"`
}

func newAppPlan(t *terminal.Terminal) *cobra.Command {
	c := &appPlanCommand{t: t}
	cmd := &cobra.Command{
		Use:   "plan -e ENVIRONMENT",
		Short: "Show what a commit changes in an environment",
		Long: `Show what a commit changes in an environment: which targets, objects and values, and what the checks say.

    source@commit + configuration  ◄── compared with ──►  GitOps branch of the environment

A pull request would show the same. Nothing is written.`,
		Example: `  kalypso app plan -e dev
  kalypso app plan -e stage --commit 3f2a9c1 --version 1.4.0 --image-tag 1.4.0 --diff
  kalypso app plan -e dev -o markdown`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.app.bind(cmd)
	c.app.bindEnvironment(cmd)
	c.app.bindGitOps(cmd)
	c.app.bindBuild(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML, cli.FormatMarkdown).Of(appPlan{})
	cmd.Flags().BoolVar(&c.diff, "diff", false, "show the unified difference of every object")
	cmd.Flags().BoolVar(&c.exitCode, "exit-code", false, "exit with 3 when there are changes")
	return cmd
}

func (c *appPlanCommand) run(cmd *cobra.Command) error {
	if err := c.app.wantEnvironment(cmd); err != nil {
		return err
	}
	s, err := c.app.open(cmd.Context(), c.t)
	if err != nil {
		return err
	}
	defer s.close()
	s.drafter.Images = s.images
	draft, err := s.drafter.Draft(cmd.Context(), deliver.DraftRequest{Request: s.request, Environment: c.app.environment, Build: c.app.build})
	if err != nil {
		return err
	}
	s.noteUncommitted(cmd.Context(), c.t, draft.App, c.app.build.Commit != "")
	s.progress.End()
	err = c.output.Write(c.t.Out, appPlan{draft.Plan, draft.Findings}, func(w io.Writer) error {
		if c.output.Format == cli.FormatMarkdown {
			_, err := io.WriteString(w, draft.Markdown(deliver.MarkdownOptions{}))
			return err
		}
		return output.ApplicationPlan{Plan: draft.Plan, Findings: draft.Findings, Style: c.t.OutStyle, Diff: c.diff}.Write(w)
	})
	if err != nil {
		return err
	}
	if c.exitCode && (draft.Plan.Files > 0 || draft.Plan.Counts.Held > 0) {
		return cli.AnswerNo()
	}
	return nil
}
