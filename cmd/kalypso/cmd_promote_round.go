package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/open"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/promote/verify"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/serve/wiring"
)

// promoteRoundCommand is "kalypso promote round".
type promoteRoundCommand struct {
	t       *terminal.Terminal
	source  sourceFlags
	ledger  backend.LedgerFlag
	chain   []string
	forges  pullRequestFlags
	timeout time.Duration
	output  *cli.Output
}

func newPromoteRound(t *terminal.Terminal) *cobra.Command {
	c := &promoteRoundCommand{t: t}
	cmd := &cobra.Command{
		Use:   "round --control-plane URL --ledger LEDGER",
		Short: "Promote everything that can be promoted, once, without a server",
		Long: `Promote everything that can be promoted, once, for a CI job without a server. "kalypso serve" does the same continuously.

    control plane ─► schedule each environment ─► its pull request
    GitOps        ─► what each commit wants    ─► ledger
    ledger        ─► who runs what             ─► promote what can be promoted, post commit statuses, report why the rest waits

It ends when there is nothing left to do but wait; run it again after something has happened, or every few minutes. It exits with 3 if a
commit failed in an environment. The environment has a token for the forge, as for "kalypso schedule --pull-request".
Verifications may request public addresses, and others that the configuration file allows. Reviews of pull requests count as approvals if the
configuration file names people; without it, they are not read.`,
		Example: `  kalypso promote round --control-plane https://github.com/acme/control-plane --ledger postgres://kalypso@db/kalypso
  kalypso promote round --control-plane https://git.example.com/acme/fleet --ledger ledger.db --config kalypso.yaml --chain dev,prod`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.source.controlPlane, "control-plane", "", "the control plane, a `folder or URL` (default: the repository of the current folder)")
	flags.Var((*mapFlag)(&c.source.maps), "map", "read the repository `URL=PATH` from a path; may be repeated")
	c.ledger.Bind(cmd, "the ledger with what clusters report")
	flags.StringSliceVar(&c.chain, "chain", nil, "the `environments` one after the other, where they have no rules, as in dev,stage,prod")
	flags.StringVar(&c.forges.config, "config", "", "a configuration `file` of kalypso serve, for its forges, its people and what verifications may do")
	flags.StringVar(&c.forges.kind, "forge-kind", "", "the `kind` of the forge, if its host does not imply it")
	flags.DurationVar(&c.timeout, "timeout", 10*time.Minute, "how long verifications may take all in all")
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(promote.Outcome{})
	return cmd
}

func (c *promoteRoundCommand) run(cmd *cobra.Command) error {
	if c.forges.kind != "" && !slices.Contains(kindsOfTokens(), c.forges.kind) {
		return cli.Usage(cmd, "--forge-kind %q is none of %v", c.forges.kind, kindsOfTokens())
	}
	at, err := c.ledger.Require(cmd, c.t)
	if err != nil {
		return err
	}
	var outcome *promote.Outcome
	err = backend.WithLedger(cmd.Context(), open.Ledger, at, func(l ledger.Ledger) error {
		outcome, err = c.promote(cmd.Context(), l)
		return err
	})
	if err != nil {
		return err
	}
	if err := c.output.Write(c.t.Out, outcome, func(w io.Writer) error { return c.show(w, outcome) }); err != nil {
		return err
	}
	if slices.ContainsFunc(outcome.Environments, func(s promote.Standing) bool { return s.Phase == decide.Failed }) {
		return cli.AnswerNo()
	}
	return nil
}

// promote promotes until nothing is left to do but to wait.
func (c *promoteRoundCommand) promote(ctx context.Context, l ledger.Ledger) (*promote.Outcome, error) {
	hosts, access, err := c.forges.forges(c.t.Env)
	if err != nil {
		return nil, err
	}
	c.source.schedulers.config = c.forges.config
	session, err := c.source.open(ctx, c.t)
	if err != nil {
		return nil, err
	}
	defer session.close()
	session.client.Map, session.client.Credentials = append(session.client.Map, access.Maps...), access.Credentials
	promoter := &promote.Promoter{}
	if promoter.Checks, err = c.checks(); err != nil {
		return nil, err
	}
	if promoter.People, err = c.people(hosts); err != nil {
		return nil, err
	}
	p := session.plane(c.t, l, c.chain, hosts, promoter)
	defer promoter.Close()
	ctx, stop := context.WithTimeout(ctx, c.timeout)
	defer stop()
	return p.Settle(ctx)
}

// checks returns a runner of verifications. Without a configuration file, they can use public addresses only.
func (c *promoteRoundCommand) checks() (*verify.Runner, error) {
	if c.forges.config == "" {
		return &verify.Runner{}, nil
	}
	config, err := c.forges.read()
	if err != nil {
		return nil, err
	}
	return wiring.NewVerifier(config.Verify, c.t.Env)
}

// people returns the users whose reviews count. Without a configuration file, reviews are not read.
func (c *promoteRoundCommand) people(hosts pullrequest.Forges) (*forge.People, error) {
	configured, ok := hosts.(forge.Forges)
	if !ok {
		return nil, nil
	}
	config, err := c.forges.read()
	if err != nil {
		return nil, err
	}
	return wiring.NewPeople(config, configured), nil
}

// show says what was done, and why the rest waits.
func (c *promoteRoundCommand) show(w io.Writer, o *promote.Outcome) error {
	for _, line := range o.Did {
		fmt.Fprintln(w, terminal.Printable(terminal.ShortHashes(line)))
	}
	if len(o.Did) == 0 {
		fmt.Fprintln(w, "nothing to do but to wait")
	}
	fmt.Fprintln(w)
	var standing []query.Environment
	for _, s := range o.Environments {
		standing = append(standing, query.Environment{Name: s.Environment, Commit: s.Commit, Phase: s.Phase, Reason: s.Reason, Rings: query.RingsOf(s.Rings)})
	}
	return output.NewPrinter(c.t).EnvironmentTable(w, standing)
}
