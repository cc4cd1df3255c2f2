// Command argocd is what tests need of Argo CD: its application-controller, and its repo-server, which turns a folder of a
// repository into manifests. It exists because the application-controller of Argo CD's own program serves metrics on all
// addresses of the machine. Redis is replaced by a server in the application-controller's memory.
//
// The name by which it is called, or the variable ARGOCD_BINARY_NAME, says which of them it is, as with Argo CD's own program:
// repo-server runs git with GIT_ASKPASS=argocd and that variable, so that the program must be in the search path as "argocd".
package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
	askpass "github.com/argoproj/argo-cd/v3/cmd/argocd-git-ask-pass/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	commitclient "github.com/argoproj/argo-cd/v3/commitserver/apiclient"
	"github.com/argoproj/argo-cd/v3/controller"
	"github.com/argoproj/argo-cd/v3/controller/sharding"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/pkg/client/clientset/versioned"
	"github.com/argoproj/argo-cd/v3/pkg/ratelimiter"
	repoclient "github.com/argoproj/argo-cd/v3/reposerver/apiclient"
	"github.com/argoproj/argo-cd/v3/util/argo"
	"github.com/argoproj/argo-cd/v3/util/argo/normalizers"
	"github.com/argoproj/argo-cd/v3/util/cache"
	"github.com/argoproj/argo-cd/v3/util/cache/appstate"
	"github.com/argoproj/argo-cd/v3/util/kube"
	"github.com/argoproj/argo-cd/v3/util/settings"
	"github.com/argoproj/argo-cd/v3/util/tls"
	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	commands := map[string]func() *cobra.Command{
		"argocd-application-controller": newApplicationController,
		"argocd-git-ask-pass":           askpass.NewCommand,
		"argocd-repo-server":            reposerver.NewCommand,
	}
	name := cmp.Or(os.Getenv("ARGOCD_BINARY_NAME"), filepath.Base(os.Args[0]))
	command, ok := commands[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "%q is not a part of Argo CD that is here\n", name)
		os.Exit(2)
	}
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// applicationController holds the flags of the command. All addresses are host:port.
type applicationController struct {
	kubeconfig, namespace string
	// metrics and redis are where it listens; repo-server uses that Redis as well.
	metrics, redis string
	repoServer     string
	// resync is how often it looks for new commits.
	resync time.Duration
	// state makes the cache of applications from the flags that Argo CD adds.
	state func() (*appstate.Cache, error)
}

func newApplicationController() *cobra.Command {
	c := &applicationController{}
	command := &cobra.Command{
		Use: "argocd-application-controller", Args: cobra.NoArgs, SilenceUsage: true,
		RunE: func(command *cobra.Command, _ []string) error { return c.run(command.Context(), command) },
	}
	flags := command.Flags()
	flags.StringVar(&c.kubeconfig, "kubeconfig", "", "file to reach the cluster with the Applications")
	flags.StringVar(&c.namespace, "namespace", "argocd", "where the Applications are")
	flags.StringVar(&c.metrics, "metrics", "127.0.0.1:8082", "where to serve /metrics and /healthz")
	flags.StringVar(&c.redis, "listen-redis", "127.0.0.1:6379", "where to serve Redis")
	flags.StringVar(&c.repoServer, "repo-server", "127.0.0.1:8081", "where repo-server listens, without TLS")
	flags.DurationVar(&c.resync, "resync", 5*time.Second, "how often to look for new commits")
	c.state = appstate.AddCacheFlagsToCmd(command)
	return command
}

func (c *applicationController) run(ctx context.Context, command *cobra.Command) error {
	if err := serveRedis(ctx, c.redis); err != nil {
		return fmt.Errorf("serve Redis: %w", err)
	}
	if err := command.Flags().Set("redis", c.redis); err != nil {
		return err
	}
	state, err := c.state()
	if err != nil {
		return fmt.Errorf("connect to Redis: %w", err)
	}
	state.Cache.SetClient(cache.NewTwoLevelClient(state.Cache.GetClient(), 10*time.Minute))
	argocd, err := c.connect(ctx, state)
	if err != nil {
		return err
	}
	argocd.GetMetricsServer().Addr = c.metrics
	go argocd.Run(ctx, 20, 10, 1) // as many workers as Argo CD has by default
	<-ctx.Done()
	return nil
}

// connect returns Argo CD's controller with the settings that it has by default, except for its flags, and for the time during which it does not
// show errors of repo-server: three minutes by default.
func (c *applicationController) connect(ctx context.Context, state *appstate.Cache) (*controller.ApplicationController, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		return nil, err
	}
	if err := v1alpha1.SetK8SConfigDefaults(config); err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	applications, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	var argocd *controller.ApplicationController
	manager := settings.NewSettingsManager(ctx, client, c.namespace, settings.WithRepoOrClusterChangedHandler(func() {
		argocd.InvalidateProjectsCache() // nothing changes before the controller runs
	}))
	clusters, err := sharding.GetClusterSharding(client, manager, "legacy", false)
	if err != nil {
		return nil, fmt.Errorf("read which clusters there are: %w", err)
	}
	limits := &ratelimiter.AppControllerRateLimiterConfig{
		BucketSize: 500, BucketQPS: math.MaxFloat64, BaseDelay: time.Millisecond, MaxDelay: time.Second, BackoffFactor: 1.5,
	}
	const never, none = time.Duration(0), 0
	argocd, err = controller.NewApplicationController(
		c.namespace, manager, client, applications,
		repoclient.NewRepoServerClientset(c.repoServer, 60, tls.Configuration{DisableTLS: true}),
		commitclient.NewCommitServerClientset(""), state, kube.NewKubectl(),
		c.resync, never, // and no fetching without the cache
		none, none, nil, // jitter and pauses of self-healing
		never,                      // no sync is ended for taking long
		time.Second,                // errors of repo-server are shown after
		none, never, nil, nil, nil, // the port of metrics, which run replaces, and what they are about
		20,    // requests to API servers at once
		false, // the health of objects is not written into Applications
		clusters, nil, limits,
		false, false, // server-side diff, dynamic distribution of clusters
		normalizers.IgnoreNormalizerOpts{}, argo.DefaultEnableEventList(), false,
	)
	return argocd, err
}

// serveRedis serves an empty Redis until the context is over. Its clock has to be moved.
func serveRedis(ctx context.Context, address string) error {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr(address); err != nil {
		return err
	}
	go func() {
		defer server.Close()
		const step = time.Second
		ticks := time.NewTicker(step)
		defer ticks.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
				server.FastForward(step)
			}
		}
	}()
	return nil
}
