package main

import (
	"crypto/rand"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/serve/wiring"
)

func newNotify(t *terminal.Terminal) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "notify",
		Short: "Test notification receivers, and list undelivered messages",
		Long: `Test notification receivers, and list undelivered messages.

The server sends messages to the receivers of its configuration: webhooks, Slack, Microsoft Teams, e-mail, and receivers of Flux events.`,
		Example: `  kalypso notify test team-shop --config kalypso.yaml
  kalypso notify status`,
	})
	cmd.AddCommand(newNotifyTest(t), newNotifyStatus(t))
	return cmd
}

// notifyTestCommand is "kalypso notify test".
type notifyTestCommand struct {
	t      *terminal.Terminal
	output *cli.Output
	file   string
}

// testMessage is the result of the command: a message that was accepted.
type testMessage struct {
	Receiver string `json:"receiver"`
	// Message is its ID.
	Message string `json:"message"`
}

func newNotifyTest(t *terminal.Terminal) *cobra.Command {
	c := &notifyTestCommand{t: t}
	cmd := &cobra.Command{
		Use:   "test RECEIVER --config FILE",
		Short: "Send a test message to a receiver",
		Long: `Send a test message to a receiver of a configuration file, from this machine and at once. It needs the environment variables and files
that the configuration names, as the server does. The outbox is not involved.`,
		Example: `  kalypso notify test team-shop --config kalypso.yaml`,
		Args:    cli.Exactly("RECEIVER"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(testMessage{})
	cmd.Flags().StringVar(&c.file, "config", "", "the configuration `file` of kalypso serve (required)")
	_ = cmd.MarkFlagFilename("config") // the error only says that the flag does not exist
	return cmd
}

func (c *notifyTestCommand) run(cmd *cobra.Command, name string) error {
	if c.file == "" {
		return cli.Usage(cmd, "no configuration given; name the file with --config")
	}
	text, err := os.ReadFile(c.file)
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	config, err := serve.ParseConfig(text, nil)
	if err != nil {
		return cli.Failed(err, "docs/schemas/serve.json describes it")
	}
	if err := config.Notifications.Check(); err != nil {
		return cli.Failed(fmt.Errorf("the configuration is wrong:\n%w", err), "correct it; kalypso serve --check-config looks at all of it")
	}
	receivers := config.Notifications.Receivers
	config.Notifications.Receivers = slices.DeleteFunc(slices.Clone(receivers), func(r serve.ReceiverConfig) bool { return r.Name != name })
	if len(config.Notifications.Receivers) == 0 {
		names := map[string]bool{}
		for _, r := range receivers {
			names[r.Name] = true
		}
		hint := "it has no receivers"
		if len(names) > 0 {
			hint = "it has " + strings.Join(slices.Sorted(maps.Keys(names)), ", ")
		}
		return cli.Failed(fmt.Errorf("the configuration has no receiver %q", name), hint)
	}
	senders, err := wiring.NewSenders(config, c.t.Env)
	if err != nil {
		return err
	}
	e := wiring.TestMessage("test-"+strings.ToLower(rand.Text()), c.t.Now())
	if err := senders[name].Send(cmd.Context(), e); err != nil {
		return cli.Failed(fmt.Errorf("receiver %q: %w", name, err), "check its address and its secret; nothing is tried again")
	}
	return c.output.Write(c.t.Out, testMessage{name, e.ID}, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s accepted the message %s\n", name, e.ID)
		return err
	})
}

// notifyStatusCommand is "kalypso notify status".
type notifyStatusCommand struct {
	t      *terminal.Terminal
	place  backend.Flags
	output *cli.Output
}

func newNotifyStatus(t *terminal.Terminal) *cobra.Command {
	c := &notifyStatusCommand{t: t}
	cmd := &cobra.Command{
		Use:   "status [RECEIVER]",
		Short: "List receivers, and messages that are not delivered",
		Long: `List receivers with the number of their messages in each state, and messages that are not delivered, newest first:

    pending   waits for its next attempt
    dead      was not accepted for three days, or its receiver is no longer configured
    dropped   too many newer messages waited

It needs the token of an operator, or direct access to the ledger.`,
		Example: `  kalypso notify status
  kalypso notify status team-shop -o json`,
		Args: cli.AtMost("RECEIVER"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) },
	}
	c.place.Bind(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(api.Messages{})
	return cmd
}

func (c *notifyStatusCommand) run(cmd *cobra.Command, args []string) error {
	receiver := ""
	if len(args) > 0 {
		receiver = args[0]
	}
	found, err := c.place.Messages(cmd, c.t, receiver)
	if err != nil {
		return err
	}
	if receiver != "" && len(found.Receivers) == 0 && len(found.Items) == 0 {
		return cli.Failed(fmt.Errorf("there is no receiver %q", receiver), "kalypso notify status lists them")
	}
	return c.output.Write(c.t.Out, found, func(w io.Writer) error { return output.NewPrinter(c.t).Messages(w, found) })
}
