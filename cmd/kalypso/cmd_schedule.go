package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// scheduleCommand is "kalypso schedule".
type scheduleCommand struct {
	t              *terminal.Terminal
	source         sourceFlags
	output         *cli.Output
	out            string
	commit         bool
	branch         string
	signingKey     string
	allowDeletions bool
	strict         bool
	pullRequest    pullRequestFlags
	// plan is the file of a plan to carry out, and saved its content; empty and nil to write whatever is wanted now.
	plan  string
	saved *schedule.SavedPlan
}

// scheduled is the result of the command.
type scheduled struct {
	Plan *plan.Plan `json:"plan"`
	// Findings are what the checks report about the files that change.
	Findings []check.Finding `json:"findings,omitempty"`
	// Written and Deleted are how many files were written and deleted.
	Written int `json:"written"`
	Deleted int `json:"deleted"`
	// Folder is where they were written to; or Branch and Commit, which is empty when there was nothing to commit.
	Folder string `json:"folder,omitempty"`
	Branch string `json:"branch,omitempty"`
	Commit string `json:"commit,omitempty"`
	// Base is the branch that Commit is to be merged into; empty when it was committed there.
	Base string `json:"base,omitempty"`
	// Existing is the commit that the branch has already, which says the same.
	Existing string `json:"existing,omitempty"`
	// Pushed says that the repository is elsewhere and has the commit.
	Pushed bool `json:"pushed,omitempty"`

	// refused is why nothing was written; nil if something was.
	refused *cli.Failure
}

