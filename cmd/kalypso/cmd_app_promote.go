package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/open"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/repository"
)

// appPromoteCommand is "kalypso app promote".
type appPromoteCommand struct {
	t        *terminal.Terminal
	app      appFlags
	platform platformFlags
	output   *cli.Output
	forges   pullRequestFlags
	ledger   backend.LedgerFlag
	to, why  string
	back     bool
	noGate   bool
	timeout  time.Duration
}

// appPromoted is the result of the command.
type appPromoted struct {
	Subject      string             `json:"subject"`
	Environments []promote.Standing `json:"environments"`
	Done         []string           `json:"done"`
	// Errors say why an environment is not known, by name.
	Errors map[string]string `json:"errors,omitempty"`
}

func newAppPromote(t *terminal.Terminal) *cobra.Command {
	c := &appPromoteCommand{t: t}
	cmd := &cobra.Command{
		Use:   "promote --ledger LEDGER",
		Short: "Move everything on that may move, or go back to an earlier version",
		Long: `Move everything on that may move, once, for a CI job without a server.

    dev: merged ─► every cluster that has its targets runs it ─► status on the source commit ─► stage: the same commit, version, image

The ledger knows what clusters report, where the platform put the targets, and what CI built. It ends when nothing is left to do but to
wait; run it again when something happened. It exits with 3 when a commit failed in an environment.

With --to and --version, --commit or --back, a build, also an older one, is the next to enter an environment; all rules hold for it.
--back means the one that ran there last without failing. Without a ledger nobody knows what clusters run: --to then needs --no-gate,
and takes what the environments before have published.

With --control-plane the rules of the platform team count, and --scan runs its scans here, as "kalypso app deploy" does. Without a control
plane nobody knows what is to be scanned: pull requests get no status kalypso/scan, and keep the one that they have.`,
		Example: `  kalypso app promote --ledger postgres://kalypso@db/kalypso
  kalypso app promote --to stage --version 1.3.0 --why "1.4.0 loses orders" --ledger ledger.db
  kalypso app promote --to stage --back --ledger ledger.db
  kalypso app promote --to stage --no-gate
  kalypso app promote --ledger ledger.db --scan --control-plane https://github.com/acme/control-plane`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.app.bind(cmd)
	c.platform.bind(cmd)
	flags := cmd.Flags()
	flags.StringVar(&c.app.build.Commit, "commit", "", "the `commit` that is to enter")
	flags.StringVar(&c.app.build.Version, "version", "", "the `version` that is to enter")
	flags.BoolVar(&c.back, "back", false, "enter what ran there last without failing")
	flags.StringVar(&c.to, "to", "", "the `name` of the environment that it is to enter")
	flags.StringVar(&c.why, "why", "", "the `reason`, for the records")
	flags.BoolVar(&c.noGate, "no-gate", false, "without a ledger: do not ask what clusters run")
	flags.DurationVar(&c.timeout, "timeout", 10*time.Minute, "how long verifications and scans may take all in all")
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML)
	bindForges(cmd, &c.forges)
	c.ledger.Bind(cmd, "the ledger with what clusters report")
	return cmd
}

// check refuses flags that do not go together; at is the ledger.
func (c *appPromoteCommand) check(cmd *cobra.Command, at string) error {
	named := wanted(c.app.build.Commit != "", c.app.build.Version != "", c.back)
	switch {
	case named > 1:
		return cli.Usage(cmd, "choose one of --version, --commit and --back")
	case named > 0 && c.to == "":
		return cli.Usage(cmd, "where to? name the environment, as in --to stage")
	case at == "" && (!c.noGate || c.to == ""):
		return cli.Usage(cmd, "which ledger? name it with --ledger; without one, nobody knows what clusters run, and --to needs --no-gate")
	case at == "" && c.back:
		return cli.Usage(cmd, "only a ledger knows what ran well: --back needs --ledger")
	case at != "" && c.noGate:
		return cli.Usage(cmd, "--no-gate is for when there is no ledger")
	case at != "" && c.to != "" && named == 0:
		return cli.Usage(cmd, "which build? name it with --version, --commit or --back")
	}
	return c.platform.check(cmd)
}

func (c *appPromoteCommand) run(cmd *cobra.Command) error {
	at := c.ledger.Place(c.t)
	if err := c.check(cmd, at); err != nil {
		return err
	}
	s, err := c.app.open(cmd.Context(), c.t)
	if err != nil {
		return err
	}
	defer s.close()
	_, end, err := c.platform.open(cmd.Context(), s, c.t)
	if err != nil {
		return err
	}
	defer end()
	d, err := s.deliverer(&c.forges, c.t)
	if err != nil {
		return err
	}
	if at == "" {
		return c.withoutGate(cmd.Context(), s, d)
	}
	var r *appPromoted
	err = backend.WithLedger(cmd.Context(), open.Ledger, at, func(l ledger.Ledger) error {
		r, err = c.promote(cmd.Context(), s, d, l)
		return err
	})
	s.progress.End()
	if r == nil {
		return err
	}
	if err := errors.Join(err, c.output.Write(c.t.Out, r, func(w io.Writer) error { return c.show(w, r) })); err != nil {
		return err
	}
	failed := slices.ContainsFunc(r.Environments, func(s promote.Standing) bool { return s.Phase == decide.Failed })
	if failed || len(r.Errors) > 0 {
		return cli.AnswerNo()
	}
	return nil
}

