package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/kalypso-io/kalypso/internal/chartrepo"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/delivery"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promoting"
	"github.com/kalypso-io/kalypso/internal/recording"
	"github.com/kalypso-io/kalypso/internal/sandbox"
	"github.com/kalypso-io/kalypso/internal/secret"
	"github.com/kalypso-io/kalypso/internal/server"
)

// deliveries is the work of the server for the registered applications of its control planes that have a Delivery.
// What applications say is not trusted: their charts are rendered in processes with limits, and they can name no repository that is
// the platform's, or on a host that nobody configured.
type deliveries struct {
	flows    *flows
	ledger   ledger.Ledger
	promoter *promoting.Promoter
	hosts    *recording.Hosts
	charts   *chartrepo.Client
	renderer delivery.Renderer
	memory   *delivery.Memory
	log      *slog.Logger

	mu sync.Mutex
	// said are the problems that were logged already.
	said map[string]bool
}

// newDeliveries wires deliveries to what the server has.
func newDeliveries(config *server.Config, work *flows, chains *chains, log *slog.Logger) (*deliveries, error) {
	cache, err := chartrepo.NewCache(filepath.Join(config.Data, "charts"), 0)
	if err != nil {
		return nil, fmt.Errorf("open the cache of charts: %w", err)
	}
	return &deliveries{
		flows: work, ledger: chains.ledger, promoter: chains.promoter, hosts: chains.hosts,
		charts:   &chartrepo.Client{Cache: cache, HTTP: publicClient(config.Verify.Hosts)},
		renderer: &sandbox.Runner{}, memory: &delivery.Memory{}, log: log, said: map[string]bool{},
	}, nil
}

// run delivers the applications of some control planes, again and again, until the context ends.
func (d *deliveries) run(ctx context.Context, controlPlanes []string, every time.Duration) {
	for {
		for _, url := range controlPlanes {
			d.deliver(ctx, url)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
	}
}

// deliver makes a round for each application of a control plane. What goes wrong with one does not stop the others.
func (d *deliveries) deliver(ctx context.Context, controlPlane string) {
	loader := d.loader(controlPlane)
	requests, problems, err := loader.Registered(ctx, controlPlane)
	for _, p := range problems {
		d.say(p.Position.String() + ": " + p.Message)
	}
	if err != nil {
		d.say(err.Error())
		return
	}
	for _, request := range requests {
		if ctx.Err() != nil {
			return
		}
		d.one(ctx, controlPlane, request)
	}
}

// maxDeliveryRounds ends an application's turn, so that others have theirs.
const maxDeliveryRounds = 5

// one makes rounds of an application until nothing is left to do but to wait.
func (d *deliveries) one(ctx context.Context, controlPlane string, request delivery.Request) {
	log := d.log.With("application", secret.Redact(request.Source))
	for range maxDeliveryRounds {
		delivered, err := d.round(ctx, controlPlane, request)
		for _, what := range delivered.Did {
			log.Info(what)
		}
		for environment, err := range delivered.Errors {
			d.say(fmt.Sprintf("%s: environment %q: %v", secret.Redact(request.Source), environment, err))
		}
		if err != nil {
			d.say(fmt.Sprintf("%s: %v", secret.Redact(request.Source), err))
			return
		}
		if len(delivered.Did) == 0 {
			return
		}
	}
}

// round makes one round of an application.
func (d *deliveries) round(ctx context.Context, controlPlane string, request delivery.Request) (*delivery.Delivered, error) {
	chain := &delivery.Chain{
		Deliverer: &delivery.Deliverer{
			Drafter: delivery.Drafter{
				Loader: d.loader(controlPlane), Renderer: d.renderer, Memory: d.memory, Policies: boardPolicies{d.flows.board, controlPlane},
			},
			Committer: d.flows.commits, Forges: d.flows.forges,
		},
		Promoter: d.promoter, Lines: gitLines{d.flows.client}, Ledger: d.ledger,
	}
	return chain.Round(ctx, request)
}

// say logs a problem once.
func (d *deliveries) say(problem string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.said) > 10_000 {
		clear(d.said)
	}
	if !d.said[problem] {
		d.said[problem] = true
		d.log.Warn(problem)
	}
}

// loader reads branches where they are now.
func (d *deliveries) loader(controlPlane string) *delivery.Loader {
	return &delivery.Loader{
		Repositories: deliveryRepositories{newRepositories(d.flows.client)}, Charts: deliveryCharts{d.charts}, Cache: d.flows.cache,
		Allow: func(repository string) error { return d.allow(controlPlane, repository) },
	}
}

var (
	errPlatforms = errors.New("it is the platform's; an application cannot use it")
	errHost      = errors.New("nobody configured its host")
)

// allow refuses repositories that an application must not use: the control plane, what the platform publishes to, and any host that
// nobody configured.
func (d *deliveries) allow(controlPlane, repository string) error {
	platforms := []string{controlPlane}
	for _, plane := range d.flows.board.ControlPlanes() {
		platforms = append(platforms, plane.URL)
		for _, last := range plane.Scheduling {
			if last != nil && last.Outcome != nil {
				platforms = append(platforms, last.Outcome.GitOps.Repo)
			}
		}
	}
	same := func(url string) bool { return url != "" && git.SameRepository(url, repository) }
	switch {
	case slices.ContainsFunc(platforms, same):
		return errPlatforms
	case !d.hosts.Know(repository):
		return errHost
	}
	return nil
}

// boardPolicies are the check policies of a control plane's environments, as the last rounds read them.
type boardPolicies struct {
	board        *server.Board
	controlPlane string
}

var _ delivery.Policies = boardPolicies{}

// Policy implements [delivery.Policies]. Of an environment that was not read yet nobody knows the rules, so nothing is proposed there.
func (p boardPolicies) Policy(_ context.Context, environment string) (check.Policy, []fleet.Problem, error) {
	last := p.board.Outcome(p.controlPlane, environment)
	if last == nil || last.Loaded == nil {
		return check.Policy{}, nil, errors.New("the platform's environment was not read yet")
	}
	policy, problems := check.PolicyOf(last.Loaded.Snapshot)
	return policy, problems, nil
}

// publicClient fetches charts from public addresses, and from the hosts that are listed: an application says where its charts are,
// and is not to make the server talk to its own network.
func publicClient(listed []string) *http.Client {
	open, public := &net.Dialer{Timeout: 30 * time.Second}, &net.Dialer{Timeout: 30 * time.Second, Control: onlyPublic}
	return &http.Client{
		Timeout: time.Minute,
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				if host, _, err := net.SplitHostPort(address); err == nil && slices.Contains(listed, host) {
					return open.DialContext(ctx, network, address)
				}
				return public.DialContext(ctx, network, address)
			},
			TLSHandshakeTimeout: 30 * time.Second, ResponseHeaderTimeout: 30 * time.Second,
		},
	}
}

// onlyPublic refuses addresses of this machine and of private networks, after names were resolved.
func onlyPublic(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	ip := at.Addr().Unmap()
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || netip.MustParsePrefix("100.64.0.0/10").Contains(ip) {
		return fmt.Errorf("%s is not a public address; list its host in verify.hosts of the configuration if charts may come from there", ip)
	}
	return nil
}
