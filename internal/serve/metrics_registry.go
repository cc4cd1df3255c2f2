package serve

import "github.com/prometheus/client_golang/prometheus"

// ObserveRegistry adds the metrics of the embedded registry: how much of its size is used, in bytes.
func (m *Metrics) ObserveRegistry(used func() int64, size int64) {
	if m == nil {
		return
	}
	gauge := func(name, help string, value func() float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	gauge("kalypso_registry_used_bytes", "What the embedded registry stores.", func() float64 { return float64(used()) })
	gauge("kalypso_registry_size_bytes", "How much the embedded registry may store.", func() float64 { return float64(size) })
}
