package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/open"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// appStatusCommand is "kalypso app status".
type appStatusCommand struct {
	t      *terminal.Terminal
	app    appFlags
	output *cli.Output
	forges pullRequestFlags
	place  backend.Flags
}

// appStatus is the result of the command.
type appStatus struct {
	Workload     string                 `json:"workload"`
	Subject      string                 `json:"subject"`
	Head         string                 `json:"head"`
	Environments []appEnvironmentStatus `json:"environments"`
}

type appEnvironmentStatus struct {
	Environment string `json:"environment"`
	// Build is what the environment has, Published what its GitOps branch has.
	Build     deliver.Build `json:"build,omitzero"`
	Published deliver.Build `json:"published,omitzero"`
	// Phase and Reason say how the build stands. Without a ledger, it is unknown what clusters run.
	Phase  decide.State `json:"phase"`
	Reason string       `json:"reason"`
	// PullRequest is the open one.
	PullRequest *api.ProposedPullRequest `json:"pullRequest,omitempty"`
	// LastGood is the build to go back to; only with a ledger.
	LastGood string `json:"lastGood,omitempty"`
	Drift    int    `json:"drift,omitempty"`
	Pending  int    `json:"pendingFiles,omitempty"`
	// Pinned are the targets that do not follow the environment, with who asked for that.
	Pinned []deliver.PinnedTarget `json:"pinned,omitempty"`
}

