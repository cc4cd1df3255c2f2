package serve

import "github.com/prometheus/client_golang/prometheus"

// ObserveReplicas adds the metrics of a server among replicas. state returns how many live, how many units of work this one holds, and
// how often it lost its lease.
func (m *Metrics) ObserveReplicas(state func() (replicas, units, losses int)) {
	if m == nil {
		return
	}
	gauge := func(name, help string, value func() int) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) }))
	}
	gauge("kalypso_replicas", "Servers that share the work, as this one sees them; 0 while it has no lease.", func() int { n, _, _ := state(); return n })
	gauge("kalypso_replica_units", "Environments, chains and applications that this server works on.", func() int { _, n, _ := state(); return n })
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "kalypso_replica_losses_total", Help: "How often this server lost its lease.",
	}, func() float64 { _, _, n := state(); return float64(n) }))
}
