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
		Short: "Show the greeting of hello-world-app on a cluster",
		Long: `Show the greeting of hello-world-app on a cluster, with the platform configuration that it received. On a real cluster the greeting
is computed from Deployments and ConfigMaps; use kubectl to check that the pods are running.
With --until, wait until the greeting contains a text and nothing is starting.`,
		Example: "  kalypso sample greeting large\n  kalypso sample greeting large -e stage --until mysql://west-stage",
		Args:    cli.Exactly("NAME"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&c.only, "environment", "e", "", "only in the environment with this `name`")
	flags.StringVar(&c.until, "until", "", "wait until the greeting contains this `text`")
	flags.DurationVar(&c.timeout, "timeout", time.Minute, "how long to wait")
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
				return cli.Failed(fmt.Errorf("no greeting on %s contains %q after %s:\n%s", cluster, c.until, c.timeout, &text), "kalypso status shows what each environment waits for")
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(sampleOften):
			}
		}
	})
}

// sampleOften is the interval between two attempts.
const sampleOften = 100 * time.Millisecond

// environmentOf returns the environment in the application's platform configuration.
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
		fmt.Fprintf(w, "  %s %s\n", style.Yellow("waiting:"), terminal.Printable(g.Waits))
	}
	for _, s := range g.Settings {
		if s.From != "" {
			value := strings.TrimSuffix(terminal.PrintableText(s.Value), "\n")
			fmt.Fprintf(w, "  %s=%s\n", terminal.Printable(s.Name), strings.ReplaceAll(value, "\n", "\n    "))
		}
	}
}
