package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// appRenderCommand is "kalypso app render".
type appRenderCommand struct {
	t      *terminal.Terminal
	app    appFlags
	output *cli.Output
	out    string
	target string
}

// appRendered is the result of the command.
type appRendered struct {
	Workload    string           `json:"workload"`
	Environment string           `json:"environment"`
	Build       deliver.Build    `json:"build"`
	Targets     []renderedTarget `json:"targets"`
	// Folder is where the files were written, Written and Deleted count them.
	Folder   string          `json:"folder,omitempty"`
	Written  int             `json:"written,omitempty"`
	Deleted  int             `json:"deleted,omitempty"`
	Problems []fleet.Problem `json:"problems"`

	app *deliver.Application
}

type renderedTarget struct {
	Name      string         `json:"name"`
	Folder    string         `json:"folder"`
	Objects   []chart.Object `json:"objects,omitempty"`
	Images    []string       `json:"images,omitempty"`
	Manifests string         `json:"manifests,omitempty"`
	// Held says why there are no manifests.
	Held *fleet.Problem `json:"held,omitempty"`
}

func newAppRender(t *terminal.Terminal) *cobra.Command {
	c := &appRenderCommand{t: t}
	cmd := &cobra.Command{
		Use:   "render -e ENVIRONMENT",
		Short: "Render the manifests of an environment's targets",
		Long: `Render the manifests of an environment's targets, to the terminal or to a folder.

    values.yaml ◄─ eu/values.yaml ◄─ eu/functional-test/values.yaml ◄─ --set ◄─ image     the last one wins

With --out, the folder gets exactly the files that the GitOps branch would have: outdated files of an earlier run are removed,
and all other files are left alone. It exits with 3 if a target cannot be rendered, or if no target exists.`,
		Example: `  kalypso app render -e dev
  kalypso app render -e dev --target functional-test --image-tag 1.4.0
  kalypso app render -e stage --source . --config ../shop-configs --out rendered`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.app.bind(cmd)
	c.app.bindEnvironment(cmd)
	c.app.bindGitOps(cmd)
	c.app.bindBuild(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(appRendered{})
	cmd.Flags().StringVar(&c.out, "out", "", "write the files to a `folder` instead")
	cmd.Flags().StringVar(&c.target, "target", "", "only the target of this `name`")
	completeFlag(cmd, "target", c.app.completeTargets(nil, t))
	_ = cmd.MarkFlagDirname("out") // the error only says that the flag does not exist
	return cmd
}

func (c *appRenderCommand) run(cmd *cobra.Command) error {
	if err := c.app.wantEnvironment(cmd); err != nil {
		return err
	}
	if c.out != "" && c.target != "" {
		return cli.Usage(cmd, "a folder gets all targets: --target goes without --out")
	}
	if c.out == "" && c.app.gitops != "" {
		return cli.Usage(cmd, "only the descriptors that --out writes name the GitOps repository: --gitops goes with --out")
	}
	s, err := c.app.open(cmd.Context(), c.t)
	if err != nil {
		return err
	}
	defer s.close()
	if c.out != "" {
		s.request.GitOpsFolder = c.out
	}
	r, err := c.render(cmd.Context(), s)
	if err != nil {
		return err
	}
	s.noteUncommitted(cmd.Context(), c.t, r.app, c.app.build.Commit != "")
	s.progress.End()
	if err := c.output.Write(c.t.Out, r, func(w io.Writer) error { return c.show(w, r) }); err != nil {
		return err
	}
	showProblems(c.t, r.Problems)
	if len(r.Targets) == 0 || slices.ContainsFunc(r.Targets, func(t renderedTarget) bool { return t.Held != nil }) {
		return cli.AnswerNo()
	}
	return nil
}

func (c *appRenderCommand) render(ctx context.Context, s *appSession) (*appRendered, error) {
	draft, err := s.drafter.Draft(ctx, deliver.DraftRequest{Request: s.request, Environment: c.app.environment, Build: c.app.build, Unpublished: c.out == ""})
	if err != nil {
		return nil, err
	}
	r := &appRendered{
		Workload: draft.App.Workload.Name, Environment: c.app.environment, Build: draft.Build, Targets: []renderedTarget{}, Problems: draft.Plan.Problems,
		app: draft.App,
	}
	for _, e := range draft.Tree.Targets {
		if c.target != "" && e.Name != draft.App.ShortTarget(c.target) {
			continue
		}
		t := renderedTarget{Name: e.Name, Folder: e.Folder, Objects: e.Objects, Images: e.Images, Held: e.Held}
		for _, f := range e.Files {
			if e.Held == nil && strings.HasSuffix(f.Path, "/manifests.yaml") {
				t.Manifests = string(f.Content())
			}
		}
		r.Targets = append(r.Targets, t)
	}
	if c.target != "" && len(r.Targets) == 0 {
		return nil, fmt.Errorf("the workload %q has no target %q in %s", r.Workload, c.target, r.Environment)
	}
	if p, none := noTargets(draft, c.app.environment); none {
		r.Problems = append(r.Problems, p)
	}
	if c.out == "" {
		return r, nil
	}
	put, remove := schedule.Edits(draft.Changes())
	r.Folder, r.Written, r.Deleted = c.out, len(put), len(remove)
	for i := range r.Targets {
		r.Targets[i].Manifests = "" // they are in the folder
	}
	return r, git.WriteFolder(ctx, c.out, put, remove)
}

func (c *appRenderCommand) show(w io.Writer, r *appRendered) error {
	if r.Folder != "" {
		_, err := fmt.Fprintf(w, "%s of %s for %s: %d files written to %s, %d deleted\n",
			terminal.Count(len(r.Targets), "target"), terminal.Printable(r.Workload), terminal.Printable(r.Environment), r.Written, terminal.Printable(r.Folder), r.Deleted)
		return err
	}
	for _, t := range r.Targets {
		if t.Held != nil {
			continue
		}
		if _, err := fmt.Fprintf(w, "# target %s\n%s\n", terminal.Printable(t.Name), terminal.PrintableText(strings.TrimSuffix(t.Manifests, "\n"))); err != nil {
			return err
		}
	}
	return nil
}

// showProblems says what has to be mended, on the side.
func showProblems(t *terminal.Terminal, problems []fleet.Problem) {
	for _, p := range problems {
		target := ""
		if p.Assignment != "" {
			target = terminal.Printable(p.Assignment) + ": "
		}
		fmt.Fprintf(t.Err, "%s  %s%s\n", output.SeverityCell(t.ErrStyle, p.Severity).String(), target, terminal.Printable(output.WithPosition(output.Message(p), p.Position)))
		if p.Hint != "" {
			fmt.Fprintf(t.Err, "    %s\n", t.ErrStyle.Dim(terminal.Printable(p.Hint)))
		}
	}
}