func newAppStatus(t *terminal.Terminal) *cobra.Command {
	c := &appStatusCommand{t: t}
	cmd := &cobra.Command{
		Use:   "status [NAME]",
		Short: "Show which build each environment has, and what the next one waits for",
		Long: `Show which build each environment has, which pull request is open, and what the next build waits for.

With a ledger, the output also shows what clusters run, and which build to go back to. Nothing is changed.
Pull requests are listed if the environment has a token for the forge.

If a server delivers the application, ask it with --server: name the workload, or run the command in its source.`,
		Example: `  kalypso app status
  kalypso app status hello-world-app --server https://kalypso.example.com
  kalypso app status --ledger postgres://kalypso@db/kalypso -o json`,
		Args: cli.AtMost("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) },
	}
	c.app.bind(cmd)
	c.app.bindEnvironment(cmd)
	c.app.bindGitOps(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(query.ApplicationDetail{}, appStatus{})
	bindForges(cmd, &c.forges)
	c.place.Bind(cmd)
	cmd.ValidArgsFunction = completeFirst(completeFleet(&c.place, t, applicationNames))
	return cmd
}

func (c *appStatusCommand) run(cmd *cobra.Command, args []string) error {
	asks := c.place.Server != "" || c.t.Env[backend.EnvServer] != "" && c.place.Ledger.Place(c.t) == ""
	if len(args) > 0 || asks {
		return c.server(cmd, args)
	}
	return c.read(cmd)
}

// server asks a server about an application.
func (c *appStatusCommand) server(cmd *cobra.Command, args []string) error {
	at, err := c.place.Resolve(cmd, c.t)
	if err != nil {
		return err
	}
	if at.Server == nil {
		return cli.Usage(cmd, "NAME is what a server is asked about; with a ledger, --source says which application")
	}
	if err := leaveOut(cmd, serverReads, "config", "gitops", "forge-config", "forge-kind"); err != nil {
		return err
	}
	if len(args) > 0 {
		if err := leaveOut(cmd, "NAME says which application", "source", "branch", "path", "workload", "map"); err != nil {
			return err
		}
	}
	q := query.ApplicationQuery{}
	if len(args) > 0 {
		q.Name = args[0]
	} else if q, err = c.here(cmd.Context()); err != nil {
		return err
	}
	a, err := backend.ServerQuerier{Client: at.Server}.Application(cmd.Context(), q)
	if err != nil {
		return err
	}
	if c.app.environment != "" {
		a.Environments = slices.DeleteFunc(a.Environments, func(e query.ApplicationEnvironment) bool { return e.Environment != c.app.environment })
	}
	return c.output.Write(c.t.Out, a, func(w io.Writer) error { return output.NewPrinter(c.t).Application(w, a.Application) })
}

// here is the application that the source is of.
func (c *appStatusCommand) here(ctx context.Context) (query.ApplicationQuery, error) {
	s, err := c.app.open(ctx, c.t)
	if err != nil {
		return query.ApplicationQuery{}, err
	}
	defer s.close()
	a, err := s.drafter.Loader.Application(ctx, s.request, "")
	if err != nil {
		return query.ApplicationQuery{}, cli.Failed(err, "or name the workload: kalypso app status NAME --server URL")
	}
	return query.ApplicationQuery{Name: a.Workload.Name}, nil
}

// read reads the repositories, and the ledger if there is one.
func (c *appStatusCommand) read(cmd *cobra.Command) error {
	s, err := c.app.open(cmd.Context(), c.t)
	if err != nil {
		return err
	}
	defer s.close()
	hosts, access, err := c.forges.forges(c.t.Env)
	if err != nil {
		return err
	}
	s.client.Map, s.client.Credentials = append(s.client.Map, access.Maps...), access.Credentials
	d := &deliver.Deliverer{Drafter: *s.drafter, Forges: hosts}
	a, err := s.drafter.Loader.Application(cmd.Context(), s.request, "")
	if err != nil {
		return err
	}
	r := &appStatus{Workload: a.Workload.Name, Subject: a.Subject(), Head: a.Source.Commit, Environments: []appEnvironmentStatus{}}
	found := d.Preview(cmd.Context(), s.request, c.environments(a))
	for _, name := range c.environments(a) {
		r.Environments = append(r.Environments, statusOf(name, found.Environments[name], found.Errors[name]))
	}
	if at := c.place.Ledger.Place(c.t); at != "" {
		err = backend.WithLedger(cmd.Context(), open.Existing, at, func(l ledger.Ledger) error {
			chain := s.chain(d, l, c.t.Now)
			defer chain.Promoter.Close()
			outcome, err := chain.Promoter.Preview(cmd.Context(), chain.Pipeline(s.request, found))
			if err != nil {
				return err
			}
			return r.add(cmd.Context(), outcome, l)
		})
	}
	if err != nil {
		return err
	}
	s.progress.End()
	return c.output.Write(c.t.Out, r, func(w io.Writer) error { return c.show(w, r) })
}

func (c *appStatusCommand) environments(a *deliver.Application) []string {
	if c.app.environment != "" {
		return []string{c.app.environment}
	}
	return a.Environments()
}

// statusOf says how an environment stands by Git and the forge alone.
func statusOf(name string, o *deliver.Outcome, err error) appEnvironmentStatus {
	e := appEnvironmentStatus{Environment: name}
	if err != nil {
		e.Phase, e.Reason = decide.Unknown, err.Error()
		return e
	}
	e.Build, e.Published, e.Pinned = o.Current(), o.GitOps.Build, o.GitOps.Pinned()
	if o.Draft != nil {
		e.Drift, e.Pending = len(o.Draft.Plan.Drift), o.Draft.Plan.Files
	}
	if o.PullRequest != nil && o.PullRequest.State == forge.Open {
		e.PullRequest = api.ProposedPullRequestOf(o.PullRequest)
	}
	switch rollout := o.Rollout(e.Build.Commit); {
	case e.Build.Commit == "":
		e.Phase, e.Reason = decide.Outside, "nothing was delivered here yet"
	case rollout.State == decide.RolloutMerged:
		e.Phase, e.Reason = "published", "the GitOps branch has it; what clusters run, a ledger knows"
	case rollout.State == decide.RolloutPinned:
		e.Phase, e.Reason = decide.NoClusters, rollout.Reason
	case rollout.State == decide.RolloutRefused:
		e.Phase, e.Reason = decide.Rejected, rollout.Reason
	case rollout.State == decide.RolloutClosed:
		e.Phase, e.Reason = decide.Rejected, "its change was closed without being merged"
	case e.PullRequest != nil:
		e.Phase, e.Reason = decide.Proposed, "waits for its pull request to be merged ("+e.PullRequest.URL+")"
	default:
		e.Phase, e.Reason = decide.Proposed, "waits for its pull request to be opened"
	}
	return e
}

// add adds what the ledger knows.
func (r *appStatus) add(ctx context.Context, outcome *promote.Outcome, l ledger.Ledger) error {
	for i := range r.Environments {
		e := &r.Environments[i]
		for _, standing := range outcome.Environments {
			if standing.Environment == e.Environment {
				e.Phase, e.Reason = standing.Phase, standing.Reason
			}
		}
		good, err := deliver.LastGood(ctx, l, r.Subject, e.Environment, e.Build.Commit)
		if err != nil {
			return err
		}
		if good.Commit != "" {
			e.LastGood = good.Name()
		}
	}
	return nil
}

func (c *appStatusCommand) show(w io.Writer, r *appStatus) error {
	t := &terminal.Table{}
	head := c.t.OutStyle.Dim
	t.Row(terminal.Painted(head, "ENVIRONMENT"), terminal.Painted(head, "BUILD"), terminal.Painted(head, "PHASE"), terminal.Painted(head, "LAST GOOD"), terminal.Painted(head, "REASON"))
	for _, e := range r.Environments {
		t.Row(terminal.Painted(c.t.OutStyle.Bold, e.Environment), terminal.Plain(cmp.Or(e.Build.Name(), "-")), output.PhaseCell(c.t.OutStyle, e.Phase),
			terminal.Plain(cmp.Or(e.LastGood, "-")), terminal.Plain(terminal.ShortHashes(e.Reason)))
	}
	if err := t.Write(w); err != nil {
		return err
	}
	notes := &terminal.Table{}
	for _, e := range r.Environments {
		for _, note := range output.Pins(e.Pinned) {
			notes.Row(terminal.Painted(c.t.OutStyle.Bold, e.Environment), terminal.Plain(note))
		}
	}
	if len(notes.Rows) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	return notes.Write(w)
}
