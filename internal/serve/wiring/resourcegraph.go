package wiring

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge/transport"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/hub/resourcegraph"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/web"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// graphSource is a part of Azure whose clusters report there. Each is read on its own, so that one that does not answer delays no other.
//
// All replicas read it. Each then knows by itself which clusters cannot be heard, and what two of them store is the same.
type graphSource struct {
	server *Server
	config *serve.ResourceGraphConfig
	client *resourcegraph.Client
	named  map[string]string

	mu sync.Mutex
	// read is when it was last read; zero if never. err is why the last attempt failed, and since when.
	read, since time.Time
	err         error
	problems    []resourcegraph.Problem
	// served are the clusters that report here and nowhere else.
	served map[string]bool
	// taken are the reports of clusters that were stored last, while polling is locked.
	taken   map[string][sha256.Size]byte
	polling sync.Mutex
}

// wireResourceGraph connects the parts of Azure whose clusters report there.
func (s *Server) wireResourceGraph() error {
	for i := range s.Config.ResourceGraph {
		g, err := s.newGraphSource(&s.Config.ResourceGraph[i])
		if err != nil {
			return fmt.Errorf("resourceGraph %q: %w", s.Config.ResourceGraph[i].Title(), err)
		}
		s.graphs = append(s.graphs, g)
	}
	return nil
}

func (s *Server) newGraphSource(c *serve.ResourceGraphConfig) (*graphSource, error) {
	identity := resourcegraph.Identity{Tenant: cmp.Or(c.Tenant, s.Env["AZURE_TENANT_ID"]), Client: cmp.Or(c.Client, s.Env["AZURE_CLIENT_ID"])}
	if identity.Tenant == "" || identity.Client == "" {
		return nil, errors.New("set tenant and client, or AZURE_TENANT_ID and AZURE_CLIENT_ID")
	}
	file := func(path string) func() (secret.Value, error) {
		return func() (secret.Value, error) { return configured("credential", "", path, nil) }
	}
	switch federated := cmp.Or(c.FederatedTokenFile, s.Env["AZURE_FEDERATED_TOKEN_FILE"]); {
	case c.SecretFile != "":
		identity.Secret = file(c.SecretFile)
	case federated != "":
		identity.Federated = file(federated)
	default:
		return nil, errors.New("set secretFile or federatedTokenFile, or AZURE_FEDERATED_TOKEN_FILE")
	}
	client, err := resourcegraph.New(resourcegraph.Options{
		Subscriptions: c.Subscriptions, ManagementGroups: c.ManagementGroups, Identity: identity,
		Endpoint: c.Endpoint, Login: cmp.Or(c.Login, s.Env["AZURE_AUTHORITY_HOST"]),
		Observe: func(call transport.Call) { s.metrics.ForgeCall(call.Forge, call.Operation, call.Result) },
	})
	if err != nil {
		return nil, err
	}
	g := &graphSource{server: s, config: c, client: client, named: c.Registered(), served: map[string]bool{}, taken: map[string][sha256.Size]byte{}}
	for _, cluster := range g.named {
		g.served[cluster] = true
	}
	return g, nil
}

// run reads until the context ends.
func (g *graphSource) run(ctx context.Context) {
	for {
		g.poll(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(g.config.Every()):
		}
	}
}

// graphPatience limits one read, with its waits for Azure.
const graphPatience = 10 * time.Minute

// poll reads once, and stores what clusters reported.
func (g *graphSource) poll(ctx context.Context) {
	g.polling.Lock()
	defer g.polling.Unlock()
	ctx, cancel := context.WithTimeout(ctx, graphPatience)
	defer cancel()
	begun := time.Now()
	configurations, problems, err := g.client.Read(ctx)
	if err != nil {
		if !errors.Is(ctx.Err(), context.Canceled) {
			g.failed(err)
		}
		return
	}
	clusters, err := g.server.Ledger.Clusters(ctx, ledger.ClusterQuery{})
	if err != nil {
		g.notStored(ctx, err)
		return
	}
	assigned, unassigned := resourcegraph.Assign(configurations, clusters, g.named)
	problems = append(problems, unassigned...)
	served := map[string]bool{}
	for i := range assigned {
		a := &assigned[i]
		err := g.take(ctx, a, begun)
		var refused *ingest.Refusal
		switch {
		case err == nil:
			served[a.Cluster] = len(a.Reports) > 0
		case errors.Is(err, ingest.ErrOwnAgent): // it needs nothing from here
		case errors.As(err, &refused):
			problems = append(problems, resourcegraph.Problem{Resource: a.Cluster, Text: err.Error()})
		default:
			g.notStored(ctx, err)
			return
		}
	}
	g.succeeded(begun, served, problems)
}

