package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/internal/agent"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/local"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/sample"
	"github.com/kalypso-io/kalypso/internal/sample/simulate"
	"github.com/kalypso-io/kalypso/internal/sample/tour"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/web"
	"github.com/kalypso-io/kalypso/internal/serve/wiring"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// samplePlay is a sample that runs: the server, wired as everywhere, and the simulated clusters.
type samplePlay struct {
	t      *terminal.Terminal
	folder *sample.Folder
	// flag is what has to be typed to mean this sample.
	flag     string
	server   *wiring.Server
	clusters *simulate.Simulation
	// real are the clusters that are not simulated, and agents those that report about them.
	real   []*realCluster
	agents []*agent.Agent
	app    *sampleApp
	log    io.Closer
}

// startSample makes what is missing of a sample. stop ends the process.
func startSample(ctx context.Context, c *sampleUpCommand, folder *sample.Folder, listener net.Listener, clusters []*realCluster, stop func()) (_ *samplePlay, err error) {
	p := &samplePlay{t: c.t, folder: folder, flag: c.sample.flag(), real: clusters}
	defer func() {
		if err != nil {
			p.close()
			_ = listener.Close()
		}
	}()
	log, err := os.OpenFile(folder.Log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	p.log = log
	if err := os.WriteFile(folder.Running(), nil, 0o600); err != nil {
		return nil, fmt.Errorf("note that the sample runs: %w", err)
	}
	config, err := sampleConfig(folder)
	if err != nil {
		return nil, err
	}
	quiet := *c.t
	quiet.Err = log
	logger, err := cli.NewLogger(&quiet, config.Log.Format, config.Log.Level, wiring.Secrets(config, c.t.Env)...)
	if err != nil {
		return nil, err
	}
	p.server, err = wiring.New(ctx, wiring.Options{
		Config: config, Env: c.t.Env, Log: logger, Version: cli.Version(),
		Listen: func() (net.Listener, error) { return listener, nil },
	})
	if err != nil {
		return nil, err
	}
	if p.server.LocalForge != nil {
		// Only the sample uses this forge, and a user watches: both teams' repositories are polled more often than usual.
		p.server.Keeper.Poll, config.Poll.Duration = 2*time.Second, c.poll
	}
	repositories, err := sample.Repositories(folder.State.Site)
	if err != nil {
		return nil, err
	}
	if err := p.publish(ctx, repositories); err != nil {
		return nil, err
	}
	if p.app, err = newSampleApp(c.t, p.server, folder.State.Site, c.poll); err != nil {
		return nil, err
	}
	p.clusters = simulate.New(simulate.Config{
		Sources: &simulate.Sources{Client: p.server.Flows.Client}, Poll: c.poll, Delay: simulate.Delay{Least: c.delay / 3, Most: c.delay},
		Heartbeat: sampleHeartbeat, Seed: 1, Log: p.server.Log,
	})
	return p, p.control(repositories, stop)
}

// sampleHeartbeat is how often clusters send a heartbeat. It is short, since a user watches.
const sampleHeartbeat = 10 * time.Second

// sampleConfig is the configuration of the server, as a file would have it.
func sampleConfig(folder *sample.Folder) (*serve.Config, error) {
	s := folder.State
	config, err := serve.ParseConfig(nil, func(config *serve.Config) {
		config.Listen, config.Data = s.Listen, folder.Data()
		config.ControlPlanes = []string{s.Site.Repository(sample.ControlPlane)}
		config.Poll.Duration = 10 * time.Second
		if s.Forge != "" {
			noCI := &metav1.Duration{} // the sample creates its repositories, and none has CI
			config.Forges = []forge.Connection{{Kind: forge.Kind(s.Forge), URL: s.Site.URL, TokenEnv: s.TokenEnv, Settle: noCI}}
		}
		config.Log.Format = "text"
	})
	if err != nil {
		return nil, err
	}
	return config, config.Check()
}

// publish writes what is missing of the repositories, and makes the credentials with which people push.
func (p *samplePlay) publish(ctx context.Context, repositories []sample.Repository) error {
	publisher := &sample.Publisher{
		Client: p.server.Flows.Client, Author: p.server.Flows.Commits.Author, When: p.folder.State.Made,
		Notice: func(what string) { p.server.Log.Warn(what) },
	}
	if p.server.LocalForge == nil {
		publisher.Forge, publisher.Mark = p.server.Flows.Forges[0], p.folder.State.Mark()
		return publisher.Publish(ctx, repositories)
	}
	publisher.Forge = p.server.LocalForge
	if err := publisher.Publish(ctx, repositories); err != nil {
		return err
	}
	if err := p.server.LocalForge.Sync(ctx); err != nil {
		return err
	}
	return p.credentials(ctx)
}

// credentials makes a token for each team, in a file that git reads.
func (p *samplePlay) credentials(ctx context.Context) error {
	if _, err := os.Stat(p.folder.Credentials()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var text string
	for _, team := range sample.Teams() {
		account := local.Account{Name: team.Account(), Right: local.Write, Below: string(team)}
		token, _, err := p.server.LocalForge.CreateToken(ctx, "sample", account)
		if err != nil {
			return err
		}
		at := &url.URL{Scheme: "http", User: url.UserPassword(account.Name, token.Reveal()), Host: p.folder.State.Listen}
		text += at.String() + "\n"
	}
	return agent.WriteFile(p.folder.Credentials(), []byte(text))
}

// control lets the other commands reach the process, at the address of the server.
func (p *samplePlay) control(repositories []sample.Repository, stop func()) error {
	token, err := wiring.KeptSecret(p.folder.ControlToken())
	if err != nil {
		return err
	}
	control := &sample.Control{
		Simulation: p.clusters, Repositories: repositories, Token: token, Stop: stop,
		Forge: func(team sample.Team) forge.Forge {
			if p.server.LocalForge == nil {
				return p.server.Flows.Forges[0] // as the owner of the token
			}
			return p.server.LocalForge.As(local.Account{Name: team.Account(), Right: local.Write, Below: string(team)})
		},
	}
	p.server.Handle(sample.Root+"/", control.Handler())
	if p.hasTour() {
		p.addTour()
	}
	return nil
}

// hasTour reports whether the sample is the one that the guided tour is about: everything on this machine, with the application.
func (p *samplePlay) hasTour() bool {
	return p.server.LocalForge != nil && len(p.real) == 0 && !p.folder.State.Site.WithoutApp
}

// addTour serves the guided tour, and links it from all pages.
func (p *samplePlay) addTour() {
	p.server.Pages.Links = append(p.server.Pages.Links, web.Link{Name: "Tour", Address: tour.Path})
	p.server.LocalForge.AddPlace(local.Place{Name: "Tour", Address: tour.Path})
	guided := &tour.Tour{
		Site: p.folder.State.Site, Client: p.server.Flows.Client, Host: p.server.LocalForge, Observer: p.server.API.Observer, Clusters: p.clusters,
		As: func(account string) forge.Forge {
			return p.server.LocalForge.As(local.Account{Name: account, Right: local.Write})
		},
		Pages: p.server.Pages, Forms: p.server.Sessions(), Log: p.server.Log, Token: shown(filepath.Join(p.folder.Data(), wiring.AdminTokenFile)),
	}
	handler := guided.Handler()
	p.server.Handle(tour.Path, handler)
	p.server.Handle(tour.Path+"/", handler)
}

// run goes on until the context ends.
func (p *samplePlay) run(ctx context.Context, begun time.Time) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return p.server.Run(ctx) })
	group.Go(func() error { p.app.run(ctx); return nil })
	group.Go(func() error {
		// Clusters join as members of environments, which the server has to know.
		if err := p.ready(ctx); err != nil {
			return quietEnd(ctx, err)
		}
		if err := p.join(ctx); err != nil {
			return quietEnd(ctx, err)
		}
		p.welcome(time.Since(begun))
		p.runClusters(ctx)
		return nil
	})
	if err := group.Wait(); err != nil {
		return err
	}
	fmt.Fprintf(p.t.Out, "stopped; kalypso sample up%[1]s continues, kalypso sample down%[1]s removes it\n", p.flag)
	return nil
}

