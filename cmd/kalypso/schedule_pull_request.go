package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/connect"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// pullRequestFlags are those of "kalypso schedule --pull-request": one round of what the server does, for CI.
type pullRequestFlags struct {
	wanted bool
	// config is a configuration file of the server, whose forges count; empty for the environment's token.
	config string
	// kind is that of a forge whose host does not say it; empty for what the host says.
	kind string
}

func (f *pullRequestFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.wanted, "pull-request", false, "open the pull request of the environment, or bring it up to date, as kalypso serve does")
	flags.StringVar(&f.config, "config", "", "with --pull-request: a configuration `file` of kalypso serve, for its forges")
	flags.StringVar(&f.kind, "forge-kind", "", "with --pull-request: the `kind` of the forge, if its host does not imply it: "+strings.Join(kindsOfTokens(), ", "))
	cli.FlagGroup(cmd, cli.GroupForge, "pull-request", "config", "forge-kind")
}

// check refuses combinations that make no sense.
func (f *pullRequestFlags) check(cmd *cobra.Command, allowDeletions bool) error {
	switch {
	case !f.wanted && f.config != "":
		return cli.Usage(cmd, "--config goes with --pull-request")
	case !f.wanted && f.kind != "":
		return cli.Usage(cmd, "--forge-kind goes with --pull-request")
	case f.wanted && allowDeletions:
		return cli.Usage(cmd, "with --pull-request, the label %s on it agrees to deletions", pullrequest.LabelAllowDeletions)
	case f.kind != "" && !slices.Contains(kindsOfTokens(), f.kind):
		return cli.Usage(cmd, "--forge-kind %q is none of %s", f.kind, strings.Join(kindsOfTokens(), ", "))
	}
	return nil
}

// proposed is the result of the command.
type proposed struct {
	Plan *plan.Plan `json:"plan"`
	// Findings are what the checks report about the files that change.
	Findings []check.Finding `json:"findings,omitempty"`
	// PullRequest is the open one, or the one that was merged just now; absent when nothing is left to change.
	PullRequest *api.ProposedPullRequest `json:"pullRequest,omitempty"`
	// Done lists what was done, in order; empty when everything was as it should be.
	Done []string `json:"done"`
	// Waits says why the pull request is not opened or merged; empty when nothing is in the way.
	Waits string `json:"waits,omitempty"`
}

// propose does one round.
func (c *scheduleCommand) propose(ctx context.Context, s *session) error {
	hosts, access, err := c.pullRequest.forges(c.t.Env)
	if err != nil {
		return err
	}
	s.client.Map, s.client.Credentials = append(s.client.Map, access.Maps...), access.Credentials
	commits := repository.Committer{Client: s.client, Author: repository.Author(c.t.Env)}
	if commits.Signer, err = repository.Signer(c.signingKey, c.t.Env); err != nil {
		return err
	}
	p := &schedule.Proposer{Drafter: s.drafter, Committer: commits, Forges: hosts, Accept: c.carriesOut}
	outcome, err := p.Round(ctx, s.request)
	for err == nil && !outcome.Next.IsZero() {
		done := outcome.Did
		if c.saved != nil {
			c.saved.GitOps.Commit = outcome.Head // the round may have started the branch
		}
		if err = sleepUntil(ctx, outcome.Next); err == nil {
			outcome, err = p.Round(ctx, s.request)
			outcome.Did = append(done, outcome.Did...)
		}
	}
	if err != nil {
		return err
	}
	s.progress.End()
	result := proposedOf(outcome)
	if err := c.output.Write(c.t.Out, result, func(w io.Writer) error { return c.showProposed(w, result) }); err != nil {
		return err
	}
	if c.unacceptable(result.Plan) {
		return cli.AnswerNo()
	}
	return nil
}

