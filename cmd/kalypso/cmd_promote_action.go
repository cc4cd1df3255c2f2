package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// promoteActionCommand is "kalypso promote pause", resume, abort, rollback and skip.
type promoteActionCommand struct {
	t            *terminal.Terminal
	action       string
	place        backend.Flags
	output       *cli.Output
	request      requestFlags
	controlPlane string
}

// requestFlags describe a request.
type requestFlags struct {
	commit         string
	why            string
	fast, now, all bool
}

func (f *requestFlags) bind(cmd *cobra.Command, commit bool) {
	flags := cmd.Flags()
	flags.StringVar(&f.why, "why", "", "the `reason`, which is recorded in the history")
	if commit {
		flags.StringVar(&f.commit, "commit", "", "a `commit` of main, or at least seven digits of it")
	}
}

func (f *requestFlags) command(action, environment, controlPlane string) backend.Command {
	return backend.Command{Action: action, Environment: environment, Commit: f.commit, Why: f.why, ControlPlane: controlPlane, Fast: f.fast, Now: f.now, All: f.all}
}

func newPromoteAction(t *terminal.Terminal, action, short, long, why string) *cobra.Command {
	c := &promoteActionCommand{t: t, action: action}
	place, example := "ENVIRONMENT[/RING]", fmt.Sprintf("  kalypso promote %s prod", action)
	if action == backend.Skip {
		place, example = "ENVIRONMENT/RING", example+"/canary"
	}
	if action == backend.Abort || action == backend.Skip {
		example += " --commit 3f2a9c1"
	}
	if why != "" {
		example += fmt.Sprintf(" --why %q", why)
	}
	cmd := &cobra.Command{
		Use: action + " " + place, Short: short, Long: long, Example: example,
		Args: cli.Exactly(place),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	c.place.Bind(cmd)
	cmd.ValidArgsFunction = completeFirst(completeFleet(&c.place, t, placeNames))
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(api.Accepted{})
	c.request.bind(cmd, action == backend.Abort || action == backend.Rollback || action == backend.Skip)
	if action == backend.Rollback {
		cmd.Flags().BoolVar(&c.request.fast, "fast", false, "do not wait for the soaks of rings, however long ago the commit ran well")
		cmd.Flags().BoolVar(&c.request.now, "now", false, "do not wait for the windows and holds of single clusters; for admins")
		cmd.Flags().BoolVar(&c.request.all, "all", false, "roll back all rings of the environment")
	}
	if cmd.Flags().Lookup("commit") != nil {
		completeFlag(cmd, "commit", completeFleetWith(&c.place, t, func(ctx context.Context, f *backend.Fleet, args []string) ([]string, error) {
			if action != backend.Rollback || len(args) == 0 {
				return commitNames(ctx, f)
			}
			return otherCommits(ctx, f, args[0])
		}))
	}
	cmd.Flags().StringVar(&c.controlPlane, "control-plane", "", "the `URL` of the control plane, if several have an environment of this name")
	return cmd
}

func (c *promoteActionCommand) run(cmd *cobra.Command, environment string) error {
	switch _, ring := decide.SplitRing(environment); {
	case (c.action == backend.Abort || c.action == backend.Skip) && c.request.commit == "":
		return cli.Usage(cmd, "no commit given; use --commit, for example --commit 3f2a9c1")
	case c.action == backend.Skip && ring == "":
		return cli.Usage(cmd, "%q is not a ring; use ENVIRONMENT/RING, for example prod/canary", environment)
	case c.action == backend.Skip && strings.TrimSpace(c.request.why) == "":
		return cli.Usage(cmd, "no reason given; use --why")
	}
	return request(cmd, c.t, &c.place, c.output, c.request.command(c.action, environment, c.controlPlane))
}

// request passes a command on, and prints what happens next.
func request(cmd *cobra.Command, t *terminal.Terminal, f *backend.Flags, o *cli.Output, w backend.Command) error {
	var accepted api.Accepted
	err := f.WithController(cmd, t, func(l backend.Controller) error {
		var err error
		accepted, err = l.Do(cmd.Context(), w)
		return err
	})
	if err != nil {
		return err
	}
	return o.Write(t.Out, accepted, func(out io.Writer) error {
		_, err := fmt.Fprintln(out, whatNext(w.Action, accepted))
		return err
	})
}

func whatNext(action string, a api.Accepted) string {
	name, follow := a.Environment, "-e "+terminal.ShellWord(a.Environment)
	if a.Ring != "" {
		name, follow = decide.RingName(name, a.Ring), follow+" --ring "+terminal.ShellWord(a.Ring)
	}
	environment, commit := terminal.Printable(name), terminal.Short(a.Commit)
	switch action {
	case backend.Pause:
		return fmt.Sprintf("%s is paused; resume with kalypso promote resume %s", environment, terminal.ShellWord(name))
	case backend.Resume:
		return environment + " is resumed"
	case backend.Approve:
		return fmt.Sprintf("approved %s in %s, for %s; kalypso promote shows what it waits for", commit, environment, terminal.Printable(a.Check))
	case backend.Bypass:
		return fmt.Sprintf("%s of %s is bypassed in %s by %s: %s", terminal.Printable(a.Check), commit, environment, terminal.Printable(a.By), terminal.Printable(a.Why))
	case backend.Abort:
		return fmt.Sprintf("%s is aborted in %s; a newer commit replaces it", commit, environment)
	case backend.Skip:
		return fmt.Sprintf("later rings do not wait until %s has run in %s", commit, environment)
	}
	if action == backend.Rollback {
		to := "the newest commit that ran well there"
		if commit != "" && commit != "-" {
			to = commit
		}
		return fmt.Sprintf("%s goes back to %s; neither its present commit nor newer ones are promoted there or later, until you request one or merge another; kalypso status shows it", environment, to)
	}
	return fmt.Sprintf("%s is the next commit for %s, subject to its rules; follow it with kalypso wait %s --commit %s",
		commit, environment, follow, commit)
}
