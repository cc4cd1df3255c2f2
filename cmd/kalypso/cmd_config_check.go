package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
)

// configCheckCommand is "kalypso config check".
type configCheckCommand struct {
	t        *terminal.Terminal
	source   sourceFlags
	author   authorFlags
	output   *cli.Output
	baseRef  string
	baseMain string
}

// editReport is the result of checking edits.
type editReport struct {
	Environment string `json:"environment"`
	Author      string `json:"author"`
	// Problems has one for each value that the author may not edit.
	Problems []fleet.Problem `json:"problems"`
}

func newConfigCheck(t *terminal.Terminal) *cobra.Command {
	c := &configCheckCommand{t: t}
	cmd := &cobra.Command{
		Use:   "check -e ENVIRONMENT",
		Short: "Check that the author of a change may edit the values in it",
		Long: `Check that the author of a change may edit its values. The schemas declare this with editableBy. A server checks every pull request of a
control plane itself; this command does the same in CI.

--base-ref and --base-main are the state before the change: a revision of the environment's branch or of main. --env-dir and --main replace
the changed branch, for example with the work tree of a job. The edit rights before the change count.

It exits with 3 if the author may not edit a value, and names the value, its line, and who may edit it.`,
		Example: `  kalypso config check -e dev --base-ref HEAD~1 --author ada --group dba
  kalypso config check -e dev --env-dir . --base-ref HEAD --author "$LOGIN" --people people.yaml -o github`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.source.bind(cmd, t)
	c.author.bind(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML, cli.FormatSARIF, cli.FormatGitHub).Of(editReport{})
	cmd.Flags().StringVar(&c.baseRef, "base-ref", "", "compare with this `revision` of the environment's branch; HEAD is its head")
	cmd.Flags().StringVar(&c.baseMain, "base-main", "", "compare with this `revision` of main; HEAD is its head")
	return cmd
}

func (c *configCheckCommand) run(cmd *cobra.Command) error {
	if err := c.source.wantEnvironment(cmd); err != nil {
		return err
	}
	if c.baseRef == "" && c.baseMain == "" {
		return cli.Usage(cmd, "what is the change compared with? name a revision, as in --base-ref HEAD~1")
	}
	author, err := c.author.read(cmd)
	if err != nil {
		return err
	}
	session, err := c.source.open(cmd.Context(), c.t)
	if err != nil {
		return err
	}
	defer session.close()
	problems, err := c.check(cmd.Context(), session, author)
	if err != nil {
		return err
	}
	session.progress.End()
	return showEdits(c.t, c.output, &editReport{Environment: c.source.environment, Author: c.author.author, Problems: problems})
}

func (c *configCheckCommand) check(ctx context.Context, s *session, author editing.Author) ([]fleet.Problem, error) {
	base := (&planCommand{baseRef: c.baseRef, baseMain: c.baseMain}).base(s.request)
	return s.drafter.Loader.CheckEdits(ctx, author, *base, s.request)
}

// showEdits prints what the author may not edit, and is the answer no if there is something.
func showEdits(t *terminal.Terminal, o *cli.Output, r *editReport) error {
	var list []found
	for _, p := range r.Problems {
		list = append(list, found{p, []string{r.Environment}})
	}
	if r.Problems == nil {
		r.Problems = []fleet.Problem{}
	}
	err := o.Write(t.Out, r, func(w io.Writer) error {
		switch o.Format {
		case cli.FormatSARIF:
			return writeSARIF(w, list)
		case cli.FormatGitHub:
			return writeAnnotations(w, list)
		}
		for _, p := range r.Problems {
			fmt.Fprintf(w, "%s  %s\n    %s\n    %s\n", output.SeverityCell(t.OutStyle, p.Severity).String(), terminal.Printable(p.Message),
				t.OutStyle.Dim(terminal.Printable(p.Position.String())), t.OutStyle.Dim(terminal.Printable(p.Hint)))
		}
		if len(r.Problems) == 0 {
			fmt.Fprintf(w, "%s may edit every value that the change touches\n", terminal.Printable(r.Author))
		}
		return nil
	})
	if err == nil && len(r.Problems) > 0 {
		err = cli.AnswerNo()
	}
	return err
}
