package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
)

// appConfigSetCommand is "kalypso app config set".
type appConfigSetCommand struct {
	t      *terminal.Terminal
	app    appFlags
	set    setFlags
	output *cli.Output
	folder string
	target string
}

// appConfigSet is the result of the command.
type appConfigSet struct {
	*deliver.Setting
	Place
}

func newAppConfigSet(t *terminal.Terminal) *cobra.Command {
	c := &appConfigSetCommand{t: t}
	cmd := &cobra.Command{
		Use:   "set -e ENVIRONMENT (--target TARGET | --folder FOLDER) [KEY=VALUE ...]",
		Short: "Set an application's values, and show what they change",
		Long: `Set values in the configuration of an application, without an editor and Git commands: for a target, or for all targets of a folder.

` + setHelp + `

Dots in a key descend into maps: image.tag. Quote dots that belong to a key: annotations."example.com/owner". A value is YAML: 3 is a
number, "3" a string, and [a, b] a list.`,
		Example: `  kalypso app config set -e dev --target functional-test replicas=2 --dry-run
  kalypso app config set -e dev --target functional-test --remove replicas --dry-run
  kalypso app config set -e prod --folder eu logging.level=debug --author ada --group sre --pull-request`,
		Args: wantValues(),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) },
	}
	c.app.bind(cmd)
	c.app.bindEnvironment(cmd)
	c.set.bind(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(appConfigSet{})
	cmd.Flags().StringVar(&c.target, "target", "", "the `name` of a target: its folder gets the values")
	completeFlag(cmd, "target", c.app.completeTargets(nil, t))
	cmd.Flags().StringVar(&c.folder, "folder", "", "a `folder` of the configuration that gets the values; . is its root")
	return cmd
}

func (c *appConfigSetCommand) run(cmd *cobra.Command, args []string) error {
	if err := c.app.wantEnvironment(cmd); err != nil {
		return err
	}
	if (c.target == "") == (c.folder == "") {
		return cli.Usage(cmd, "where? name a target with --target, or a folder with --folder")
	}
	if err := c.set.check(cmd); err != nil {
		return err
	}
	author, err := c.set.who(cmd, c.t)
	if err != nil {
		return err
	}
	s, err := c.app.open(cmd.Context(), c.t)
	if err != nil {
		return err
	}
	defer s.close()
	commits, err := c.set.committer(s.client, c.t)
	if err != nil {
		return err
	}
	request := deliver.SetRequest{
		Request: s.request, Environment: c.app.environment, Target: c.target, Folder: c.folder, Author: author, Message: c.set.message, When: c.t.Now(),
	}
	if request.Values, err = valuesOf(args, c.set.remove); err != nil {
		return err
	}
	setting, err := s.drafter.Set(cmd.Context(), commits, request)
	if err != nil {
		return err
	}
	made := madeCommit{setting.Environment, setting.Repo, setting.Branch, setting.Base, setting.Commit, setting.Message, setting.Digest, setting.Problems}
	done, err := c.set.write(cmd.Context(), commits, made)
	if err != nil {
		return err
	}
	s.progress.End()
	err = c.output.Write(c.t.Out, appConfigSet{setting, done}, func(w io.Writer) error {
		c.show(w, setting)
		c.set.show(w, c.t, made, done)
		return nil
	})
	if err == nil && len(setting.Problems) > 0 {
		err = cli.AnswerNo()
	}
	return err
}

// valuesOf reads KEY=VALUE, and keys to be removed.
func valuesOf(args, removed []string) ([]deliver.SetValue, error) {
	var all []deliver.SetValue
	pathOf := func(key string) ([]string, error) {
		path, err := editing.Path(key)
		if err != nil {
			err = cli.Failed(err, `put quotes around a key with dots, as in annotations."example.com/owner"`)
		}
		return path, err
	}
	for _, key := range removed {
		path, err := pathOf(key)
		if err != nil {
			return nil, err
		}
		all = append(all, deliver.SetValue{Path: path})
	}
	for _, arg := range args {
		key, text, _ := strings.Cut(arg, "=")
		path, err := pathOf(key)
		if err != nil {
			return nil, err
		}
		value, err := editing.Value(text)
		if err != nil {
			return nil, cli.Failed(fmt.Errorf("the value of %s cannot be read as YAML: %w", key, err), "put quotes around a text: "+key+`='"..."'`)
		}
		all = append(all, deliver.SetValue{Path: path, Value: value})
	}
	return all, nil
}

// show lists what changes in which target.
func (c *appConfigSetCommand) show(w io.Writer, s *deliver.Setting) {
	if s.Commit == "" {
		return
	}
	fmt.Fprintf(w, "%s\n\n", terminal.Printable(s.File))
	if len(s.Targets) == 0 {
		fmt.Fprintln(w, "  no target changes")
	}
	style := c.t.OutStyle
	for _, t := range s.Targets {
		fmt.Fprintf(w, "  %s\n", style.Bold(terminal.Printable(t.Name)))
		for _, v := range t.Values {
			from := ""
			if slices.Contains(c.set.remove, v.Key) && v.New != nil {
				from = style.Dim("  from " + terminal.Printable(valuePlace(v.From)))
			}
			fmt.Fprintf(w, "      %s: %s -> %s%s\n", terminal.Printable(v.Key), output.Value(v.Old), output.Value(v.New), from)
			for _, over := range t.Over[v.Key] {
				fmt.Fprintf(w, "      %s\n", style.Dim(terminal.Printable(fmt.Sprintf("    over %s: %s", valuePlace(over.From), over.Value))))
			}
		}
		for _, line := range deliver.RestartLines(t.Restarts, t.Configs) {
			fmt.Fprintf(w, "      %s\n", terminal.Printable(line))
		}
	}
	fmt.Fprintln(w)
}
