package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// missingFlags are what "kalypso config missing" and "kalypso app config missing" have in common.
type missingFlags struct {
	server   backend.Flags
	output   *cli.Output
	exitCode bool
}

// lackedValues is the result of both commands.
type lackedValues struct {
	// Values are sorted.
	Values []query.MissingValue `json:"values"`
}

// maxMissing limits the values that a server is asked for.
const maxMissing = 10_000

const missingHelp = `A value whose absence holds a target is an error: the target keeps its published files until the value is set. The schemas declare with
editableBy who may set a value; a dash means everyone who may change the file.

With --server it lists what the server found in its last rounds.`

func (f *missingFlags) bind(cmd *cobra.Command) {
	f.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(lackedValues{})
	f.server.BindServer(cmd, "ask the server with this `URL`")
	cmd.Flags().BoolVar(&f.exitCode, "exit-code", false, "exit with 3 when values are missing")
	cli.FlagGroup(cmd, cli.GroupOutput, "exit-code")
}

// ask asks a server, if one is given.
func (f *missingFlags) ask(cmd *cobra.Command, t *terminal.Terminal, q query.MissingQuery) (values []query.MissingValue, asked bool, err error) {
	c, err := f.server.Client(cmd, t)
	if c == nil || err != nil {
		return nil, false, err
	}
	values, _, err = backend.All(maxMissing, func(p query.Paging) (query.Page[query.MissingValue], error) {
		q.Paging = p
		return backend.ServerQuerier{Client: c}.Missing(cmd.Context(), q)
	})
	return values, true, err
}

// show prints the values.
func (f *missingFlags) show(t *terminal.Terminal, values []query.MissingValue) error {
	if values == nil {
		values = []query.MissingValue{}
	}
	err := f.output.Write(t.Out, lackedValues{values}, func(w io.Writer) error {
		if len(values) == 0 {
			_, err := fmt.Fprintln(w, "no required value is missing")
			return err
		}
		table := terminal.Table{}
		heading := []terminal.Cell{terminal.Plain("")}
		for _, name := range []string{"environment", "target", "cluster (type)", "value", "set by"} {
			heading = append(heading, terminal.Painted(t.OutStyle.Dim, name))
		}
		table.Row(heading...)
		for _, v := range values {
			severity := fleet.SeverityWarning
			if v.Holds {
				severity = fleet.SeverityError
			}
			table.Row(output.SeverityCell(t.OutStyle, severity), terminal.Plain(v.Environment), terminal.Plain(cmp.Or(v.Target, "-")), terminal.Plain(cmp.Or(v.Cluster, v.ClusterType, "-")),
				terminal.Plain(v.Key), terminal.Plain(cmp.Or(v.SetBy, "-")))
		}
		return table.Write(w)
	})
	if err == nil && f.exitCode && len(values) > 0 {
		err = cli.AnswerNo()
	}
	return err
}

// configMissingCommand is "kalypso config missing".
type configMissingCommand struct {
	t       *terminal.Terminal
	source  sourceFlags
	missing missingFlags
}

func newConfigMissing(t *terminal.Terminal) *cobra.Command {
	c := &configMissingCommand{t: t}
	cmd := &cobra.Command{
		Use:   "missing -e ENVIRONMENT",
		Short: "List the required values that targets lack, with who may set them",
		Long: `List the required values of platform configuration that the targets of an environment lack on their cluster types, with who may set them.

` + missingHelp + ` This includes the values of applications.`,
		Example: `  kalypso config missing -e dev
  kalypso config missing -e dev --server https://kalypso.example.com -o json`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.source.bind(cmd, t)
	c.missing.bind(cmd)
	return cmd
}

func (c *configMissingCommand) run(cmd *cobra.Command) error {
	if c.missing.server.Server != "" {
		if err := leaveOut(cmd, "a server knows the repositories of a control plane", "main", "env-dir", "map"); err != nil {
			return err
		}
	}
	values, asked, err := c.missing.ask(cmd, c.t, query.MissingQuery{Environment: c.source.environment, ControlPlane: c.source.controlPlane})
	if err != nil {
		return err
	}
	if !asked {
		if err := c.source.wantEnvironment(cmd); err != nil {
			return err
		}
		session, err := c.source.open(cmd.Context(), c.t)
		if err != nil {
			return err
		}
		defer session.close()
		draft, err := session.drafter.Draft(cmd.Context(), schedule.DraftRequest{Request: session.request, Base: &session.request})
		if err != nil {
			return err
		}
		session.progress.End()
		values = query.MissingOf(query.MissingValue{ControlPlane: session.request.ControlPlane, Environment: c.source.environment}, draft.Lacks())
	}
	return c.missing.show(c.t, values)
}

// appConfigMissingCommand is "kalypso app config missing".
type appConfigMissingCommand struct {
	t       *terminal.Terminal
	app     appFlags
	missing missingFlags
}

func newAppConfigMissing(t *terminal.Terminal) *cobra.Command {
	c := &appConfigMissingCommand{t: t}
	cmd := &cobra.Command{
		Use:   "missing -e ENVIRONMENT",
		Short: "List the required values that targets lack, with who may set them",
		Long: `List the required values that the targets of an application lack in an environment, with who may set them.

` + missingHelp,
		Example: `  kalypso app config missing -e dev
  kalypso app config missing -e dev --workload hello-world-app --server https://kalypso.example.com`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.app.bind(cmd)
	c.app.bindEnvironment(cmd)
	c.missing.bind(cmd)
	return cmd
}

func (c *appConfigMissingCommand) run(cmd *cobra.Command) error {
	if c.missing.server.Server != "" {
		if err := leaveOut(cmd, serverReads, "config", "map"); err != nil {
			return err
		}
		workload, err := c.app.name(cmd.Context(), c.t)
		if err != nil {
			return err
		}
		values, _, err := c.missing.ask(cmd, c.t, query.MissingQuery{Environment: c.app.environment, Application: workload})
		if err != nil {
			return err
		}
		return c.missing.show(c.t, values)
	}
	if err := c.app.wantEnvironment(cmd); err != nil {
		return err
	}
	s, err := c.app.open(cmd.Context(), c.t)
	if err != nil {
		return err
	}
	defer s.close()
	draft, err := s.drafter.Draft(cmd.Context(), deliver.DraftRequest{Request: s.request, Environment: c.app.environment, Unpublished: true, Lenient: true})
	if err != nil {
		return err
	}
	s.progress.End()
	return c.missing.show(c.t, query.MissingIn(query.MissingValue{Environment: c.app.environment, Application: draft.App.Workload.Name}, draft.Plan.Problems))
}
