package web_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet/largefleet"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// BenchmarkExplain requests explanations in an environment of 100,000 assignments, and its comparison with one where a value of every
// cluster type differs. Each request renders the page again.
func BenchmarkExplain(b *testing.B) {
	if testing.Short() {
		b.Skip("it makes a large fleet")
	}
	w := newWorld(b)
	spec := largefleet.Spec{Targets: 500, ClusterTypes: 200}
	round := func(seed uint64) *query.Scheduled {
		spec.Seed = seed
		s := assemble(spec)
		built := bundle.Build(s, nil, nil)
		return &query.Scheduled{At: noon, Snapshot: s, Decisions: built.Decisions, Outcome: &schedule.Outcome{Bundle: built, Loaded: &schedule.Loaded{Snapshot: s}}}
	}
	dev := round(0)
	w.fleet = fleet{{
		URL: "https://git.example.com/acme/control-plane", Environments: []string{"dev", "prod"},
		Scheduling: map[string]*query.Scheduled{"dev": dev, "prod": round(1)},
	}}
	mux := http.NewServeMux()
	w.pages.Register(mux)
	target := url.QueryEscape(dev.Snapshot.Targets[17].Name)
	for name, path := range map[string]string{
		"one":     "/environments/dev/explain?target=" + target + "&clusterType=" + dev.Snapshot.ClusterTypes[42].Name,
		"all":     "/environments/dev/explain?target=" + target,
		"compare": "/compare?a=dev&b=prod",
	} {
		b.Run(name, func(b *testing.B) { measure(b, mux, path) })
	}
}
