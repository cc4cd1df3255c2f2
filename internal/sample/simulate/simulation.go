package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kalypso-io/kalypso/internal/agent"
)

// ErrUnknownCluster means that no simulated cluster has that name.
var ErrUnknownCluster = errors.New("no such simulated cluster")

// Config configures a simulation.
type Config struct {
	// Sources reads the repositories that clusters follow. // required
	Sources *Sources
	// Poll is the interval at which sources are polled. Default: 5 seconds.
	Poll time.Duration
	// Delay is how long it takes to apply a commit, or for a Deployment to become ready. The zero value is no delay.
	Delay Delay
	// Heartbeat is the longest time between two reports. Default: one minute.
	Heartbeat time.Duration
	// Seed and the name of a cluster determine its delays.
	Seed uint64
	// Log receives what clusters do; nil discards it.
	Log *slog.Logger
}

// Delay is a range of random durations.
type Delay struct{ Least, Most time.Duration }

// Simulation is a set of simulated clusters. It is safe for concurrent use.
type Simulation struct {
	config Config
	// stepping is held during a step, so that steps do not overlap.
	stepping sync.Mutex
	// woken receives when there is something to do early.
	woken chan struct{}

	mu       sync.Mutex
	machines []*machine // by name
}

// New returns a simulation without clusters.
func New(c Config) *Simulation {
	c.Poll = cmp.Or(max(c.Poll, 0), 5*time.Second)
	c.Heartbeat = cmp.Or(max(c.Heartbeat, 0), time.Minute)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Simulation{config: c, woken: make(chan struct{}, 1)}
}

// Add starts a cluster that reports to a server; nil for a cluster that does not report.
func (s *Simulation) Add(c Cluster, server agent.Server) error {
	c, err := c.completed()
	if err != nil {
		return fmt.Errorf("add simulated cluster %q: %w", c.Name, err)
	}
	m := newMachine(c, s.config)
	m.server = server
	s.mu.Lock()
	defer s.mu.Unlock()
	i, there := s.find(c.Name)
	if there {
		return fmt.Errorf("add simulated cluster %q: it exists already", c.Name)
	}
	s.machines = slices.Insert(s.machines, i, m)
	s.wake()
	return nil
}

// Remove ends a cluster; one that is not there is an [ErrUnknownCluster].
func (s *Simulation) Remove(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, there := s.find(name)
	if !there {
		return fmt.Errorf("%w: %q", ErrUnknownCluster, name)
	}
	s.machines = slices.Delete(s.machines, i, i+1)
	return nil
}

func (s *Simulation) find(name string) (int, bool) {
	return slices.BinarySearchFunc(s.machines, name, func(m *machine, name string) int { return cmp.Compare(m.Name, name) })
}

func (s *Simulation) machine(name string) (*machine, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, there := s.find(name)
	if !there {
		return nil, fmt.Errorf("%w: %q", ErrUnknownCluster, name)
	}
	return s.machines[i], nil
}

// all returns the clusters, by name.
func (s *Simulation) all() []*machine {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.machines)
}

// Set changes the behaviour of a cluster from the next step on.
func (s *Simulation) Set(name string, b Behaviour) error {
	b.Mode = cmp.Or(b.Mode, Healthy)
	if err := b.check(); err != nil {
		return err
	}
	m, err := s.machine(name)
	if err != nil {
		return err
	}
	m.set(b)
	s.wake()
	return nil
}

// Refresh makes every cluster poll its sources in the next step, as a webhook does.
func (s *Simulation) Refresh() {
	s.config.Sources.forget()
	for _, m := range s.all() {
		m.refresh()
	}
	s.wake()
}

func (s *Simulation) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// Step does one round of all clusters, in the order of their names, and returns when the next one is due.
// The time of a step is never before that of the last one.
func (s *Simulation) Step(ctx context.Context, now time.Time) (next time.Time) {
	return s.step(ctx, now, 1)
}

// atOnce is how many clusters step concurrently: they mostly wait for a server.
const atOnce = 16

// Run steps by the clock until the context is done.
func (s *Simulation) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-s.woken:
		}
		next := s.step(ctx, time.Now(), atOnce)
		timer.Reset(max(time.Until(next), shortestStep))
	}
}

// shortestStep is the shortest time between two steps.
const shortestStep = 100 * time.Millisecond

// step steps several clusters concurrently. They share only what they read, so the order does not matter.
func (s *Simulation) step(ctx context.Context, now time.Time, atOnce int) time.Time {
	s.stepping.Lock()
	defer s.stepping.Unlock()
	machines := s.all()
	nexts := make([]time.Time, len(machines))
	if atOnce == 1 {
		for i, m := range machines {
			nexts[i] = m.step(ctx, now)
		}
	} else {
		var group errgroup.Group
		group.SetLimit(atOnce)
		for i, m := range machines {
			group.Go(func() error { nexts[i] = m.step(ctx, now); return nil })
		}
		_ = group.Wait()
	}
	return slices.MinFunc(append(nexts, now.Add(s.config.Poll)), time.Time.Compare)
}
