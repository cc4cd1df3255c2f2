package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/sample"
	"github.com/kalypso-io/kalypso/internal/sample/install"
	"github.com/kalypso-io/kalypso/internal/sample/scaffold"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/wiring"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// sampleUpCommand is "kalypso sample up".
type sampleUpCommand struct {
	t           *terminal.Terminal
	sample      *sampleFlags
	listen      string
	forge       string
	site        sample.Site
	tokenEnv    string
	contexts    []string
	clusterEnv  string
	withoutApp  bool
	yes         bool
	poll, delay time.Duration
}

func newSampleUp(t *terminal.Terminal, f *sampleFlags) *cobra.Command {
	c := &sampleUpCommand{t: t, sample: f}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start the sample, or resume it",
		Long: `Start the sample, or resume it: its repositories, a server, and three simulated clusters.
It runs until it is interrupted, or stopped by kalypso sample down.

With --without-app, the control plane does not register the application and has no scheduling policies for it, so that you can onboard
it as docs/tutorial.md shows.

With --forge, create the seven repositories on an existing forge. They are private and named with the prefix. The token needs
permission to create, push, protect and delete repositories. It is read from the environment each time.

With --kube-context, real clusters replace the simulated clusters of a type. They need Flux. What is installed is shown first and
needs confirmation, unless --yes is given. Flux reads the repositories with the read-only token of --cluster-token-env.
The agents run in this process, with the permissions of the installed service account.`,
		Example: `  kalypso sample up
  kalypso sample up --dir another-sample --listen 127.0.0.1:8090
  kalypso sample up --forge gitea --url https://git.example.com --org acme --prefix tutorial --token-env GITEA_TOKEN
  kalypso sample up --forge github --url https://github.com --org acme --token-env GITHUB_TOKEN \
    --kube-context drone=edge-1 --kube-context drone=edge-2 --cluster-token-env READ_TOKEN`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.listen, "listen", "", "the loopback `address` to serve on (default: "+serve.DefaultListen+", or the address of the resumed sample)")
	flags.StringVar(&c.forge, "forge", "", "create the repositories on an existing forge of this `kind`: gitea, github or gitlab")
	flags.StringVar(&c.site.URL, "url", "", "the `URL` of that forge")
	flags.StringVar(&c.site.Org, "org", "", "the organization or group on the forge that owns the repositories: its `name`")
	flags.StringVar(&c.site.Prefix, "prefix", "kalypso-sample", "the prefix of the names of the repositories on the forge")
	flags.StringVar(&c.tokenEnv, "token-env", "", "the environment `variable` with the token for the forge")
	flags.StringArrayVar(&c.contexts, "kube-context", nil, "use a real cluster, as `TYPE=CONTEXT` of the kubeconfig; may be repeated")
	flags.StringVar(&c.clusterEnv, "cluster-token-env", "", "the environment `variable` with the token with which real clusters read the repositories")
	flags.BoolVar(&c.withoutApp, "without-app", false, "leave the application for you to onboard")
	flags.BoolVarP(&c.yes, "yes", "y", false, "install on real clusters without confirmation")
	flags.DurationVar(&c.poll, "poll", 2*time.Second, "how often simulated clusters poll Git")
	flags.DurationVar(&c.delay, "delay", 3*time.Second, "the maximum time that simulated clusters take to apply a commit")
	return cmd
}

func (c *sampleUpCommand) run(cmd *cobra.Command) error {
	if err := c.check(cmd); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	begun := c.t.Now()
	folder, err := sample.Open(c.sample.dir)
	var listener net.Listener
	var clusters []*realCluster
	switch {
	case errors.Is(err, sample.ErrNoSample):
		folder, listener, clusters, err = c.create(ctx, cmd)
	case err == nil:
		listener, clusters, err = c.resume(ctx, cmd, folder)
	}
	if err != nil {
		return err
	}
	p, err := startSample(ctx, c, folder, listener, clusters, stop)
	if err != nil {
		return err
	}
	defer p.close()
	return p.run(ctx, begun)
}

