package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// doctorCommand is "kalypso doctor".
type doctorCommand struct {
	t       *terminal.Terminal
	source  sourceFlags
	forges  pullRequestFlags
	place   backend.Flags
	output  *cli.Output
	cluster string
	host    string // of the server that was checked
	report  diagnosis
}

// diagnosis is the result of the command.
type diagnosis struct {
	Checks []diagnosed `json:"checks"`
}

// diagnosed is one thing that was checked.
type diagnosed struct {
	// Area is server, cluster, controlPlane or forge.
	Area string `json:"area"`
	// Subject is the address or name of what was checked.
	Subject string `json:"subject"`
	// State is ok, warning, problem or skipped.
	State   doctorState `json:"state"`
	Message string      `json:"message"`
	// Next is what to do; empty if there is nothing to do.
	Next string `json:"next,omitempty"`
}

// doctorState is the result of a check.
type doctorState string

const (
	doctorOK      doctorState = "ok"
	doctorWarning doctorState = "warning"
	doctorProblem doctorState = "problem"
	doctorSkipped doctorState = "skipped"
)

func newDoctor(t *terminal.Terminal) *cobra.Command {
	c := &doctorCommand{t: t}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check a server, a control plane, its forge and clusters, and suggest fixes",
		Long: `Check the parts of a setup, and print how to fix each problem. Nothing is changed.

    --server          is it reachable and ready? does your token work? are the clocks equal? do its clusters report?
    --control-plane   can its environments be read and rendered? do the GitOps branches exist?
    forge             does the token in the environment, or in --forge-config, read the pull requests of the GitOps repositories?

The control plane of the current folder is checked if there is one. Parts that are not given are skipped.
It exits with 3 if there are problems.`,
		Example: `  kalypso doctor
  kalypso doctor --server https://kalypso.example.com --control-plane https://github.com/acme/control-plane
  kalypso doctor --server https://kalypso.example.com --cluster large-07
  kalypso doctor --forge-config kalypso.yaml -o json`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.source.bind(cmd, t)
	c.place.Bind(cmd)
	bindForges(cmd, &c.forges)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(diagnosis{})
	cmd.Flags().StringVar(&c.cluster, "cluster", "", "check only the cluster with this `name`")
	return cmd
}

func (c *doctorCommand) run(cmd *cobra.Command) error {
	if c.cluster != "" && !c.place.Given(c.t) {
		return cli.Usage(cmd, "--cluster needs a server or a ledger: set --server or --ledger")
	}
	c.report.Checks = []diagnosed{}
	if err := c.checkServer(cmd); err != nil {
		return err
	}
	c.checkControlPlane(cmd.Context())
	if err := cmd.Context().Err(); err != nil {
		return err
	}
	if err := c.output.Write(c.t.Out, c.report, c.show); err != nil {
		return err
	}
	for _, d := range c.report.Checks {
		if d.State == doctorProblem {
			return cli.AnswerNo()
		}
	}
	return nil
}

// found adds a result.
func (c *doctorCommand) found(state doctorState, area, subject, message, next string) {
	c.report.Checks = append(c.report.Checks, diagnosed{Area: area, Subject: secret.Redact(subject), State: state, Message: message, Next: next})
}

// failed adds an error, with its own advice or else the given one.
func (c *doctorCommand) failed(area, subject string, err error, next string) {
	var f *cli.Failure
	var hinted interface{ Hint() string }
	switch {
	case errors.As(err, &f) && f.Next != "":
		next = f.Next
	case errors.As(err, &hinted) && hinted.Hint() != "":
		next = hinted.Hint()
	}
	c.found(doctorProblem, area, subject, secret.Redact(err.Error()), next)
}

// checkControlPlane checks the control plane, and the forge of each environment.
func (c *doctorCommand) checkControlPlane(ctx context.Context) {
	const area = "controlPlane"
	s, err := c.source.open(ctx, c.t)
	if err != nil && c.source.controlPlane == "" {
		c.found(doctorSkipped, area, ".", "the current folder is not a control plane", "name one with --control-plane")
		return
	}
	if err != nil {
		c.failed(area, c.source.controlPlane, err, "")
		return
	}
	defer s.close()
	environments, problems, err := s.drafter.Loader.Environments(ctx, s.request)
	subject := s.request.ControlPlane
	switch {
	case err != nil && c.source.controlPlane == "":
		c.found(doctorSkipped, area, subject, "this repository is not a control plane", "name one with --control-plane")
		return
	case err != nil:
		c.failed(area, subject, err, "check the address, and the credentials that git has for it")
		return
	case len(environments) == 0 && len(problems) == 0:
		c.found(doctorProblem, area, subject, "main lists no Environment", "add one: docs/how-to/add-an-environment.md")
		return
	case c.source.environment != "":
		environments = []string{c.source.environment}
	}
	for _, environment := range environments {
		c.checkEnvironment(ctx, s, environment)
	}
	s.progress.End()
}

// show prints the results, and what to do.
func (c *doctorCommand) show(w io.Writer) error {
	style := c.t.OutStyle
	paint := map[doctorState]func(string) string{
		doctorOK: style.Green, doctorWarning: style.Yellow, doctorProblem: style.Red, doctorSkipped: style.Dim,
	}
	names := map[string]string{"controlPlane": "control plane"}
	table := &terminal.Table{}
	for _, d := range c.report.Checks {
		area := names[d.Area]
		if area == "" {
			area = d.Area
		}
		table.Row(terminal.Painted(paint[d.State], string(d.State)), terminal.Plain(area), terminal.Plain(d.Subject), terminal.Plain(d.Message))
	}
	if err := table.Write(w); err != nil {
		return err
	}
	said := map[string]bool{}
	for _, d := range c.report.Checks {
		if d.Next == "" || d.State == doctorSkipped || said[d.Subject+d.Next] {
			continue
		}
		said[d.Subject+d.Next] = true
		fmt.Fprintf(w, "\n%s: %s\n", terminal.Printable(d.Subject), terminal.Printable(d.Next))
	}
	return nil
}
