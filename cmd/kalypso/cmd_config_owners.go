package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
)

// ownersFlags say where a CODEOWNERS file is, and who is who on the forge.
type ownersFlags struct {
	write, check string
	teams        string
	owners       []string
}

func (f *ownersFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.write, "write", "", "write the lines into this `file`, and keep the rest of it")
	flags.StringVar(&f.check, "check", "", "exit with 3 if this `file` does not have these lines")
	flags.StringVar(&f.teams, "teams", "", "the `prefix` of groups on the forge, such as @acme/")
	flags.StringArrayVar(&f.owners, "owner", nil, "the owner of a user or group, `NAME=@OWNER`; may be repeated")
	for _, name := range []string{"write", "check"} {
		_ = cmd.MarkFlagFilename(name) // the error only says that the flag does not exist
	}
}

// ownersHelp explains the file, for both commands.
const ownersHelp = `A CODEOWNERS file makes a forge request the right reviewers: it lists each file that contains values with editableBy, with all users and
groups that may edit one of them. It cannot distinguish values: every owner of a file can approve every change to it. Only the pull request
check distinguishes them.

Groups become teams with the prefix of --teams, and addresses stay unchanged. --owner names others.`

// run prints, writes or checks the lines.
func (f *ownersFlags) run(cmd *cobra.Command, t *terminal.Terminal, files []editing.FileOwners) error {
	if f.write != "" && f.check != "" {
		return cli.Usage(cmd, "--write changes the file, --check compares it: choose one")
	}
	handles := editing.Handles{Teams: f.teams, Of: map[string]string{}}
	for _, pair := range f.owners {
		name, owner, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return cli.Usage(cmd, "--owner %q: write NAME=@OWNER", pair)
		}
		handles.Of[name] = owner
	}
	current, err := os.ReadFile(f.write + f.check)
	if f.write+f.check != "" && err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	wanted, err := editing.CodeOwners(string(current), files, handles)
	if err != nil {
		return cli.Failed(err, "give --teams @ORGANIZATION/, or --owner NAME=@OWNER")
	}
	switch {
	case f.write != "":
		if err := os.MkdirAll(filepath.Dir(f.write), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(f.write, []byte(wanted), 0o666); err != nil {
			return err
		}
		_, err = fmt.Fprintf(t.Out, "wrote %s: %s with owners\n", f.write, terminal.Count(len(files), "file"))
	case f.check != "" && wanted != string(current):
		fmt.Fprintf(t.Out, "%s is not what the schemas say; run the command with --write\n", terminal.Printable(f.check))
		return cli.AnswerNo()
	case f.check != "":
		_, err = fmt.Fprintf(t.Out, "%s is up to date\n", terminal.Printable(f.check))
	default:
		_, err = fmt.Fprint(t.Out, wanted)
	}
	return err
}

// configOwnersCommand is "kalypso config owners".
type configOwnersCommand struct {
	t      *terminal.Terminal
	source sourceFlags
	owners ownersFlags
	// ofMain is for the files of main.
	ofMain bool
}

func newConfigOwners(t *terminal.Terminal) *cobra.Command {
	c := &configOwnersCommand{t: t}
	cmd := &cobra.Command{
		Use:   "owners -e ENVIRONMENT",
		Short: "Write the CODEOWNERS file that follows from editableBy",
		Long: `Write the CODEOWNERS file that follows from editableBy, for the branch of an environment, or with --of-main for main as the
environment has it.

` + ownersHelp,
		Example: `  kalypso config owners -e dev --teams @acme/
  kalypso config owners -e dev --teams @acme/ --write .github/CODEOWNERS
  kalypso config owners -e dev --teams @acme/ --check .github/CODEOWNERS`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.source.bind(cmd, t)
	c.owners.bind(cmd)
	cmd.Flags().BoolVar(&c.ofMain, "of-main", false, "list the files of main instead of those of the environment's branch")
	return cmd
}

func (c *configOwnersCommand) run(cmd *cobra.Command) error {
	if err := c.source.wantEnvironment(cmd); err != nil {
		return err
	}
	session, err := c.source.open(cmd.Context(), c.t)
	if err != nil {
		return err
	}
	defer session.close()
	loaded, err := session.drafter.Loader.Load(cmd.Context(), session.request)
	if err != nil {
		return err
	}
	files, err := loaded.Owners(c.ofMain)
	if err != nil {
		return err
	}
	session.progress.End()
	return c.owners.run(cmd, c.t, files)
}
