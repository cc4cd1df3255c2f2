package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
)

// appSecretsRotateCommand is "kalypso app secrets rotate".
type appSecretsRotateCommand struct {
	t      *terminal.Terminal
	app    appFlags
	output *cli.Output
	dryRun bool
}

func newAppSecretsRotate(t *terminal.Terminal) *cobra.Command {
	c := &appSecretsRotateCommand{t: t}
	cmd := &cobra.Command{
		Use:   "rotate SECRET",
		Short: "Let the Job make the values of a Secret again",
		Long: `Let the Job that makes a Secret make its values again: passwords, certificates, and what belongs to them, such as hashes.

The command increases the Secret's rotation in the Delivery, in your work tree. Commit and push the file. The rotation is promoted like every
change: each cluster makes new values when the commit reaches its environment. No value is in Git.`,
		Example: `  kalypso app secrets rotate database
  kalypso app secrets rotate database --dry-run -o json`,
		Args: cli.Exactly("SECRET"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	c.app.bind(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(deliver.Rotation{})
	cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, "show the new rotation, and do nothing")
	return cmd
}

func (c *appSecretsRotateCommand) run(cmd *cobra.Command, secret string) error {
	s, err := c.app.open(cmd.Context(), c.t)
	if err != nil {
		return err
	}
	defer s.close()
	a, err := s.drafter.Loader.Application(cmd.Context(), s.request, "")
	if err != nil {
		return err
	}
	if s.workTree == "" {
		return cli.Failed(errors.New("the source is not a work tree, where the Delivery can be changed"), "clone it, and run the command there")
	}
	file := filepath.Join(s.workTree, filepath.FromSlash(a.DeliveryAt.File))
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the Delivery: %w", err)
	}
	r, changed, err := a.Rotate(secret, content)
	if err != nil {
		return err
	}
	if !c.dryRun {
		if err := os.WriteFile(file, changed, 0o644); err != nil { //nolint:gosec // a file in a work tree, which others may read
			return fmt.Errorf("write the Delivery: %w", err)
		}
	}
	s.progress.End()
	return c.output.Write(c.t.Out, r, func(w io.Writer) error {
		what := "has now rotation"
		if c.dryRun {
			what = "would have rotation"
		}
		fmt.Fprintf(w, "Secret/%s %s %d in %s\n", terminal.Printable(r.Secret), what, r.Rotation, terminal.Printable(r.File))
		if !c.dryRun {
			fmt.Fprintln(w, "Commit and push it: each cluster makes new values when the commit reaches its environment.")
		}
		return nil
	})
}
