package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/agent"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/sample/simulate"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// runCommand starts clusters.
type runCommand struct {
	out                          io.Writer
	server, tokenFile, stateDir  string
	gitOps                       hub.Repository
	environments                 []string
	clusterType, prefix          string
	count                        int
	reconciler                   string
	failing, offline, slow, maps []string
	poll, heartbeat              time.Duration
	least, most                  time.Duration
	seed                         uint64
	control                      string
}

func newRun(out io.Writer) *cobra.Command {
	c := &runCommand{out: out}
	cmd := &cobra.Command{
		Use:   "simulated-clusters --gitops URL --environment NAMES --type NAME",
		Short: "Start simulated clusters that follow Git and report",
		Long: `Start simulated clusters that follow Git and report, until it is stopped.

    platform GitOps repository ─► simulated clusters ─► reports ─► kalypso serve
    application repositories   ─►  in this process

Each cluster has a role in every environment, and follows the folder of its type on the branch of that name. With a
server it registers by the join token, and keeps the credential that it gets in the folder of --state-dir. Without one
it sends no reports.`,
		Example: `  simulated-clusters --gitops http://127.0.0.1:8080/platform/gitops --environment dev,stage --type large --count 37 \
      --server http://127.0.0.1:8080 --join-token-file join-token --fail large-03 --offline large-05
  simulated-clusters --gitops ../gitops --environment dev --type drone --control 127.0.0.1:8090`,
		Args:          cobra.NoArgs,
		SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&c.gitOps.Repo, "gitops", "", "the `URL` or path of the platform GitOps repository; needed")
	f.StringVar(&c.gitOps.Path, "path", "", "the `folder` in it that has the folders of the cluster types (default: the root)")
	f.StringSliceVar(&c.environments, "environment", nil, "the `names` of the environments that each cluster serves, which are also the branches; needed")
	f.StringVar(&c.clusterType, "type", "", "the `name` of the cluster type; needed")
	f.IntVar(&c.count, "count", 1, "how many clusters to start")
	f.StringVar(&c.prefix, "prefix", "", "what the `name` of each cluster begins with; a number follows (default: the type and a dash)")
	f.StringVar(&c.reconciler, "reconciler", "flux", "what the clusters follow Git with: flux or argocd")
	f.StringVar(&c.server, "server", "", "the `URL` of the server to report to")
	f.StringVar(&c.tokenFile, "join-token-file", "", "the `file` with a join token, for clusters that are not registered yet")
	f.StringVar(&c.stateDir, "state-dir", "", "the `folder` for the clusters' credentials (default: one for each server, in the user's cache folder)")
	f.StringArrayVar(&c.failing, "fail", nil, "let a cluster fail, as `NAME` or NAME=WORKLOAD; may be repeated")
	f.StringArrayVar(&c.offline, "offline", nil, "let the cluster of a `NAME` be offline; may be repeated")
	f.StringArrayVar(&c.slow, "slow", nil, "let the cluster of a `NAME` take ten times longer; may be repeated")
	f.DurationVar(&c.poll, "poll", 5*time.Second, "how often a cluster looks at its sources")
	f.DurationVar(&c.least, "delay", time.Second, "how long applying takes at least")
	f.DurationVar(&c.most, "delay-most", 5*time.Second, "how long applying takes at most")
	f.DurationVar(&c.heartbeat, "heartbeat", time.Minute, "how long a cluster is silent when nothing changes")
	f.Uint64Var(&c.seed, "seed", 1, "decides the delays")
	f.StringArrayVar(&c.maps, "map", nil, "find repositories elsewhere, as `URL=PATH`; may be repeated")
	f.StringVar(&c.control, "control", "", "listen for the other commands on a loopback `address`, such as 127.0.0.1:8090")
	return cmd
}

func (c *runCommand) run(ctx context.Context) error {
	clusters, err := c.clusters()
	if err != nil {
		return err
	}
	behaviours, err := c.behaviours()
	if err != nil {
		return err
	}
	client := &git.Client{}
	for _, text := range c.maps {
		m, err := git.ParseMapping(text)
		if err != nil {
			return fmt.Errorf("--map: %w; %w", err, errUsage)
		}
		client.Map = append(client.Map, m)
	}
	defer client.Close() //nolint:errcheck // the program ends
	s := simulate.New(simulate.Config{
		Sources: &simulate.Sources{Client: client}, Poll: c.poll, Heartbeat: c.heartbeat, Seed: c.seed,
		Delay: simulate.Delay{Least: c.least, Most: c.most},
	})
	if err := c.start(ctx, s, clusters); err != nil {
		return err
	}
	for name, b := range behaviours {
		if err := s.Set(name, b); err != nil {
			return fmt.Errorf("%w; there is %s", err, span(clusters))
		}
	}
	return c.simulate(ctx, s)
}

// clusters describes the clusters that are asked for.
func (c *runCommand) clusters() ([]simulate.Cluster, error) {
	switch {
	case c.gitOps.Repo == "" || len(c.environments) == 0 || c.clusterType == "":
		return nil, fmt.Errorf("--gitops, --environment and --type are needed; %w", errUsage)
	case c.count < 1 || c.count > 100_000:
		return nil, fmt.Errorf("--count %d: want 1 to 100000; %w", c.count, errUsage)
	case c.poll <= 0 || c.heartbeat <= 0 || c.least < 0 || c.most < 0:
		return nil, fmt.Errorf("durations are positive; %w", errUsage)
	}
	prefix := cmp.Or(c.prefix, c.clusterType+"-")
	all := make([]simulate.Cluster, c.count)
	for i := range all {
		all[i] = simulate.Cluster{Name: fmt.Sprintf("%s%02d", prefix, i+1), Reconciler: simulate.Reconciler(c.reconciler)}
		for _, e := range c.environments {
			all[i].Memberships = append(all[i].Memberships, simulate.Membership{Environment: e, ClusterType: c.clusterType, GitOps: c.gitOps})
		}
	}
	return all, nil
}

