package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/sample"
	"github.com/kalypso-io/kalypso/internal/secret"
	"github.com/kalypso-io/kalypso/internal/server"
	"github.com/kalypso-io/kalypso/internal/terminal"
)

// sampleUpCommand is "kalypso sample up".
type sampleUpCommand struct {
	t           *terminal.Terminal
	sample      *sampleFlags
	listen      string
	forge       string
	site        sample.Site
	tokenEnv    string
	poll, delay time.Duration
}

func newSampleUp(t *terminal.Terminal, f *sampleFlags) *cobra.Command {
	c := &sampleUpCommand{t: t, sample: f}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start the sample, or go on with it where it was",
		Long: `Start the sample, or go on with it where it was: its repositories, a server, and three simulated clusters.
It runs until it is interrupted, or stopped by kalypso sample down.

With --forge the repositories are created on a forge that there is, private, and named with the prefix: seven of them. The token
needs the rights to create, push and protect there, and is read from the environment each time. The clusters stay simulated.`,
		Example: `  kalypso sample up
  kalypso sample up --dir another-sample --listen 127.0.0.1:8090
  kalypso sample up --forge gitea --url https://git.example.com --org acme --prefix tutorial --token-env GITEA_TOKEN`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.listen, "listen", "", "the loopback `address` to serve on (default: "+server.DefaultListen+", or where it was)")
	flags.StringVar(&c.forge, "forge", "", "create the repositories on a forge of this `kind`: gitea, github or gitlab")
	flags.StringVar(&c.site.URL, "url", "", "the `URL` of that forge")
	flags.StringVar(&c.site.Org, "org", "", "the `account` there that owns the repositories, an organization or a group")
	flags.StringVar(&c.site.Prefix, "prefix", "kalypso-sample", "what the names of the repositories there begin with")
	flags.StringVar(&c.tokenEnv, "token-env", "", "the `variable` of the environment with the token for it")
	flags.DurationVar(&c.poll, "poll", 2*time.Second, "how often simulated clusters look at Git")
	flags.DurationVar(&c.delay, "delay", 3*time.Second, "how long they take at most to apply what they find")
	return cmd
}

func (c *sampleUpCommand) run(cmd *cobra.Command) error {
	if c.poll <= 0 || c.delay < 0 {
		return usage(cmd, "--poll and --delay are positive")
	}
	if c.listen != "" && !onLoopback(c.listen) {
		return usage(cmd, "--listen %q: a sample is for this machine alone: 127.0.0.1:8080", c.listen)
	}
	if err := c.checkForge(cmd); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	begun := c.t.Now()
	folder, listener, err := c.begin(ctx)
	if err != nil {
		return err
	}
	p, err := startSample(ctx, c, folder, listener, stop)
	if err != nil {
		return err
	}
	defer p.close()
	return p.run(ctx, begun)
}

// sampleForges are the kinds of forges on which repositories can be created.
var sampleForges = []string{string(forge.Gitea), string(forge.GitHub), string(forge.GitLab)}

func (c *sampleUpCommand) checkForge(cmd *cobra.Command) error {
	switch {
	case c.forge == "" && (c.site.URL != "" || c.site.Org != "" || c.tokenEnv != ""):
		return usage(cmd, "--url, --org and --token-env go with --forge")
	case c.forge == "":
		return nil
	case !slices.Contains(sampleForges, c.forge):
		return usage(cmd, "--forge %q is none of %s", c.forge, strings.Join(sampleForges, ", "))
	case c.site.URL == "" || c.site.Org == "" || c.tokenEnv == "":
		return usage(cmd, "--forge needs --url, --org and --token-env")
	case c.t.Env[c.tokenEnv] == "":
		return usage(cmd, "the environment variable %s is empty: it holds the token for %s", c.tokenEnv, secret.Redact(c.site.URL))
	}
	if err := checkURL(c.site.URL + "/x/y"); err != nil {
		return usage(cmd, "--url: %w", err)
	}
	return nil
}

// begin opens the folder and listens. Nothing is left behind by what does not begin.
func (c *sampleUpCommand) begin(ctx context.Context) (*sample.Folder, net.Listener, error) {
	folder, err := sample.Open(c.sample.dir)
	switch {
	case errors.Is(err, sample.ErrNoSample):
		return c.create()
	case err != nil:
		return nil, nil, err
	case c.listen != "" && c.listen != folder.State.Listen:
		return nil, nil, failed(
			fmt.Errorf("the sample in %s is at %s: its repositories name that address", shown(folder.Dir), folder.State.Listen),
			"leave --listen out, or begin another one with --dir")
	}
	listener, err := net.Listen("tcp", folder.State.Listen)
	if err == nil {
		return folder, listener, nil
	}
	err = fmt.Errorf("listen on %s: %w", folder.State.Listen, err)
	if runs(ctx, folder) {
		return nil, nil, failed(fmt.Errorf("the sample in %s runs already: %w", shown(folder.Dir), err), "kalypso sample down stops and removes it")
	}
	return nil, nil, failed(err, "end the program that has the address; or remove the sample with kalypso sample down"+c.sample.flag()+", and begin anew: "+c.elsewhere())
}

// create makes a new sample, which has nothing yet.
func (c *sampleUpCommand) create() (*sample.Folder, net.Listener, error) {
	listen := c.listen
	if listen == "" {
		listen = server.DefaultListen
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, nil, failed(fmt.Errorf("listen on %s: %w", listen, err), "this address is free: "+c.elsewhere())
	}
	listen = listener.Addr().String() // a port of 0 is now another one
	state := sample.State{Listen: listen, Made: c.t.Now(), Site: sample.Site{URL: "http://" + listen}}
	if c.forge != "" {
		state.Site, state.Forge, state.TokenEnv = c.site, c.forge, c.tokenEnv
	}
	folder, err := sample.Create(c.sample.dir, state)
	if err != nil {
		_ = listener.Close()
		return nil, nil, failed(err, "choose another folder with --dir")
	}
	return folder, listener, nil
}

// elsewhere is the command that begins at another address.
func (c *sampleUpCommand) elsewhere() string {
	return "kalypso sample up" + c.sample.flag() + " --listen " + freeListen()
}

// freeListen is an address that nobody listens on at the moment.
func freeListen() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "127.0.0.1:PORT"
	}
	defer listener.Close() //nolint:errcheck // it was only asked for
	return listener.Addr().String()
}
