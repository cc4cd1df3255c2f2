package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/sample"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// sampleFlags say which sample is meant.
type sampleFlags struct{ dir string }

// defaultSample is the folder of a sample whose folder nobody names.
const defaultSample = "kalypso-sample"

// flag is what has to be typed to mean this sample, with a space before it; empty where nothing has to.
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
		Short: "Play the tutorial on this machine: two teams, three simulated clusters",
		Long: `Play the tutorial on this machine: two teams, three simulated clusters.

    platform team      control-plane, gitops                        drone-1, drone-2 (Flux)
    application team   hello-world-app, its configuration   ─► pull ─►  large (Argo CD)
                                                                    each serves dev and stage

Everything is in one folder, and served by one process. The clusters are simulated: they follow Git and report as real ones do.`,
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
		return nil, cli.Failed(err, "kalypso sample up makes one; --dir says where it is")
	}
	return folder, err
}

// remote is the way to the process that runs the sample.
func (f *sampleFlags) remote() (sample.Remote, error) {
	folder, err := f.open()
	if err != nil {
		return sample.Remote{}, err
	}
	return remoteOf(folder)
}

func remoteOf(folder *sample.Folder) (sample.Remote, error) {
	token, err := os.ReadFile(folder.ControlToken())
	if err != nil {
		return sample.Remote{}, cli.Failed(fmt.Errorf("read the token of the sample: %w", err), "kalypso sample up starts it")
	}
	server := &url.URL{Scheme: "http", Host: folder.State.Listen, Path: sample.ControlRoot}
	return sample.Remote{Client: &client.Client{
		Server: server, Token: secret.New(strings.TrimSpace(string(token))), UserAgent: "kalypso/" + cli.Version(),
	}}, nil
}

// ask asks the process that runs the sample.
func (f *sampleFlags) ask(do func(sample.Remote) error) error {
	remote, err := f.remote()
	if err != nil {
		return err
	}
	err = do(remote)
	switch {
	case errors.Is(err, client.ErrUnreachable), errors.Is(err, client.ErrNoAPI):
		return cli.Failed(fmt.Errorf("the sample does not run: %w", err), "kalypso sample up starts it, in another terminal")
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

// shown is a path as people would type it.
func shown(path string) string { return terminal.Printable(filepath.ToSlash(path)) }