// promote says what is ordered, and makes rounds.
func (c *appPromoteCommand) promote(ctx context.Context, s *appSession, d *deliver.Deliverer, l ledger.Ledger) (*appPromoted, error) {
	a, err := s.drafter.Loader.Application(ctx, s.request, "")
	if err != nil {
		return nil, err
	}
	if c.to != "" {
		if err := c.order(ctx, a, l); err != nil {
			return nil, err
		}
	}
	chain := s.newChain(d, l, c.t)
	defer chain.close()
	delivered, failed := chain.rounds(ctx, c.timeout)
	if delivered == nil {
		return nil, failed
	}
	r := &appPromoted{Subject: a.Subject(), Environments: delivered.Promotion.Environments, Done: append([]string{}, delivered.Did...)}
	for name, err := range delivered.Errors {
		if r.Errors == nil {
			r.Errors = map[string]string{}
		}
		r.Errors[name] = err.Error()
	}
	return r, failed
}

// order puts on record which build is next.
func (c *appPromoteCommand) order(ctx context.Context, a *deliver.Application, l ledger.Ledger) error {
	if !slices.Contains(a.Environments(), c.to) {
		return fmt.Errorf("the workload %q is not delivered to %q; there are %s", a.Workload.Name, c.to, strings.Join(a.Environments(), ", "))
	}
	commit := c.app.build.Commit
	switch {
	case c.back:
		now := lastEntered(ctx, l, a.Subject(), c.to)
		good, err := deliver.LastGood(ctx, l, a.Subject(), c.to, now)
		if err != nil {
			return err
		}
		if good.Commit == "" {
			return fmt.Errorf("nothing else ever ran in %q without failing", c.to)
		}
		commit = good.Commit
	case c.app.build.Version != "":
		builds, err := deliver.RecordedBuilds(ctx, l, a.Subject())
		if err != nil {
			return err
		}
		build, err := deliver.FindBuild(builds, c.app.build.Version)
		if err != nil {
			return err
		}
		commit = build.Commit
	}
	control := &promote.Control{Ledger: l, Now: c.t.Now}
	return control.Order(ctx, promote.Word{
		Subject: a.Subject(), Environment: c.to, Commit: commit, By: repository.Author(c.t.Env).Name, Why: c.why,
	})
}

// lastEntered is the commit that an environment has by the ledger.
func lastEntered(ctx context.Context, l ledger.Ledger, subject, environment string) string {
	steps, err := l.Steps(ctx, ledger.StepQuery{Subject: subject, Environment: environment, Kind: string(decide.Entered), Limit: 1})
	if err != nil || len(steps) == 0 {
		return ""
	}
	return steps[0].Commit
}

// withoutGate takes what the environments before have published to another one.
func (c *appPromoteCommand) withoutGate(ctx context.Context, s *appSession, d *deliver.Deliverer) error {
	a, err := s.drafter.Loader.Application(ctx, s.request, "")
	if err != nil {
		return err
	}
	e, ok := a.Delivery.Environment(c.to)
	if !ok {
		return fmt.Errorf("the workload %q is not delivered to %q; there are %s", a.Workload.Name, c.to, strings.Join(a.Environments(), ", "))
	}
	build, err := c.published(ctx, s, a, e.Promotion.After)
	if err != nil {
		return err
	}
	o, err := d.Persist(ctx, deliver.Order{Request: s.request, Environment: c.to, Build: build}, s.again)
	if err != nil {
		return err
	}
	s.progress.End()
	r := deployedOf(c.to, o)
	if err := c.output.Write(c.t.Out, r, func(w io.Writer) error { return (&appDeployCommand{t: c.t}).show(w, r) }); err != nil {
		return err
	}
	return r.answer(c.platform.scan)
}

// published is the build that all environments before have, and the one that was asked for.
func (c *appPromoteCommand) published(ctx context.Context, s *appSession, a *deliver.Application, before []string) (deliver.Build, error) {
	if len(before) == 0 {
		return deliver.Build{}, cli.Failed(fmt.Errorf("no environment comes before %q", c.to), "kalypso app deploy --commit takes a commit there")
	}
	var build deliver.Build
	for _, name := range before {
		g, err := s.drafter.Loader.GitOps(ctx, a, name)
		if err != nil {
			return build, err
		}
		switch {
		case g.Build.Commit == "":
			return build, fmt.Errorf("nothing is published in %q yet", name)
		case build.Commit != "" && build.Commit != g.Build.Commit:
			return build, fmt.Errorf("%s have different commits; wait until they have the same", strings.Join(before, " and "))
		}
		build = g.Build
	}
	asked := cmp.Or(c.app.build.Commit, c.app.build.Version)
	if asked != "" && asked != build.Commit && asked != build.Version {
		return build, cli.Failed(fmt.Errorf("%s has %s, and not %s", strings.Join(before, " and "), build.Name(), asked), "an earlier build is known to a ledger only: --ledger")
	}
	return build, nil
}

func (c *appPromoteCommand) show(w io.Writer, r *appPromoted) error {
	for _, line := range r.Done {
		fmt.Fprintln(w, terminal.Printable(terminal.ShortHashes(line)))
	}
	if len(r.Done) == 0 {
		fmt.Fprintln(w, "nothing to do but to wait")
	}
	fmt.Fprintln(w)
	for _, name := range slices.Sorted(maps.Keys(r.Errors)) {
		fmt.Fprintf(w, "%s  %s: %s\n", c.t.OutStyle.Red("error"), terminal.Printable(name), terminal.Printable(r.Errors[name]))
	}
	var standing []query.Environment
	for _, s := range r.Environments {
		standing = append(standing, query.Environment{Name: s.Environment, Commit: s.Commit, Phase: s.Phase, Reason: s.Reason})
	}
	return output.NewPrinter(c.t).EnvironmentTable(w, standing)
}