func newSchedule(t *terminal.Terminal) *cobra.Command {
	c := &scheduleCommand{t: t}
	cmd := &cobra.Command{
		Use:   "schedule -e ENVIRONMENT (--out FOLDER | --commit | --pull-request)",
		Short: "Write the files of an environment to a folder, a branch or a pull request",
		Long: `Write the files of an environment to a folder, or as a commit to a branch of the GitOps repository,
or as the environment's one pull request, which is updated if it is already open.

Only files that Kalypso wrote are changed or deleted; everything else there is left alone.
An assignment that cannot be rendered is held: it keeps its files.
A plan that removes more than the deletion budget is refused until --allow-deletions approves it;
a pull request shows it, with a status that fails until the label kalypso/allow-deletions approves it.
A change that a check refuses is not written to a folder or to the GitOps branch itself. It can be proposed: a pull request
shows the findings, with a status that fails until they are corrected.

With --plan, it carries out a plan that "kalypso plan --out" saved, unchanged or not at all: the environment is read again, and must give
exactly the plan's files, on the GitOps commit that the plan was compared with. Otherwise the command shows what
differs, writes nothing, and exits with 3.

For a pull request the environment has a token for the forge of the GitOps repository: GITHUB_TOKEN, GITLAB_TOKEN,
GITEA_TOKEN, AZURE_DEVOPS_TOKEN or BITBUCKET_TOKEN.`,
		Example: `  kalypso schedule -e dev --out rendered
  kalypso schedule -e dev --commit
  kalypso schedule -e dev --commit --branch proposal
  kalypso schedule -e dev --pull-request
  kalypso schedule -e dev --plan plan.json --commit`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.source.bind(cmd, t)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(scheduled{}, proposed{})
	flags := cmd.Flags()
	flags.StringVar(&c.out, "out", "", "write to this `folder`, which stands in for the GitOps branch")
	flags.BoolVar(&c.commit, "commit", false, "commit to a branch of the GitOps repository, and push it when that is elsewhere")
	flags.StringVar(&c.branch, "branch", "", "the `name` of the branch to commit to (default: kalypso/ENVIRONMENT)")
	flags.StringVar(&c.signingKey, "signing-key", "", "sign the commit with this SSH or OpenPGP key `file`; KALYPSO_SIGNING_PASSPHRASE unlocks it")
	flags.BoolVar(&c.allowDeletions, "allow-deletions", false, "approve removals: more than the deletion budget allows, of what others need, or that look like typos")
	flags.StringVar(&c.plan, "plan", "", "carry out the plan of this `file` of kalypso plan --out, or nothing")
	flags.BoolVar(&c.strict, "strict", false, "exit with 3 for errors and held assignments")
	c.pullRequest.bind(cmd)
	_, _ = cmd.MarkFlagDirname("out"), cmd.MarkFlagFilename("plan", "json") // the errors only say that the flag does not exist
	return cmd
}

func (c *scheduleCommand) run(cmd *cobra.Command) error {
	if err := c.source.wantEnvironment(cmd); err != nil {
		return err
	}
	if err := c.pullRequest.check(cmd, c.allowDeletions); err != nil {
		return err
	}
	switch places := wanted(c.commit, c.out != "", c.pullRequest.wanted); {
	case places != 1:
		return cli.Usage(cmd, "where to? choose one of --out FOLDER, --commit and --pull-request")
	case c.branch != "" && !c.commit:
		return cli.Usage(cmd, "--branch goes with --commit")
	case c.signingKey != "" && c.out != "":
		return cli.Usage(cmd, "a folder has no commit to sign: --signing-key goes with --commit or --pull-request")
	}
	c.source.schedulers.config = cmp.Or(c.source.schedulers.config, c.pullRequest.config)
	session, err := c.source.open(cmd.Context(), c.t)
	if err != nil {
		return err
	}
	defer session.close()
	session.noteUncommitted(cmd.Context(), c.t, &c.source, "commit them to schedule them")
	if source := c.source.within(session.request.ControlPlane, c.out); source != "" {
		return cli.Usage(cmd, "--out %s is part of the source %s; name a folder for generated files alone", c.out, source)
	}
	if c.plan != "" {
		if c.saved, err = readSavedPlan(c.plan); err != nil {
			return err
		}
	}
	if c.pullRequest.wanted {
		return c.propose(cmd.Context(), session)
	}
	result, err := c.schedule(cmd.Context(), session)
	if err != nil {
		return err
	}
	session.progress.End()
	if err := c.output.Write(c.t.Out, result, func(w io.Writer) error { return c.show(w, result) }); err != nil {
		return err
	}
	if result.refused != nil {
		return result.refused
	}
	if c.unacceptable(result.Plan) {
		return cli.AnswerNo()
	}
	return nil
}

// unacceptable reports whether --strict fails the command.
func (c *scheduleCommand) unacceptable(p *plan.Plan) bool {
	isError := func(p fleet.Problem) bool { return p.Severity == fleet.SeverityError }
	return c.strict && (p.Counts.Held > 0 || slices.ContainsFunc(p.Problems, isError))
}

// wanted counts what was asked for.
func wanted(flags ...bool) int {
	n := 0
	for _, set := range flags {
		if set {
			n++
		}
	}
	return n
}

// refuse returns why a draft must not be written; nil if it can be.
func (c *scheduleCommand) refuse(d *schedule.Draft) *cli.Failure {
	switch {
	case len(d.Plan.Refusals) > 0 && !c.allowDeletions:
		return &cli.Failure{
			Code: cli.ExitNo, Err: errors.New("nothing was written: this change needs approval"),
			Next: "look at the plan; if it is right, run again with --allow-deletions",
		}
	case d.Refused() && (c.out != "" || c.target(d) == d.GitOps.Location.Branch):
		return &cli.Failure{
			Code: cli.ExitNo, Err: errors.New("nothing was written: a check refuses this change"),
			Next: "correct what the findings name, or change the level of the rule in a CheckPolicy",
		}
	}
	return nil
}

// target returns the branch to commit to.
func (c *scheduleCommand) target(d *schedule.Draft) string {
	return cmp.Or(c.branch, pullrequest.HeadBranch(d.Plan.Environment))
}

// schedule makes a draft and writes it. If another process moves the branch meanwhile, it starts over, a few times:
// what that one has written may be what this one wants, or has to be kept.
func (c *scheduleCommand) schedule(ctx context.Context, s *session) (*scheduled, error) {
	const attempts = 10
	for attempt := 1; ; attempt++ {
		result, err := c.attempt(ctx, s)
		if attempt == attempts || !errors.Is(err, git.ErrMoved) && !errors.Is(err, git.ErrHeld) {
			return result, err
		}
		pause := time.Duration(attempt) * 50 * time.Millisecond
		if err := sleepUntil(ctx, time.Now().Add(pause/2+rand.N(pause))); err != nil {
			return nil, err
		}
	}
}

func (c *scheduleCommand) attempt(ctx context.Context, s *session) (*scheduled, error) {
	draft, err := s.drafter.Draft(ctx, schedule.DraftRequest{Request: s.request, Folder: c.out, Approved: c.allowDeletions && c.saved == nil})
	if err != nil {
		return nil, err
	}
	if err := c.carriesOut(draft); err != nil {
		return nil, err
	}
	result := &scheduled{Plan: draft.Plan, Findings: draft.Findings}
	if result.refused = c.refuse(draft); result.refused != nil {
		return result, nil
	}
	if c.out != "" {
		return result, c.writeFolder(ctx, draft.Bundle, result)
	}
	return result, c.writeCommit(ctx, s, draft, result)
}

func (c *scheduleCommand) writeFolder(ctx context.Context, b *bundle.Bundle, result *scheduled) error {
	put, remove := schedule.Edits(b.Changes())
	result.Folder, result.Written, result.Deleted = c.out, len(put), len(remove)
	return git.WriteFolder(ctx, c.out, put, remove)
}

// show says what was done, after the plan.
func (c *scheduleCommand) show(w io.Writer, r *scheduled) error {
	if err := (output.Plan{Plan: r.Plan, Findings: r.Findings, Style: c.t.OutStyle, Args: c.source.args(), Approved: c.allowDeletions}).Write(w); err != nil {
		return err
	}
	if line := c.done(r); line != "" {
		fmt.Fprintf(w, "\n%s\n", terminal.PrintableText(line))
	}
	return nil
}

func (c *scheduleCommand) done(r *scheduled) string {
	switch {
	case r.Folder != "" && r.Written+r.Deleted == 0:
		return "nothing to write: " + r.Folder + " is up to date"
	case r.Folder != "":
		return r.files("written to") + " " + r.Folder
	case r.Existing != "":
		return "nothing to commit: " + r.Branch + " has it already, as " + terminal.Short(r.Existing) + r.next()
	case r.Branch != "" && r.Commit == "":
		return "nothing to commit: " + r.Plan.Before + " is up to date"
	case r.Branch != "":
		pushed := ""
		if r.Pushed {
			pushed = ", and pushed"
		}
		return r.files("committed to") + " " + r.Branch + " as " + terminal.Short(r.Commit) + pushed + r.next()
	}
	return ""
}

// files counts what was done: "3 files committed to", "3 files committed, 1 deleted in".
func (r *scheduled) files(done string) string {
	if r.Deleted == 0 {
		return terminal.Count(r.Written, "file") + " " + done
	}
	verb, _, _ := strings.Cut(done, " ")
	return fmt.Sprintf("%s %s, %d deleted in", terminal.Count(r.Written, "file"), verb, r.Deleted)
}

// next says what makes a proposal count.
func (r *scheduled) next() string {
	if r.Base == "" {
		return ""
	}
	return "\nmerge it into " + r.Base + " to publish it"
}
