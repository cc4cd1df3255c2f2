package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/check/scan"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/open"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// appDeployCommand is "kalypso app deploy".
type appDeployCommand struct {
	t        *terminal.Terminal
	app      appFlags
	platform platformFlags
	output   *cli.Output
	forges   pullRequestFlags
	ledger   backend.LedgerFlag
	place    backend.Flags
	dryRun   bool
}

func newAppDeploy(t *terminal.Terminal) *cobra.Command {
	c := &appDeployCommand{t: t}
	cmd := &cobra.Command{
		Use:   "deploy [--commit COMMIT --version VERSION --image-tag TAG]",
		Short: "Open or update the pull request of an environment",
		Long: `Open or update the pull request of an environment, with a commit that CI has built.

    source@commit + configuration ─► manifests ─► pull request to the GitOps branch ─► merged by people, or by autoMerge

With --commit, this is the chain's first environment; the others get the same commit, version and image by promotion.
Without --commit, and with -e, the environment is rendered again with its current commit, for example after a configuration change.
--ledger records the build, for "kalypso app promote" and for a server.

With --server, the command reports the build to the server that delivers the application, and the server opens the pull request. You need no access to
the forge, and the forge can be the embedded one.

With --control-plane, the platform team's rules apply. If they require scans of images or charts, the pull request has the status
kalypso/scan, which is pending until the scans have run. --scan runs them here, with the programs that the control plane names.`,
		Example: `  kalypso app deploy --commit $GITHUB_SHA --version 1.4.0 --image-tag 1.4.0
  kalypso app deploy -e stage
  kalypso app deploy --commit $GITHUB_SHA --version 1.4.0 --image-tag 1.4.0 --server https://kalypso.example.com
  kalypso app deploy --commit $GITHUB_SHA --image-tag 1.4.0 --scan --control-plane https://github.com/acme/control-plane
  kalypso app deploy --commit 3f2a9c1 --version 1.4.0 --image-tag 1.4.0 --dry-run`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.app.bind(cmd)
	c.app.bindEnvironment(cmd)
	c.app.bindGitOps(cmd)
	c.app.bindBuild(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(api.ProposedEnvironment{}, api.RecordedBuild{})
	bindForges(cmd, &c.forges)
	c.ledger.Bind(cmd, "the ledger that records the build")
	c.place.BindServer(cmd, "tell the server at a `URL`, which delivers the application, what was built")
	cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, "show what the pull request would contain, and do nothing")
	c.platform.bind(cmd)
	return cmd
}

// bindForges adds the flags that say where forges are and how we may write there.
func bindForges(cmd *cobra.Command, f *pullRequestFlags) {
	cmd.Flags().StringVar(&f.config, "forge-config", "", "a configuration `file` of kalypso serve, for its forges")
	cmd.Flags().StringVar(&f.kind, "forge-kind", "", "the `kind` of the forge, if its host does not imply it")
	cli.FlagGroup(cmd, cli.GroupForge, "pull-request", "forge-config", "forge-kind")
}

// builtHere are the flags with which "kalypso app deploy" works without a server.
var builtHere = []string{"environment", "dry-run", "control-plane", "scan", "set", "set-string", "var"}

func (c *appDeployCommand) run(cmd *cobra.Command) error {
	if c.app.build.Commit == "" && (c.app.build.Version != "" || c.app.build.Image != "") {
		return cli.Usage(cmd, "which commit was built? name it, as in --commit $GITHUB_SHA")
	}
	if c.app.build.Commit == "" && c.app.environment == "" {
		return cli.Usage(cmd, "name the commit that CI has built, or with -e the environment to render again")
	}
	server, err := c.place.ClientUnless(cmd, c.t, &c.ledger, slices.Concat(repositoryFlags, builtHere)...)
	if err != nil {
		return err
	}
	if server != nil {
		return c.record(cmd, backend.Applications{Client: server})
	}
	if err := c.platform.check(cmd); err != nil {
		return err
	}
	if k := c.forges.kind; k != "" && !slices.Contains(kindsOfTokens(), k) {
		return cli.Usage(cmd, "--forge-kind %q is none of %s", k, strings.Join(kindsOfTokens(), ", "))
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
	r, err := c.deploy(cmd.Context(), s)
	if err != nil {
		return err
	}
	s.progress.End()
	if err := c.output.Write(c.t.Out, r, func(w io.Writer) error { return c.show(w, r) }); err != nil {
		return err
	}
	return answerOf(r, c.platform.scan)
}

// record tells a server what was built. It delivers that to the first environment in its next round.
func (c *appDeployCommand) record(cmd *cobra.Command, server backend.Applications) error {
	switch {
	case c.app.build.Commit == "" || c.app.environment != "":
		return cli.Usage(cmd, "the server renders environments again by itself; with --server, name the commit that was built, without -e")
	case c.dryRun || cmd.Flags().Changed("ledger") || c.platform.scan || c.platform.controlPlane != "":
		return cli.Usage(cmd, "with --server, the server plans, checks and records: leave out --dry-run, --ledger, --control-plane and --scan")
	case len(c.app.set)+len(c.app.setString)+len(c.app.vars) > 0:
		return cli.Usage(cmd, "a server takes values from the configuration only: leave out --set, --set-string and --var")
	}
	if err := leaveOut(cmd, serverReads, repositoryFlags...); err != nil {
		return err
	}
	ctx := cmd.Context()
	s, err := c.app.open(ctx, c.t)
	if err != nil {
		return err
	}
	defer s.close()
	a, err := s.drafter.Loader.Application(ctx, s.request, c.app.build.Commit)
	if err != nil {
		return err
	}
	recorded, err := server.Record(ctx, a.Workload.Name, c.app.build)
	if err != nil {
		return err
	}
	s.progress.End()
	return c.output.Write(c.t.Out, recorded, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "recorded %s of %s; the server delivers it in its next round\n", terminal.Printable(recorded.Build.Name()), terminal.Printable(recorded.Application))
		return err
	})
}

