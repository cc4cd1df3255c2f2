package wiring

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kalypso-io/kalypso/internal/git"
)

// sourceMetrics export the repositories that exceed the limits of time, at each scrape.
type sourceMetrics struct{ unavailable func() []git.Unavailable }

var _ prometheus.Collector = (*sourceMetrics)(nil)

var sourceUnavailable = prometheus.NewDesc(
	"kalypso_source_unavailable_timestamp_seconds", "Since when a repository does not answer in time. Repositories that answer are not listed.",
	[]string{"repository"}, nil,
)

// Describe implements [prometheus.Collector].
func (m *sourceMetrics) Describe(to chan<- *prometheus.Desc) { to <- sourceUnavailable }

// Collect implements [prometheus.Collector].
func (m *sourceMetrics) Collect(to chan<- prometheus.Metric) {
	for _, u := range m.unavailable() {
		to <- prometheus.MustNewConstMetric(sourceUnavailable, prometheus.GaugeValue, float64(u.Since.Unix()), u.Repository)
	}
}