// sleepUntil waits for an automatic merge whose checks may still appear.
func sleepUntil(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func proposedOf(o *schedule.Outcome) *proposed {
	return &proposed{Plan: o.Plan, Findings: o.Findings, PullRequest: api.ProposedPullRequestOf(o.PullRequest), Waits: o.Waits, Done: append([]string{}, o.Did...)}
}

// showProposed says what was done, after the plan.
func (c *scheduleCommand) showProposed(w io.Writer, r *proposed) error {
	if err := (output.Plan{Plan: r.Plan, Findings: r.Findings, Style: c.t.OutStyle, Args: c.source.args()}).Write(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, line := range r.Done {
		fmt.Fprintln(w, terminal.Printable(line))
	}
	if r.Waits != "" {
		fmt.Fprintln(w, "waits: "+terminal.Printable(r.Waits))
	}
	switch {
	case r.PullRequest == nil && r.Waits == "":
		fmt.Fprintln(w, "no pull request: "+terminal.Printable(r.Plan.Before)+" is up to date")
	case r.PullRequest != nil && len(r.Done) == 0:
		fmt.Fprintln(w, "up to date: "+terminal.Printable(r.PullRequest.URL))
	case r.PullRequest != nil:
		fmt.Fprintln(w, terminal.Printable(r.PullRequest.URL))
	}
	return nil
}

// forges are those of the configuration file, with Git's access to them, or the one that the environment has a token for.
func (f *pullRequestFlags) forges(env map[string]string) (pullrequest.Forges, connect.GitAccess, error) {
	if f.config == "" {
		return environmentForge{env: env, kind: forge.Kind(f.kind)}, connect.GitAccess{}, nil
	}
	config, err := f.read()
	if err != nil {
		return nil, connect.GitAccess{}, err
	}
	hosts, err := connect.All(config.Forges, env, transport.Config{})
	if err != nil {
		return nil, connect.GitAccess{}, err
	}
	access, err := connect.Git(config.Forges, hosts, env)
	return hosts, access, err
}

// read reads the configuration file.
func (f *pullRequestFlags) read() (*serve.Config, error) { return readServeConfig(f.config) }

// environmentForge is the forge of whatever repository is asked for, with the token that the environment has for its kind.
type environmentForge struct {
	env map[string]string
	// kind is what the host does not say; empty to ask the host.
	kind forge.Kind
}

var _ pullrequest.Forges = environmentForge{}

// tokenVariables are where CI systems and people keep tokens.
var tokenVariables = []struct {
	kind  forge.Kind
	names []string
}{
	{forge.GitHub, []string{"GITHUB_TOKEN", "GH_TOKEN"}},
	{forge.GitLab, []string{"GITLAB_TOKEN"}},
	{forge.Gitea, []string{"GITEA_TOKEN", "FORGEJO_TOKEN"}},
	{forge.AzureDevOps, []string{"AZURE_DEVOPS_TOKEN", "SYSTEM_ACCESSTOKEN"}},
	{forge.Bitbucket, []string{"BITBUCKET_TOKEN"}},
	{forge.BitbucketServer, []string{"BITBUCKET_TOKEN"}},
}

// kindsOfTokens are the kinds that a token can be for.
func kindsOfTokens() []string {
	var kinds []string
	for _, v := range tokenVariables {
		kinds = append(kinds, string(v.kind))
	}
	return kinds
}

// Forge connects to the forge that hosts a repository.
func (f environmentForge) Forge(url string) (forge.Forge, error) {
	id, err := forge.ParseID(url)
	if err != nil {
		return nil, cli.Failed(err, "a pull request needs a repository on a forge; a dry run, and what writes to a folder or a branch, does without")
	}
	known, _ := forge.KindOfHost(id.Host)
	kind := cmp.Or(f.kind, known)
	if kind == "" {
		return nil, cli.Failed(fmt.Errorf("which kind of forge %q is, its name does not say", id.Host),
			"use --forge-kind, or configure the forge in a file and pass that with --config; an embedded forge is used through its server, with --server of kalypso app")
	}
	scheme := "https://"
	if strings.HasPrefix(url, "http://") {
		scheme = "http://"
	}
	for _, v := range tokenVariables {
		for _, name := range v.names {
			if v.kind == kind && f.env[name] != "" {
				c := forge.Connection{Kind: kind, URL: scheme + id.Host, TokenEnv: name}
				if kind == forge.Bitbucket {
					c.User = f.env["BITBUCKET_USERNAME"]
				}
				return connect.Open(c, f.env, transport.Config{})
			}
		}
		if v.kind == kind {
			return nil, cli.Failed(fmt.Errorf("no forge is configured for %q", id.Host),
				"set "+strings.Join(v.names, " or ")+" to a token that may write there, or name a configuration file with --config")
		}
	}
	return nil, errors.New("this kind of forge has no tokens") // kinds were checked
}
