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
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/open"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/solution/registry"
)

// appPromoteCommand is "kalypso app promote".
type appPromoteCommand struct {
	t        *terminal.Terminal
	app      appFlags
	platform platformFlags
	output   *cli.Output
	forges   pullRequestFlags
	ledger   backend.LedgerFlag
	place    backend.Flags
	to, why  string
	back     bool
	noGate   bool
	dryRun   bool
	timeout  time.Duration
	// publish says where merged commits are published; nowhere without a place.
	publish publishFlags
}

// appPromoted is the result of the command.
type appPromoted struct {
	Subject      string             `json:"subject"`
	Environments []promote.Standing `json:"environments"`
	Done         []string           `json:"done"`
	// Errors say why an environment is not known, by name.
	Errors map[string]string `json:"errors,omitempty"`

	// requested is the commit that was requested for an environment.
	requested string
}

func newAppPromote(t *terminal.Terminal) *cobra.Command {
	c := &appPromoteCommand{t: t}
	cmd := &cobra.Command{
		Use:   "promote --ledger LEDGER",
		Short: "Promote what can be promoted, or go back to an earlier version",
		Long: `Promote everything that can be promoted, once, for a CI job without a server.

    dev: merged ─► every cluster that has its targets runs it ─► status on the source commit ─► stage: the same commit, version, image

The ledger contains cluster reports, the platform's assignments, and what CI built. The command ends when there is nothing left to do but
wait; run it again after something has happened. It exits with 3 if a commit failed in an environment; with --to, in that one.

With --to and --version or --commit, the build that you choose, even an older one, is promoted next. All rules of the environment apply.
--back takes the current build back, and returns to the build that last ran there without failing. Pauses, windows and freezes don't delay
this. The build that was taken back, and newer builds, are not promoted again until you request one of them or merge a newer commit.

Without a ledger, Kalypso doesn't know what clusters run. --to then needs --no-gate, and uses what earlier environments have published.

With --server, the server that delivers the application carries out the request: --to with --version, --commit or --back. You need no
access to the forge, and the forge can be the embedded one. --workload names the application without reading its source.

With --publish, the merged commit of each environment is published as a solution version, as "kalypso app publish" does. Published versions never change.

With --control-plane, the platform team's rules apply, and --scan runs its scans here, as "kalypso app deploy" does. Without a control
plane, Kalypso doesn't know what to scan: pull requests keep an existing status kalypso/scan, and get no new one.`,
		Example: `  kalypso app promote --ledger postgres://kalypso@db/kalypso
  kalypso app promote --to stage --version 1.3.0 --why "1.4.0 loses orders" --ledger ledger.db
  kalypso app promote --to stage --back --ledger ledger.db
  kalypso app promote --to stage --no-gate
  kalypso app promote --to stage --back --why "1.4.0 loses orders" --server https://kalypso.example.com
  kalypso app promote --ledger ledger.db --scan --control-plane https://github.com/acme/control-plane
  kalypso app promote --ledger ledger.db --publish oci://registry.example.com/acme/hello-world-app --key key.pem`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.app.bind(cmd)
	c.app.bindGitOps(cmd)
	c.platform.bind(cmd)
	flags := cmd.Flags()
	flags.StringVar(&c.app.build.Commit, "commit", "", "the `commit` to promote")
	flags.StringVar(&c.app.build.Version, "version", "", "the `version` to promote")
	flags.BoolVar(&c.back, "back", false, "take the current build back, and return to the build that last ran there without failing")
	flags.StringVar(&c.to, "to", "", "the `name` of the environment to promote to")
	flags.StringVar(&c.why, "why", "", "the `reason`, for the records")
	flags.BoolVar(&c.dryRun, "dry-run", false, "only show what the server would do: in which environments and rings, on how many clusters, and what restarts")
	flags.BoolVar(&c.noGate, "no-gate", false, "without a ledger: promote without knowing what clusters run")
	flags.DurationVar(&c.timeout, "timeout", 10*time.Minute, "how long verifications, scans and publishing may take all in all")
	flags.StringVar(&c.publish.to, "publish", "", "publish what is merged to `oci://REGISTRY/REPOSITORY`, or a folder for an OCI image layout (default: nowhere)")
	flags.StringVar(&c.publish.keyFile, "key", "", "sign what is published with the private key in this `file`")
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(appPromoted{}, api.ProposedEnvironment{}, api.Accepted{})
	bindForges(cmd, &c.forges)
	c.ledger.Bind(cmd, "the ledger with what clusters report")
	c.place.BindServer(cmd, "request it from the server at a `URL`, which delivers the application")
	return cmd
}

// check refuses flags that do not go together; at is the ledger.
func (c *appPromoteCommand) check(cmd *cobra.Command, at string) error {
	named := wanted(c.app.build.Commit != "", c.app.build.Version != "", c.back)
	switch {
	case named > 1:
		return cli.Usage(cmd, "choose one of --version, --commit and --back")
	case c.dryRun:
		return cli.Usage(cmd, "--dry-run shows what a server would do: it needs --server")
	case named > 0 && c.to == "":
		return cli.Usage(cmd, "where to? name the environment, as in --to stage")
	case c.why != "" && (c.to == "" || at == ""):
		return cli.Usage(cmd, "--why is recorded with a request: use it with --to, and with --ledger or --server")
	case at == "" && (!c.noGate || c.to == ""):
		return cli.Usage(cmd, "no ledger given; use --ledger. Without a ledger, use --to with --no-gate")
	case at == "" && c.back:
		return cli.Usage(cmd, "--back needs --ledger, because only the ledger records what ran well")
	case at != "" && c.noGate:
		return cli.Usage(cmd, "--no-gate is for when there is no ledger")
	case at == "" && c.publish.to != "":
		return cli.Usage(cmd, "--publish needs a ledger; without one, use kalypso app publish")
	case c.publish.keyFile != "" && c.publish.to == "":
		return cli.Usage(cmd, "--key signs what is published: use it with --publish")
	case at != "" && c.to != "" && named == 0:
		return cli.Usage(cmd, "which build? name it with --version, --commit or --back")
	}
	return c.platform.check(cmd)
}

func (c *appPromoteCommand) run(cmd *cobra.Command) error {
	if c.to != "" && !c.noGate && c.place.Server == "" && c.ledger.Place(c.t) == "" {
		c.place.Server = c.t.Env[backend.EnvServer] // as for other commands about a server or a ledger
	}
	server, err := c.place.Client(cmd, c.t)
	if err != nil {
		return err
	}
	if server != nil {
		return c.request(cmd, backend.Applications{Client: server})
	}
	at := c.ledger.Place(c.t)
	if err := c.check(cmd, at); err != nil {
		return err
	}
	to, err := c.publish.place(cmd, "--publish")
	if err != nil {
		return err
	}
	release, err := c.publish.release()
	if err != nil {
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
		r, err = c.promote(cmd.Context(), s, d, l, to, release)
		return err
	})
	s.progress.End()
	if r == nil {
		return err
	}
	if err := errors.Join(err, c.output.Write(c.t.Out, r, func(w io.Writer) error { return c.show(w, r) })); err != nil {
		return err
	}
	if r.failed(c.to) {
		return cli.AnswerNo()
	}
	return nil
}

