package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/kalypso-io/kalypso/internal/agent"
	"github.com/kalypso-io/kalypso/internal/agent/reconciler"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/clusteragent"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/sample"
	"github.com/kalypso-io/kalypso/internal/sample/install"
	"github.com/kalypso-io/kalypso/internal/sample/simulate"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// realCluster is a cluster that was there before, and the way to it.
type realCluster struct {
	sample.RealCluster
	*install.Cluster
	config *rest.Config
}

// openCluster finds the way to a cluster in the kubeconfig. Nothing is asked of it yet.
func openCluster(c sample.RealCluster) (*realCluster, error) {
	config, err := reconciler.Config("", c.Context, "kalypso-sample/"+cli.Version())
	if err != nil {
		return nil, cli.Failed(err, "kubectl config get-contexts lists the contexts that there are")
	}
	client, err := install.New(config)
	if err != nil {
		return nil, fmt.Errorf("context %q: %w", c.Context, err)
	}
	return &realCluster{c, client, config}, nil
}

// openClusters finds the ways to the clusters of a sample, and wants them to be those that they were.
func openClusters(ctx context.Context, s sample.State) ([]*realCluster, error) {
	var all []*realCluster
	for _, known := range s.Clusters {
		c, err := openCluster(known)
		if err != nil {
			return nil, err
		}
		uid, err := c.Identify(ctx)
		if err != nil {
			return nil, fmt.Errorf("context %q: %w", c.Context, err)
		}
		if uid != known.UID {
			return nil, cli.Failed(fmt.Errorf("context %q leads to another cluster than when the sample was begun", c.Context),
				"let it lead there again; the cluster's namespace kube-system has the uid "+known.UID)
		}
		all = append(all, c)
	}
	return all, nil
}

// plan is what a cluster gets.
func (c *realCluster) plan(s sample.State, token secret.Value) install.Plan {
	return install.Plan{
		Sample: s.ID, ClusterType: c.ClusterType, Repository: s.Site.Repository(sample.GitOps), Branches: sample.Environments(),
		User: "x-access-token", Token: token,
	}
}

// named are the objects of a plan with their right names, and without the token.
func (c *realCluster) named(s sample.State) ([]*unstructured.Unstructured, error) {
	var token secret.Value
	if s.ClusterTokenEnv != "" {
		token = secret.New("whatever it is")
	}
	return c.plan(s, token).Objects()
}

// agentOf is the agent of a cluster. It runs here, since the server listens on this machine alone, and acts in the cluster as the
// account that was installed there: it may read what reconcilers say, and nothing else.
func (c *realCluster) agentOf(folder *sample.Folder, server agent.Server, log *slog.Logger) (*agent.Agent, error) {
	config := rest.CopyConfig(c.config)
	config.Impersonate.UserName = "system:serviceaccount:" + install.Agent + ":" + install.Agent
	log = log.With("cluster", c.Name)
	watcher, err := reconciler.Watch(config, nil, log)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(folder.Clusters(), c.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the agent: %w", err)
	}
	return &agent.Agent{
		Cluster: clusteragent.Watched{Watcher: watcher}, Server: server, Log: log, Name: c.Name, Version: cli.Version(), Store: agent.Store{Dir: dir}, Interval: sampleHeartbeat,
	}, nil
}

// joinReal installs what real clusters need, and makes the agents that report about them.
func (p *samplePlay) joinReal(ctx context.Context, j *simulate.Joiner) error {
	s := p.folder.State
	j.Labels = map[string]string{"simulated": "false"}
	for _, c := range p.real {
		objects, err := c.plan(s, secret.New(p.t.Env[s.ClusterTokenEnv])).Objects()
		if err != nil {
			return err
		}
		if err := c.Apply(ctx, objects); err != nil {
			return fmt.Errorf("install on %s, context %q: %w", c.Name, c.Context, err)
		}
		way, err := p.register(ctx, j, simulate.Cluster{Name: c.Name, Memberships: sample.Memberships(s.Site, c.ClusterType)})
		if err != nil {
			return err
		}
		a, err := c.agentOf(p.folder, way, p.server.Log)
		if err != nil {
			return err
		}
		p.agents = append(p.agents, a)
	}
	return nil
}

// runClusters goes on until the context ends.
func (p *samplePlay) runClusters(ctx context.Context) {
	var wait sync.WaitGroup
	defer wait.Wait()
	for _, a := range p.agents {
		wait.Go(func() { a.Run(ctx) })
	}
	for _, c := range p.real {
		wait.Go(func() { p.watchReading(ctx, c) })
	}
	p.clusters.Run(ctx)
}

// watchReading says whether a cluster reaches the repositories. Only the cluster itself can tell.
func (p *samplePlay) watchReading(ctx context.Context, c *realCluster) {
	objects, err := c.named(p.folder.State)
	for deadline := time.Now().Add(patiently); err == nil && ctx.Err() == nil; {
		said := c.Reads(ctx, objects)
		if said == nil {
			fmt.Fprintf(p.t.Err, "%s reads %s\n", c.Name, p.folder.State.Site.Repository(sample.GitOps))
			return
		}
		if time.Now().After(deadline) {
			err = said
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	if err != nil {
		fmt.Fprintf(p.t.Err, "%s: %s\n", c.Name, terminal.Printable(secret.Line(err.Error())))
	}
}

// clusterCount says how many clusters there are: "3 simulated clusters".
func (p *samplePlay) clusterCount() string {
	simulated, all := len(p.clusters.Clusters()), []string{}
	if simulated > 0 {
		all = append(all, terminal.Count(simulated, "simulated cluster"))
	}
	if len(p.real) > 0 {
		all = append(all, terminal.Count(len(p.real), "real cluster"))
	}
	return strings.Join(all, " and ")
}

// realCluster returns the real cluster of a name; nil when there is none.
func (f *sampleFlags) realCluster(name string) (*sample.RealCluster, error) {
	folder, err := f.open()
	if err != nil {
		return nil, err
	}
	for _, known := range folder.State.Clusters {
		if known.Name == name {
			return &known, nil
		}
	}
	return nil, nil
}

// wantSimulated wants a cluster not to be a real one.
func (f *sampleFlags) wantSimulated(name string) error {
	known, err := f.realCluster(name)
	if err != nil || known == nil {
		return err
	}
	return cli.Failed(fmt.Errorf("%s is a real cluster", known.Name), "kubectl --context "+terminal.ShellWord(known.Context)+" is the way to it")
}

// greetings returns what looks at the greetings on a cluster, simulated or real.
func (f *sampleFlags) greetings(r sample.Remote, name string) (func(context.Context) ([]simulate.Greeting, error), error) {
	known, err := f.realCluster(name)
	if err != nil {
		return nil, err
	}
	if known == nil {
		return func(ctx context.Context) ([]simulate.Greeting, error) { return r.Greetings(ctx, name) }, nil
	}
	c, err := openCluster(*known)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) ([]simulate.Greeting, error) {
		objects, err := c.Applications(ctx)
		return sample.GreetingsOf(name, objects), err
	}, nil
}

// onThisMachine reports whether a URL names this machine by an address that others have for themselves.
func onThisMachine(address string) bool {
	u, err := url.Parse(address)
	return err == nil && secret.IsLoopback(u.Hostname())
}
