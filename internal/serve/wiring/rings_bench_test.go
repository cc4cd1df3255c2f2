package wiring

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/agent"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/sample/simulate"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// rollout measures how a change goes through rings. The controller is what a server does: scheduling rounds, rounds of promotion, and
// taking reports. Clusters are simulated, by a clock of their own.
type rollout struct {
	*ringsWorld
	schedule, promote, take time.Duration
	rounds, moves           int
	began                   time.Time // by the clock of the clusters
	mu                      sync.Mutex
}

// newRollout returns an environment in which all clusters of rings run the same.
func newRollout(b *testing.B, rules string, clusters map[string]string) *rollout {
	b.Helper()
	r := &rollout{ringsWorld: newRingsWorld(b, rules, nil)}
	files := map[string]string{}
	for name, labels := range clusters {
		files["clusters.yaml"] += clusterObject(name, labels, "") + "---\n"
	}
	r.Push(fleettest.ControlPlane, "prod", files)
	r.clusters = clusters
	for name := range clusters {
		r.register(name)
		err := r.simulation.Add(simulate.Cluster{
			Name: name, Reconciler: simulate.Flux, Memberships: []simulate.Membership{{
				Environment: "prod", ClusterType: "flux", Rings: true, GitOps: hub.Repository{Repo: r.URL + "/" + fleettest.GitOps},
			}},
		}, timedSender{sender{r.ringsWorld}, r})
		if err != nil {
			b.Fatal(err)
		}
	}
	r.finish()
	return r
}

// timedSender measures the intake.
type timedSender struct {
	sender
	r *rollout
}

var _ agent.Server = timedSender{}

func (s timedSender) Send(ctx context.Context, batch hub.ReportBatch) (hub.ReportReceipt, error) {
	began := time.Now()
	receipt, err := s.sender.Send(ctx, batch)
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	s.r.take += time.Since(began)
	return receipt, err
}

// finish runs rounds every ten seconds of the clusters' clock, until the head of the GitOps branch is deployed in all rings.
func (r *rollout) finish() {
	r.Helper()
	r.schedule, r.promote, r.take, r.rounds, r.moves, r.began = 0, 0, 0, 0, 0, r.now
	for range 1000 {
		r.now = r.now.Add(10 * time.Second)
		began := time.Now()
		if from := r.inputs("prod"); r.outcomes["prod"] == nil || r.scheduled["prod"] != from {
			r.outcomes["prod"], r.scheduled["prod"] = r.round("prod"), from
		}
		scheduled := time.Now()
		r.simulation.Step(r.Context(), r.now)
		r.last = r.now
		followed := time.Now()
		o, err := r.promoter.Round(r.Context(), r.pipeline())
		if err != nil {
			r.Fatal(err)
		}
		r.schedule += scheduled.Sub(began)
		r.promote += time.Since(followed)
		r.rounds++
		r.moves += len(o.Did)
		s := standing(o, "prod")
		if done := s.Phase == decide.Good && s.Rollout.Commit == r.Head(fleettest.GitOps, "prod") && len(s.Rings) > 0; done && r.everywhere(s.Rollout.Commit) {
			return
		}
	}
	r.Fatal("it does not end")
}

// everywhere reports whether the ledger knows that all clusters run a commit.
func (r *rollout) everywhere(commit string) bool {
	r.Helper()
	page, err := r.ledger.States(r.Context(), ledger.StateQuery{Repository: ledger.CleanRepository(r.URL + "/" + fleettest.GitOps)})
	if err != nil {
		r.Fatal(err)
	}
	n := 0
	for _, s := range page.States {
		if s.Reconciler.Name == "platform-prod" && s.State == ledger.StateReady && s.Revision == commit {
			n++
		}
	}
	return n == len(r.clusters)
}

func (r *rollout) report(b *testing.B) {
	b.Helper()
	b.ReportMetric((r.schedule + r.promote + r.take).Seconds(), "controller-s")
	b.ReportMetric(r.schedule.Seconds(), "schedule-s")
	b.ReportMetric(r.promote.Seconds(), "promote-s")
	b.ReportMetric(r.take.Seconds(), "reports-s")
	b.ReportMetric(float64(r.rounds), "rounds")
	b.ReportMetric(r.now.Sub(r.began).Seconds(), "clusters-s")
}

// BenchmarkStagedRollout is the recipe with which KubeFleet measured staged updates: 100 clusters in stages of 20, 30 and 50, of which at most half
// change at the same time.
func BenchmarkStagedRollout(b *testing.B) {
	clusters := map[string]string{}
	for i := range 100 {
		stage := "third"
		switch {
		case i < 20:
			stage = "first"
		case i < 50:
			stage = "second"
		}
		clusters[fmt.Sprintf("flux-%03d", i)] = "{stage: " + stage + "}"
	}
	r := newRollout(b, `
    rings:
    - {name: first, selector: {matchLabels: {stage: first}}, maxUnavailable: 50%}
    - {name: second, selector: {matchLabels: {stage: second}}, maxUnavailable: 50%}
    - {name: third, maxUnavailable: 50%}`, clusters)
	n := 0
	for b.Loop() {
		n++
		r.greet(fmt.Sprint("value-", n))
		r.finish()
	}
	r.report(b)
}

// BenchmarkRolloutOfAFleet changes a value of 10,000 clusters in five rings, and restarts the server. RINGS_CLUSTERS is another number.
func BenchmarkRolloutOfAFleet(b *testing.B) {
	count := 10_000
	if n, err := strconv.Atoi(os.Getenv("RINGS_CLUSTERS")); err == nil {
		count = n
	}
	if testing.Short() {
		b.Skip("it simulates many clusters")
	}
	clusters := map[string]string{}
	for i := range count {
		clusters[fmt.Sprintf("flux-%05d", i)] = "{}"
	}
	r := newRollout(b, `
    rings:
    - {name: canary, percent: 1}
    - {name: early, percent: 5}
    - {name: some, percent: 25, maxUnavailable: 50%}
    - {name: most, percent: 60, maxUnavailable: 50%}
    - {name: others, maxUnavailable: 50%}`, clusters)
	n := 0
	for b.Loop() {
		n++
		r.greet(fmt.Sprint("value-", n))
		r.finish()
	}
	r.report(b)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys-m.HeapReleased)/1e6, "MB-of-the-system")
	began := time.Now()
	r.reboot()
	r.flows = r.restarted(b)
	r.outcomes["prod"] = r.round("prod")
	if o, err := r.promoter.Round(b.Context(), r.pipeline()); err != nil || standing(o, "prod").Phase != decide.Good || len(o.Did) > 0 {
		b.Fatal(err, standing(o, "prod"))
	}
	b.ReportMetric(time.Since(began).Seconds(), "restart-s")
	runtime.GC()
	runtime.ReadMemStats(&m)
	simulated := m.HeapAlloc
	r.simulation = nil // what is left is the server's
	runtime.GC()
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapAlloc)/1e6, "MB-kept")
	b.ReportMetric(float64(simulated-m.HeapAlloc)/1e6, "MB-simulated")
	runtime.KeepAlive(r)
}

// restarted returns flows without caches.
func (r *rollout) restarted(b *testing.B) *Flows {
	b.Helper()
	flows := newFlows(b)
	flows.Forges, flows.Client.Map = r.flows.Forges, r.flows.Client.Map
	return flows
}