// take stores the reports of a cluster, unless they were stored already.
func (g *graphSource) take(ctx context.Context, a *resourcegraph.Assigned, now time.Time) error {
	text, err := json.Marshal(a.Reports)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	if g.taken[a.Cluster] == sum {
		return nil
	}
	if err := g.server.API.Intake.TakeObserved(ctx, a.Cluster, a.Reports, now); err != nil {
		delete(g.taken, a.Cluster)
		return err
	}
	g.taken[a.Cluster] = sum
	return nil
}

// notStored logs an error of the ledger, which says nothing about Azure. The next read tries again.
func (g *graphSource) notStored(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	g.server.disk.note(err)
	g.server.Log.Error("store the reports of Azure Resource Graph", "source", g.config.Title(), "error", err)
}

func (g *graphSource) failed(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil || g.err.Error() != err.Error() {
		g.server.Log.Warn("Azure Resource Graph cannot be read", "source", g.config.Title(), "error", err)
	}
	if g.err == nil {
		g.since = time.Now()
	}
	g.err = err
}

func (g *graphSource) succeeded(at time.Time, served map[string]bool, problems []resourcegraph.Problem) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		g.server.Log.Info("Azure Resource Graph can be read again", "source", g.config.Title())
	}
	known := map[resourcegraph.Problem]bool{}
	for _, p := range g.problems {
		known[p] = true
	}
	for _, p := range problems {
		if !known[p] {
			g.server.Log.Warn("a report of Azure Resource Graph is not used", "source", g.config.Title(), "resource", p.Resource, "reason", p.Text)
		}
	}
	g.read, g.err, g.since, g.served, g.problems = at, nil, time.Time{}, served, problems
}

// setReadUntil sets when a cluster that reports here could last be heard. Before the first read, that is when it was.
func (g *graphSource) setReadUntil(c *ledger.Cluster) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.served[c.Name] {
		return
	}
	if c.ReadUntil = g.read; g.read.IsZero() {
		c.ReadUntil = c.LastHeard
	}
}

// failing reports whether the source cannot be read.
func (g *graphSource) failing() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err != nil
}

// alerts returns what is wrong with the source.
func (g *graphSource) alerts() []web.Alert {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []web.Alert
	if g.err != nil {
		all = append(all, web.Alert{
			What: fmt.Sprintf("Azure Resource Graph (%s) cannot be read", g.config.Title()), Why: g.err.Error(), Since: g.since,
			Next: "Clusters that report there keep their last state, and do not count as offline because of it. Kalypso tries again.",
		})
	}
	return append(all, grouped(g.problems, func(p resourcegraph.Problem) string { return p.Text }, func(same []resourcegraph.Problem) web.Alert {
		return web.Alert{
			What: fmt.Sprintf("Azure Resource Graph (%s): %s not used as reports: %s", g.config.Title(),
				counted(len(same), "resource is", "resources are"), names(same, func(p resourcegraph.Problem) string { return cmp.Or(short(p.Resource), "without an ID") })),
			Why: same[0].Text, Next: "The log names all of them. Other clusters are not affected.",
		}
	})...)
}

// short returns the last parts of a resource ID: the resource group, the kind and the name.
func short(resource string) string {
	parts := strings.Split(resource, "/")
	if len(parts) < 9 {
		return resource
	}
	return strings.Join([]string{parts[4], strings.Join(parts[8:], "/")}, "/")
}

// heardLedger adds to clusters until when they could be heard.
type heardLedger struct {
	ledger.Ledger
	graphs []*graphSource
}

// Clusters implements [ledger.Clusters].
func (l heardLedger) Clusters(ctx context.Context, q ledger.ClusterQuery) ([]ledger.Cluster, error) {
	all, err := l.Ledger.Clusters(ctx, q)
	for i := range all {
		for _, g := range l.graphs {
			g.setReadUntil(&all[i])
		}
	}
	return all, err
}

// heard returns the ledger with clusters that know until when they could be heard.
func (s *Server) heard() ledger.Ledger {
	if len(s.graphs) == 0 {
		return s.Ledger
	}
	return heardLedger{s.Ledger, s.graphs}
}
