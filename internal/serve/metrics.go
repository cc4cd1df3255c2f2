package serve

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/schedule"
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

	reconcilers *prometheus.GaugeVec
	phases      *prometheus.GaugeVec
	since       *prometheus.GaugeVec
	behind      *prometheus.GaugeVec
	reports     prometheus.Counter

	applications *applicationMetrics
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
			Name: "kalypso_change_open", Help: "Whether the living pull request of an environment is open.",
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
		reconcilers: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kalypso_reconcilers", Help: "Reconcilers that the gate of an environment expects, by how they stand to its commit.",
		}, []string{"environment", "state"}),
		phases: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kalypso_promotion_phase", Help: "1 for the phase that the commit of an environment is in.",
		}, []string{"environment", "phase"}),
		since: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kalypso_promotion_phase_timestamp_seconds", Help: "When that phase began.",
		}, []string{"environment"}),
		behind: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kalypso_promotion_commits_behind", Help: "Commits of main that are newer than the one of an environment.",
		}, []string{"environment"}),
		reports: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "kalypso_reports_total", Help: "Reports of clusters that were stored.",
		}),
	}
	m.applications = newApplicationMetrics(r)
	r.MustRegister(m.durations, m.calls, m.open, m.problems, m.counts, m.webhooks, m.reconcilers, m.phases, m.since, m.behind, m.reports)
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
func (m *Metrics) outcome(environment string, o *schedule.Outcome) {
	if m == nil || o.Plan == nil {
		return
	}
	open := 0.0
	if o.PullRequest != nil && o.PullRequest.State == forge.Open {
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

// stand shows how the environments of a chain stand.
func (m *Metrics) stand(environments []promote.Standing) {
	if m == nil {
		return
	}
	for i := range environments {
		e := &environments[i]
		c := e.Verdict.Counts
		for state, n := range map[comply.State]int{
			comply.Reached: c.Reached, comply.Behind: c.Behind, comply.Broken: c.Failed,
			comply.Offline: c.Offline, comply.Missing: c.Missing,
		} {
			m.reconcilers.WithLabelValues(e.Environment, string(state)).Set(float64(n))
		}
		m.phases.DeletePartialMatch(prometheus.Labels{"environment": e.Environment})
		m.phases.WithLabelValues(e.Environment, string(e.Phase)).Set(1)
		if !e.Since.IsZero() {
			m.since.WithLabelValues(e.Environment).Set(float64(e.Since.Unix()))
		}
		m.behind.WithLabelValues(e.Environment).Set(float64(e.Behind))
	}
}

// reported counts reports of clusters that were stored.
func (m *Metrics) reported(n int) {
	if m != nil {
		m.reports.Add(float64(n))
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
