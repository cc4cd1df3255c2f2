package serve

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// Metrics are the server's Prometheus metrics. A nil pointer counts nothing.
type Metrics struct {
	registry  prometheus.Registerer
	durations *prometheus.HistogramVec
	calls     *prometheus.CounterVec
	open      *prometheus.GaugeVec
	problems  *prometheus.GaugeVec
	counts    *prometheus.GaugeVec
	webhooks  *prometheus.CounterVec
	scheduled *prometheus.GaugeVec

	reconcilers *prometheus.GaugeVec
	degraded    *prometheus.GaugeVec
	phases      *prometheus.GaugeVec
	since       *prometheus.GaugeVec
	behind      *prometheus.GaugeVec
	rings       ringMetrics
	reports     prometheus.Counter
	schedulers  *prometheus.HistogramVec

	applications *applicationMetrics
	messages     *messageMetrics
}

// reconcilerStates returns the numbers of reconcilers by state.
func reconcilerStates(c comply.Counts) map[comply.State]int {
	return map[comply.State]int{
		comply.Reached: c.Reached, comply.Behind: c.Behind, comply.Broken: c.Failed, comply.Offline: c.Offline, comply.Missing: c.Missing,
	}
}

// NewMetrics registers the metrics. Their names and labels are an interface, documented in docs/reference/serve.md.
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
		}, []string{"control_plane", "environment"}),
		problems: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kalypso_problems", Help: "Problems of an environment, by severity.",
		}, []string{"control_plane", "environment", "severity"}),
		counts: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kalypso_assignments", Help: "Assignments of an environment, by what the open plan does to them.",
		}, []string{"control_plane", "environment", "state"}),
		webhooks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kalypso_webhooks_total", Help: "Deliveries of forges, by forge and result.",
		}, []string{"forge", "result"}),
		reconcilers: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kalypso_reconcilers", Help: "Reconcilers that the gate of an environment expects, by how they stand to its commit.",
		}, []string{"control_plane", "environment", "state"}),
		degraded: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kalypso_reconcilers_degraded", Help: "Reconcilers that the gate of an environment expects and whose objects are degraded.",
		}, []string{"control_plane", "environment"}),
		phases: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kalypso_promotion_phase", Help: "1 for the phase that the commit of an environment is in.",
		}, []string{"control_plane", "environment", "phase"}),
		since: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kalypso_promotion_phase_timestamp_seconds", Help: "When that phase began.",
		}, []string{"control_plane", "environment"}),
		behind: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kalypso_promotion_commits_behind", Help: "Commits of main that are newer than the one of an environment.",
		}, []string{"control_plane", "environment"}),
		scheduled: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kalypso_scheduled_timestamp_seconds", Help: "When an environment's last successful round ended or, before the first one, when the environment was first read.",
		}, []string{"control_plane", "environment"}),
		reports: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "kalypso_reports_total", Help: "Reports of clusters that were stored.",
		}),
	}
	m.schedulers = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "kalypso_scheduler_request_duration_seconds", Help: "How long external schedulers and extenders took for an answer, by name and result.",
		Buckets: []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120},
	}, []string{"scheduler", "result"})
	m.applications, m.messages, m.rings = newApplicationMetrics(r), newMessageMetrics(r), newRingMetrics(r)
	r.MustRegister(m.schedulers, m.durations, m.calls, m.open, m.problems, m.counts, m.webhooks, m.reconcilers, m.degraded, m.phases, m.since, m.behind, m.scheduled, m.reports)
	return m
}

// observeQueue exports the length of the queue.
func (m *Metrics) observeQueue(length func() int) {
	if m == nil {
		return
	}
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kalypso_queue_depth", Help: "Items that wait to be worked on.",
	}, func() float64 { return float64(length()) }))
}

// worked counts a round.
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