// behaviours are those that clusters begin with, by name.
func (c *runCommand) behaviours() (map[string]simulate.Behaviour, error) {
	all := map[string]simulate.Behaviour{}
	for mode, names := range map[simulate.Mode][]string{simulate.Failing: c.failing, simulate.Offline: c.offline, simulate.Slow: c.slow} {
		for _, text := range names {
			name, only, _ := strings.Cut(text, "=")
			if only != "" && mode != simulate.Failing {
				return nil, fmt.Errorf("%q: only --fail knows workloads; %w", text, errUsage)
			}
			if _, twice := all[name]; twice {
				return nil, fmt.Errorf("%q is named twice; %w", name, errUsage)
			}
			all[name] = simulate.Behaviour{Mode: mode, Only: only}
		}
	}
	return all, nil
}

// start registers the clusters, a few at once, and adds them.
func (c *runCommand) start(ctx context.Context, s *simulate.Simulation, clusters []simulate.Cluster) error {
	register := func(context.Context, simulate.Cluster) (agent.Server, error) { return nil, nil }
	if c.server != "" {
		joiner, err := c.joiner()
		if err != nil {
			return err
		}
		register = joiner.Register
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, cluster := range clusters {
		group.Go(func() error {
			server, err := register(ctx, cluster)
			if err != nil {
				return err
			}
			return s.Add(cluster, server)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "%s: %s, following folder %s of %s, branches %s\n",
		span(clusters), number(len(clusters)), path.Join(c.gitOps.Path, c.clusterType), secret.Redact(c.gitOps.Repo), strings.Join(c.environments, ", "))
	if c.server == "" {
		fmt.Fprintln(c.out, "they do not report; name a server with --server")
	} else {
		fmt.Fprintf(c.out, "they report to %s\n", secret.Redact(c.server))
	}
	return nil
}

// span is how clusters are called.
func span(clusters []simulate.Cluster) string {
	first, last := clusters[0].Name, clusters[len(clusters)-1].Name
	if first == last {
		return first
	}
	return first + " to " + last
}

func number(n int) string {
	if n == 1 {
		return "a simulated cluster"
	}
	return fmt.Sprintf("%d simulated clusters", n)
}

func (c *runCommand) joiner() (*simulate.Joiner, error) {
	server, err := client.ParseServer(c.server)
	if err != nil {
		return nil, fmt.Errorf("--server: %w; %w", err, errUsage)
	}
	j := &simulate.Joiner{Server: server}
	if j.Dir, err = c.folder(server); err != nil {
		return nil, err
	}
	if c.tokenFile != "" {
		if j.Token, err = client.ReadToken(c.tokenFile); err != nil {
			return nil, err
		}
	}
	return j, nil
}

// folder is where the credentials for a server are kept.
func (c *runCommand) folder(server *url.URL) (string, error) {
	if c.stateDir != "" {
		return c.stateDir, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for credentials: %w; name one with --state-dir", err)
	}
	return filepath.Join(cache, "kalypso", "simulated-clusters", strings.ReplaceAll(server.Host, ":", "_")), nil
}

// simulate runs until it is interrupted, which is not an error.
func (c *runCommand) simulate(ctx context.Context, s *simulate.Simulation) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	if c.control != "" {
		listener, handler, err := c.listen(s)
		if err != nil {
			return err
		}
		server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
		group.Go(func() error {
			if err := server.Serve(listener); ctx.Err() == nil {
				return fmt.Errorf("listen on --control: %w", err)
			}
			return nil
		})
		context.AfterFunc(ctx, func() { _ = server.Close() })
	}
	group.Go(func() error { s.Run(ctx); return nil })
	group.Go(func() error { c.narrate(ctx, s); return nil })
	err := group.Wait()
	fmt.Fprintln(c.out, "stopped")
	return err
}

// listen opens the address of --control: its token is in a file that only the user can read.
func (c *runCommand) listen(s *simulate.Simulation) (net.Listener, http.Handler, error) {
	host, _, err := net.SplitHostPort(c.control)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, nil, fmt.Errorf("--control %q: want an address of this machine, such as 127.0.0.1:8090; %w", c.control, errUsage)
	}
	listener, err := net.Listen("tcp", c.control)
	if err != nil {
		return nil, nil, fmt.Errorf("listen on --control: %w; is another one running there?", err)
	}
	address := listener.Addr().String()
	file, token, err := writeToken(address)
	if err != nil {
		_ = listener.Close()
		return nil, nil, err
	}
	fmt.Fprintf(c.out, "control: --control %s, token in %s\n", address, file)
	fmt.Fprintf(c.out, "applications: http://%s/CLUSTER/NAMESPACE\n", address)
	mux := http.NewServeMux()
	mux.Handle("/api/", s.Handler(token))
	mux.Handle("/", s.Applications())
	return listener, mux, nil
}
