package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/agent"
	"github.com/kalypso-io/kalypso/internal/agent/reconciler"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
)

// newCluster is "kalypso cluster": which clusters there are, and what lets them report.
func newCluster(t *terminal.Terminal) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "cluster",
		Short: "Register clusters, and see, replace and revoke what lets them report",
		Long: `Register clusters, and see, replace and revoke what lets them report.

A cluster that is registered is expected to run what the environments it is a member of want, and may report about itself:

    register ─► credential ─► kalypso agent in the cluster ─► reports ─► kalypso status
             └► key        ─► kalypso cluster report, where there is no connection, and kalypso ledger import

Creating clusters is the work of others; registering is the hand-over.`,
		Example: `  kalypso cluster register large-07 --member dev/large --credential large-07.token
  kalypso cluster list`,
	})
	cmd.AddCommand(
		newClusterRegister(t), newClusterList(t), newClusterShow(t), newClusterRotate(t), newClusterRevoke(t), newClusterReport(t),
	)
	return cmd
}

// clusterSource says which cluster is read, and what of it.
type clusterSource struct {
	kubeconfig string
	watch      []string
	// stateDir is where it is remembered what was said; empty means nowhere.
	stateDir string
}

// bind adds the flags to a command.
func (s *clusterSource) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&s.kubeconfig, "kubeconfig", "", "the `file` that says how to reach the cluster (default: the cluster it runs in, or kubectl's)")
	flags.StringArrayVar(&s.watch, "watch", nil, "report on a further kind, as `GROUP/RESOURCE`; may be repeated")
	flags.StringVar(&s.stateDir, "state-dir", "", "the `folder` for the queue and the agent's health (default: memory only)")
}

// kinds are the further ones that were named.
func (s *clusterSource) kinds() ([]reconciler.Kind, error) { return parseKinds(s.watch) }

func parseKinds(texts []string) ([]reconciler.Kind, error) {
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

// agent makes an agent of the cluster that cannot send yet.
func (s *clusterSource) agent(name string, log *slog.Logger) (*agent.Agent, error) {
	kinds, err := s.kinds()
	if err != nil {
		return nil, err
	}
	watcher, err := reconciler.Connect(s.kubeconfig, "kalypso-agent/"+cli.Version(), kinds, log)
	if err != nil {
		return nil, cli.Failed(err, "run it in a cluster, or name a kubeconfig with --kubeconfig")
	}
	if s.stateDir != "" {
		// What is in it names the repositories and failures of the cluster: nobody else's business.
		if err := os.MkdirAll(s.stateDir, 0o700); err != nil {
			return nil, fmt.Errorf("make the folder of --state-dir: %w", err)
		}
	}
	return &agent.Agent{Cluster: watched{watcher}, Log: log, Name: name, Version: cli.Version(), Store: agent.Store{Dir: s.stateDir}}, nil
}

// watched converts the snapshots of a watcher to those of the agent.
type watched struct{ *reconciler.Watcher }

// Snapshot implements [agent.Cluster].
func (w watched) Snapshot() agent.Snapshot { return agent.Snapshot(w.Watcher.Snapshot()) }
