package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// planCommand is "kalypso plan".
type planCommand struct {
	t        *terminal.Terminal
	source   sourceFlags
	output   *cli.Output
	baseRef  string
	baseMain string
	against  string
	trial    schedule.PlanRequest
	diff     bool
	exitCode bool
	whatIf   whatIfFlag
	// out is the file that the plan is saved to; empty to only show it.
	out string
}

func newPlan(t *terminal.Terminal) *cobra.Command {
	c := &planCommand{t: t}
	cmd := &cobra.Command{
		Use:   "plan -e ENVIRONMENT",
		Short: "Show what a change does to the fleet",
		Long: `Show what a change does to the fleet: which assignments are added, changed, removed or held,
which configuration keys change and where they are written, and whether it needs approval.

Without --base-ref and --base-main, it compares the control plane with the GitOps branch:

    control plane (main + dev)  ◄── compared with ──►  platform GitOps repository (dev)

With one of them, it compares two states of the control plane, as for a pull request.

` + uncommittedHelp + `

With --branch, it shows what merging a branch of the control plane would do, like a pull request's preview.
With --commit, it shows what promoting a commit of main would do.

In the user's cache folder, in kalypso/plans, it records which folders of the GitOps branch are up to date, and renders only
the others next time. You can delete the folder at any time.

With --out, it saves the plan to a file, which "kalypso schedule --plan" carries out unchanged or refuses. Nothing else is written.

With --what-if, it plans a hypothetical change to the environment, without a commit. It compares with the same state without
the change, so that it shows only the change's effects:

` + whatIfHelp,
		Example: `  kalypso plan -e dev
  kalypso plan -e dev --base-ref HEAD~1 --diff
  kalypso plan -e dev --staged
  kalypso plan -e stage --base-main v1.4 -o markdown
  kalypso plan -e dev --out plan.json
  kalypso plan -e dev --what-if clusterType:large=absent
  kalypso plan -e dev --control-plane https://github.com/acme/control-plane --branch new-region`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.source.bind(cmd, t)
	c.source.bindUncommitted(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML, cli.FormatMarkdown).Of(schedule.Report{})
	flags := cmd.Flags()
	flags.StringVar(&c.baseRef, "base-ref", "", "compare with this `revision` of the environment's branch; HEAD is its head")
	flags.StringVar(&c.baseMain, "base-main", "", "compare with this `revision` of main; HEAD is its head")
	flags.StringVar(&c.against, "against", "", "`gitops` to compare with the GitOps branch (default), or a folder to use instead of it")
	flags.StringVar(&c.trial.Branch, "branch", "", "plan merging this `branch` of the control plane")
	flags.Lookup("into").Usage = "the `branch` that the change will be merged into (default: main with --branch, otherwise the one it was cut from)"
	flags.StringVar(&c.trial.Commit, "commit", "", "plan promoting this `commit` of main")
	completeFlag(cmd, "commit", c.source.completeCommits(t))
	completeFlag(cmd, "base-main", c.source.completeCommits(t))
	c.whatIf.bind(cmd)
	flags.BoolVar(&c.diff, "diff", false, "show the unified difference of every file")
	flags.StringVar(&c.out, "out", "", "save the plan to a `file` for kalypso schedule --plan")
	flags.BoolVar(&c.exitCode, "exit-code", false, "exit with 3 when there are changes")
	cli.FlagGroup(cmd, cli.GroupOutput, "diff", "exit-code", "out")
	return cmd
}

func (c *planCommand) run(cmd *cobra.Command) error {
	if err := c.source.wantEnvironment(cmd); err != nil {
		return err
	}
	if c.against != "" && (c.baseRef != "" || c.baseMain != "") {
		return cli.Usage(cmd, "--against compares with what is published, --base-ref and --base-main with an earlier state: choose one")
	}
	if err := c.checkTrial(cmd); err != nil {
		return err
	}
	session, err := c.source.open(cmd.Context(), c.t)
	if err != nil {
		return err
	}
	defer session.close()
	if c.trial.Branch == "" && c.trial.Commit == "" {
		session.noteUncommitted(cmd.Context(), c.t, &c.source, includesUncommitted)
	}
	session.drafter.Settled = newSettledFolders()
	draft, err := c.draft(cmd.Context(), session)
	if err != nil {
		return err
	}
	session.progress.End()
	if err := c.save(draft); err != nil {
		return err
	}
	if err := c.output.Write(c.t.Out, draft.Report(), func(w io.Writer) error { return c.show(w, draft) }); err != nil {
		return err
	}
	if c.exitCode && (!draft.Plan.Empty() || len(draft.Plan.Refusals) > 0) {
		return cli.AnswerNo()
	}
	return nil
}

// save writes the file of --out.
func (c *planCommand) save(d *schedule.Draft) error {
	if c.out == "" {
		return nil
	}
	saved, err := d.Save(cli.Version())
	if err != nil {
		return cli.Failed(err, "leave out --out")
	}
	return writeSavedPlan(c.out, saved)
}

func (c *planCommand) show(w io.Writer, d *schedule.Draft) error {
	if c.output.Format == cli.FormatMarkdown {
		_, err := io.WriteString(w, d.Markdown(plan.MarkdownOptions{Diffs: c.diff}))
		return err
	}
	return output.Plan{Plan: d.Plan, Findings: d.Findings, Style: c.t.OutStyle, Args: c.source.args(), Diff: c.diff}.Write(w)
}

// checkTrial refuses flags that do not go together.
func (c *planCommand) checkTrial(cmd *cobra.Command) error {
	tried := c.trial.Branch != "" || c.trial.Commit != ""
	switch {
	case c.out != "" && (len(c.whatIf) > 0 || c.baseRef != "" || c.baseMain != "" || c.trial.Branch != ""):
		return cli.Usage(cmd, "--out saves what schedule can write, compared with what is published: leave out --what-if, --base-ref, --base-main and --branch")
	case len(c.whatIf) > 0 && c.against != "":
		return cli.Usage(cmd, "--what-if compares with the same state without the change: leave out --against")
	case tried && len(c.whatIf) > 0:
		return cli.Usage(cmd, "--what-if imagines changes of the environment as it is: leave out --branch and --commit")
	case c.trial.Branch != "" && c.trial.Commit != "":
		return cli.Usage(cmd, "--branch plans a merge, --commit a promotion: choose one")
	case tried && c.source.uncommitted.given():
		return cli.Usage(cmd, "--branch and --commit plan what is committed: leave out %s", c.source.uncommitted.flag())
	case c.source.uncommitted.into != "" && c.trial.Branch == "" && !c.source.uncommitted.given():
		return cli.Usage(cmd, "--into needs a change that would be merged: name its --branch, or read it with --staged or --work-tree")
	case tried && (c.against != "" || c.baseRef != "" || c.baseMain != "" || c.source.main != "" || c.source.envDir != ""):
		return cli.Usage(cmd, "--branch and --commit read branches of the control plane: leave out --against, --base-ref, --base-main, --main and --env-dir")
	}
	if tried {
		return nil
	}
	return c.source.checkUncommitted(cmd)
}

// try drafts a merge or a promotion.
func (c *planCommand) try(ctx context.Context, s *session) (*schedule.Draft, error) {
	c.trial.ControlPlane, c.trial.Environment, c.trial.Into = s.request.ControlPlane, s.request.Environment, c.source.uncommitted.into
	preview, err := (&schedule.Previewer{Drafter: s.drafter}).Plan(ctx, c.trial)
	if err != nil {
		return nil, err
	}
	if len(preview.Drafts) == 0 {
		return nil, fmt.Errorf("branch %q would not be merged into anything that environment %q is made of; --into names another branch", c.trial.Branch, c.trial.Environment)
	}
	return preview.Drafts[0], nil
}

// draft drafts what the flags ask for.
func (c *planCommand) draft(ctx context.Context, s *session) (*schedule.Draft, error) {
	if c.trial.Branch != "" || c.trial.Commit != "" {
		return c.try(ctx, s)
	}
	request := schedule.DraftRequest{Request: s.request, Base: c.base(s.request), WhatIf: c.whatIf}
	if c.against != "gitops" {
		request.Folder = c.against
	}
	draft, err := s.drafter.Draft(ctx, request)
	if err != nil && request.Base == nil && len(c.whatIf) == 0 && draft.Loaded != nil && draft.GitOps == nil && !errors.Is(err, schedule.ErrNoGitOpsRepo) {
		return nil, cli.Failed(err, "--against FOLDER compares with a folder instead, --map URL=PATH reads a repository from a local path")
	}
	return draft, err
}

// base returns the state of the control plane to compare with; nil to compare with the GitOps branch.
func (c *planCommand) base(request schedule.Request) *schedule.Request {
	if c.baseRef == "" && c.baseMain == "" {
		return nil
	}
	if c.baseRef != "" {
		request.BranchRef, request.Branch = c.baseRef, ""
	}
	if c.baseMain != "" {
		request.MainRef, request.Main = c.baseMain, ""
	}
	return &request
}
