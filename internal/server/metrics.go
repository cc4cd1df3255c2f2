package server

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/scheduling"
)

// Metrics count what the server does, for Prometheus. The nil pointer counts nothing.
type Metrics struct {
	registry  prometheus.Registerer
	durations *prometheus.HistogramVec
	calls     *prometheus.CounterVec
	open      *prometheus.GaugeVec
	problems  *prometheus.GaugeVec
	counts    *prometheus.GaugeVec
	webhooks  *prometheus.CounterVec
}

// NewMetrics registers the metrics. Names and labels are an interface: docs/reference/serve.md lists them.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		registry: r,
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "kalypso_work_duration_seconds", Help: "How long work on one item took, by kind of work and result.",
			Buckets: []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}, []string{"work", "result"}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kalypso_forge_calls_total", Help: "Requests to forges, by host, operation and result.",
		}, []string{"host", "operation", "result"}),
		open: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kalypso_change_open", Help: "Whether the living change request of an environment is open.",
		}, []string{"environment"}),
		problems: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kalypso_problems", Help: "Problems of an environment, by severity.",
		}, []string{"environment", "severity"}),
		counts: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kalypso_assignments", Help: "Assignments of an environment, by what the open plan does to them.",
		}, []string{"environment", "state"}),
		webhooks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kalypso_webhooks_total", Help: "Deliveries of forges, by forge and result.",
		}, []string{"forge", "result"}),
	}
	r.MustRegister(m.durations, m.calls, m.open, m.problems, m.counts, m.webhooks)
	return m
}

// observeQueue shows how much waits.
func (m *Metrics) observeQueue(length func() int) {
	if m == nil {
		return
	}
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kalypso_queue_depth", Help: "Items that wait to be worked on.",
	}, func() float64 { return float64(length()) }))
}

// worked counts the work on one item.
func (m *Metrics) worked(i item, d time.Duration, err error) {
	if m == nil {
		return
	}
	result := "done"
	if err != nil {
		result = "failed"
	}
	m.durations.WithLabelValues(strings.ReplaceAll(string(i.task), " ", "-"), result).Observe(d.Seconds())
}

// outcome shows what a round found.
func (m *Metrics) outcome(environment string, o *scheduling.Outcome) {
	if m == nil || o.Plan == nil {
		return
	}
	open := 0.0
	if o.Change != nil && o.Change.State == forge.Open {
		open = 1
	}
	m.open.WithLabelValues(environment).Set(open)
	severities := map[fleet.Severity]int{fleet.SeverityError: 0, fleet.SeverityWarning: 0, fleet.SeverityNotice: 0}
	for _, p := range o.Plan.Problems {
		severities[p.Severity]++
	}
	for severity, n := range severities {
		m.problems.WithLabelValues(environment, string(severity)).Set(float64(n))
	}
	c := o.Plan.Counts
	for state, n := range map[string]int{"added": c.Added, "changed": c.Changed, "removed": c.Removed, "held": c.Held, "unchanged": c.Unchanged} {
		m.counts.WithLabelValues(environment, state).Set(float64(n))
	}
}

// ForgeCall counts a request to a forge; it is for the transport's hook.
func (m *Metrics) ForgeCall(host, operation, result string) {
	if m != nil {
		m.calls.WithLabelValues(host, operation, result).Inc()
	}
}

// webhook counts a delivery.
func (m *Metrics) webhook(forge, result string) {
	if m != nil {
		m.webhooks.WithLabelValues(forge, result).Inc()
	}
}
