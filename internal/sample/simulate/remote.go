package simulate

import (
	"context"
	"io"

	"github.com/kalypso-io/kalypso/internal/hub/client"
)

// Remote controls a simulation in another process, through its [Simulation.Handler].
type Remote struct {
	// Client has the address and the token. // required
	Client *client.Client
}

// Clusters returns the state of all clusters, by name.
func (r Remote) Clusters(ctx context.Context) ([]Overview, error) {
	var all []Overview
	err := r.Client.Get(ctx, "clusters", nil, &all)
	return all, err
}

// Set changes the behaviour of a cluster, and returns its state.
func (r Remote) Set(ctx context.Context, cluster string, b Behaviour) (Overview, error) {
	var o Overview
	err := r.Client.Post(ctx, client.Path("clusters", cluster, "behaviour"), b, &o)
	return o, err
}

// Kubectl writes what kubectl would print about a cluster; see [Simulation.Kubectl].
func (r Remote) Kubectl(ctx context.Context, w io.Writer, cluster string, args []string) error {
	var answer kubectlAnswer
	if err := r.Client.Post(ctx, client.Path("clusters", cluster, "kubectl"), kubectlCall{args}, &answer); err != nil {
		return err
	}
	_, err := io.WriteString(w, answer.Output)
	return err
}

// Refresh makes every cluster poll its sources now.
func (r Remote) Refresh(ctx context.Context) error {
	return r.Client.Post(ctx, "refresh", struct{}{}, nil)
}
