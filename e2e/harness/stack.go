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
	etcd  string // its URL
	keys  *keys
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

func (s *Stack) startClusters(ctx context.Context, names []string) (err error) {
	if s.keys, err = newKeys(s.Lab); err != nil {
		return err
	}
	if s.etcd, err = s.startEtcd(ctx); err != nil {
		return err
	}
	var mu sync.Mutex
	work, ctx := errgroup.WithContext(ctx)
	for _, name := range names {
		work.Go(func() error {
			c, err := s.StartCluster(ctx, name)
			if err != nil {
				return err
			}
			mu.Lock()
			s.Clusters[name] = c
			mu.Unlock()
			return nil
		})
	}
	return work.Wait()
}

// StartCluster starts one more cluster with a Flux, which is not among [Stack.Clusters]. The name is one that no other has.
// flags are those of Flux's kustomize-controller.
func (s *Stack) StartCluster(ctx context.Context, name string, flags ...string) (*Cluster, error) {
	c, err := s.startCluster(ctx, name)
	if err != nil {
		return nil, err
	}
	return c, s.startFlux(ctx, c, flags...)
}

// StartPlainCluster starts one more cluster, which nothing reconciles.
func (s *Stack) StartPlainCluster(ctx context.Context, name string) (*Cluster, error) {
	return s.startCluster(ctx, name)
}

// Address returns a free address, for a program that a test starts.
func (s *Stack) Address() (string, error) { return s.ports.next() }
