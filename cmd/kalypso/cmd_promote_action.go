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
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/hub/query"
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
	// list means that a rollback only lists the commits to go back to.
	list bool
}

// requestFlags describe a request.
type requestFlags struct {
	commit         string
	why            string
	fast, now, all bool
	dryRun         bool
	breakGlass     bool
}

// bindBreakGlass adds --break-glass to a command that overrides rules.
func (f *requestFlags) bindBreakGlass(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.breakGlass, "break-glass", false, "override rules in an emergency, with the role break-glass; needs --why, and has an audit entry of its own")
}

func (f *requestFlags) bind(cmd *cobra.Command, commit bool) {
	flags := cmd.Flags()
	flags.StringVar(&f.why, "why", "", "the `reason`, which is recorded in the history")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only show what the server would do: in which rings, on how many clusters, and what that waits for")
	if commit {
		flags.StringVar(&f.commit, "commit", "", "a `commit` of main, or at least seven digits of it")
	}
}

func (f *requestFlags) command(action, environment, controlPlane string) backend.Command {
	return backend.Command{Action: action, Environment: environment, Commit: f.commit, Why: f.why, ControlPlane: controlPlane, Fast: f.fast, Now: f.now, All: f.all, DryRun: f.dryRun, BreakGlass: f.breakGlass}
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
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(answersOf(action)...)
	c.request.bind(cmd, action == backend.Abort || action == backend.Rollback || action == backend.Skip)
	if action == backend.Rollback {
		cmd.Flags().BoolVar(&c.request.fast, "fast", false, "do not wait for the soaks of rings, however long ago the commit ran well")
		cmd.Flags().BoolVar(&c.request.now, "now", false, "do not wait for the windows and holds of single clusters; for admins, or with --break-glass")
		c.request.bindBreakGlass(cmd)
		cmd.Flags().BoolVar(&c.request.all, "all", false, "roll back all rings of the environment")
		cmd.Flags().BoolVar(&c.list, "list", false, "only list the commits to go back to, and why others are not offered")
	}
	if cmd.Flags().Lookup("commit") != nil {
		completeFlag(cmd, "commit", completeFleetWith(&c.place, t, func(ctx context.Context, f *backend.Fleet, args []string) ([]string, error) {
			if action != backend.Rollback || len(args) == 0 {
				return commitNames(ctx, f)
			}
			return goodTargets(ctx, f, args[0])
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
	case c.request.breakGlass && !c.request.now:
		return cli.Usage(cmd, "a rollback that waits for windows and holds overrides nothing: --break-glass goes with --now")
	case c.request.breakGlass && strings.TrimSpace(c.request.why) == "":
		return cli.Usage(cmd, "no reason given; use --why")
	case c.list:
		return c.listTargets(cmd, environment)
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
		if accepted.Rehearsal != nil {
			return output.NewPrinter(t).Rehearsal(out, accepted)
		}
		_, err := fmt.Fprintln(out, whatNext(w.Action, accepted))
		return err
	})
}

// answersOf returns what an action prints as JSON.
func answersOf(action string) []any {
	if action == backend.Rollback {
		return []any{api.Accepted{}, query.Page[decide.RollbackTarget]{}}
	}
	return []any{api.Accepted{}}
}

// listTargets lists the commits that an environment or ring can go back to.
func (c *promoteActionCommand) listTargets(cmd *cobra.Command, place string) error {
	at, err := c.place.Open(cmd, c.t)
	if err != nil {
		return err
	}
	targets, err := rollbackTargets(cmd.Context(), at, c.controlPlane, place)
	if err := errors.Join(err, at.Close()); err != nil {
		return err
	}
	return c.output.Write(c.t.Out, query.Page[decide.RollbackTarget]{Items: targets}, func(out io.Writer) error {
		return output.NewPrinter(c.t).RollbackTargets(out, targets)
	})
}

// rollbackTargets returns the commits that an environment or ring can go back to, and why others are not offered.
func rollbackTargets(ctx context.Context, at *backend.Fleet, controlPlane, place string) ([]decide.RollbackTarget, error) {
	environment, ring := decide.SplitRing(place)
	if err := at.Refresh(ctx); err != nil {
		return nil, err
	}
	e, err := at.Environment(ctx, query.EnvironmentQuery{Name: environment, ControlPlane: controlPlane})
	if err != nil {
		return nil, backend.Hint(err)
	}
	targets := e.Targets
	if ring != "" {
		i := slices.IndexFunc(e.Rings, func(r query.Ring) bool { return r.Name == fleet.RingOfStage(ring) })
		if i < 0 {
			names := make([]string, len(e.Rings))
			for i := range e.Rings {
				names[i] = e.Rings[i].Name
			}
			return nil, backend.Hint(query.Unknown("ring of "+environment, ring, names))
		}
		targets = e.Rings[i].Targets
	}
	return append([]decide.RollbackTarget{}, targets...), nil
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
