package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/connect"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
	"github.com/kalypso-io/kalypso/internal/sample"
)

// sampleRemote is what a sample has elsewhere: on a forge and on clusters that were there before.
type sampleRemote struct {
	state sample.State
	// host is nil where the forge goes with the folder.
	host     forge.Forge
	clusters []*realCluster
}

// remote finds the ways to what a sample has elsewhere, before anything is stopped or removed.
func (c *sampleDownCommand) remote(ctx context.Context, s sample.State) (*sampleRemote, error) {
	r := &sampleRemote{state: s}
	if c.keep {
		return r, nil
	}
	const keep = ", or leave it there with --keep-remote"
	if s.Forge != "" {
		if c.t.Env[s.TokenEnv] == "" {
			return nil, cli.Failed(fmt.Errorf("the environment variable %s is empty, with which the repositories are removed", s.TokenEnv), "set it to the token for "+terminal.Printable(s.Site.URL)+keep)
		}
		var err error
		if r.host, err = connect.Open(forge.Connection{Kind: forge.Kind(s.Forge), URL: s.Site.URL, TokenEnv: s.TokenEnv}, c.t.Env, transport.Config{}); err != nil {
			return nil, err
		}
	}
	var err error
	r.clusters, err = openClusters(ctx, s)
	if err != nil {
		return nil, cli.Failed(err, "run it again when the cluster answers"+keep)
	}
	return r, nil
}

// pruning is how long a cluster may take to remove everything that came by what is removed.
const pruning = 2 * time.Minute

// remove takes away what is the sample's: from the clusters first, which follow the repositories.
func (r *sampleRemote) remove(ctx context.Context, t *terminal.Terminal) error {
	for _, c := range r.clusters {
		objects, err := c.named(r.state)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, pruning)
		err = c.Remove(ctx, objects)
		cancel()
		if err != nil {
			return cli.Failed(fmt.Errorf("context %q: %w", c.Context, err), "run it again, or leave it there with --keep-remote")
		}
		fmt.Fprintf(t.Out, "removed from %s, context %s, what the sample had there\n", c.Name, terminal.Printable(c.Context))
	}
	if r.host == nil {
		return nil
	}
	repositories, err := sample.Repositories(r.state.Site)
	if err != nil {
		return err
	}
	left, err := sample.Unpublish(ctx, r.host, repositories, r.state.Mark())
	if errors.Is(err, forge.ErrDenied) {
		return cli.Failed(err, "give the token that right, or delete them by hand and leave them out with --keep-remote")
	}
	if err != nil {
		return cli.Failed(err, "run it again")
	}
	fmt.Fprintf(t.Out, "removed the repositories of the sample from %s\n", terminal.Printable(r.state.Site.URL))
	for _, url := range left {
		fmt.Fprintf(t.Out, "left, since its description does not say that this sample made it: %s\n", terminal.Printable(url))
	}
	return nil
}
