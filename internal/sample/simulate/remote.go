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

// clusterPath identifies a cluster.
type clusterPath struct {
	Cluster string `path:"cluster"`
}

// Clusters returns the state of all clusters, by name.
func (r Remote) Clusters(ctx context.Context) ([]Overview, error) {
	return client.Ask[[]Overview](ctx, r.Client, "clusters", nil)
}

// Set changes the behaviour of a cluster, and returns its state.
func (r Remote) Set(ctx context.Context, cluster string, b Behaviour) (Overview, error) {
	return client.Tell[Overview](ctx, r.Client, "clusters/{cluster}/behaviour", clusterPath{cluster}, b)
}

// Kubectl writes what kubectl would print about a cluster; see [Simulation.Kubectl].
func (r Remote) Kubectl(ctx context.Context, w io.Writer, cluster string, args []string) error {
	answer, err := client.Tell[kubectlAnswer](ctx, r.Client, "clusters/{cluster}/kubectl", clusterPath{cluster}, kubectlCall{args})
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, answer.Output)
	return err
}

// Refresh makes every cluster poll its sources now.
func (r Remote) Refresh(ctx context.Context) error {
	_, err := client.Tell[struct{}](ctx, r.Client, "refresh", nil, struct{}{})
	return err
}
