package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// validateCommand is "kalypso validate".
type validateCommand struct {
	t      *terminal.Terminal
	source sourceFlags
	output *cli.Output
	strict bool
	// original compares with the original scheduler.
	original bool
}

// validationReport is the result of the command.
type validationReport struct {
	Version      int                   `json:"version"`
	Environments []schedule.Validation `json:"environments"`
	// Problems are those that belong to no environment.
	Problems []fleet.Problem `json:"problems,omitempty"`
}

func newValidate(t *terminal.Terminal) *cobra.Command {
	c := &validateCommand{t: t}
	cmd := &cobra.Command{
		Use:   "validate [-e ENVIRONMENT]",
		Short: "List every problem of a control plane, with file, line and what to do",
		Long: `List every problem of a control plane, with file, line and what to do.

Everything is read, scheduled, configured and rendered as "kalypso schedule" would do it; nothing is written.
It exits with 3 when there are errors, with --strict also for warnings.

` + uncommittedHelp + `
Without -e, the environments that the branch affects are validated.`,
		Example: `  kalypso validate
  kalypso validate -e dev --strict
  kalypso validate --staged
  kalypso validate -o github
  kalypso validate --compare-original`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.source.bind(cmd, t)
	c.source.bindUncommitted(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML, cli.FormatSARIF, cli.FormatGitHub).Of(validationReport{})
	cmd.Flags().BoolVar(&c.strict, "strict", false, "exit with 3 for warnings too")
	cmd.Flags().BoolVar(&c.original, "compare-original", false, "also list what differs from the original scheduler, with both results")
	return cmd
}

func (c *validateCommand) run(cmd *cobra.Command) error {
	if c.source.envDir != "" && c.source.environment == "" {
		return cli.Usage(cmd, "which environment does --env-dir stand in for? name it, as in -e dev")
	}
	if err := c.source.checkUncommitted(cmd); err != nil {
		return err
	}
	session, err := c.source.open(cmd.Context(), c.t)
	if err != nil {
		return err
	}
	defer session.close()
	session.noteUncommitted(cmd.Context(), c.t, &c.source, includesUncommitted)
	report, err := c.validate(cmd.Context(), session)
	if err != nil {
		return err
	}
	session.progress.End()
	if err := c.output.Write(c.t.Out, report, func(w io.Writer) error { return c.show(w, report) }); err != nil {
		return err
	}
	counts := report.count()
	if counts[fleet.SeverityError] > 0 || c.strict && counts[fleet.SeverityWarning] > 0 {
		return cli.AnswerNo()
	}
	return nil
}

// environments returns the environments to validate, and the problems of their documents: the one that is named, those that uncommitted changes
// affect, or all that main lists.
func (c *validateCommand) environments(ctx context.Context, s *session) ([]string, []fleet.Problem, error) {
	if s.request.Environment != "" {
		return []string{s.request.Environment}, nil, nil
	}
	known, problems, err := s.drafter.Loader.Environments(ctx, s.request)
	if err != nil {
		return nil, nil, err
	}
	if len(s.affected.Environments) > 0 {
		known = s.affected.Environments
	}
	if len(known) == 0 && len(problems) == 0 {
		return nil, nil, cli.Failed(errors.New("main lists no Environment"), "add one, or name the branch of one: kalypso validate -e NAME")
	}
	return known, problems, nil
}

func (c *validateCommand) validate(ctx context.Context, s *session) (*validationReport, error) {
	names, problems, err := c.environments(ctx, s)
	if err != nil {
		return nil, err
	}
	report := &validationReport{Version: schedule.OutputVersion, Problems: problems}
	shared, err := s.drafter.Loader.SharedPlaces(ctx, s.request)
	if err != nil {
		return nil, err
	}
	report.Problems = append(report.Problems, shared...)
	rules, err := promote.RuleProblems(ctx, s.drafter.Loader, s.request)
	if err != nil {
		return nil, err
	}
	report.Problems = append(report.Problems, rules...)
	for _, name := range names {
		request := s.request
		request.Environment = name
		draft, err := s.drafter.Draft(ctx, schedule.DraftRequest{Request: request, Unpublished: true})
		if err != nil && (len(names) == 1 || ctx.Err() != nil) {
			return nil, err
		}
		if err != nil {
			report.Problems = append(report.Problems, fleet.Problem{
				Severity: fleet.SeverityError, Kind: fleet.KindUnreachable,
				Object: fleet.Ref{Kind: "Environment", Name: name}, Message: err.Error(),
			})
			continue
		}
		validation := schedule.Validate(draft)
		if c.original {
			validation.Problems = fleet.SortProblems(append(validation.Problems, schedule.CompareOriginal(draft)...))
		}
		report.Environments = append(report.Environments, validation)
	}
	return report, nil
}

// found is a problem with the environments it was found in.
type found struct {
	fleet.Problem
	environments []string
}

// all returns the problems of all environments, each once, the worst first and then in the order of files.
// What several assignments suffer from is one problem.
func (r *validationReport) all() []found {
	environments := map[fleet.Problem][]string{}
	var problems []fleet.Problem
	add := func(p fleet.Problem, environment ...string) {
		p.Assignment = ""
		problems = append(problems, p)
		environments[p] = append(environments[p], environment...)
	}
	for _, p := range r.Problems {
		add(p)
	}
	for _, e := range r.Environments {
		for _, p := range e.Problems {
			add(p, e.Environment)
		}
	}
	var list []found
	for _, p := range fleet.SortProblems(problems) {
		// Environments come one after the other, so the repetitions of one are neighbours.
		list = append(list, found{p, slices.Compact(environments[p])})
	}
	return list
}

func (r *validationReport) count() map[fleet.Severity]int {
	counts := map[fleet.Severity]int{}
	for _, p := range r.all() {
		counts[p.Severity]++
	}
	return counts
}

func (c *validateCommand) show(w io.Writer, r *validationReport) error {
	switch c.output.Format {
	case cli.FormatSARIF:
		return writeSARIF(w, r.all())
	case cli.FormatGitHub:
		return writeAnnotations(w, r.all())
	}
	c.showProblems(w, r)
	t := &terminal.Table{}
	for _, e := range r.Environments {
		held := ""
		if e.Held > 0 {
			held = fmt.Sprintf("%d held", e.Held)
		}
		t.Row(terminal.Painted(c.t.OutStyle.Bold, e.Environment), terminal.Plain(terminal.Count(e.ClusterTypes, "cluster type")),
			terminal.Plain(terminal.Count(e.Targets, "target")), terminal.Plain(terminal.Count(e.Assignments, "assignment")), terminal.Plain(held))
	}
	if err := t.Write(w); err != nil {
		return err
	}
	if len(r.Environments) > 0 {
		fmt.Fprintln(w)
	}
	counts := r.count()
	_, err := fmt.Fprintf(w, "%s, %s, %s\n", terminal.Count(counts[fleet.SeverityError], "error"),
		terminal.Count(counts[fleet.SeverityWarning], "warning"), terminal.Count(counts[fleet.SeverityNotice], "notice"))
	return err
}

func (c *validateCommand) showProblems(w io.Writer, r *validationReport) {
	s := c.t.OutStyle
	for _, p := range r.all() {
		where := p.Position.String()
		if p.Position.Source != "" {
			where = p.Position.Source + ": " + where
		}
		fmt.Fprintf(w, "%s  %s%s\n", output.SeverityCell(s, p.Severity).String(), terminal.Printable(output.Message(p.Problem)), dimmed(s, inEnvironments(p, r)))
		for _, line := range []string{where, p.Hint} {
			if line != "" {
				fmt.Fprintf(w, "    %s\n", s.Dim(terminal.Printable(line)))
			}
		}
	}
	if len(r.all()) > 0 {
		fmt.Fprintln(w)
	}
}

func dimmed(s terminal.Style, text string) string {
	if text == "" {
		return ""
	}
	return "  " + s.Dim(text)
}

// inEnvironments names the environments of a problem, unless it is in all of them.
func inEnvironments(p found, r *validationReport) string {
	if len(p.environments) == 0 || len(p.environments) == len(r.Environments) {
		return ""
	}
	return "(" + terminal.Printable(strings.Join(p.environments, ", ")) + ")"
}