// sampleForges lists the forges on which repositories can be created.
var sampleForges = []string{string(forge.Gitea), string(forge.GitHub), string(forge.GitLab)}

// check checks the combination of flags.
func (c *sampleUpCommand) check(cmd *cobra.Command) error {
	switch {
	case c.poll <= 0 || c.delay < 0:
		return cli.Usage(cmd, "--poll and --delay must be positive")
	case c.listen != "" && !wiring.OnLoopback(c.listen):
		return cli.Usage(cmd, "--listen %q: want a loopback address, for example 127.0.0.1:8080", c.listen)
	case c.forge != "" && !slices.Contains(sampleForges, c.forge):
		return cli.Usage(cmd, "--forge %q is not one of %s", c.forge, strings.Join(sampleForges, ", "))
	}
	if c.site.URL != "" {
		if err := scaffold.CheckURL(c.site.URL + "/x/y"); err != nil {
			return cli.Usage(cmd, "--url: %w", err)
		}
	}
	return nil
}

// checkNew checks the flags of a new sample.
func (c *sampleUpCommand) checkNew(cmd *cobra.Command) error {
	switch {
	case c.forge == "" && (c.site.URL != "" || c.site.Org != "" || c.tokenEnv != "" || cmd.Flags().Changed("prefix")):
		return cli.Usage(cmd, "--url, --org, --prefix and --token-env require --forge")
	case c.forge != "" && (c.site.URL == "" || c.site.Org == "" || c.tokenEnv == ""):
		return cli.Usage(cmd, "--forge requires --url, --org and --token-env")
	case len(c.contexts) == 0 && c.clusterEnv != "":
		return cli.Usage(cmd, "--cluster-token-env requires --kube-context")
	case len(c.contexts) > 0 && c.forge != "" && c.clusterEnv == "":
		return cli.Usage(cmd, "the repositories are private; give real clusters a read token with --cluster-token-env")
	}
	return c.checkTokens(cmd, c.tokenEnv, c.clusterEnv)
}

// checkTokens requires environment variables not to be empty.
func (c *sampleUpCommand) checkTokens(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if name != "" && c.t.Env[name] == "" {
			return cli.Usage(cmd, "the environment variable %s is empty; set it to a token for %s", name, secret.Redact(c.site.URL))
		}
	}
	return nil
}

// create creates a new sample. If it fails, it leaves nothing behind.
func (c *sampleUpCommand) create(ctx context.Context, cmd *cobra.Command) (folder *sample.Folder, _ net.Listener, clusters []*realCluster, err error) {
	if err := c.checkNew(cmd); err != nil {
		return nil, nil, nil, err
	}
	listen := c.listen
	if listen == "" {
		listen = serve.DefaultListen
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, nil, nil, cli.Failed(fmt.Errorf("listen on %s: %w", listen, err), "use a free address: "+c.elsewhere())
	}
	defer func() {
		if err != nil {
			_ = listener.Close() // its address is not published yet
		}
	}()
	listen = listener.Addr().String() // a port of 0 is now another one
	state := sample.State{Listen: listen, Made: c.t.Now(), Site: sample.Site{URL: "http://" + listen}, ID: strings.ToLower(rand.Text()[:10])}
	if c.forge != "" {
		state.Site, state.Forge, state.TokenEnv = c.site, c.forge, c.tokenEnv
	}
	state.Site.WithoutApp = c.withoutApp
	if err := sample.Vacant(c.sample.dir); err != nil {
		return nil, nil, nil, cli.Failed(err, "choose another folder with --dir")
	}
	if clusters, err = c.choose(ctx, cmd, &state); err != nil {
		return nil, nil, nil, err
	}
	if folder, err = sample.Create(c.sample.dir, state); err != nil {
		return nil, nil, nil, cli.Failed(err, "choose another folder with --dir")
	}
	return folder, listener, clusters, nil
}

