package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/sample"
)

// sampleDownCommand is "kalypso sample down".
type sampleDownCommand struct {
	t      *terminal.Terminal
	sample *sampleFlags
	keep   bool
}

func newSampleDown(t *terminal.Terminal, f *sampleFlags) *cobra.Command {
	c := &sampleDownCommand{t: t, sample: f}
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop the sample, and remove what it made",
		Long: `Stop the sample, and remove what it made, and nothing else: what somebody put into its folder stays there, and a folder
that is no sample is not touched. On a forge that was there before, it removes the repositories whose description says that this
sample made them; on real clusters, what has the label of this sample, and Flux removes what came by that.`,
		Example: "  kalypso sample down\n  kalypso sample down --dir another-sample",
		Args:    cli.Exactly(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.Flags().BoolVar(&c.keep, "keep-remote", false, "leave what is on a forge and on real clusters, and forget it")
	return cmd
}

func (c *sampleDownCommand) run(ctx context.Context) error {
	t := c.t
	folder, err := c.sample.open()
	if err != nil {
		return err
	}
	away, err := c.remote(ctx, folder.State)
	if err != nil {
		return err
	}
	if err := stopSample(ctx, folder); err != nil {
		return err
	}
	if err := away.remove(ctx, t); err != nil {
		return err
	}
	left, err := folder.Remove()
	if err != nil {
		return cli.Failed(err, "run it again when nobody uses the folder any more")
	}
	fmt.Fprintf(t.Out, "removed the sample in %s\n", shown(folder.Dir))
	if len(left) > 0 {
		fmt.Fprintf(t.Out, "left there, since the sample did not make it: %s\n", terminal.Printable(strings.Join(left, ", ")))
	}
	return nil
}

// briefly is how long an answer of a process on this machine may take, and patiently how long its end.
const (
	briefly   = 3 * time.Second
	patiently = 30 * time.Second
)

// stopSample ends the process that runs a sample, if there is one, and waits until it is done.
func stopSample(ctx context.Context, folder *sample.Folder) error {
	if !runs(ctx, folder) {
		return nil
	}
	remote, err := remoteOf(folder)
	if err != nil {
		return err
	}
	if err := remote.Stop(ctx); err != nil {
		return backend.Hint(err)
	}
	for deadline := time.Now().Add(patiently); time.Now().Before(deadline); <-time.After(20 * time.Millisecond) {
		if _, err := os.Stat(folder.Running()); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return cli.Failed(fmt.Errorf("the sample in %s was asked to stop and still runs", shown(folder.Dir)), "end its process, and run it again")
}
