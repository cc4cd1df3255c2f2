package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/sample"
	"github.com/kalypso-io/kalypso/internal/sample/simulate"
)

// sampleGreetingCommand is "kalypso sample greeting".
type sampleGreetingCommand struct {
	t       *terminal.Terminal
	sample  *sampleFlags
	only    string
	until   string
	timeout time.Duration
}

func newSampleGreeting(t *terminal.Terminal, f *sampleFlags) *cobra.Command {
	c := &sampleGreetingCommand{t: t, sample: f}
	cmd := &cobra.Command{
		Use:   "greeting NAME",
		Short: "Show what hello-world-app shows on a cluster, with the configuration that reached it",
		Long: `Show what hello-world-app shows on a cluster, with the configuration of the platform that reached it.
For a simulated one it is the same as on the page of the application; for a real one it is read from the Deployments and ConfigMaps
there, and whether pods run them, kubectl says. With --until it waits until a text is there, and nothing is starting any more.`,
		Example: "  kalypso sample greeting large\n  kalypso sample greeting large -e stage --until mysql://west-stage",
		Args:    cli.Exactly("NAME"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&c.only, "environment", "e", "", "only in the environment of this `name`")
	flags.StringVar(&c.until, "until", "", "wait until it has this `text`")
	flags.DurationVar(&c.timeout, "timeout", time.Minute, "how long to wait for it")
	return cmd
}

func (c *sampleGreetingCommand) run(ctx context.Context, cluster string) error {
	return c.sample.ask(func(r sample.Remote) error {
		look, err := c.sample.greetings(r, cluster)
		if err != nil {
			return err
		}
		for deadline := time.Now().Add(c.timeout); ; {
			all, err := look(ctx)
			if err != nil {
				return err
			}
			var text bytes.Buffer
			waits := false
			for _, g := range all {
				if c.only == "" || environmentOf(g) == c.only {
					c.show(&text, g)
					waits = waits || g.Waits != ""
				}
			}
			if c.until == "" || strings.Contains(text.String(), c.until) && !waits {
				_, err := text.WriteTo(c.t.Out)
				return err
			}
			if time.Now().After(deadline) {
				return cli.Failed(fmt.Errorf("no greeting on %s has %q after %s:\n%s", cluster, c.until, c.timeout, &text), "kalypso status says what waits for what")
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(sampleOften):
			}
		}
	})
}

// sampleOften is how often it is looked for a text.
const sampleOften = 100 * time.Millisecond

// environmentOf is what the platform told an application about where it runs.
func environmentOf(g simulate.Greeting) string {
	for _, s := range g.Settings {
		if s.Name == "ENVIRONMENT" {
			return strings.ToLower(s.Value)
		}
	}
	return ""
}

func (c *sampleGreetingCommand) show(w io.Writer, g simulate.Greeting) {
	style := c.t.OutStyle
	fmt.Fprintf(w, "%s  %s\n  %s\n", terminal.Printable(g.Namespace), style.Dim(terminal.Printable(g.Image)), style.Bold(terminal.Printable(g.Says())))
	if g.Waits != "" {
		fmt.Fprintf(w, "  %s %s\n", style.Yellow("waits:"), terminal.Printable(g.Waits))
	}
	for _, s := range g.Settings {
		if s.From != "" {
			fmt.Fprintf(w, "  %s=%s\n", terminal.Printable(s.Name), strings.ReplaceAll(terminal.PrintableText(s.Value), "\n", "\n    "))
		}
	}
}
