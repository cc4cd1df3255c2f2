package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/hub/assistant"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/text/repourl"
)

// mcpCommand is "kalypso mcp".
type mcpCommand struct {
	t     *terminal.Terminal
	fleet backend.Flags
	// controlPlane and maps are those of sourceFlags.
	controlPlane string
	maps         []git.Mapping
	schedulers   schedulerFlags
	actions      bool
}

func newMCP(t *terminal.Terminal) *cobra.Command {
	c := &mcpCommand{t: t}
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Answer an assistant's questions, over the Model Context Protocol",
		Long: `Answer an assistant's questions, over the Model Context Protocol on standard input and output.

    --server or --ledger   what runs where, and why something waits or fails
    --control-plane        plan, explain, and the documents as resources

The tools only read. With --actions, the assistant can pause promotions into an environment, after it has asked you.

An assistant starts this command itself. Most are configured like this:

    {"mcpServers": {"kalypso": {"command": "kalypso", "args": ["mcp", "--server", "https://kalypso.example.com"]}}}`,
		Example: `  kalypso mcp --server https://kalypso.example.com
  kalypso mcp --ledger kalypso-data/ledger.db --control-plane control-plane
  kalypso mcp --control-plane https://github.com/acme/control-plane`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.fleet.Bind(cmd)
	flags := cmd.Flags()
	flags.StringVar(&c.controlPlane, "control-plane", "", "the control plane to plan and explain, a `folder or URL`")
	flags.Var((*mapFlag)(&c.maps), "map", "beside --control-plane: read the repository `URL=PATH` from a path; may be repeated")
	flags.BoolVar(&c.actions, "actions", false, "offer to pause promotions, on the server or ledger")
	c.schedulers.bind(cmd)
	_ = cmd.MarkFlagDirname("control-plane") // the error only says that the flag does not exist
	return cmd
}

func (c *mcpCommand) run(cmd *cobra.Command) error {
	if c.controlPlane == "" && len(c.maps) > 0 {
		return cli.Usage(cmd, "--map goes with --control-plane")
	}
	o := assistant.Options{Version: cli.Version()}
	if c.fleet.Given(c.t) || c.controlPlane == "" || c.actions {
		questions, err := c.fleet.Open(cmd, c.t)
		if err != nil {
			return err
		}
		defer questions.Close() //nolint:errcheck // it was only read
		o.Questions = questions
	}
	if c.controlPlane != "" {
		source := sourceFlags{controlPlane: c.controlPlane, maps: c.maps, schedulers: c.schedulers}
		s, err := source.open(cmd.Context(), c.t)
		if err != nil {
			return err
		}
		defer s.close()
		documents := &documentsOf{s}
		if fleet.IsLocal(c.controlPlane) { // another one is read when it is needed: an assistant does not wait long for this program
			if _, err := documents.Documents(cmd.Context(), schedule.DefaultBase); err != nil {
				return err
			}
		}
		o.ControlPlane = documents
	}
	if c.actions {
		o.Pause = c.pausing(cmd, o.Questions)
	}
	return assistant.New(o).Run(cmd.Context(), assistant.Lines(c.t.In, c.t.Out))
}

// pausing pauses promotions on the server or ledger.
func (c *mcpCommand) pausing(cmd *cobra.Command, questions assistant.Questions) *assistant.Pausing {
	return &assistant.Pausing{
		Key: []byte(rand.Text()), Now: c.t.Now, // the questions of this process are confirmed in this process
		Check: func(ctx context.Context, p assistant.Promotions) (string, error) {
			steps, err := stepsOf(ctx, questions, p)
			for _, step := range steps {
				if step.Kind == string(promote.Paused) {
					return step.At.UTC().Format(time.RFC3339Nano), err
				}
			}
			return "", err
		},
		Pause: func(_ context.Context, p assistant.Promotions, why string) error {
			return c.fleet.WithController(cmd, c.t, func(controller backend.Controller) error {
				_, err := controller.Do(cmd.Context(), backend.Command{
					Action: backend.Pause, Environment: p.Environment, Application: p.Application, ControlPlane: p.ControlPlane, Why: why,
				})
				return err
			})
		},
	}
}

// stepsOf returns the last steps of promotions. The error says that they do not exist.
func stepsOf(ctx context.Context, questions assistant.Questions, p assistant.Promotions) ([]ledger.Step, error) {
	if p.Application == "" {
		name, _ := decide.SplitRing(p.Environment)
		found, err := questions.Environment(ctx, query.EnvironmentQuery{Name: name, ControlPlane: p.ControlPlane})
		return found.Steps, err
	}
	found, err := questions.Application(ctx, query.ApplicationQuery{Name: p.Application})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range found.Environments {
		if e.Environment == p.Environment && e.Detail != nil {
			return e.Detail.Steps, nil
		}
		names = append(names, e.Environment)
	}
	return nil, query.Unknown("environment", p.Environment, names)
}

// documentsOf implements [assistant.ControlPlane] with a session. Each answer reads the newest commits.
type documentsOf struct{ *session }

// Draft implements [assistant.ControlPlane].
func (d *documentsOf) Draft(ctx context.Context, r assistant.DraftRequest) (*schedule.Draft, error) {
	request := d.request
	if r.ControlPlane != "" && !repourl.Same(r.ControlPlane, request.ControlPlane) {
		return nil, fmt.Errorf("these tools read the control plane %s only", request.ControlPlane)
	}
	request.Environment = r.Environment
	defer d.progress.End()
	return d.drafter.Draft(ctx, schedule.DraftRequest{Request: request, WhatIf: r.WhatIf, Lenient: !r.Compare})
}

// Documents implements [assistant.ControlPlane].
func (d *documentsOf) Documents(ctx context.Context, branch string) (fleet.Source, error) {
	return d.drafter.Loader.Repositories.Source(ctx, schedule.Location{Repo: d.request.ControlPlane, Branch: branch})
}