func (c *appDeployCommand) deploy(ctx context.Context, s *appSession) (*api.ProposedEnvironment, error) {
	a, err := s.drafter.Loader.Application(ctx, s.request, "")
	if err != nil {
		return nil, err
	}
	environment, err := c.enters(a)
	if err != nil {
		return nil, err
	}
	if c.dryRun {
		draft, err := s.drafter.Draft(ctx, deliver.DraftRequest{Request: s.request, Environment: environment, Build: c.app.build})
		if err != nil {
			return nil, err
		}
		return &api.ProposedEnvironment{Environment: environment, Plan: draft.Plan, Findings: draft.Findings, Scans: draft.Scans, Done: []string{}}, nil
	}
	d, err := s.deliverer(&c.forges, c.t)
	if err != nil {
		return nil, err
	}
	round := deliver.RoundRequest{Request: s.request, Environment: environment, Build: c.app.build}
	at := c.ledger.Place(c.t)
	if at == "" || c.app.build.Commit == "" {
		return c.settle(ctx, s, d, round, func() error { return nil })
	}
	var r *api.ProposedEnvironment
	err = backend.WithLedger(ctx, open.Ledger, at, func(l ledger.Ledger) error {
		r, err = c.settle(ctx, s, d, round, func() error {
			return deliver.RecordBuild(ctx, l, a.Subject(), c.app.build, repository.Author(c.t.Env).Name, c.t.Now())
		})
		return err
	})
	return r, err
}

