package wiring

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kalypso-io/kalypso/internal/chart/sandbox"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/connect"
	"github.com/kalypso-io/kalypso/internal/forge/local"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/open"
	"github.com/kalypso-io/kalypso/internal/notify"
	"github.com/kalypso-io/kalypso/internal/plane"
	"github.com/kalypso-io/kalypso/internal/promote/verify"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/serve/replica"
	"github.com/kalypso-io/kalypso/internal/serve/session"
	"github.com/kalypso-io/kalypso/internal/serve/web"
	"github.com/kalypso-io/kalypso/internal/solution/registry/embedded"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Options are what a server is made from.
type Options struct {
	// Config is a configuration that [serve.Config.Check] accepts. // required
	Config *serve.Config
	// Env has the environment variables by name. // required
	Env map[string]string
	// Log receives what happens. // required
	Log *slog.Logger
	// Listen opens the listener. It is called when the configuration has been read without an error. // required
	Listen func() (net.Listener, error)
	// Maps say where repositories are read from instead of their URLs. They take precedence over the configuration's.
	Maps []git.Mapping
	// Version is the version of the program.
	Version string
	// Lease is how long other servers wait for this one when it does not answer any more. Default: [replica.Lease].
	Lease time.Duration
}

// Server is a server with all that it needs. [Server.Run] runs it.
type Server struct {
	// Flows works on repositories and forges.
	Flows *Flows
	// Keeper decides when something is done.
	Keeper *serve.Keeper
	// LocalForge is the embedded forge; nil if the configuration does not want it.
	LocalForge *local.Forge
	// Ledger is open until [Server.Close].
	Ledger ledger.Ledger
	// API has the registrar of clusters, and the guard.
	API *api.Server
	// Pages are the pages. Entries can be added to their navigation before [Server.Run].
	Pages *web.Pages

	Options
	listener net.Listener
	server   *serve.Server
	metrics  *serve.Metrics
	chains   *chains
	sessions *session.Sessions
	// notifications tells receivers what is recorded.
	notifications *notify.Service
	// replica is this server among those that share the ledger; nil if none can.
	replica *replica.Member
	disk    *disk
	// recognition says whether the ledger belongs to the data folder.
	recognition *recognition
	pulse       *pulse
	// registry is the embedded registry; nil if the configuration does not want it.
	registry *embedded.Registry
	// graphs are the parts of Azure whose clusters report there.
	graphs []*graphSource
	// closers are called in reverse order.
	closers []func()
}

