package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// platformRollbackCommand is "kalypso platform rollback".
type platformRollbackCommand struct {
	t      *terminal.Terminal
	source sourceFlags
	set    setFlags
	output *cli.Output
}

// platformRolledBack is the result of the command.
type platformRolledBack struct {
	*schedule.Rollback
	Place
}

func newPlatformRollback(t *terminal.Terminal) *cobra.Command {
	c := &platformRollbackCommand{t: t}
	cmd := &cobra.Command{
		Use:   "rollback -e ENVIRONMENT VERSION",
		Short: "Propose to roll back an environment's platform to an earlier version",
		Long: `Restore an environment's branch of the control plane to the files of an earlier platform version, and show what this changes. VERSION is a
commit from "kalypso platform versions", or the beginning of it.

    version ─► commit of the environment's branch that it was made from ─► its files, as a new commit ─► pull request ─► the next version

Namespaces, quotas, policies and configuration are restored; applications don't change. The result is a commit on a new branch, or a pull request. When it is
merged, the next pull request of the GitOps branch has the files. To undo it, revert the commit.

Files with the BaseRepo or GitOpsRepo and hidden files stay: "kalypso promote rollback" moves the promoted commit of main. If main or a workload
has changed since the version, some files can differ from it, and the command names the cluster types.

It exits with 3, and writes nothing, if the author may not set one of the changed values, or if the files have new errors.`,
		Example: `  kalypso platform rollback -e dev 3f2a9c1 --dry-run
  kalypso platform rollback -e dev 3f2a9c1 --pull-request`,
		Args: cli.Exactly("VERSION"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	c.source.bind(cmd, t)
	c.set.bind(cmd)
	flags := cmd.Flags()
	flags.Lookup("author").Usage = "the `user` or login who rolls back (default: the e-mail address of git's user)"
	flags.Lookup("message").Usage = "the `message` of the commit (default: what is rolled back)"
	flags.Lookup("to").Usage = "the `branch` that gets the commit: a new one, or that of the environment itself (default: a new one)"
	flags.Lookup("dry-run").Usage = "only show what the version changes"
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(platformRolledBack{})
	return cmd
}

func (c *platformRollbackCommand) run(cmd *cobra.Command, version string) error {
	author, s, commits, err := c.set.begin(cmd, c.t, &c.source)
	if err != nil {
		return err
	}
	defer s.close()
	request := schedule.RollbackRequest{Request: s.request, Version: version, Author: author, Message: c.set.message, When: c.t.Now()}
	b, err := s.drafter.Rollback(cmd.Context(), commits, repository.NewReader(s.client), request)
	if err != nil {
		return err
	}
	c.set.prefix, c.set.did = "rollback", "Rolled back"
	made := madeCommit{b.Environment, b.Repo, b.Branch, b.Base, b.Commit, b.Message, b.Digest, b.Problems}
	done, err := c.set.write(cmd.Context(), commits, made)
	if err != nil {
		return err
	}
	s.progress.End()
	err = c.output.Write(c.t.Out, platformRolledBack{b, done}, func(w io.Writer) error {
		if b.Plan != nil {
			if err := (output.Plan{Plan: b.Plan, Style: c.t.OutStyle, Args: c.source.args()}).Write(w); err != nil {
				return err
			}
			_, _ = io.WriteString(w, "\n")
		}
		if b.Commit == "" {
			_, err := fmt.Fprintln(w, "nothing to do: the branch has the files of that version already")
			return err
		}
		showRollback(w, b)
		c.set.show(w, c.t, made, done)
		return nil
	})
	if err == nil && len(b.Problems) > 0 {
		err = cli.AnswerNo()
	}
	return err
}

// showRollback says how the files are those of the version.
func showRollback(w io.Writer, b *schedule.Rollback) {
	version := terminal.Short(b.Version.Commit)
	if len(b.Differs) == 0 {
		fmt.Fprintf(w, "the files of all cluster types are then those of version %s\n", version)
		return
	}
	fmt.Fprintf(w, "the files of %s then differ from version %s, because something else changed since\n", terminal.Printable(strings.Join(b.Differs, ", ")), version)
	if b.Version.Main != "" && b.Version.Main != b.Main {
		fmt.Fprintf(w, "main stays at %s, and the version was made from %s: kalypso promote rollback moves it\n", terminal.Short(b.Main), terminal.Short(b.Version.Main))
	}
}