// failed reports whether what was requested for an environment failed there or, if nothing was requested, a commit in any environment.
func (r *appPromoted) failed(environment string) bool {
	if environment != "" && r.Errors[environment] != "" || environment == "" && len(r.Errors) > 0 {
		return true
	}
	return slices.ContainsFunc(r.Environments, func(s promote.Standing) bool {
		return s.Phase == decide.Failed && (environment == "" || s.Environment == environment && s.Commit == r.requested)
	})
}

// request requests a build from a server, which promotes it in its next round.
func (c *appPromoteCommand) request(cmd *cobra.Command, server backend.Applications) error {
	named := wanted(c.app.build.Commit != "", c.app.build.Version != "", c.back)
	switch {
	case c.to == "" || named != 1:
		return cli.Usage(cmd, "a server promotes by itself; to request a build, use --to with one of --version, --commit and --back")
	case c.noGate || cmd.Flags().Changed("ledger") || c.platform.scan || c.platform.controlPlane != "":
		return cli.Usage(cmd, "with --server, the server applies its gates, rules and scans: leave out --no-gate, --ledger, --control-plane and --scan")
	}
	if err := leaveOut(cmd, serverReads, "config", "gitops", "forge-config", "forge-kind"); err != nil {
		return err
	}
	if err := leaveOut(cmd, "a server promotes in its own time", "timeout"); err != nil {
		return err
	}
	if err := leaveOut(cmd, "a server publishes as its configuration says", "publish", "key"); err != nil {
		return err
	}
	ctx := cmd.Context()
	name, err := c.app.name(ctx, c.t)
	if err != nil {
		return err
	}
	command := backend.Command{Action: backend.Promote, Environment: c.to, Commit: c.app.build.Commit, Why: c.why, DryRun: c.dryRun}
	if c.back {
		command.Action = backend.Rollback
	}
	if version := c.app.build.Version; version != "" {
		if command.Commit, err = server.CommitOf(ctx, name, version); err != nil {
			return err
		}
	}
	accepted, err := server.Do(ctx, name, command)
	if err != nil {
		return err
	}
	return c.output.Write(c.t.Out, accepted, func(w io.Writer) error {
		if accepted.Rehearsal != nil {
			return output.NewPrinter(c.t).Rehearsal(w, accepted)
		}
		_, err := fmt.Fprintf(w, "requested %s of %s for %s; the server carries it out in its next round\n",
			fleet.ShortCommit(accepted.Commit), terminal.Printable(accepted.Application), terminal.Printable(accepted.Environment))
		return err
	})
}