// quietEnd leaves out what went wrong because the process is ending.
func quietEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// join lets the clusters join that have not joined before, as real ones do: with a token, over HTTP.
func (p *samplePlay) join(ctx context.Context) error {
	address, err := url.Parse("http://" + p.folder.State.Listen)
	if err != nil {
		return err
	}
	joiner := &simulate.Joiner{Server: address, Dir: p.folder.Clusters()}
	for _, c := range sample.Clusters(p.folder.State.Site, p.folder.State.Clusters) {
		way, err := p.register(ctx, joiner, c)
		if err != nil {
			return err
		}
		if err := p.clusters.Add(c, way); err != nil {
			return err
		}
	}
	return p.joinReal(ctx, joiner)
}

// register gives a cluster a credential, unless it has one.
func (p *samplePlay) register(ctx context.Context, j *simulate.Joiner, c simulate.Cluster) (agent.Server, error) {
	file := filepath.Join(j.Dir, c.Name+".token")
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return j.Register(ctx, c)
	}
	// The process may have been killed after the cluster was registered and before it had its credential.
	credential, _, err := p.server.API.Registrar.Rotate(ctx, c.Name, "kalypso sample", time.Now())
	switch {
	case err == nil:
		err = errors.Join(os.MkdirAll(j.Dir, 0o700), agent.WriteFile(file, []byte(credential.Reveal()+"\n")))
	case errors.Is(err, ingest.ErrNotFound) && j.Token.IsZero():
		j.Token, err = p.joinToken(ctx)
	case errors.Is(err, ingest.ErrNotFound):
		err = nil
	}
	if err != nil {
		return nil, err
	}
	return j.Register(ctx, c)
}

