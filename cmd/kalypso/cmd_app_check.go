package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/check/scan"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
)

// appCheckCommand is "kalypso app check".
type appCheckCommand struct {
	t        *terminal.Terminal
	app      appFlags
	platform platformFlags
	output   *cli.Output
	strict   bool
}

// appChecked is the result of the command.
type appChecked struct {
	Workload     string               `json:"workload"`
	Environments []checkedEnvironment `json:"environments"`
}

type checkedEnvironment struct {
	Environment string          `json:"environment"`
	Findings    []check.Finding `json:"findings"`
	Problems    []fleet.Problem `json:"problems"`
	// Scans are how the scans of images and charts ended; only with --scan.
	Scans []scan.Result `json:"scans,omitempty"`
	// Platform is what the workload needs of the platform's configuration; only with a control plane.
	Platform []deliver.Need `json:"platform,omitempty"`
}

func newAppCheck(t *terminal.Terminal) *cobra.Command {
	c := &appCheckCommand{t: t}
	cmd := &cobra.Command{
		Use:   "check [-e ENVIRONMENT]",
		Short: "Check what would be rendered: schemas, security defaults, secrets, and the platform's values",
		Long: `Check what would be rendered for each environment, before you merge it:

    every target renders, its values satisfy the schemas    Kubernetes would accept the manifests
    security defaults and the platform team's own rules     no credential in plain text

With --control-plane it reads the platform team's rules and the schemas that the Workload names, and lists for each cluster type the
platform values that the application needs and those that are missing. A missing value is only a warning, so that the teams don't have to wait
for each other.
With --scan it also runs the platform team's programs that scan images and charts, on this machine. Each digest is scanned once, because the
results are stored in the user's cache folder.

It exits with 3 when a target cannot be rendered, a rule refuses or there are no targets, with --strict also for warnings.`,
		Example: `  kalypso app check
  kalypso app check -e dev --control-plane https://github.com/acme/control-plane
  kalypso app check --scan --control-plane https://github.com/acme/control-plane
  kalypso app check -o sarif`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.app.bind(cmd)
	c.app.bindEnvironment(cmd)
	c.app.bindBuild(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML, cli.FormatSARIF, cli.FormatGitHub).Of(appChecked{})
	c.platform.bind(cmd)
	cmd.Flags().BoolVar(&c.strict, "strict", false, "exit with 3 for warnings too")
	return cmd
}

func (c *appCheckCommand) run(cmd *cobra.Command) error {
	if err := c.platform.check(cmd); err != nil {
		return err
	}
	s, err := c.app.open(cmd.Context(), c.t)
	if err != nil {
		return err
	}
	defer s.close()
	platform, end, err := c.platform.open(cmd.Context(), s, c.t)
	if err != nil {
		return err
	}
	defer end()
	r, err := c.check(cmd.Context(), s, platform)
	if err != nil {
		return err
	}
	s.progress.End()
	if err := c.output.Write(c.t.Out, r, func(w io.Writer) error { return c.show(w, r) }); err != nil {
		return err
	}
	for _, p := range r.all() {
		if p.Severity == fleet.SeverityError || c.strict && p.Severity == fleet.SeverityWarning {
			return cli.AnswerNo()
		}
	}
	return nil
}

// check looks at one environment, or at all that the workload has targets in. An environment that cannot be read stops no other.
func (c *appCheckCommand) check(ctx context.Context, s *appSession, platform *deliver.Platform) (*appChecked, error) {
	a, err := s.drafter.Loader.Application(ctx, s.request, c.app.build.Commit)
	if err != nil {
		return nil, err
	}
	s.noteUncommitted(ctx, c.t, a, c.app.build.Commit != "")
	r := &appChecked{Workload: a.Workload.Name, Environments: []checkedEnvironment{}}
	names := a.Environments()
	if c.app.environment != "" {
		names = []string{c.app.environment}
	}
	for _, name := range names {
		e := checkedEnvironment{Environment: name, Findings: []check.Finding{}, Problems: []fleet.Problem{}}
		draft, err := s.drafter.Draft(ctx, deliver.DraftRequest{Request: s.request, Environment: name, Build: c.app.build, Unpublished: true, Lenient: len(names) > 1})
		switch {
		case err != nil && (len(names) == 1 || ctx.Err() != nil):
			return nil, err
		case err != nil:
			e.Problems = append(e.Problems, fleet.Problem{Severity: fleet.SeverityError, Kind: fleet.KindUnreachable, Message: err.Error()})
		default:
			if p, none := noTargets(draft, name); none {
				if len(a.Workload.Spec.DeploymentTargets) > 0 && len(names) > 1 {
					p.Severity = fleet.SeverityNotice // another environment has some
				}
				e.Problems = append(e.Problems, p)
			}
			e.Findings = append(e.Findings, draft.Findings...)
			e.Problems = append(e.Problems, draft.Plan.Problems...)
			if c.platform.scan {
				e.Scans = draft.Scans
			} else if len(draft.Scans) > 0 {
				e.Problems = append(e.Problems, fleet.Problem{
					Severity: fleet.SeverityNotice, Kind: problemScan, Message: "the control plane wants images or charts scanned, which is not done here", Hint: "run it with --scan",
				})
			}
		}
		if platform != nil {
			e.Platform, err = platform.Contract(ctx, name, r.Workload)
			if err != nil {
				e.Problems = append(e.Problems, fleet.Problem{
					Severity: fleet.SeverityWarning, Kind: fleet.KindUnreachable, Message: "what the platform gives is not known: " + err.Error(),
				})
			}
		}
		r.Environments = append(r.Environments, e)
	}
	return r, nil
}

// noTargets returns the problem of a draft without targets: nothing is rendered, so nothing is checked.
func noTargets(draft *deliver.Draft, environment string) (fleet.Problem, bool) {
	a := draft.App
	return fleet.Problem{
		Severity: fleet.SeverityError, Kind: fleet.KindMissingField, Position: a.Position,
		Message: fmt.Sprintf("the Workload %q has no deployment targets in %s: nothing is rendered or checked", a.Workload.Name, environment),
		Hint:    "add a target with this environment to spec.deploymentTargets",
	}, len(draft.Tree.Targets) == 0
}

// all are findings and problems as one list, for formats that know problems.
func (r *appChecked) all() []found {
	var list []found
	for _, e := range r.Environments {
		for _, p := range e.Problems {
			list = append(list, found{p, []string{e.Environment}})
		}
		for _, f := range e.Findings {
			list = append(list, found{problemOf(f), []string{e.Environment}})
		}
		for _, r := range e.Scans {
			if p, ok := problemOfScan(r); ok {
				list = append(list, found{p, []string{e.Environment}})
			}
		}
		for _, n := range e.Platform {
			for _, p := range missingValues(n) {
				list = append(list, found{p, []string{e.Environment}})
			}
		}
	}
	return list
}

// problemOf is a finding as a problem: what a rule refuses is an error.
func problemOf(f check.Finding) fleet.Problem {
	severity := fleet.SeverityNotice
	switch f.Level {
	case check.Refuse:
		severity = fleet.SeverityError
	case check.Warn:
		severity = fleet.SeverityWarning
	}
	message := f.Message
	if f.Object != "" {
		message = strings.TrimSpace(f.Object+" "+f.Path) + ": " + message
	}
	return fleet.Problem{
		Severity: severity, Kind: fleet.ProblemKind(f.Rule), Message: message, Hint: f.Hint,
		Position: fleet.Position{Source: "rendered", File: f.File, Line: f.Line},
	}
}

// missingValues are warnings, and never more.
func missingValues(n deliver.Need) []fleet.Problem {
	var problems []fleet.Problem
	for _, key := range n.Missing() {
		problems = append(problems, fleet.Problem{
			Severity: fleet.SeverityWarning, Kind: fleet.KindConfigMissing, Assignment: n.ClusterType + "/" + n.Target,
			Message: fmt.Sprintf("%s needs the platform value %q on %s, and the platform team does not give it yet (%s)", n.Target, key, n.ClusterType, strings.Join(n.Schemas, ", ")),
			Hint:    "ask the platform team for it; the application is delivered in any case",
		})
	}
	for _, p := range n.Problems {
		if p.Severity == fleet.SeverityError {
			p.Severity = fleet.SeverityWarning // it is the platform's to mend
		}
		problems = append(problems, p)
	}
	return problems
}

func (c *appCheckCommand) show(w io.Writer, r *appChecked) error {
	switch c.output.Format {
	case cli.FormatSARIF:
		return writeSARIF(w, r.all())
	case cli.FormatGitHub:
		return writeAnnotations(w, r.all())
	}
	s := c.t.OutStyle
	for i, e := range r.Environments {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s   %s\n", s.Bold(terminal.Printable(e.Environment)), terminal.Printable(e.summary()))
		t := &terminal.Table{Indent: "  "}
		for _, p := range e.Problems {
			t.Row(output.SeverityCell(s, p.Severity), terminal.Plain(output.WithPosition(output.Message(p), p.Position)))
		}
		if err := t.Write(w); err != nil {
			return err
		}
		output.Findings(w, s, e.Findings, check.Inform)
		writeScans(w, s, e.Scans)
		c.showPlatform(w, e)
	}
	return nil
}

// summary counts the findings. A check that could not be made found nothing, which it does not claim.
func (e checkedEnvironment) summary() string {
	if len(e.Findings) == 0 && slices.ContainsFunc(e.Problems, func(p fleet.Problem) bool { return p.Severity == fleet.SeverityError }) {
		return "not checked"
	}
	return check.Summary(e.Findings)
}

// setBy names who may set a value, if the schema does.
func setBy(v deliver.NeededValue) string {
	if len(v.Editors) == 0 {
		return ""
	}
	return ", set by " + terminal.Printable(editing.Names(v.Editors))
}

// showPlatform lists what the workload needs of the platform.
func (c *appCheckCommand) showPlatform(w io.Writer, e checkedEnvironment) {
	if len(e.Platform) == 0 {
		return
	}
	s := c.t.OutStyle
	fmt.Fprintf(w, "\n  platform values\n")
	t := &terminal.Table{Indent: "    "}
	for _, n := range e.Platform {
		for i, v := range n.Needs {
			name := terminal.Plain("")
			if i == 0 {
				name = terminal.Plain(n.ClusterType + "  " + n.Target)
			}
			switch {
			case v.Given:
				t.Row(name, terminal.Painted(s.Green, "given"), terminal.Plain(v.Key), terminal.Painted(s.Dim, v.From.String()))
			case v.Required:
				t.Row(name, terminal.Painted(s.Yellow, "missing"), terminal.Plain(v.Key), terminal.Painted(s.Dim, "required by "+strings.Join(n.Schemas, ", ")+setBy(v)))
			default:
				t.Row(name, terminal.Painted(s.Dim, "not given"), terminal.Plain(v.Key), terminal.Painted(s.Dim, "optional"+setBy(v)))
			}
		}
		for _, p := range n.Problems {
			t.Row(terminal.Plain(""), output.SeverityCell(s, p.Severity), terminal.Plain(output.WithPosition(p.Message, p.Position)))
		}
	}
	_ = t.Write(w) // the writer is the one that shows everything else; it fails there as well
}