// promote says what is ordered, and makes rounds.
func (c *appPromoteCommand) promote(
	ctx context.Context, s *appSession, d *deliver.Deliverer, l ledger.Ledger, to registry.Reference, release registry.Release,
) (*appPromoted, error) {
	a, err := s.drafter.Loader.Application(ctx, s.request, "")
	if err != nil {
		return nil, err
	}
	d.Memory = &deliver.Memory{}
	chain := s.chain(d, l, c.t.Now)
	defer chain.Promoter.Close()
	r := &appPromoted{Subject: a.Subject(), Done: []string{}}
	if c.to != "" {
		build, present, err := c.requested(ctx, s, a, chain)
		if err != nil {
			return nil, err
		}
		if err := c.order(ctx, a, l, present, build); err != nil {
			return nil, err
		}
		r.requested = build.Commit
		r.Done = append(r.Done, fmt.Sprintf("requested %s for %s", build.Name(), c.to))
		d.Loader = s.again()
	}
	ctx, stop := context.WithTimeout(ctx, c.timeout)
	defer stop()
	delivered, failed := chain.Settle(ctx, s.request, s.again)
	if failed != nil && c.to != "" {
		failed = fmt.Errorf("the request is recorded, and the next round carries it out: %w", failed)
	}
	if delivered == nil {
		return nil, failed
	}
	r.Environments, r.Done = delivered.Promotion.Environments, append(r.Done, delivered.Did...)
	for name, err := range delivered.Errors {
		if r.Errors == nil {
			r.Errors = map[string]string{}
		}
		r.Errors[name] = err.Error()
	}
	if c.publish.to != "" {
		c.publishMerged(ctx, s, delivered, to, release, r)
	}
	return r, failed
}