// settle updates the pull request until an automatic merge is decided. proposed is called when it is proposed: a command that fails
// before has recorded nothing.
func (c *appDeployCommand) settle(ctx context.Context, s *appSession, d *deliver.Deliverer, round deliver.RoundRequest, proposed func() error) (*api.ProposedEnvironment, error) {
	o, err := d.Persist(ctx, round, s.again)
	if err == nil {
		err = proposed()
	}
	for err == nil && !o.Next.IsZero() {
		done := o.Did
		if err = sleepUntil(ctx, o.Next); err == nil {
			d.Loader = s.again()
			o, err = d.Persist(ctx, round, s.again)
			o.Did = append(done, o.Did...)
		}
	}
	if err != nil {
		return nil, err
	}
	if o.Draft == nil {
		return nil, cli.Failed(fmt.Errorf("nothing was ever delivered to %q", round.Environment), "a commit comes there by kalypso app deploy --commit, or by promotion")
	}
	return api.ProposedIn(round.Environment, o), nil
}

// enters is the environment that a commit enters: the first one. The others are promotion's.
func (c *appDeployCommand) enters(a *deliver.Application) (string, error) {
	names := a.Environments()
	if len(names) == 0 {
		return "", fmt.Errorf("the workload %q has no targets, and so no environment", a.Workload.Name)
	}
	if c.app.environment == "" {
		return names[0], nil
	}
	e, _ := a.Delivery.Environment(c.app.environment)
	if c.app.build.Commit != "" && e.Promotion != nil && len(e.Promotion.After) > 0 {
		return "", cli.Failed(fmt.Errorf("a commit comes to %q after %s", e.Name, strings.Join(e.Promotion.After, " and ")),
			"kalypso app promote --to "+terminal.ShellWord(e.Name)+" takes it there, by its rules")
	}
	return c.app.environment, nil
}

// deliverer can write to the forges that the flags or the environment name.
func (s *appSession) deliverer(flags *pullRequestFlags, t *terminal.Terminal) (*deliver.Deliverer, error) {
	if s.request.GitOpsFolder != "" {
		return nil, cli.Failed(errors.New("the GitOps repository is a plain folder, which has no pull requests"), "write to it with kalypso app render --out FOLDER")
	}
	hosts, access, err := flags.forges(t.Env)
	if err != nil {
		return nil, err
	}
	s.client.Map, s.client.Credentials = append(s.client.Map, access.Maps...), access.Credentials
	s.drafter.Images = s.images
	return &deliver.Deliverer{Drafter: *s.drafter, Committer: repository.Committer{Client: s.client, Author: repository.Author(t.Env)}, Forges: hosts}, nil
}

// answerOf is no when something refuses or is held, and, where the scans ran, unless all have passed.
func answerOf(r *api.ProposedEnvironment, scanned bool) error {
	if check.Worst(r.Findings) == check.Refuse || scanned && scan.Combine(r.Scans) != scan.Passed || r.Plan != nil && r.Plan.Counts.Held > 0 {
		return cli.AnswerNo()
	}
	return nil
}

func (c *appDeployCommand) show(w io.Writer, r *api.ProposedEnvironment) error {
	if err := (output.ApplicationPlan{Plan: r.Plan, Findings: r.Findings, Style: c.t.OutStyle}).Write(w); err != nil {
		return err
	}
	writeScans(w, c.t.OutStyle, r.Scans)
	fmt.Fprintln(w)
	for _, line := range r.Done {
		fmt.Fprintln(w, terminal.Printable(line))
	}
	if r.Waits != "" {
		fmt.Fprintln(w, "waits: "+terminal.Printable(r.Waits))
	}
	switch {
	case c.dryRun:
		fmt.Fprintln(w, "nothing was done: --dry-run")
	case (r.PullRequest == nil || r.Closes) && r.Waits == "":
		fmt.Fprintln(w, "no pull request: "+terminal.Printable(r.Plan.Before)+" is up to date")
	case r.PullRequest != nil && len(r.Done) == 0:
		fmt.Fprintln(w, "up to date: "+terminal.Printable(r.PullRequest.URL))
	case r.PullRequest != nil:
		fmt.Fprintln(w, terminal.Printable(r.PullRequest.URL))
	}
	return nil
}
