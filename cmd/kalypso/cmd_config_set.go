package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// configSetCommand is "kalypso config set".
type configSetCommand struct {
	t      *terminal.Terminal
	source sourceFlags
	set    setFlags
	output *cli.Output
}

// configSet is the result of the command.
type configSet struct {
	*schedule.Setting
	Place
}

func newConfigSet(t *terminal.Terminal) *cobra.Command {
	c := &configSetCommand{t: t}
	cmd := &cobra.Command{
		Use:   "set -e ENVIRONMENT CONFIGMAP [KEY=VALUE ...]",
		Short: "Set platform values, and show what they change",
		Long: `Set values of a ConfigMap on the branch of an environment, without an editor and Git commands.

` + setHelp + `

A key with dots, such as LOGGING.level, descends into a value that is a YAML map.`,
		Example: `  kalypso config set -e dev west-us-config DATABASE_URL=mysql://west-2:8806/db --dry-run
  kalypso config set -e dev west-us-config --remove LOGGING.level --dry-run
  kalypso config set -e dev west-us-config REGION="West US" --author ada --group dba --pull-request`,
		Args: wantValues("CONFIGMAP"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) },
	}
	c.source.bind(cmd, t)
	c.set.bind(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(configSet{})
	return cmd
}

// wantValues checks that arguments are others, followed by at least one KEY=VALUE.
func wantValues(others ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		remove, err := cmd.Flags().GetStringArray("remove")
		if err != nil {
			return err
		}
		if len(args) < len(others) || len(args) == len(others) && len(remove) == 0 {
			return cli.Usage(cmd, "give %s", strings.Join(append(others, "KEY=VALUE"), " and "))
		}
		for _, arg := range args[len(others):] {
			if key, _, ok := strings.Cut(arg, "="); !ok || key == "" {
				return cli.Usage(cmd, "%q is not KEY=VALUE", arg)
			}
		}
		return nil
	}
}

func (c *configSetCommand) run(cmd *cobra.Command, args []string) error {
	author, s, commits, err := c.set.begin(cmd, c.t, &c.source)
	if err != nil {
		return err
	}
	defer s.close()
	request := schedule.SetRequest{Request: s.request, ConfigMap: args[0], Author: author, Message: c.set.message, When: c.t.Now()}
	for _, arg := range args[1:] {
		key, text, _ := strings.Cut(arg, "=")
		request.Values = append(request.Values, schedule.SetValue{Key: key, Text: text})
	}
	for _, key := range c.set.remove {
		request.Values = append(request.Values, schedule.SetValue{Key: key, Remove: true})
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
	err = c.output.Write(c.t.Out, configSet{setting, done}, func(w io.Writer) error {
		if setting.Plan != nil {
			if err := (output.Plan{Plan: setting.Plan, Style: c.t.OutStyle, Args: c.source.args()}).Write(w); err != nil {
				return err
			}
			_, _ = io.WriteString(w, "\n")
		}
		c.set.show(w, c.t, made, done)
		return nil
	})
	if err == nil && len(setting.Problems) > 0 {
		err = cli.AnswerNo()
	}
	return err
}
