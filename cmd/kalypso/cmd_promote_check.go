package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// promoteCheckCommand is "kalypso promote approve" and bypass.
type promoteCheckCommand struct {
	promoteActionCommand
	application string
}

func newPromoteCheck(t *terminal.Terminal, action, short, long, why string) *cobra.Command {
	c := &promoteCheckCommand{promoteActionCommand: promoteActionCommand{t: t, action: action}}
	cmd := &cobra.Command{
		Use: action + " ENVIRONMENT VERIFICATION --commit COMMIT", Short: short, Long: long,
		Example: fmt.Sprintf("  kalypso promote %s prod release --commit 3f2a9c1 --why %q", action, why),
		Args:    cli.Exactly("ENVIRONMENT", "VERIFICATION"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0], args[1]) },
	}
	c.place.Bind(cmd)
	cmd.ValidArgsFunction = completeFirst(completeFleet(&c.place, t, environmentNames))
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(api.Accepted{})
	c.request.bind(cmd, true)
	if action == backend.Bypass {
		c.request.bindBreakGlass(cmd)
	}
	completeFlag(cmd, "commit", completeFleet(&c.place, t, commitNames))
	cmd.Flags().StringVar(&c.controlPlane, "control-plane", "", "the `URL` of the control plane, if several have an environment of this name")
	cmd.Flags().StringVar(&c.application, "application", "", "the `name` of the application, for a verification of an application's environment; needs a server")
	return cmd
}

func (c *promoteCheckCommand) run(cmd *cobra.Command, environment, check string) error {
	switch {
	case c.request.commit == "":
		return cli.Usage(cmd, "no commit given; use --commit, for example --commit 3f2a9c1")
	case c.action == backend.Bypass && c.request.why == "":
		return cli.Usage(cmd, "no reason given; use --why, for example --why \"the load test is broken\"")
	}
	w := c.request.command(c.action, environment, c.controlPlane)
	w.Check, w.Application = check, c.application
	return request(cmd, c.t, &c.place, c.output, w)
}