// requested finds the build that is requested, and the commit that is there at present, and checks that it can be
// promoted. Nothing is recorded if it cannot.
func (c *appPromoteCommand) requested(ctx context.Context, s *appSession, a *deliver.Application, chain *deliver.Chain) (build deliver.Build, present string, err error) {
	e, ok := a.Delivery.Environment(c.to)
	if !ok {
		return build, "", fmt.Errorf("the workload %q is not delivered to %q; there are %s", a.Workload.Name, c.to, strings.Join(a.Environments(), ", "))
	}
	concerned := []string{c.to}
	if e.Promotion != nil {
		concerned = append(concerned, e.Promotion.After...)
	}
	found := chain.Deliverer.Preview(ctx, s.request, concerned)
	for _, name := range concerned {
		if err := found.Errors[name]; err != nil {
			return build, "", fmt.Errorf("%s: %w", name, err)
		}
	}
	pipeline := chain.Pipeline(s.request, found)
	reading, err := pipeline.Read(ctx)
	if err != nil {
		return build, "", err
	}
	commit, err := c.commit(ctx, a, chain.Ledger, found)
	if err != nil {
		return build, "", err
	}
	build, err = pipeline.Build(ctx, c.to, commit)
	switch version := c.app.build.Version; {
	case err != nil:
		return build, "", err
	case !slices.ContainsFunc(reading.Line, func(c promote.Commit) bool { return c.SHA == commit }):
		return build, "", fmt.Errorf("commit %s is not among the last ones of the branch", fleet.ShortCommit(commit))
	case version != "" && version != build.Version:
		return build, "", cli.Failed(fmt.Errorf("%s would get commit %s as %s, the build that ran, and not as %s", c.to, fleet.ShortCommit(commit), build.Name(), version),
			"kalypso app deploy --commit takes another build of a commit to the first environment")
	}
	return build, found.Environments[c.to].Current().Commit, nil
}

// commit finds the commit that is requested.
func (c *appPromoteCommand) commit(ctx context.Context, a *deliver.Application, l deliver.Ledger, found *deliver.Delivered) (string, error) {
	switch {
	case c.back:
		now := found.Environments[c.to].Current().Commit
		good, err := deliver.LastGood(ctx, l, a.Subject(), c.to, now)
		if err == nil && good.Commit == "" {
			err = fmt.Errorf("nothing else ever ran in %q without failing", c.to)
		}
		return good.Commit, err
	case c.app.build.Version == "":
		return c.app.build.Commit, nil
	}
	builds, err := deliver.RecordedBuilds(ctx, l, a.Subject())
	if err != nil {
		return "", err
	}
	for _, o := range found.Environments { // these builds count, also if a later one of the commit is recorded
		if b := o.GitOps.Build; b.Commit != "" && b.Version == c.app.build.Version {
			builds[b.Commit] = b
		}
	}
	build, err := deliver.FindBuild(builds, c.app.build.Version)
	return build.Commit, err
}

// order records which build is next; with --back, that the present commit is taken back.
func (c *appPromoteCommand) order(ctx context.Context, a *deliver.Application, l ledger.Ledger, present string, build deliver.Build) error {
	control := &promote.Control{Ledger: l, Now: c.t.Now}
	w := promote.Command{Subject: a.Subject(), Environment: c.to, Commit: build.Commit, By: repository.Author(c.t.Env).Name, Why: c.why}
	if c.back {
		w.Commit, w.To = present, build.Commit
		return control.RollBack(ctx, w)
	}
	return control.Order(ctx, w)
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
	o, err := d.Persist(ctx, deliver.RoundRequest{Request: s.request, Environment: c.to, Build: build}, s.again)
	if err != nil {
		return err
	}
	s.progress.End()
	r := api.ProposedIn(c.to, o)
	if err := c.output.Write(c.t.Out, r, func(w io.Writer) error { return (&appDeployCommand{t: c.t}).show(w, r) }); err != nil {
		return err
	}
	return answerOf(r, c.platform.scan)
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