// environments are the metrics of environments, with the labels control_plane and environment.
func (m *Metrics) environments() []*prometheus.GaugeVec {
	return append(m.rings.all(), m.open, m.problems, m.counts, m.reconcilers, m.degraded, m.phases, m.since, m.behind, m.scheduled)
}

// removed removes an environment.
func (m *Metrics) removed(controlPlane, environment string) {
	if m == nil {
		return
	}
	for _, g := range m.environments() {
		g.DeletePartialMatch(prometheus.Labels{"control_plane": label(controlPlane), "environment": environment})
	}
}

// label returns the URL of a control plane without credentials.
func label(controlPlane string) string { return ledger.CleanRepository(controlPlane) }

// finished sets when the last scheduling round of an environment succeeded or, before the first one, when the environment was first
// read, so that rounds that never end are seen.
func (m *Metrics) finished(controlPlane, environment string, at time.Time) {
	if m != nil {
		m.scheduled.WithLabelValues(label(controlPlane), environment).Set(float64(at.UnixMicro()) / 1e6)
	}
}

// outcome exports the result of a scheduling round.
func (m *Metrics) outcome(controlPlane, environment string, o *schedule.Outcome) {
	if m == nil || o.Plan == nil {
		return
	}
	at := label(controlPlane)
	open := 0.0
	if o.PullRequest != nil && o.PullRequest.State == forge.Open {
		open = 1
	}
	m.open.WithLabelValues(at, environment).Set(open)
	severities := map[fleet.Severity]int{fleet.SeverityError: 0, fleet.SeverityWarning: 0, fleet.SeverityNotice: 0}
	for _, p := range o.Plan.Problems {
		severities[p.Severity]++
	}
	for severity, n := range severities {
		m.problems.WithLabelValues(at, environment, string(severity)).Set(float64(n))
	}
	c := o.Plan.Counts
	for state, n := range map[string]int{"added": c.Added, "changed": c.Changed, "removed": c.Removed, "held": c.Held, "unchanged": c.Unchanged} {
		m.counts.WithLabelValues(at, environment, state).Set(float64(n))
	}
}

// Stand exports the states of the environments of a chain.
func (m *Metrics) Stand(controlPlane string, environments []promote.Standing) {
	if m == nil {
		return
	}
	at := label(controlPlane)
	for i := range environments {
		e := &environments[i]
		c := e.Verdict.Counts
		for state, n := range reconcilerStates(c) {
			m.reconcilers.WithLabelValues(at, e.Environment, string(state)).Set(float64(n))
		}
		m.degraded.WithLabelValues(at, e.Environment).Set(float64(c.Degraded))
		m.phases.DeletePartialMatch(prometheus.Labels{"control_plane": at, "environment": e.Environment})
		m.phases.WithLabelValues(at, e.Environment, string(e.Phase)).Set(1)
		if !e.Since.IsZero() {
			m.since.WithLabelValues(at, e.Environment).Set(float64(e.Since.Unix()))
		}
		m.behind.WithLabelValues(at, e.Environment).Set(float64(e.Behind))
		m.rings.stand(at, e.Environment, e.Rings)
	}
}

// reported counts stored reports.
func (m *Metrics) reported(n int) {
	if m != nil {
		m.reports.Add(float64(n))
	}
}

// ForgeCall counts a request to a forge.
func (m *Metrics) ForgeCall(host, operation, result string) {
	if m != nil {
		m.calls.WithLabelValues(host, operation, result).Inc()
	}
}

// SchedulerAsked counts a request to an external scheduler.
func (m *Metrics) SchedulerAsked(scheduler string, took time.Duration, err error) {
	if m == nil {
		return
	}
	result := "answered"
	if err != nil {
		result = "failed"
	}
	m.schedulers.WithLabelValues(scheduler, result).Observe(took.Seconds())
}

// webhook counts a delivery of a forge.
func (m *Metrics) webhook(forge, result string) {
	if m != nil {
		m.webhooks.WithLabelValues(forge, result).Inc()
	}
}
