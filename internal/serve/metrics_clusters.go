package serve

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kalypso-io/kalypso/internal/hub/query"
)

// Fleet is what clusters are known to run.
type Fleet interface {
	Environments(ctx context.Context, q query.EnvironmentsQuery) (query.Page[query.Environment], error)
}

// ClusterMetrics exports how many clusters of each environment are in each state, as the pages count them: a cluster
// fails if a workload on it fails, also if the environment's gate counts only the platform's own objects.
type ClusterMetrics struct {
	// Fleet is read for each scrape. // required
	Fleet Fleet
}

// clustersTimeout limits the reading of the fleet for a scrape.
const clustersTimeout = 5 * time.Second

var clusterStates = prometheus.NewDesc("kalypso_clusters",
	"Clusters of an environment, by the most urgent state of their own and of their workloads.", []string{"control_plane", "environment", "state"}, nil)

// Describe implements [prometheus.Collector].
func (*ClusterMetrics) Describe(ch chan<- *prometheus.Desc) { ch <- clusterStates }

// Collect implements [prometheus.Collector].
func (c *ClusterMetrics) Collect(ch chan<- prometheus.Metric) {
	ctx, end := context.WithTimeout(context.Background(), clustersTimeout)
	defer end()
	type place struct{ controlPlane, environment string }
	seen := map[place]bool{} // a second value of the same name would hide all metrics
	for q := (query.EnvironmentsQuery{Paging: query.Paging{Limit: query.MaxLimit}}); ; {
		page, err := c.Fleet.Environments(ctx, q)
		if err != nil {
			return // a ledger that cannot be read has other signs, and must not hide the other metrics
		}
		for i := range page.Items {
			e := &page.Items[i]
			if at := (place{label(e.ControlPlane), e.Name}); !seen[at] {
				seen[at] = true
				collectClusters(ch, e)
			}
		}
		if q.After = page.Next; q.After == "" {
			return
		}
	}
}

func collectClusters(ch chan<- prometheus.Metric, e *query.Environment) {
	if e.Health == nil {
		return
	}
	for _, state := range query.MapStates() {
		n := float64(e.Health.Clusters.Of(state))
		ch <- prometheus.MustNewConstMetric(clusterStates, prometheus.GaugeValue, n, label(e.ControlPlane), e.Name, string(state))
	}
}
