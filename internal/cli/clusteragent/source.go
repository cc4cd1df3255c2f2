package clusteragent

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/agent"
	"github.com/kalypso-io/kalypso/internal/agent/direct"
	"github.com/kalypso-io/kalypso/internal/agent/job"
	"github.com/kalypso-io/kalypso/internal/agent/reconciler"
	"github.com/kalypso-io/kalypso/internal/cli"
)

// Source chooses the cluster to read, and what to read of it.
type Source struct {
	kubeconfig string
	watch      []string
	// stateDir is the folder of the queue; empty keeps the queue in memory.
	stateDir string
	// destinations are those of Argo CD Applications that belong to other clusters, or to this one under another name.
	destinations []string
}

// Bind adds the flags to a command.
func (s *Source) Bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&s.kubeconfig, "kubeconfig", "", "the `file` with the connection to the cluster (default: the cluster it runs in, or kubectl's default)")
	flags.StringArrayVar(&s.watch, "watch", nil, "also report this kind, as `GROUP/RESOURCE`; may be repeated")
	flags.StringVar(&s.stateDir, "state-dir", "", "a `folder` for the queue and the agent's health (default: memory only)")
}

// Kinds returns the kinds that are reported in addition to the known ones.
func (s *Source) Kinds() ([]reconciler.Kind, error) { return ParseKinds(s.watch) }

// ParseDestinations parses the values of --destination for a cluster with a name, which may be empty. It returns the other clusters, sorted.
func ParseDestinations(texts []string, own string) (reconciler.Destinations, []string, error) {
	destinations, others := reconciler.Destinations{}, map[string]bool{}
	for _, text := range texts {
		destination, cluster, err := reconciler.ParseDestination(text)
		if err != nil {
			return nil, nil, err
		}
		if cluster == own {
			cluster = ""
		}
		if known, ok := destinations[destination]; ok && known != cluster {
			return nil, nil, fmt.Errorf("destination %q has two clusters", destination)
		}
		destinations[destination] = cluster
		if cluster != "" {
			others[cluster] = true
		}
	}
	return destinations, slices.Sorted(maps.Keys(others)), nil
}

// BindDestinations adds the flag --destination. The prefix begins its description.
func BindDestinations(cmd *cobra.Command, destinations *[]string, prefix string) {
	cmd.Flags().StringArrayVar(destinations, "destination", nil,
		prefix+"the registered cluster of a destination in Argo CD, as `NAME_OR_SERVER=CLUSTER`; may be repeated")
}

// ParseKinds parses the values of --watch.
func ParseKinds(texts []string) ([]reconciler.Kind, error) {
	var kinds []reconciler.Kind
	for _, text := range texts {
		k, err := reconciler.ParseKind(text)
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, k)
	}
	return kinds, nil
}

// Agent returns an agent of the cluster, without a server.
func (s *Source) Agent(name string, log *slog.Logger) (*agent.Agent, error) {
	kinds, err := s.Kinds()
	if err != nil {
		return nil, err
	}
	destinations, others, err := ParseDestinations(s.destinations, name)
	if err != nil {
		return nil, err
	}
	watcher, err := reconciler.Connect(s.kubeconfig, "kalypso-agent/"+cli.Version(), kinds, log)
	if err != nil {
		return nil, cli.Failed(err, "run it in a cluster, or use --kubeconfig")
	}
	watcher.Destinations = destinations
	if s.stateDir != "" {
		// The queue names the repositories and failures of the cluster, so only the user can read it.
		if err := os.MkdirAll(s.stateDir, 0o700); err != nil {
			return nil, fmt.Errorf("create the folder of --state-dir: %w", err)
		}
	}
	return &agent.Agent{
		Cluster: Watched{watcher}, Log: log, Name: name, Others: others, Version: cli.Version(), Store: agent.Store{Dir: s.stateDir},
	}, nil
}

// jobs returns what runs the Jobs of verifications in the cluster.
func (s *Source) jobs(log *slog.Logger) (*job.Runner, error) {
	config, err := reconciler.Config(s.kubeconfig, "", "kalypso-agent/"+cli.Version())
	if err != nil {
		return nil, cli.Failed(err, "run it in a cluster, or use --kubeconfig")
	}
	return job.Connect(config, log)
}

// deliverer returns what applies deliveries to the cluster.
func (s *Source) deliverer(store *direct.Store, log *slog.Logger) (*direct.Deliverer, error) {
	config, err := reconciler.Config(s.kubeconfig, "", "kalypso-agent/"+cli.Version())
	if err != nil {
		return nil, cli.Failed(err, "run it in a cluster, or use --kubeconfig")
	}
	cluster, err := direct.Connect(config)
	if err != nil {
		return nil, err
	}
	d := &direct.Deliverer{Store: store, Cluster: cluster, Log: log, Now: time.Now, Status: reconciler.Status}
	return d, d.Open()
}

// Watched converts the snapshots of a watcher to those of the agent.
type Watched struct{ *reconciler.Watcher }

// Snapshot implements [agent.Cluster].
func (w Watched) Snapshot() agent.Snapshot { return agent.Snapshot(w.Watcher.Snapshot()) }
