package serve

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote"
)

// ringMetrics are the metrics of rings, with the labels control_plane, environment and ring.
type ringMetrics struct {
	phases, behind, clusters, batches *prometheus.GaugeVec
}

func newRingMetrics(r prometheus.Registerer) ringMetrics {
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "kalypso_ring_" + name, Help: help},
			append([]string{"control_plane", "environment", "ring"}, labels...))
		r.MustRegister(g)
		return g
	}
	return ringMetrics{
		phases:   gauge("phase", "1 for the phase that the newest commit of a ring is in.", "phase"),
		behind:   gauge("commits_behind", "Commits of the GitOps branch that are newer than the newest one of a ring."),
		clusters: gauge("reconcilers", "Reconcilers of a ring, by how they stand to its newest commit.", "state"),
		batches:  gauge("batches_left", "Batches of a ring that do not have its newest commit yet."),
	}
}

func (m *ringMetrics) all() []*prometheus.GaugeVec {
	return []*prometheus.GaugeVec{m.phases, m.behind, m.clusters, m.batches}
}

// stand exports the states of an environment's rings, in place of the previous ones.
func (m *ringMetrics) stand(controlPlane, environment string, stages []promote.RingStanding) {
	for _, g := range m.all() {
		g.DeletePartialMatch(prometheus.Labels{"control_plane": controlPlane, "environment": environment})
	}
	for _, r := range query.RingsOf(stages) {
		set := func(g *prometheus.GaugeVec, value int, label ...string) {
			g.WithLabelValues(append([]string{controlPlane, environment, r.Name}, label...)...).Set(float64(value))
		}
		set(m.phases, 1, string(r.Phase))
		set(m.behind, r.Behind)
		set(m.batches, r.Batches-r.Updated)
		for state, n := range reconcilerStates(r.Counts) {
			set(m.clusters, n, string(state))
		}
	}
}
