package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
)

// appUpdateCommand is "kalypso app update".
type appUpdateCommand struct {
	t      *terminal.Terminal
	app    appFlags
	output *cli.Output
	forges pullRequestFlags
	dryRun bool
}

func newAppUpdate(t *terminal.Terminal) *cobra.Command {
	c := &appUpdateCommand{t: t}
	cmd := &cobra.Command{
		Use:   "update",
		Short: "Propose upgrades of third-party charts, with what they change",
		Long: `Propose upgrades of third-party charts, for platform services and for applications deployed from a chart repository.

The command opens or updates one pull request to the source, from kalypso-update/charts: a line for each version, and what changes in
each environment's manifests. Version ranges don't change, because Kalypso already uses the newest version that they permit.`,
		Example: `  kalypso app update --dry-run
  kalypso app update --source https://github.com/acme/platform-services`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.app.bind(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(deliver.Updated{})
	bindForges(cmd, &c.forges)
	cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, "show what would be proposed, and do nothing")
	return cmd
}

func (c *appUpdateCommand) run(cmd *cobra.Command) error {
	s, err := c.app.open(cmd.Context(), c.t)
	if err != nil {
		return err
	}
	defer s.close()
	u, err := s.drafter.Updates(cmd.Context(), s.request)
	if err != nil {
		return err
	}
	if !c.dryRun {
		d, err := s.deliverer(&c.forges, c.t)
		if err != nil {
			return err
		}
		if err := d.ProposeUpdates(cmd.Context(), u); err != nil {
			return err
		}
	}
	s.progress.End()
	return c.output.Write(c.t.Out, u, func(w io.Writer) error { return c.show(w, u) })
}

func (c *appUpdateCommand) show(w io.Writer, u *deliver.Updated) error {
	if len(u.Updates) == 0 {
		fmt.Fprintln(w, "every chart is at its newest version")
	}
	t := &terminal.Table{}
	for _, one := range u.Updates {
		t.Row(terminal.Plain(cmp.Or(one.Service, one.Chart)), terminal.Plain(one.From+" -> "+one.To), terminal.Painted(c.t.OutStyle.Dim, one.Position.String()))
	}
	if err := t.Write(w); err != nil {
		return err
	}
	for _, p := range u.Plans {
		fmt.Fprintln(w)
		if err := (output.ApplicationPlan{Plan: p, Style: c.t.OutStyle}).Write(w); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(u.Errors)) {
		fmt.Fprintf(w, "\n%s  %s: %s\n", c.t.OutStyle.Red("error"), terminal.Printable(name), terminal.Printable(u.Errors[name]))
	}
	for _, line := range u.Did {
		fmt.Fprintln(w, terminal.Printable(line))
	}
	if u.PullRequest != nil {
		fmt.Fprintln(w, terminal.Printable(u.PullRequest.URL))
	}
	return nil
}
