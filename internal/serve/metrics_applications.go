package serve

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// applicationMetrics export the states of applications in their environments.
type applicationMetrics struct {
	phases, since, behind, reconcilers, open, problems, held, drifted *prometheus.GaugeVec
}

func newApplicationMetrics(r prometheus.Registerer) *applicationMetrics {
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(
			prometheus.GaugeOpts{Name: "kalypso_application_" + name, Help: help}, append([]string{"control_plane", "workload", "environment"}, labels...),
		)
		r.MustRegister(g)
		return g
	}
	return &applicationMetrics{
		phases:      gauge("phase", "1 for the phase that an application's commit is in.", "phase"),
		since:       gauge("phase_timestamp_seconds", "When that phase began."),
		behind:      gauge("builds_behind", "Builds of an application that are newer than the one of an environment."),
		reconcilers: gauge("reconcilers", "Reconcilers that the gate of an application expects, by how they stand to its commit.", "state"),
		open:        gauge("change_open", "Whether the living pull request of an application is open."),
		problems:    gauge("problems", "Problems of an application, by severity.", "severity"),
		held:        gauge("held_targets", "Targets of an application that keep the files they have because of a problem."),
		drifted:     gauge("drifted_files", "Files of an application that were changed by hand."),
	}
}

func (m *applicationMetrics) all() []*prometheus.GaugeVec {
	return []*prometheus.GaugeVec{m.phases, m.since, m.behind, m.reconcilers, m.open, m.problems, m.held, m.drifted}
}

// delivered exports the state of an application, in place of its previous state.
func (m *Metrics) delivered(a *query.Application) {
	if m == nil || a == nil {
		return
	}
	m.forget(a.ControlPlane, a.Name)
	for i := range a.Environments {
		m.applications.stand(label(a.ControlPlane), a.Name, &a.Environments[i])
	}
}

// undelivered removes an application.
func (m *Metrics) undelivered(controlPlane, subject string) {
	if workload, ok := deliver.WorkloadOf(subject); ok && m != nil {
		m.forget(controlPlane, workload)
	}
}

func (m *Metrics) forget(controlPlane, workload string) {
	for _, g := range m.applications.all() {
		g.DeletePartialMatch(prometheus.Labels{"control_plane": label(controlPlane), "workload": workload})
	}
}

// stand exports the state of an application in an environment.
func (m *applicationMetrics) stand(controlPlane, workload string, e *query.ApplicationEnvironment) {
	set := func(g *prometheus.GaugeVec, value float64, label ...string) {
		g.WithLabelValues(append([]string{controlPlane, workload, e.Environment}, label...)...).Set(value)
	}
	set(m.phases, 1, string(e.Phase))
	if !e.Since.IsZero() {
		set(m.since, float64(e.Since.Unix()))
	}
	set(m.behind, float64(e.Behind))
	set(m.open, 0)
	if e.Change != nil {
		set(m.open, 1)
	}
	set(m.problems, float64(e.Problems.Errors), "error")
	set(m.problems, float64(e.Problems.Warnings), "warning")
	set(m.problems, float64(e.Problems.Notices), "notice")
	set(m.held, float64(e.Held))
	set(m.drifted, float64(e.Drift))
	if e.Gate == nil {
		return
	}
	c := e.Gate.Counts
	for state, n := range map[string]int{"reached": c.Reached, "behind": c.Behind, "failed": c.Failed, "offline": c.Offline, "missing": c.Missing} {
		set(m.reconcilers, float64(n), state)
	}
}
