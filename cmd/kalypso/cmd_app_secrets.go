package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// appSecretsCommand is "kalypso app secrets".
type appSecretsCommand struct {
	t      *terminal.Terminal
	app    appFlags
	output *cli.Output
}

// appSecrets is the result of the command.
type appSecrets struct {
	Workload    string          `json:"workload"`
	Environment string          `json:"environment"`
	Targets     []targetSecrets `json:"targets"`
}

// targetSecrets are the objects of a target with values that its chart makes up.
type targetSecrets struct {
	Name string       `json:"name"`
	Made []chart.Made `json:"made"`
	// Rendered tells whether the target can be rendered, Problems why not.
	Rendered bool            `json:"rendered"`
	Problems []fleet.Problem `json:"problems,omitempty"`
}

func newAppSecrets(t *terminal.Terminal) *cobra.Command {
	c := &appSecretsCommand{t: t}
	cmd := &cobra.Command{
		Use:   "secrets -e ENVIRONMENT",
		Short: "Show values that charts generate, and where they can come from instead",
		Long: `Show the values that charts generate with random functions or the clock, such as passwords and certificates, and where they can come from
instead.

The same commits must produce the same manifests, so Kalypso never renders a generated value. spec.secrets of the Delivery declares its source:

    Existing          a Secret that is in the clusters; the chart has a value for its name
    ExternalSecrets   generators of the External Secrets Operator create it once, in the cluster
    CertManager       cert-manager issues the certificate
    Job               a Job among the manifests creates it once, in the cluster; "kalypso app secrets rotate" creates new values

The command renders the chart several times to find these values. Checksums of Secrets in annotations depend on the chart and its values. It
exits with 3 if a target cannot be rendered.`,
		Example: `  kalypso app secrets -e dev
  kalypso app secrets -e dev --source . --config ../shop-configs -o json`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.app.bind(cmd)
	c.app.bindEnvironment(cmd)
	c.app.bindBuild(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(appSecrets{})
	cmd.AddCommand(newAppSecretsRotate(t))
	return cmd
}

func (c *appSecretsCommand) run(cmd *cobra.Command) error {
	if err := c.app.wantEnvironment(cmd); err != nil {
		return err
	}
	s, err := c.app.open(cmd.Context(), c.t)
	if err != nil {
		return err
	}
	defer s.close()
	s.request.ListMade = true
	draft, err := s.drafter.Draft(cmd.Context(), deliver.DraftRequest{Request: s.request, Environment: c.app.environment, Build: c.app.build, Unpublished: true})
	if err != nil {
		return err
	}
	s.noteUncommitted(cmd.Context(), c.t, draft.App, c.app.build.Commit != "")
	s.progress.End()
	r := &appSecrets{Workload: draft.App.Workload.Name, Environment: c.app.environment, Targets: []targetSecrets{}}
	made := draft.Made()
	for _, e := range draft.Tree.Targets {
		t := targetSecrets{Name: e.Name, Made: append([]chart.Made{}, made[e.Name]...), Rendered: e.Held == nil}
		for _, p := range draft.Plan.Problems {
			if p.Assignment == e.Name && p.Severity == fleet.SeverityError {
				t.Problems = append(t.Problems, p)
			}
		}
		r.Targets = append(r.Targets, t)
	}
	if err := c.output.Write(c.t.Out, r, func(w io.Writer) error { return c.show(w, r) }); err != nil {
		return err
	}
	if len(r.Targets) == 0 || slices.ContainsFunc(r.Targets, func(t targetSecrets) bool { return !t.Rendered }) {
		return cli.AnswerNo()
	}
	return nil
}

func (c *appSecretsCommand) show(w io.Writer, r *appSecrets) error {
	s := c.t.OutStyle
	if len(r.Targets) == 0 {
		fmt.Fprintf(w, "%s has no targets in %s\n", terminal.Printable(r.Workload), terminal.Printable(r.Environment))
	}
	for _, t := range r.Targets {
		fmt.Fprintf(w, "%s in %s\n", s.Bold(terminal.Printable(t.Name)), terminal.Printable(r.Environment))
		if len(t.Made) == 0 {
			fmt.Fprintln(w, "  the chart makes up nothing")
		}
		for _, m := range t.Made {
			fmt.Fprintf(w, "  %s\n", terminal.Printable(m.Object.String()+" "+strings.Join(m.Fields, ", ")))
			for _, line := range sourcesOf(m) {
				fmt.Fprintf(w, "      %s\n", terminal.Printable(line))
			}
		}
		if len(t.Made) > 0 && t.Rendered {
			continue
		}
		for _, p := range t.Problems {
			if len(t.Made) == 0 {
				fmt.Fprintf(w, "  %s\n", terminal.Printable(p.Message))
			}
		}
	}
	return nil
}

// sourcesOf says where the values of an object come from, or can come from.
func sourcesOf(m chart.Made) []string {
	switch {
	case m.From == string(chart.MadeChecksum):
		return []string{"a checksum, which follows the chart and its values"}
	case m.Rotation > 0:
		return []string{fmt.Sprintf("from %s, rotation %d", m.From, m.Rotation)}
	case m.From != "":
		return []string{"from " + m.From}
	case m.Use == chart.MadeChecksum:
		return []string{"a checksum, which follows the chart and its values once spec.secrets says where the Secrets come from"}
	}
	var lines []string
	if m.Value != "" {
		line := fmt.Sprintf("- {name: %s, from: Existing, value: %s, secret: NAME}", m.Object.Name, m.Value)
		if len(m.Keys) > 0 {
			line += "   with the keys " + strings.Join(m.Keys, ", ")
		}
		lines = append(lines, line)
	}
	for _, from := range m.Can {
		image := ""
		if from == string(app.FromJob) {
			image = ", image: IMAGE"
		}
		lines = append(lines, fmt.Sprintf("- {name: %s, from: %s%s}", m.Object.Name, from, image))
	}
	if m.Set != "" {
		lines = append(lines, "the value "+m.Set+" replaces it")
	}
	if m.Why != "" {
		lines = append(lines, m.Why)
	}
	return lines
}
