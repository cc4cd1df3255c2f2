package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/sample"
)

// sampleMergeCommand is "kalypso sample merge".
type sampleMergeCommand struct {
	t       *terminal.Terminal
	sample  *sampleFlags
	timeout time.Duration
}

func newSampleMerge(t *terminal.Terminal, f *sampleFlags) *cobra.Command {
	c := &sampleMergeCommand{t: t, sample: f}
	cmd := &cobra.Command{
		Use:   "merge [REPOSITORY BRANCH]",
		Short: "List open pull requests, or merge one",
		Long: `List open pull requests, or merge the one to a branch as a member of the repository's team, like the button on its page.
If the pull request does not exist yet, wait for it.`,
		Example: "  kalypso sample merge\n  kalypso sample merge gitops stage",
		Args:    cli.AtMost("REPOSITORY", "BRANCH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch len(args) {
			case 0:
				return c.list(cmd.Context())
			case 1:
				return cli.Usage(cmd, "BRANCH is missing")
			}
			return c.merge(cmd.Context(), sample.MergeRequest{Repository: args[0], Branch: args[1]})
		},
	}
	cmd.Flags().DurationVar(&c.timeout, "timeout", time.Minute, "how long to wait for the pull request")
	return cmd
}

func (c *sampleMergeCommand) list(ctx context.Context) error {
	return c.sample.ask(func(r sample.Remote) error {
		all, err := r.Pulls(ctx)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			fmt.Fprintln(c.t.Out, "no open pull requests")
			return nil
		}
		list := &terminal.Table{}
		for _, p := range all {
			list.Row(terminal.Plain(p.Repository), terminal.Plain(p.Branch), terminal.Plain(p.Title), terminal.Painted(c.t.OutStyle.Dim, p.URL))
		}
		return list.Write(c.t.Out)
	})
}

func (c *sampleMergeCommand) merge(ctx context.Context, wanted sample.MergeRequest) error {
	waiting, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	return c.sample.ask(func(r sample.Remote) error {
		merged, err := r.Merge(waiting, wanted)
		var refusal *client.Refusal
		if errors.As(err, &refusal) {
			return cli.Failed(fmt.Errorf("not merged within %s: %w", c.timeout, err), "kalypso sample merge lists open pull requests, and kalypso status shows what each environment waits for")
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(c.t.Out, "%s merged %q into %s of %s\n", terminal.Printable(merged.By), terminal.Printable(merged.Title), terminal.Printable(merged.Branch), terminal.Printable(merged.Repository))
		return nil
	})
}