// joinToken makes a token that is good for the clusters of the sample, for a while.
func (p *samplePlay) joinToken(ctx context.Context) (secret.Value, error) {
	var scope ingest.JoinScope
	for _, clusterType := range sample.ClusterTypes() {
		for _, m := range sample.Memberships(p.folder.State.Site, clusterType) {
			scope.Memberships = append(scope.Memberships, ledger.Membership{Environment: m.Environment, ClusterType: m.ClusterType})
		}
	}
	now := time.Now()
	request := ingest.JoinTokenRequest{Scope: scope, Description: "clusters of the sample", Expires: now.Add(time.Hour)}
	token, _, err := p.server.API.Registrar.CreateJoinToken(ctx, request, "kalypso sample", now)
	return token, err
}

// ready waits until the server has read the control plane.
func (p *samplePlay) ready(ctx context.Context) error {
	for !p.server.Keeper.Ready() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

// welcome prints where everything is, and what to try next.
func (p *samplePlay) welcome(took time.Duration) {
	s, site, dir := p.t.OutStyle, p.folder.State.Site, p.flag
	fmt.Fprintf(p.t.Out, "%s the sample in %s: 7 repositories and %s, after %.1f s\n\n", s.Green("started"), shown(p.folder.Dir), p.clusterCount(), took.Seconds())
	where := &terminal.Table{Indent: "  "}
	where.Row(terminal.Plain("fleet"), terminal.Painted(s.Bold, "http://"+p.folder.State.Listen+"/"))
	if p.hasTour() {
		where.Row(terminal.Plain("guided tour"), terminal.Painted(s.Bold, "http://"+p.folder.State.Listen+tour.Path))
	}
	where.Row(terminal.Plain("control plane"), terminal.Plain(site.Repository(sample.ControlPlane)))
	where.Row(terminal.Plain("GitOps repository"), terminal.Plain(site.Repository(sample.GitOps)))
	if _, err := p.clusters.Cluster("large"); err == nil && !site.WithoutApp {
		where.Row(terminal.Plain("hello-world on a cluster"), terminal.Plain("http://"+p.folder.State.Listen+sample.Root+"/large/dev-large-hello-world-app-performance-test"))
	}
	where.Row(terminal.Plain("admin token, to sign in"), terminal.Plain(shown(filepath.Join(p.folder.Data(), wiring.AdminTokenFile))))
	where.Row(terminal.Plain("server log"), terminal.Plain(shown(p.folder.Log())))
	_ = where.Write(p.t.Out)
	fmt.Fprintf(p.t.Out, "\ntry next, in another terminal:\n")
	for _, line := range withPath(p.t) {
		fmt.Fprintf(p.t.Out, "  %s\n", line)
	}
	next := &terminal.Table{Indent: "  "}
	next.Row(terminal.Plain("kalypso sample merge"+dir+" gitops stage"), terminal.Painted(s.Dim, "merge the pull request that waits for a review"))
	next.Row(terminal.Plain("kalypso status --server http://"+p.folder.State.Listen), terminal.Painted(s.Dim, "show where each commit is, and why it waits"))
	if !site.WithoutApp {
		next.Row(terminal.Plain("kalypso sample greeting"+dir+" large"), terminal.Painted(s.Dim, "show hello-world with its current configuration"))
	}
	if all := p.clusters.Clusters(); len(all) > 0 {
		next.Row(terminal.Plain("kalypso sample cluster"+dir+" "+all[len(all)-1].Name+" fail"), terminal.Painted(s.Dim, "make a cluster fail; recover repairs it"))
	}
	_ = next.Write(p.t.Out)
	fmt.Fprintf(p.t.Out, "\ndocs/tutorial.md has the whole tutorial. Ctrl-C stops the sample; kalypso sample down%s removes it.\n", dir)
}

// close ends what was begun.
func (p *samplePlay) close() {
	if p.app != nil {
		p.app.stop()
	}
	if p.server != nil {
		p.server.Close()
	}
	_ = os.Remove(p.folder.Running()) // it is only a mark
	if p.log != nil {
		_ = p.log.Close() // there is nothing left to be said
	}
}
