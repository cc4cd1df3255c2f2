package main

import (
	"context"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/sample/simulate"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// join lets a cluster of each type join each environment, such as stage-large, with a token that is good for that alone.
// The clock of the clusters is wrong by the time that skew says for each environment.
func (s *story) join(skew map[string]time.Duration) {
	s.Helper()
	address, err := url.Parse(s.URL)
	if err != nil {
		s.Fatal(err)
	}
	joiner := &simulate.Joiner{Server: address, Dir: filepath.Join(s.data, "clusters")}
	joiner.Token = s.createToken("join", "--member", "*/drone", "--member", "*/large")
	s.clusters = map[string]*simulate.Simulation{}
	for _, environment := range storyEnvironments {
		clusters := s.simulate(skew[environment])
		s.clusters[environment] = clusters
		for _, clusterType := range slices.Sorted(maps.Keys(storyTypes)) {
			c := simulate.Cluster{Name: environment + "-" + clusterType, Reconciler: storyTypes[clusterType], Memberships: []simulate.Membership{{
				Environment: environment, ClusterType: clusterType, GitOps: hub.Repository{Repo: s.URL + "/" + fleettest.GitOps},
			}}}
			server, err := joiner.Register(s.Context(), c)
			if err != nil {
				s.Fatal(err)
			}
			if err := clusters.Add(c, server); err != nil {
				s.Fatal(err)
			}
		}
	}
}

// simulate starts a simulation whose clock is wrong by skew. Clusters read the repositories in place, as fast as they can.
func (s *story) simulate(skew time.Duration) *simulate.Simulation {
	s.Helper()
	client := &git.Client{CacheDir: s.TempDir(), Map: []git.Mapping{{From: s.URL, To: s.Dir}}, Env: func(string) string { return "" }}
	clusters := simulate.New(simulate.Config{
		Sources: &simulate.Sources{Client: client}, Poll: 100 * time.Millisecond, Heartbeat: time.Second,
	})
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() {
		if skew == 0 {
			clusters.Run(ctx)
			return
		}
		for tick := time.NewTicker(50 * time.Millisecond); ctx.Err() == nil; <-tick.C {
			clusters.Step(ctx, time.Now().Add(skew))
		}
	})
	s.Cleanup(func() { cancel(); wait.Wait(); _ = client.Close() })
	return clusters
}

// set changes how a cluster does.
func (s *story) set(cluster string, b simulate.Behaviour) {
	s.Helper()
	environment, _, _ := strings.Cut(cluster, "-")
	if err := s.clusters[environment].Set(cluster, b); err != nil {
		s.Fatal(err)
	}
}
