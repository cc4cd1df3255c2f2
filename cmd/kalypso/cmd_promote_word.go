package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// promoteWordCommand is "kalypso promote pause", resume, abort and rollback: what a person says about an environment.
type promoteWordCommand struct {
	t      *terminal.Terminal
	verb   string
	place  backend.Flags
	output *cli.Output
	word   wordFlags
	// controlPlane tells environments of one name apart.
	controlPlane string
}

// wordFlags are those of what a person says about an environment.
type wordFlags struct {
	commit string
	why    string
}

func (f *wordFlags) bind(cmd *cobra.Command, commit bool) {
	flags := cmd.Flags()
	flags.StringVar(&f.why, "why", "", "the `reason`, for the record")
	if commit {
		flags.StringVar(&f.commit, "commit", "", "the `commit` of main, or at least seven digits of it")
	}
}

// about is what is said about an environment.
func (f *wordFlags) about(verb, environment, controlPlane string) backend.Command {
	return backend.Command{Action: verb, Environment: environment, Commit: f.commit, Why: f.why, ControlPlane: controlPlane}
}

func newPromoteWord(t *terminal.Terminal, verb, short, long, why string) *cobra.Command {
	c := &promoteWordCommand{t: t, verb: verb}
	example := fmt.Sprintf("  kalypso promote %s prod", verb)
	if verb == backend.Abort {
		example += " --commit 3f2a9c1"
	}
	if why != "" {
		example += fmt.Sprintf(" --why %q", why)
	}
	cmd := &cobra.Command{
		Use: verb + " ENVIRONMENT", Short: short, Long: long, Example: example,
		Args: cli.Exactly("ENVIRONMENT"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	c.place.Bind(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML)
	c.word.bind(cmd, verb == backend.Abort || verb == backend.Rollback)
	cmd.Flags().StringVar(&c.controlPlane, "control-plane", "", "the `URL` of the control plane, where several have such an environment")
	return cmd
}

func (c *promoteWordCommand) run(cmd *cobra.Command, environment string) error {
	if c.verb == backend.Abort && c.word.commit == "" {
		return cli.Usage(cmd, "which commit is given up? name it, as in --commit 3f2a9c1")
	}
	return say(cmd, c.t, &c.place, c.output, c.word.about(c.verb, environment, c.controlPlane))
}

// say passes on what a person says, and shows what comes of it.
func say(cmd *cobra.Command, t *terminal.Terminal, f *backend.Flags, o *cli.Output, w backend.Command) error {
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

// whatNext says what was said, and what comes of it.
func whatNext(verb string, a api.Accepted) string {
	environment, commit := terminal.Printable(a.Environment), terminal.Short(a.Commit)
	switch verb {
	case backend.Pause:
		return fmt.Sprintf("%s is paused: nothing enters until kalypso promote resume %s", environment, terminal.ShellWord(a.Environment))
	case backend.Resume:
		return environment + " goes on with the next round"
	case backend.Abort:
		return fmt.Sprintf("%s is given up in %s; a newer commit takes its place", commit, environment)
	}
	return fmt.Sprintf("%s is the next to enter %s, once its rules let it in; kalypso wait -e %s --commit %s follows it",
		commit, environment, terminal.ShellWord(a.Environment), commit)
}
