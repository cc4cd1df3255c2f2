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
		Short: "Stop the sample and remove what it created",
		Long: `Stop the sample and remove what it created. Other files in its folder stay, and a folder without a sample is not touched.
On an existing forge, remove the repositories whose description says that this sample created them. On real clusters, remove
the objects with the label of this sample; Flux then removes what it installed from them.`,
		Example: "  kalypso sample down\n  kalypso sample down --dir another-sample",
		Args:    cli.Exactly(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.Flags().BoolVar(&c.keep, "keep-remote", false, "keep what is on an existing forge and on real clusters")
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
		return cli.Failed(err, "run it again when no program uses the folder")
	}
	fmt.Fprintf(t.Out, "removed the sample in %s\n", shown(folder.Dir))
	if len(left) > 0 {
		fmt.Fprintf(t.Out, "kept, because the sample did not create it: %s\n", terminal.Printable(strings.Join(left, ", ")))
	}
	return nil
}

// briefly bounds an answer of a local process, patiently its end.
const (
	briefly   = 3 * time.Second
	patiently = 30 * time.Second
)

// stopSample stops the process that runs a sample, if there is one, and waits for its end.
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
