package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// sourceFlags say which repositories and folders a command reads. Every command shares them but init.
type sourceFlags struct {
	// controlPlane is a folder or a URL; empty means the repository of the current folder.
	controlPlane string
	// environment is the name of one; empty means all of them, where a command can do that.
	environment string
	// maps say where repositories are read from instead of their URL.
	maps []git.Mapping
	// main and envDir are plain folders that stand in for the branch main and the environment's branch.
	main, envDir string
	// uncommitted is what of a work tree is read, for commands that have these flags.
	uncommitted uncommittedFlags
	// schedulers are the external schedulers that may be asked.
	schedulers schedulerFlags
}

// bind adds the flags to a command.
func (f *sourceFlags) bind(cmd *cobra.Command, t *terminal.Terminal) {
	flags := cmd.Flags()
	flags.StringVar(&f.controlPlane, "control-plane", "", "the control plane, a `folder or URL` (default: the repository of the current folder)")
	flags.StringVarP(&f.environment, "environment", "e", "", "the `name` of the environment")
	flags.Var((*mapFlag)(&f.maps), "map", "read the repository `URL=PATH` from a path; may be repeated")
	flags.StringVar(&f.main, "main", "", "a plain `folder` to use instead of the branch main")
	flags.StringVar(&f.envDir, "env-dir", "", "a plain `folder` to use instead of the environment's branch")
	for _, name := range []string{"control-plane", "main", "env-dir"} {
		// The error only says that the flag does not exist.
		_ = cmd.MarkFlagDirname(name)
	}
	cli.FlagGroup(cmd, cli.GroupControlPlane, "control-plane", "environment", "map", "main", "env-dir")
	f.schedulers.bind(cmd)
	completeFlag(cmd, "environment", f.completeEnvironments(t))
}

// wantEnvironment is for commands that work on one environment.
func (f *sourceFlags) wantEnvironment(cmd *cobra.Command) error {
	if f.environment == "" {
		return cli.Usage(cmd, "which environment? name it, as in -e dev")
	}
	return nil
}

// args repeats the flags that were given for another command on the same environment, as words for a shell.
// Credentials in URLs are left out: the user who copies the command has them.
func (f *sourceFlags) args() string {
	words := []string{"-e", f.environment}
	add := func(flag, value string) {
		if value != "" {
			words = append(words, flag, value)
		}
	}
	add("--control-plane", secret.Redact(f.controlPlane))
	for _, m := range f.maps {
		add("--map", secret.Redact(m.From)+"="+secret.Redact(m.To))
	}
	for _, g := range f.schedulers.given {
		add("--scheduler", g.String())
	}
	add("--schedulers", f.schedulers.config)
	add("--main", f.main)
	add("--env-dir", f.envDir)
	if f.uncommitted.given() {
		words = append(words, f.uncommitted.flag())
		add("--into", f.uncommitted.into)
	}
	for i := range words {
		words[i] = terminal.ShellWord(words[i])
	}
	return strings.Join(words, " ")
}

// within returns the source folder that contains the folder out, or is it; empty if none does. Files written there would be
// read as input. A folder inside a control plane that is a repository is not read from there.
func (f *sourceFlags) within(controlPlane, out string) string {
	if out == "" {
		return ""
	}
	out = realPath(out)
	if fleet.IsLocal(controlPlane) && out == realPath(controlPlane) {
		return controlPlane
	}
	for _, source := range []string{f.main, f.envDir} {
		if source == "" {
			continue
		}
		if rest, err := filepath.Rel(realPath(source), out); err == nil && filepath.IsLocal(rest) {
			return source
		}
	}
	return ""
}

// realPath returns the absolute path of a folder without symbolic links, as far as the folder exists.
func realPath(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real
	}
	if _, err := os.Lstat(abs); err != nil && filepath.Dir(abs) != abs {
		return filepath.Join(realPath(filepath.Dir(abs)), filepath.Base(abs))
	}
	return abs
}

// mapFlag is the value of --map.
type mapFlag []git.Mapping

// String shows what was given.
func (m *mapFlag) String() string {
	var all []string
	for _, mapping := range *m {
		all = append(all, mapping.From+"="+mapping.To)
	}
	return strings.Join(all, ",")
}

// Set adds one mapping.
func (m *mapFlag) Set(value string) error {
	mapping, err := git.ParseMapping(value)
	if err != nil {
		return err
	}
	for _, known := range *m {
		if known.From == mapping.From && known.To != mapping.To {
			return fmt.Errorf("%s is mapped to %s already; map it once", secret.Redact(mapping.From), secret.Redact(known.To))
		}
	}
	*m = append(*m, mapping)
	return nil
}

// Type names the value in the help.
func (m *mapFlag) Type() string { return "URL=PATH" }
