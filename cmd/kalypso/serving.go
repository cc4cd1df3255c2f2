package main

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/local"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve"
	sessions "github.com/kalypso-io/kalypso/internal/serve/session"
)

// serving is a server with all it needs, wired and not yet running: there is no second wiring.
type serving struct {
	config   *serve.Config
	log      *slog.Logger
	listener net.Listener
	server   *serve.Server
	work     *flows
	// host is the local forge; nil where there is none.
	host        *local.Forge
	observatory *observatory
	// deliveries are those of registered applications.
	deliveries *deliveries
	// sessions are those of browsers.
	sessions *sessions.Sessions
	// ends are called in the opposite order.
	ends []func()
}

// newServing wires the edges to a server. listen is called once the configuration has proved right.
// Whoever gets a serving closes it, whether it ran or not.
func newServing(ctx context.Context, t *terminal.Terminal, config *serve.Config, maps []git.Mapping, listen func() (net.Listener, error)) (*serving, error) {
	s := &serving{config: config}
	if err := s.wire(ctx, t, maps, listen); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *serving) wire(ctx context.Context, t *terminal.Terminal, maps []git.Mapping, listen func() (net.Listener, error)) error {
	secrets := secretsOf(s.config, t.Env)
	log, err := newLogger(t, s.config.Log, secrets)
	if err != nil {
		return err
	}
	s.log = log
	tracing, err := startTracing(ctx, s.config.Tracing, t.Env, hider(secrets), log)
	if err != nil {
		return err
	}
	s.ends = append(s.ends, func() { endTracing(ctx, tracing, log) })
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	metrics := serve.NewMetrics(registry)
	hosts, hooks, err := openForges(s.config, t.Env, transport.Config{
		Base:    tracing.transport(),
		Observe: func(call transport.Call) { metrics.ForgeCall(call.Forge, call.Operation, call.Result) },
	})
	if err != nil {
		return err
	}
	if err := s.wireFlows(t, hosts, maps, tracing); err != nil {
		return err
	}
	s.server = &serve.Server{
		Keeper: &serve.Keeper{
			Flows: s.work, ControlPlanes: s.config.ControlPlanes,
			Poll: s.config.Poll.Duration, Workers: s.config.Workers, Log: log, Metrics: metrics,
		},
		Hooks:   hooks,
		Metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
		Log:     log,
	}
	if s.listener, err = listen(); err != nil {
		return err
	}
	s.ends = append(s.ends, func() { _ = s.listener.Close() }) // it is closed already when it ran
	if err := s.openLocalForge(ctx); err != nil {
		return err
	}
	s.observatory, err = openObservatory(ctx, s.config, s.work, metrics, log, s.server.Keeper)
	if err != nil {
		return err
	}
	s.ends = append(s.ends, func() { _ = s.observatory.close() }) // what was taken is stored
	var endScans func()
	if s.deliveries, endScans, err = newDeliveries(s.config, s.work, s.observatory.chains, s.server.Keeper); err != nil {
		return err
	}
	s.ends = append(s.ends, endScans)
	s.server.Keeper.Deliveries = s.deliveries
	s.server.Keeper.Chains, s.server.API = s.observatory.chains, s.observatory.api.Handler()
	s.server.Stopping = s.observatory.events.Close
	return s.openSessions(t.Env)
}

// wireFlows connects the work of the server to Git and the forges.
func (s *serving) wireFlows(t *terminal.Terminal, hosts forges, maps []git.Mapping, tracing *tracing) error {
	access, err := newGitAccess(s.config.Forges, hosts, t.Env)
	if err != nil {
		return err
	}
	s.work = &flows{
		board: &serve.Board{}, forges: hosts, cache: &fleet.Cache{}, memory: &schedule.Memory{}, tracing: tracing, previewForks: s.config.PreviewForks,
		client: &git.Client{
			Map: slices.Concat(maps, mappings(s.config.Map), access.maps), Credentials: access.credentials,
			Env: func(name string) string { return t.Env[name] }, Elsewhere: true,
		},
	}
	s.ends = append(s.ends, func() { _ = s.work.client.Close() }) // the process ends
	s.work.commits = repository.Committer{Client: s.work.client, Author: repository.Author(t.Env)}
	s.work.commits.Signer, err = signer(s.config.SigningKeyFile, t.Env)
	return err
}

// openLocalForge opens the forge that the server brings along, where the configuration wants it.
func (s *serving) openLocalForge(ctx context.Context) error {
	if !*s.config.LocalForge {
		return nil
	}
	host, err := openLocalForge(ctx, s.config, s.log, s.forgeVisitor)
	if err != nil {
		return err
	}
	stop := host.Subscribe(s.server.Keeper.Handle)
	s.ends = append(s.ends, func() { stop(); _ = host.Close() }) // the process ends
	s.host, s.server.Forge = host, host.Handler()
	s.work.serveLocally(host, inPlace(s.config))
	return nil
}

// run serves until the context ends.
func (s *serving) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var wait sync.WaitGroup
	defer wait.Wait()
	defer stop()
	go s.observatory.forget(ctx, s.config.Retention.Duration, s.log)
	err := s.server.Serve(ctx, s.listener)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// close ends what was begun.
func (s *serving) close() {
	for _, end := range slices.Backward(s.ends) {
		end()
	}
	s.ends = nil
}

// openForges connects to the configured forges.
func openForges(config *serve.Config, env map[string]string, t transport.Config) (forges, []serve.Hook, error) {
	var hosts forges
	var hooks []serve.Hook
	for _, f := range config.Forges {
		host, err := openForge(f, env, t)
		if err != nil {
			return nil, nil, err
		}
		hosts = append(hosts, host)
		verifier, ok := host.(forge.WebhookVerifier)
		if key := env[f.WebhookSecretEnv]; ok && key != "" {
			hooks = append(hooks, serve.Hook{Name: f.Name, Verifier: verifier, Secret: forge.NewSecret(key)})
		}
	}
	return hosts, hooks, nil
}

// mappings are those of the configuration, in a fixed order.
func mappings(from map[string]string) []git.Mapping {
	var all []git.Mapping
	for _, url := range slices.Sorted(maps.Keys(from)) {
		all = append(all, git.Mapping{From: url, To: from[url]})
	}
	return all
}
