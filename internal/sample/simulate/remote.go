package simulate

import (
	"context"
	"io"

	"github.com/kalypso-io/kalypso/internal/hub/client"
)

// Remote controls a simulation that runs elsewhere, through its [Simulation.Handler].
type Remote struct {
	// Client knows the address and the token. // required
	Client *client.Client
}

// Clusters says how all clusters are doing, by name.
func (r Remote) Clusters(ctx context.Context) ([]Overview, error) {
	var all []Overview
	err := r.Client.Get(ctx, "clusters", nil, &all)
	return all, err
}

// Set changes how a cluster does, and returns how it is doing.
func (r Remote) Set(ctx context.Context, cluster string, b Behaviour) (Overview, error) {
	var o Overview
	err := r.Client.Post(ctx, client.Path("clusters", cluster, "behaviour"), b, &o)
	return o, err
}

// Kubectl writes what kubectl would about a cluster; see [Simulation.Kubectl].
func (r Remote) Kubectl(ctx context.Context, w io.Writer, cluster string, args []string) error {
	var answer kubectlAnswer
	if err := r.Client.Post(ctx, client.Path("clusters", cluster, "kubectl"), kubectlCall{args}, &answer); err != nil {
		return err
	}
	_, err := io.WriteString(w, answer.Output)
	return err
}

// Refresh lets every cluster look at its sources now.
func (r Remote) Refresh(ctx context.Context) error {
	return r.Client.Post(ctx, "refresh", struct{}{}, nil)
}