// New wires a server that does not run yet. The caller closes it, whether it ran or not.
func New(ctx context.Context, o Options) (*Server, error) {
	s := &Server{Options: o}
	if err := s.wire(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Server) wire(ctx context.Context) error {
	tracing, err := startTracing(ctx, s.Config.Tracing, s.Env, secret.Hider(Secrets(s.Config, s.Env)...), s.Log, s.Version)
	if err != nil {
		return err
	}
	s.onClose(func() { tracing.end(ctx, s.Log) })
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	s.metrics = serve.NewMetrics(registry)
	s.disk = newDisk(s.Config.Data)
	registry.MustRegister(s.disk)
	registry.MustRegister(&sourceMetrics{func() []git.Unavailable { return s.Flows.Client.Unavailable() }})
	forges, err := connect.All(s.Config.Forges, s.Env, transport.Config{
		Base:    whileHeld(tracing.transport()),
		Observe: func(call transport.Call) { s.metrics.ForgeCall(call.Forge, call.Operation, call.Result) },
	})
	if err != nil {
		return err
	}
	if err := s.wireFlows(forges, tracing); err != nil {
		return err
	}
	s.Keeper = &serve.Keeper{
		Flows: s.Flows, ControlPlanes: s.Config.ControlPlanes,
		Poll: s.Config.Poll.Duration, Workers: s.Config.Workers, Log: s.Log, Metrics: s.metrics, OnError: s.disk.note,
	}
	s.server = &serve.Server{
		Keeper: s.Keeper, Hooks: hooks(s.Config.Forges, forges, s.Env), Log: s.Log,
		Health: s.health,
	}
	if s.listener, err = s.Listen(); err != nil {
		return err
	}
	s.onClose(func() { _ = s.listener.Close() }) // it is closed already if the server ran

	used := usedBefore(s.Config.Data) // the forge creates a token, too
	if err := s.openLocalForge(ctx); err != nil {
		return err
	}
	if err := s.openLedger(ctx, used); err != nil {
		return err
	}
	for _, step := range []func() error{
		s.wireNotifications, s.wireResourceGraph, func() error { return s.wirePromotion(ctx) }, s.wireDeliveries, func() error { return s.wireValues(ctx) },
		func() error { return s.openSessions(ctx) }, func() error { return s.openRegistry(ctx) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	s.relay()
	registry.MustRegister(&serve.OutboxMetrics{Outbox: s.Ledger}, &serve.ClusterMetrics{Fleet: s.API.Observer})
	s.server.Metrics = s.API.Guard.Restrict(access.Reader, promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return nil
}

// sourceWait is how long a round waits for another one that reads the same repository. It holds what needs the repository then.
const sourceWait = 30 * time.Second

// wireFlows connects the flows to Git and the forges.
func (s *Server) wireFlows(forges forge.Forges, tracing *tracing) error {
	origins, err := connect.Git(s.Config.Forges, forges, s.Env)
	if err != nil {
		return err
	}
	s.Flows = &Flows{
		board: &plane.Board{}, Forges: forges, cache: &fleet.Cache{}, memory: &schedule.Memory{}, tracing: tracing, previewForks: s.Config.PreviewForks,
		Client: &git.Client{
			Map: slices.Concat(s.Maps, mappings(s.Config.Map), origins.Maps), Credentials: origins.Credentials,
			Env: func(name string) string { return s.Env[name] }, Elsewhere: true,
			Limits: git.Limits{Answer: s.Config.Sources.Answer.Duration, Transfer: s.Config.Sources.Transfer.Duration, Wait: sourceWait},
		},
	}
	box, err := sandbox.FindBox(s.Env)
	if err != nil {
		return err
	}
	box.Fit(&s.Flows.sandboxes)
	s.Log.Info("limits", "memory", box.Apply(s.Env, &s.Flows.sandboxes))
	if open.Shared(s.Config.Ledger) {
		// Replicas on one machine must not wait for each other: one of them may be paused.
		s.Flows.Client.CacheDir = filepath.Join(s.Config.Data, "git")
	}
	s.onClose(func() { _ = s.Flows.Client.Close() }) // the process ends
	s.Flows.Commits = repository.Committer{Client: s.Flows.Client, Author: repository.Author(s.Env), Permit: replica.Check}
	s.Flows.schedulers, err = NewSchedulers(s.Config.Schedulers, repository.NewReader(s.Flows.Client), &verify.Runner{Hosts: s.Config.Verify.Hosts}, s.Env)
	if err != nil {
		return err
	}
	s.Flows.schedulers.Observe = func(scheduler string, took time.Duration, err error) {
		s.metrics.SchedulerAsked(scheduler, took, err)
		if err != nil {
			s.Log.Warn("a scheduler did not answer", "scheduler", scheduler, "error", secret.Scrub(err.Error()))
		}
	}
	if s.Flows.publisher, err = newPlatformPublisher(s.Config, s.Version, func(name string) string { return s.Env[name] }); err != nil {
		return err
	}
	s.Flows.Commits.Signer, err = repository.Signer(s.Config.SigningKeyFile, s.Env)
	return err
}

// hooks are the webhooks of the forges that have a secret for them.
func hooks(connections []forge.Connection, forges forge.Forges, env map[string]string) []serve.Hook {
	var hooks []serve.Hook
	for i, c := range connections {
		verifier, ok := forges[i].(forge.WebhookVerifier)
		if key := env[c.WebhookSecretEnv]; ok && key != "" {
			hooks = append(hooks, serve.Hook{Name: c.Name, Verifier: verifier, Secret: forge.NewSecret(key)})
		}
	}
	return hooks
}

// openLedger opens the ledger, and creates the administrator's token. used means that a server used the data folder before.
func (s *Server) openLedger(ctx context.Context, used bool) (err error) {
	if err := os.MkdirAll(s.Config.Data, 0o700); err != nil {
		return fmt.Errorf("create the data folder: %w", err)
	}
	s.keepPrivate()
	if s.Ledger, err = open.Ledger(ctx, s.Config.Ledger); err != nil {
		return err
	}
	s.pulse = newPulse(s.Ledger)
	s.onClose(func() { _ = s.Ledger.Close() }) // everything that was accepted is stored
	if err := s.recognize(ctx, used); err != nil {
		return err
	}
	if err := s.joinReplicas(ctx); err != nil {
		return err
	}
	s.Keeper.Wait = s.recognition.wait
	return s.createAdminToken(ctx)
}

// Run serves until the context ends.
func (s *Server) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var wait sync.WaitGroup
	defer wait.Wait()
	defer stop()
	work := func(run func(context.Context)) {
		wait.Go(func() {
			if s.recognition.wait(ctx) {
				run(ctx)
			}
		})
	}
	wait.Go(func() { s.recognition.watch(ctx) })
	wait.Go(func() {
		if err := s.Flows.charts().Probe(ctx); err != nil && ctx.Err() == nil {
			s.Log.Warn("processes that render charts could read files and use the network", "reason", err)
		}
	})
	work(s.compactLedger)
	work(s.notifications.Run)
	if s.registry != nil {
		work(s.registry.Run)
	}
	for _, g := range s.graphs {
		work(g.run)
	}
	if s.replica != nil {
		held, release := context.WithCancel(context.WithoutCancel(ctx))
		work(func(context.Context) { s.replica.Run(held) })
		defer release() // when no round runs any more
	}
	err := s.server.Serve(ctx, s.listener)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Handle adds a handler of HTTP requests. It has to be called before [Server.Run].
func (s *Server) Handle(pattern string, handler http.Handler) {
	pages := s.server.Pages
	s.server.Pages = func(mux *http.ServeMux) {
		pages(mux)
		mux.Handle(pattern, handler)
	}
}

// Sessions are the sessions of users of the pages.
func (s *Server) Sessions() *session.Sessions { return s.sessions }

// Close releases everything that was opened, in reverse order.
func (s *Server) Close() {
	for _, c := range slices.Backward(s.closers) {
		c()
	}
	s.closers = nil
}

func (s *Server) onClose(f func()) { s.closers = append(s.closers, f) }

// compactLedger removes from the ledger what is not needed any more, until the context ends.
func (s *Server) compactLedger(ctx context.Context) {
	const interval = 6 * time.Hour
	for {
		removed, err := ledger.Retain(ctx, s.Ledger, s.Config.Retention.Duration, time.Now())
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.Log.Error("compact the ledger", "error", err)
		case removed > 0:
			s.Log.Info("compacted the ledger", "removed", removed)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(interval):
		}
	}
}

// mappings returns those of the configuration, in a fixed order.
func mappings(from map[string]string) []git.Mapping {
	var all []git.Mapping
	for _, url := range slices.Sorted(maps.Keys(from)) {
		all = append(all, git.Mapping{From: url, To: from[url]})
	}
	return all
}
