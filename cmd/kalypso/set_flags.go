package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/repository"
)

// setFlags say who sets values, and where the commit goes.
type setFlags struct {
	author     authorFlags
	message    string
	branch     string
	signingKey string
	dryRun     bool
	// remove are the keys of values to be removed.
	remove []string
	// pull opens a pull request, on one of the forges.
	pull pullRequestFlags
	// prefix begins the name of a new branch, and did the text of a pull request. Default: set, and Set.
	prefix, did string
	forges      pullrequest.Forges
}

func (f *setFlags) bind(cmd *cobra.Command) {
	f.author.bind(cmd)
	flags := cmd.Flags()
	flags.Lookup("author").Usage = "the `user` or login who sets the values (default: the e-mail address of git's user)"
	flags.StringVarP(&f.message, "message", "m", "", "the `message` of the commit (default: what is set)")
	flags.StringArrayVar(&f.remove, "remove", nil, "remove the value of this `key` from the file, so that the value it overrides applies; may be repeated")
	flags.StringVar(&f.branch, "to", "", "the `branch` that gets the commit: a new one, or that of the configuration itself (default: a new one)")
	flags.StringVar(&f.signingKey, "signing-key", "", "sign the commit with this SSH or OpenPGP key `file`; KALYPSO_SIGNING_PASSPHRASE unlocks it")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only show what the values change")
	flags.BoolVar(&f.pull.wanted, "pull-request", false, "open a pull request for the new branch")
	bindForges(cmd, &f.pull)
}

// setHelp explains what both commands have in common.
const setHelp = `Before it writes anything, the command checks the values with the schemas, and whether the author may set them according to editableBy. The
plan shows what the values override and change. The result is a commit with the identity of git's user, on a new branch, or a pull request.
The file keeps its comments and format, and nothing is stored outside Git.

Users who can push to a branch can write anything to it, so the pull request check enforces edit rights. This command only reports a violation
earlier.

It exits with 3, and writes nothing, if a value is not permitted.`

// who returns the author of the values.
func (f *setFlags) who(cmd *cobra.Command, t *terminal.Terminal) (editing.Author, error) {
	if f.author.author == "" && f.author.people == "" {
		return editing.Author{Name: repository.Author(t.Env).Email, Groups: f.author.groups}, nil
	}
	return f.author.read(cmd)
}

// committer makes the commits. For a pull request, it finds the forges, and their tokens for Git.
func (f *setFlags) committer(client *git.Client, t *terminal.Terminal) (repository.Committer, error) {
	if f.pull.wanted {
		hosts, access, err := f.pull.forges(t.Env)
		if err != nil {
			return repository.Committer{}, err
		}
		f.forges, client.Map, client.Credentials = hosts, append(client.Map, access.Maps...), access.Credentials
	}
	signer, err := repository.Signer(f.signingKey, t.Env)
	return repository.Committer{Client: client, Author: repository.Author(t.Env), Signer: signer}, err
}

// begin checks the flags of a command that commits to an environment's branch, and opens the control plane. The caller closes the session.
func (f *setFlags) begin(cmd *cobra.Command, t *terminal.Terminal, source *sourceFlags) (author editing.Author, s *session, commits repository.Committer, err error) {
	if err = source.wantEnvironment(cmd); err != nil {
		return author, nil, commits, err
	}
	if err = f.check(cmd); err != nil {
		return author, nil, commits, err
	}
	if author, err = f.who(cmd, t); err != nil {
		return author, nil, commits, err
	}
	if s, err = source.open(cmd.Context(), t); err != nil {
		return author, nil, commits, err
	}
	if commits, err = f.committer(s.client, t); err != nil {
		s.close()
	}
	return author, s, commits, err
}

// check refuses combinations that make no sense.
func (f *setFlags) check(cmd *cobra.Command) error {
	switch {
	case f.dryRun && (f.pull.wanted || f.branch != ""):
		return cli.Usage(cmd, "--dry-run writes nothing: leave out --pull-request and --to")
	case !f.pull.wanted && f.pull.config+f.pull.kind != "":
		return cli.Usage(cmd, "--forge-config and --forge-kind go with --pull-request")
	case f.pull.kind != "" && !slices.Contains(kindsOfTokens(), f.pull.kind):
		return cli.Usage(cmd, "--forge-kind %q is none of %s", f.pull.kind, strings.Join(kindsOfTokens(), ", "))
	}
	return nil
}

// madeCommit is a commit with values that is on no branch yet.
type madeCommit struct {
	environment, repo, branch, base, commit, message string
	digest                                           string
	problems                                         []fleet.Problem
}

// Place is where the commit went. It is exported because schemas know no embedded types that are not.
type Place struct {
	// Written is the branch; empty if nothing was written.
	Written string `json:"written,omitempty"`
	// PullRequest is its URL.
	PullRequest string `json:"pullRequest,omitempty"`
	// Known means that a pull request with the same values was open already, and that nothing was written.
	Known bool `json:"known,omitempty"`
}

// write moves a branch to the commit, and opens the pull request.
func (f *setFlags) write(ctx context.Context, commits repository.Committer, m madeCommit) (Place, error) {
	if m.commit == "" || f.dryRun || len(m.problems) > 0 {
		return Place{}, nil
	}
	w, err := pullrequest.WriteByHand(ctx, commits, pullrequest.ByHand{
		Environment: m.environment, Repo: m.repo, Branch: m.branch, Base: m.base, Commit: m.commit, Message: m.message, Digest: m.digest,
		To: f.branch, Prefix: f.prefix, PullRequest: f.pull.wanted, Forges: f.forges, Body: cmp.Or(f.did, "Set") + " by " + commits.Author.Name + ".",
	})
	switch {
	case errors.Is(err, pullrequest.ErrOwnBranch):
		err = cli.Failed(err, "leave out --to, or name another one")
	case errors.Is(err, pullrequest.ErrMoved):
		err = cli.Failed(err, "run the command again, or name another branch with --to")
	}
	place := Place{Written: w.Branch, Known: w.Known}
	if w.PullRequest != nil {
		place.PullRequest = w.PullRequest.URL
	}
	return place, err
}

// show prints problems and what was written, and is the answer no if a value is not allowed.
func (f *setFlags) show(out io.Writer, t *terminal.Terminal, m madeCommit, w Place) {
	for _, p := range m.problems {
		fmt.Fprintf(out, "%s  %s\n    %s\n    %s\n", output.SeverityCell(t.OutStyle, p.Severity).String(), terminal.Printable(p.Message),
			t.OutStyle.Dim(terminal.Printable(p.Position.String())), t.OutStyle.Dim(terminal.Printable(p.Hint)))
	}
	switch {
	case m.commit == "":
		fmt.Fprintln(out, "nothing to do: the file has these values")
	case len(m.problems) > 0:
		fmt.Fprintln(out, "nothing was written")
	case w.Written == "":
		fmt.Fprintln(out, "a dry run: nothing was written")
	case w.Known:
		fmt.Fprintln(out, "a pull request with these values is open already")
	default:
		fmt.Fprintf(out, "commit %s on the branch %s\n", fleet.ShortCommit(m.commit), terminal.Printable(w.Written))
	}
	if w.PullRequest != "" {
		fmt.Fprintln(out, terminal.Printable(w.PullRequest))
	}
}
