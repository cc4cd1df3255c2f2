package simulation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/kalypso-io/kalypso/internal/agent"
)

// ErrUnknownCluster means that there is no simulated cluster of that name.
var ErrUnknownCluster = errors.New("no such simulated cluster")

// Config says how a simulation goes.
type Config struct {
	// Sources is where clusters find what they follow. // required
	Sources *Sources
	// Poll is how often each source is looked at. Default: 5 seconds.
	Poll time.Duration
	// Delay is how long it takes to apply what was found, or for a Deployment to become available. The zero value is no delay.
	Delay Delay
	// Heartbeat is how long nothing is reported when nothing changes. Default: one minute.
	Heartbeat time.Duration
	// Seed decides the delays of each cluster, together with its name.
	Seed uint64
	// Log is told what clusters do; nil means nobody.
	Log *slog.Logger
}

// Delay is a range of durations, from which each is taken by chance.
type Delay struct{ Least, Most time.Duration }

// Simulation is a set of simulated clusters. It is safe for concurrent use.
type Simulation struct {
	config Config
}

// New returns a simulation without clusters.
func New(c Config) *Simulation { return &Simulation{config: c} }

// Add starts a cluster, which reports to a server; to nobody when that is nil.
func (s *Simulation) Add(c Cluster, server agent.Server) error {
	if c.Reconciler == "" {
		c.Reconciler = Flux
	}
	if err := c.check(); err != nil {
		return fmt.Errorf("add simulated cluster %q: %w", c.Name, err)
	}
	return nil
}

// Remove ends a cluster; one that is not there is an [ErrUnknownCluster].
func (s *Simulation) Remove(name string) error { return ErrUnknownCluster }

// Set changes how a cluster does, from the next step on.
func (s *Simulation) Set(name string, b Behaviour) error { return ErrUnknownCluster }

// Refresh lets every cluster look at its sources in the next step, as a webhook does.
func (s *Simulation) Refresh() {}

// Step does one round of all clusters, in the order of their names, and returns when there is something to do next.
// Steps go forward in time.
func (s *Simulation) Step(ctx context.Context, now time.Time) (next time.Time) { return now.Add(s.config.Poll) }

// Run steps until the context ends.
func (s *Simulation) Run(ctx context.Context) { <-ctx.Done() }
