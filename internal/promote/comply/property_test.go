package comply_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/text/revisions"
)

var noon = at("12:00")

// drawQuestion returns a random small fleet, whose clusters may follow a branch of four commits.
func drawQuestion(t *rapid.T) comply.Question {
	minutes := func(name string) time.Time {
		return noon.Add(time.Duration(rapid.IntRange(-90, 60).Draw(t, name)) * time.Minute)
	}
	var clusters []comply.Cluster
	for i := range rapid.IntRange(0, 5).Draw(t, "clusters") {
		c := comply.Cluster{Name: fmt.Sprintf("c%d", i), Heard: minutes("heard")}
		for _, ct := range rapid.SliceOfN(rapid.SampledFrom([]string{"drone", "large"}), 0, 2).Draw(t, "types") {
			c.Memberships = append(c.Memberships, comply.Membership{Environment: "dev", ClusterType: ct})
		}
		clusters = append(clusters, c)
	}
	q := comply.Question{
		Commit: hash("c2"), Published: minutes("published"),
		Expected: comply.ExpectPlatform(clusters, "dev", hub.Source{Repository: gitOps, Ref: "dev"}, comply.Folders{}),
		History:  comply.HistoryOf(map[string]bool{hash("c1"): false, hash("c2"): true, hash("c3"): true}),
		Gate: comply.Gate{
			Require:   comply.Require{Count: rapid.IntRange(0, 4).Draw(t, "require")},
			Offline:   rapid.SampledFrom([]v1alpha1.OfflinePolicy{"", v1alpha1.OfflineBlock, v1alpha1.OfflineIgnore, v1alpha1.OfflineWait}).Draw(t, "offline"),
			Timeout:   time.Duration(rapid.IntRange(0, 2).Draw(t, "timeout")) * time.Hour,
			AllowNone: rapid.Bool().Draw(t, "allow none"),
			Healthy:   rapid.Bool().Draw(t, "healthy"),
			MaxDelay:  time.Duration(rapid.IntRange(0, 2).Draw(t, "max delay")) * time.Hour,
		},
	}
	q.Observations = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) comply.Observation {
		return comply.Observation{
			Cluster:    fmt.Sprintf("c%d", rapid.IntRange(0, 5).Draw(t, "cluster")),
			Reconciler: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "reconciler"),
			Source:     hub.Source{Repository: gitOps, Ref: "dev", Path: rapid.SampledFrom([]string{"", "drone", "large", "large"}).Draw(t, "path")},
			Revision:   revision(rapid.SampledFrom([]string{"c1", "c2", "c3", "cf"}).Draw(t, "revision")),
			State:      rapid.SampledFrom([]hub.State{hub.StateReady, hub.StateReady, hub.StateProgressing, hub.StateFailed, hub.StateSuspended, "odd"}).Draw(t, "state"),
			Applied:    applied(rapid.SampledFrom([]string{"", "c1", "c2", "c3", "cf"}).Draw(t, "applied")),
			Health:     rapid.SampledFrom([]hub.Health{"", hub.HealthHealthy, hub.HealthProgressing, hub.HealthDegraded, "odd"}).Draw(t, "health"),
			Observed:   minutes("observed"),
		}
	}), 0, 12).Draw(t, "observations")
	return q
}

// TestOrderAndRepetitionDoNotMatter checks that late, repeated and unordered reports give the same verdict.
func TestOrderAndRepetitionDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := drawQuestion(t)
		other := q
		other.Expected = rapid.Permutation(append(slices.Clone(q.Expected), q.Expected...)).Draw(t, "expected")
		other.Observations = rapid.Permutation(append(slices.Clone(q.Observations), q.Observations...)).Draw(t, "observed")
		if diff := cmp.Diff(comply.Judge(q, noon), comply.Judge(other, noon)); diff != "" {
			t.Fatalf("verdicts (-ordered +unordered):\n%s", diff)
		}
	})
}

func TestExpectedReconcilersAreCountedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := drawQuestion(t)
		v := comply.Judge(q, noon)
		c := v.Counts
		if len(v.Reconcilers) != len(q.Expected) || c.Expected != len(q.Expected) {
			t.Fatalf("%d reconcilers and %d counted of %d expected", len(v.Reconcilers), c.Expected, len(q.Expected))
		}
		if sum := c.Reached + c.Behind + c.Failed + c.Offline + c.Missing; sum != c.Expected {
			t.Fatalf("the states make %d of %d", sum, c.Expected)
		}
		for _, r := range v.Reconcilers {
			if r.Reason == "" || r.State == "" || r.Since.After(noon) {
				t.Fatalf("no reason, no state, or from the future: %+v", r)
			}
		}
		counted := slices.DeleteFunc(slices.Clone(v.Reconcilers), func(r comply.Reconciler) bool { return r.Uncounted })
		if len(counted) != c.Counted || slices.ContainsFunc(v.Reconcilers, func(r comply.Reconciler) bool { return r.Uncounted && r.State == comply.Reached }) {
			t.Fatalf("%d counted: %+v", c.Counted, v.Reconcilers)
		}
	})
}

func TestGateWithoutClustersDoesNotPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := drawQuestion(t)
		v := comply.Judge(q, noon)
		if len(q.Expected) == 0 {
			want := comply.NoClusters
			if q.Gate.AllowNone {
				want = comply.Passed
			}
			if v.Result != want {
				t.Fatalf("nobody expected, allowed %v: got %s", q.Gate.AllowNone, v.Result)
			}
		} else if v.Result == comply.NoClusters || v.Result == comply.Passed && v.Counts.Reached == 0 {
			t.Fatalf("%d expected and %d reached: got %s", len(q.Expected), v.Counts.Reached, v.Result)
		}
	})
}

// TestNothingChangesBeforeNext checks that a verdict does not change before its Next.
func TestNothingChangesBeforeNext(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := drawQuestion(t)
		for i := range q.Observations { // The future becomes the past: its observations count as of another time.
			if q.Observations[i].Observed.After(noon) {
				q.Observations[i].Observed = noon
			}
		}
		for i := range q.Expected {
			if q.Expected[i].Heard.After(noon) {
				q.Expected[i].Heard = noon
			}
		}
		v := comply.Judge(q, noon)
		until := v.Next
		if until.IsZero() {
			until = noon.Add(1000 * time.Hour)
		}
		span := until.Sub(noon)
		when := noon.Add(time.Duration(rapid.Int64Range(0, int64(min(span, math.MaxInt64))-1).Draw(t, "when")))
		if later := comply.Judge(q, when); later.Result != v.Result {
			t.Fatalf("%s at noon, next at %s, but %s at %s", v.Result, v.Next, later.Result, when)
		}
	})
}

// TestOneWrongFieldDoesNotPass checks that the gate does not pass if one report differs from the truth in one field,
// and passes with the next true report.
func TestOneWrongFieldDoesNotPass(t *testing.T) {
	wrong := map[string]func(*comply.Observation){
		"cluster":     func(o *comply.Observation) { o.Cluster += "x" },
		"repository":  func(o *comply.Observation) { o.Source.Repository = "https://git.example/platform/other" },
		"host":        func(o *comply.Observation) { o.Source.Repository = "https://git.other/platform/gitops" },
		"ref":         func(o *comply.Observation) { o.Source.Ref = "stage" },
		"root":        func(o *comply.Observation) { o.Source.Path = "" },
		"parent":      func(o *comply.Observation) { o.Source.Path = "fleet" },
		"child":       func(o *comply.Observation) { o.Source.Path += "/dev-large-shop" },
		"another":     func(o *comply.Observation) { o.Source.Path = "fleet/drone" },
		"missing":     func(o *comply.Observation) { o.Source.Path = "does/not/exist" },
		"older":       func(o *comply.Observation) { o.Revision = revision("c1") },
		"unknown":     func(o *comply.Observation) { o.Revision = revision("cf") },
		"no revision": func(o *comply.Observation) { o.Revision = revisions.Revision{} },
		"failed":      func(o *comply.Observation) { o.State = hub.StateFailed },
		"progressing": func(o *comply.Observation) { o.State = hub.StateProgressing },
		"degraded":    func(o *comply.Observation) { o.Health = hub.HealthDegraded },
		"not healthy": func(o *comply.Observation) { o.Health = hub.HealthProgressing },
		"no health":   func(o *comply.Observation) { o.Health = "" },
		"odd health":  func(o *comply.Observation) { o.Health = "odd" },
		"not applied": func(o *comply.Observation) { o.Applied = revision("c1") },
		"no state":    func(o *comply.Observation) { o.State = "" },
	}
	rapid.Check(t, func(t *rapid.T) {
		var clusters []comply.Cluster
		var truth []comply.Observation
		for i := range rapid.IntRange(1, 5).Draw(t, "clusters") {
			name := fmt.Sprintf("c%d", i)
			clusters = append(clusters, comply.Cluster{
				Name: name, Memberships: []comply.Membership{{Environment: "dev", ClusterType: "large"}}, Heard: noon,
			})
			truth = append(truth, comply.Observation{
				Cluster: name, Reconciler: "platform", Source: hub.Source{Repository: gitOps, Ref: "dev", Path: "./fleet/large/"},
				Revision: revision(rapid.SampledFrom([]string{"c2", "c3"}).Draw(t, "revision")), State: hub.StateReady,
				Health: hub.HealthHealthy, Observed: noon.Add(-time.Minute),
			})
		}
		q := comply.Question{
			Commit: hash("c2"), Expected: comply.ExpectPlatform(clusters, "dev", hub.Source{Repository: gitOps, Ref: "dev", Path: "fleet"}, comply.Folders{}),
			History: comply.HistoryOf(map[string]bool{hash("c1"): false, hash("c2"): true, hash("c3"): true}),
			Gate:    comply.Gate{Healthy: true},
		}
		who := rapid.IntRange(0, len(truth)-1).Draw(t, "who")
		field := rapid.SampledFrom(slices.Sorted(maps.Keys(wrong))).Draw(t, "field")
		q.Observations = slices.Clone(truth)
		wrong[field](&q.Observations[who])
		if v := comply.Judge(q, noon); v.Result == comply.Passed {
			t.Fatalf("a wrong %s passed: %+v", field, v)
		}
		next := truth[who]
		next.Observed = noon
		q.Observations = append(q.Observations, next)
		if v := comply.Judge(q, noon); v.Result != comply.Passed {
			t.Fatalf("after a wrong %s and a true report: %s, %s", field, v.Result, v.Reason)
		}
	})
}