// resume resumes an existing sample with its settings.
func (c *sampleUpCommand) resume(ctx context.Context, cmd *cobra.Command, folder *sample.Folder) (net.Listener, []*realCluster, error) {
	s := folder.State
	if err := c.checkSame(cmd, folder); err != nil {
		return nil, nil, err
	}
	c.site = s.Site
	if err := c.checkTokens(cmd, s.TokenEnv, s.ClusterTokenEnv); err != nil {
		return nil, nil, err
	}
	listener, err := net.Listen("tcp", s.Listen)
	if err != nil {
		err = fmt.Errorf("listen on %s: %w", s.Listen, err)
		if runs(ctx, folder) {
			return nil, nil, cli.Failed(fmt.Errorf("the sample in %s is already running: %w", shown(folder.Dir), err), "kalypso sample down"+c.sample.flag()+" stops and removes it")
		}
		return nil, nil, cli.Failed(err, "stop the program that uses the address; or remove the sample with kalypso sample down"+c.sample.flag()+" and start again: "+c.elsewhere())
	}
	clusters, err := openClusters(ctx, s)
	if err != nil {
		_ = listener.Close() // its address is not published yet
	}
	return listener, clusters, err
}

// checkSame requires the flags to match the settings of the sample, because its repositories and clusters refer to each other.
func (c *sampleUpCommand) checkSame(cmd *cobra.Command, folder *sample.Folder) error {
	s := folder.State
	var contexts []string
	for _, known := range s.Clusters {
		contexts = append(contexts, known.ClusterType+"="+known.Context)
	}
	for _, f := range []struct{ name, wanted, is string }{
		{"listen", c.listen, s.Listen},
		{"forge", c.forge, s.Forge},
		{"url", strings.TrimRight(c.site.URL, "/"), strings.TrimRight(s.Site.URL, "/")},
		{"org", c.site.Org, s.Site.Org},
		{"prefix", c.site.Prefix, s.Site.Prefix},
		{"token-env", c.tokenEnv, s.TokenEnv},
		{"kube-context", strings.Join(c.contexts, ", "), strings.Join(contexts, ", ")},
		{"cluster-token-env", c.clusterEnv, s.ClusterTokenEnv},
		{"without-app", strconv.FormatBool(c.withoutApp), strconv.FormatBool(s.Site.WithoutApp)},
	} {
		if !cmd.Flags().Changed(f.name) || f.wanted == f.is {
			continue
		}
		was := fmt.Sprintf("--%s %s", f.name, f.is)
		if f.is == "" || f.is == "false" {
			was = "no --" + f.name
		}
		return cli.Failed(fmt.Errorf("the sample in %s was created with %s, which cannot change", shown(folder.Dir), secret.Redact(was)),
			fmt.Sprintf("omit --%s to resume it, or create another sample with --dir", f.name))
	}
	return nil
}

// choose connects to the real clusters, shows what is installed there, and asks for confirmation.
func (c *sampleUpCommand) choose(ctx context.Context, cmd *cobra.Command, s *sample.State) ([]*realCluster, error) {
	if len(c.contexts) == 0 {
		return nil, nil
	}
	wanted, err := parseContexts(c.contexts)
	if err != nil {
		return nil, cli.AsUsage(cmd, err)
	}
	s.ClusterTokenEnv = c.clusterEnv
	for _, w := range wanted {
		if !slices.Contains(s.Site.Flux, w.ClusterType) {
			s.Site.Flux = append(s.Site.Flux, w.ClusterType)
		}
	}
	if c.clusterEnv != "" {
		s.Site.Secret = install.Secret
	}
	var all []*realCluster
	for _, w := range wanted {
		cluster, err := examine(ctx, w, *s)
		if err != nil {
			return nil, err
		}
		all = append(all, cluster)
		s.Clusters = append(s.Clusters, cluster.RealCluster)
	}
	return all, c.agree(all, *s)
}

// elsewhere returns the command that starts a sample at another address.
func (c *sampleUpCommand) elsewhere() string {
	return "kalypso sample up" + c.sample.flag() + " --listen " + freeListen()
}

// freeListen returns a free loopback address.
func freeListen() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "127.0.0.1:PORT"
	}
	defer listener.Close() //nolint:errcheck // it was only asked for
	return listener.Addr().String()
}
