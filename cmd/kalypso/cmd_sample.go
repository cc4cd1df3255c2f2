package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/sample"
	"github.com/kalypso-io/kalypso/internal/text/secret/secretfile"
)

// sampleFlags choose a sample.
type sampleFlags struct{ dir string }

// defaultSample is the default folder of a sample.
const defaultSample = "kalypso-sample"

// flag returns the flag for this sample, with a leading space; empty for the default folder.
func (f *sampleFlags) flag() string {
	if f.dir == defaultSample {
		return ""
	}
	return " --dir " + terminal.ShellWord(f.dir)
}

func newSample(t *terminal.Terminal) *cobra.Command {
	f := &sampleFlags{}
	cmd := cli.Group(&cobra.Command{
		Use:   "sample",
		Short: "Run the tutorial on this machine",
		Long: `Run the tutorial on this machine: two teams and three simulated clusters.

    platform team      control-plane, gitops                        drone-1, drone-2 (Flux)
    application team   hello-world-app, its configuration   ─► pull ─►  large (Argo CD)
                                                                    each serves dev and stage

Everything is in one folder and served by one process. The simulated clusters follow Git and report like real ones.`,
		Example: "  kalypso sample up\n  kalypso sample merge gitops stage\n  kalypso sample cluster large fail\n  kalypso sample down",
	})
	cmd.PersistentFlags().StringVar(&f.dir, "dir", defaultSample, "the `folder` of the sample")
	_ = cmd.MarkPersistentFlagDirname("dir") // the error only says that the flag does not exist
	cmd.AddCommand(newSampleUp(t, f), newSampleMerge(t, f), newSampleCluster(t, f), newSampleKubectl(t, f), newSampleGreeting(t, f), newSampleDown(t, f))
	return cmd
}

// open opens the folder of the sample.
func (f *sampleFlags) open() (*sample.Folder, error) {
	folder, err := sample.Open(f.dir)
	if errors.Is(err, sample.ErrNoSample) {
		return nil, cli.Failed(err, "create one with kalypso sample up, or choose its folder with --dir")
	}
	return folder, err
}

// remote connects to the process that runs the sample.
func (f *sampleFlags) remote() (sample.Remote, error) {
	folder, err := f.open()
	if err != nil {
		return sample.Remote{}, err
	}
	return remoteOf(folder)
}

func remoteOf(folder *sample.Folder) (sample.Remote, error) {
	token, err := secretfile.Value(folder.ControlToken())
	if err != nil {
		return sample.Remote{}, cli.Failed(fmt.Errorf("read the token of the sample: %w", err), "start it with kalypso sample up")
	}
	server := &url.URL{Scheme: "http", Host: folder.State.Listen, Path: sample.ControlRoot}
	return sample.Remote{Client: &client.Client{
		Server: server, Token: token, UserAgent: "kalypso/" + cli.Version(),
	}}, nil
}

// ask calls the process that runs the sample.
func (f *sampleFlags) ask(do func(sample.Remote) error) error {
	remote, err := f.remote()
	if err != nil {
		return err
	}
	err = do(remote)
	switch {
	case errors.Is(err, client.ErrUnreachable), errors.Is(err, client.ErrNoAPI):
		return cli.Failed(fmt.Errorf("the sample is not running: %w", err), "start it with kalypso sample up, in another terminal")
	case err != nil:
		return backend.Hint(err)
	}
	return nil
}

// runs reports whether the process of a sample answers.
func runs(ctx context.Context, folder *sample.Folder) bool {
	remote, err := remoteOf(folder)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, briefly)
	defer cancel()
	_, err = remote.Simulation().Clusters(ctx)
	return err == nil
}

// shown returns a path as users type it.
func shown(path string) string { return terminal.Printable(filepath.ToSlash(path)) }
