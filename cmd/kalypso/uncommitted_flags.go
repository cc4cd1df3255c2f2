package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// uncommittedFlags choose what of a work tree is read: without them, what is committed.
type uncommittedFlags struct {
	staged, workTree bool
	// into is the branch that the change will be merged into; empty to find it.
	into string
}

const uncommittedHelp = `The command reads committed files. In a Git work tree, --staged reads the staged files instead, and --work-tree reads the current files, including
untracked files that are not ignored. They replace the checked-out branch: main, as if it was promoted to every environment, or an environment's
branch. Any other branch is read as if it was merged into the branch that it was created from; --into names another one.`

// bindUncommitted adds the flags to a command.
func (f *sourceFlags) bindUncommitted(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.uncommitted.staged, "staged", false, "read what is staged for the next commit of the work tree")
	flags.BoolVar(&f.uncommitted.workTree, "work-tree", false, "read the files of the work tree as they are, committed or not")
	flags.StringVar(&f.uncommitted.into, "into", "", "the `branch` that the change will be merged into (default: the one it was cut from)")
	cli.FlagGroup(cmd, cli.GroupControlPlane, "staged", "work-tree", "into")
}

// given reports whether what is not committed is read.
func (f uncommittedFlags) given() bool { return f.staged || f.workTree }

// flag returns the flag that was given.
func (f uncommittedFlags) flag() string {
	if f.staged {
		return "--staged"
	}
	return "--work-tree"
}

// checkUncommitted refuses flags that do not go together.
func (f *sourceFlags) checkUncommitted(cmd *cobra.Command) error {
	u := f.uncommitted
	switch {
	case u.staged && u.workTree:
		return cli.Usage(cmd, "--staged reads what is staged, --work-tree also what is not: choose one")
	case !u.given() && u.into != "":
		return cli.Usage(cmd, "--into goes with --staged and --work-tree")
	case u.given() && f.controlPlane != "" && !fleet.IsLocal(f.controlPlane):
		return cli.Usage(cmd, "%s reads a work tree on this machine: name its folder with --control-plane, or leave out %[1]s", u.flag())
	}
	return nil
}

// readUncommitted makes the work tree stand in for the branch that is checked out.
func (s *session) readUncommitted(ctx context.Context, f *sourceFlags, t *terminal.Terminal, reader *repository.Reader) error {
	work, err := s.openWorkTree(ctx, t)
	if err != nil {
		return cli.Failed(err, "leave out "+f.uncommitted.flag())
	}
	head, err := work.Head(ctx)
	if err != nil {
		return err
	}
	s.affected, err = s.drafter.Loader.Destination(ctx, s.request, schedule.Change{Branch: head.Branch, Commit: head.Hash, Into: f.uncommitted.into})
	if err != nil {
		return err
	}
	if err := f.usesUncommitted(s.affected); err != nil {
		return err
	}
	read := work.OnDisk
	if f.uncommitted.staged {
		read = work.Staged
	}
	state, err := read(ctx)
	if err != nil {
		return err
	}
	reader.StandIn(s.request.ControlPlane, s.affected.Branch, work.Repository(), state)
	if s.affected.Branch == schedule.DefaultBase {
		s.request.MainRef = schedule.Uncommitted
	}
	if f.uncommitted.into == "" && head.Branch != s.affected.Branch {
		s.notice(t, fmt.Sprintf("%s is read as if it was merged into %q", cmp.Or(quoted(head.Branch), "the commit that is checked out"), s.affected.Branch), "--into names another branch")
	}
	return nil
}

// openWorkTree opens the work tree of the control plane. If it is the one in which Git runs a hook, what is staged is in the index of that commit.
func (s *session) openWorkTree(ctx context.Context, t *terminal.Terminal) (*git.WorkTree, error) {
	index := t.Env["GIT_INDEX_FILE"]
	if here, err := git.Discover("."); err != nil || realPath(here) != realPath(s.folder) {
		index = ""
	}
	return s.client.WorkTree(ctx, s.folder, index)
}

func quoted(branch string) string {
	if branch == "" {
		return ""
	}
	return fmt.Sprintf("branch %q", branch)
}

// usesUncommitted returns an error if the other flags leave nothing of the work tree to read.
func (f *sourceFlags) usesUncommitted(affected schedule.Destination) error {
	unused := func(why, next string) error {
		return cli.Failed(errors.New(f.uncommitted.flag()+" has no effect: "+why), next)
	}
	main := affected.Branch == schedule.DefaultBase
	switch {
	case main && f.main != "":
		return unused("--main stands in for main", "leave out one of them")
	case !main && f.environment != "" && !slices.Contains(affected.Environments, f.environment):
		return unused(fmt.Sprintf("the change is of branch %q, which environment %q does not read", affected.Branch, f.environment),
			"name environment "+strings.Join(affected.Environments, ", ")+", or leave out "+f.uncommitted.flag())
	case !main && f.envDir != "":
		return unused(fmt.Sprintf("--env-dir stands in for branch %q", affected.Branch), "leave out one of them")
	}
	return nil
}

// noteUncommitted says on the side that changes of the work tree are left out.
func (s *session) noteUncommitted(ctx context.Context, t *terminal.Terminal, f *sourceFlags, next string) {
	if s.folder == "" || f.uncommitted.given() || f.main != "" || f.envDir != "" {
		return
	}
	work, err := s.openWorkTree(ctx, t)
	if err != nil {
		return // a plain folder, or a repository without a work tree
	}
	// An error is that of reading the repository, which the command reports if it matters.
	if changed, err := work.Changed(ctx); err == nil && changed != "" {
		s.notice(t, fmt.Sprintf("uncommitted changes are left out, such as of %s", terminal.Printable(changed)), next)
	}
}

// includesUncommitted is what to do for commands that have the flags.
const includesUncommitted = "--staged includes those that are staged, --work-tree all of them"

// notice prints a notice on the side, with what to do.
func (s *session) notice(t *terminal.Terminal, what, next string) {
	s.progress.End()
	fmt.Fprintf(t.Err, "%s  %s\n    %s\n", t.ErrStyle.Yellow("notice"), what, t.ErrStyle.Dim(next))
}
