package harness

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/kalypso-io/kalypso/e2e/tools"
)

// Stack is a fleet that runs: a forge, and clusters each of which has a Flux.
type Stack struct {
	Lab      *Lab
	Programs *tools.Programs
	Gitea    *Gitea
	Clusters map[string]*Cluster

	ports ports
}

// StartStack starts everything, as much at once as depends on nothing else. Ending it is closing the lab.
func StartStack(ctx context.Context, lab *Lab, programs *tools.Programs, clusters ...string) (*Stack, error) {
	s := &Stack{Lab: lab, Programs: programs, Clusters: map[string]*Cluster{}}
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() (err error) {
		s.Gitea, err = s.startGitea(ctx)
		return err
	})
	work.Go(func() error { return s.startClusters(ctx, clusters) })
	return s, work.Wait()
}

func (s *Stack) startClusters(ctx context.Context, names []string) error {
	keys, err := newKeys(s.Lab)
	if err != nil {
		return err
	}
	etcd, err := s.startEtcd(ctx)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	work, ctx := errgroup.WithContext(ctx)
	for _, name := range names {
		work.Go(func() error {
			c, err := s.startCluster(ctx, name, etcd, keys)
			if err != nil {
				return err
			}
			mu.Lock()
			s.Clusters[name] = c
			mu.Unlock()
			return s.startFlux(ctx, c)
		})
	}
	return work.Wait()
}

// Address returns a free address, for a program that a test starts.
func (s *Stack) Address() (string, error) { return s.ports.next() }
