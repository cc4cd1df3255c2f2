package comply_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/text/revisions"
)

// TestTimeline shows what the gate says over time about commit c2, which was published at 10:00, until 12:00.
// An event is a time, a cluster, and what it reports from then on; or a span of time, a cluster, and "silent".
func TestTimeline(t *testing.T) {
	tests := []struct {
		name   string
		gate   comply.Gate
		joined map[string]time.Time
		events []string
		want   []string
	}{
		{
			name:   "holds from when the last cluster runs it",
			events: []string{"09:00 a ready c1", "09:00 b ready c1", "10:10 a ready c2", "10:20 b ready c2"},
			want:   []string{"10:00-10:20 waiting: 0 of 2 run it, 2 behind", "10:20-12:00 holds: 2 of 2 run it"},
		},
		{
			name:   "is unknown while a cluster is silent, and holds again when it is heard",
			events: []string{"10:10 a ready c2", "10:10 b ready c2", "10:30-11:30 b silent"},
			want: []string{
				"10:00-10:10 waiting: 0 of 2 run it, 2 missing", "10:10-10:45 holds: 2 of 2 run it",
				"10:45-11:30 unknown: 1 of 2 run it, 1 offline", "11:30-12:00 holds: 2 of 2 run it",
			},
		},
		{
			name:   "is unknown, not failed, where offline clusters block",
			gate:   comply.Gate{Offline: v1alpha1.OfflineBlock},
			events: []string{"10:10 a ready c2", "10:10 b ready c2", "10:30-11:30 b silent"},
			want: []string{
				"10:00-10:10 waiting: 0 of 2 run it, 2 missing", "10:10-10:45 holds: 2 of 2 run it",
				"10:45-11:30 unknown: 1 of 2 run it, 1 offline", "11:30-12:00 holds: 2 of 2 run it",
			},
		},
		{
			name:   "is lost when a cluster runs an older commit again",
			events: []string{"10:10 a ready c2", "10:10 b ready c2", "11:00 b ready c1"},
			want: []string{
				"10:00-10:10 waiting: 0 of 2 run it, 2 missing", "10:10-11:00 holds: 2 of 2 run it", "11:00-12:00 lost: 1 of 2 run it, 1 behind",
			},
		},
		{
			name:   "is lost, not unknown, when the only cluster that is not silent runs an older commit",
			events: []string{"10:10 a ready c2", "10:10 b ready c2", "10:30-11:50 b silent", "11:00 a ready c1"},
			want: []string{
				"10:00-10:10 waiting: 0 of 2 run it, 2 missing", "10:10-10:45 holds: 2 of 2 run it", "10:45-11:00 unknown: 1 of 2 run it, 1 offline",
				"11:00-12:00 lost: 0 of 2 run it, 1 behind, 1 offline",
			},
		},
		{
			name:   "fails while a cluster fails",
			events: []string{"10:10 a ready c2", "10:10 b ready c2", "11:00 b failed c2", "11:30 b ready c2"},
			want: []string{
				"10:00-10:10 waiting: 0 of 2 run it, 2 missing", "10:10-11:00 holds: 2 of 2 run it",
				"11:00-11:30 failed: 1 of 2 run it, 1 failed (degraded)", "11:30-12:00 holds: 2 of 2 run it",
			},
		},
		{
			name:   "fails at the timeout, unless it held before",
			gate:   comply.Gate{Timeout: time.Hour},
			events: []string{"10:10 a ready c2", "09:00 b ready c1"},
			want:   []string{"10:00-11:00 waiting: 0 of 2 run it, 1 behind, 1 missing", "11:00-12:00 failed: 1 of 2 run it, 1 behind"},
		},
		{
			name:   "a cluster that joins counts from when it runs the commit",
			joined: map[string]time.Time{"b": at("10:30")},
			events: []string{"10:10 a ready c2", "10:40 b ready c1", "11:00 b ready c2", "11:30 b ready c1"},
			want: []string{
				"10:00-10:10 waiting: 0 of 1 run it, 1 missing", "10:10-11:30 holds: 1 of 1 run it", "11:30-12:00 lost: 1 of 2 run it, 1 behind",
			},
		},
		{
			name:   "a cluster that joins counts from its failure",
			joined: map[string]time.Time{"b": at("10:30")},
			events: []string{"10:10 a ready c2", "10:40 b failed c2"},
			want: []string{
				"10:00-10:10 waiting: 0 of 1 run it, 1 missing", "10:10-10:40 holds: 1 of 1 run it", "10:40-12:00 failed: 1 of 2 run it, 1 failed (degraded)",
			},
		},
		{
			name:   "nobody can say anything where all clusters joined later",
			joined: map[string]time.Time{"a": at("10:30"), "b": at("10:30")},
			events: []string{"10:40 a ready c1", "11:00 a ready c2"},
			want:   []string{"10:00-11:00 noClusters: 0 of 0 run it", "11:00-12:00 holds: 1 of 1 run it"},
		},
		{
			name:   "knows of clusters that fail with what they run before they get there",
			events: []string{"09:00 a ready c1", "09:00 b ready c1", "10:10 a ready c2", "10:20 b failed c1", "10:30 b ready c1", "10:40 b ready c2"},
			want:   []string{"10:00-10:40 waiting: 0 of 2 run it, 2 behind (trouble)", "10:40-12:00 holds: 2 of 2 run it"},
		},
		{
			name:   "does not count a cluster that began to fail by itself before the commit came",
			gate:   comply.Gate{SparesEarlier: true},
			events: []string{"07:00 a ready c1", "07:00 b ready c1", "09:30 b failed c1", "10:10 a ready c2", "10:15 b progressing c2", "10:20 b failed c2"},
			want:   []string{"10:00-10:20 waiting: 0 of 2 run it, 2 behind (trouble)", "10:20-12:00 holds: 1 of 2 run it, 1 behind"},
		},
		{
			name:   "counts a cluster that repaired itself and fails with the commit",
			gate:   comply.Gate{SparesEarlier: true},
			events: []string{"07:00 a ready c1", "07:00 b ready c1", "09:30 b failed c1", "09:40 b ready c1", "10:10 a ready c2", "10:20 b failed c2"},
			want:   []string{"10:00-10:20 waiting: 0 of 2 run it, 2 behind", "10:20-12:00 failed: 1 of 2 run it, 1 failed (degraded)"},
		},
		{
			name:   "counts a cluster that fails since it got the commit before, because the commit contains that",
			gate:   comply.Gate{SparesEarlier: true},
			events: []string{"09:00 a ready c1", "09:00 b ready c1", "09:30 b failed c1", "10:10 a ready c2", "10:20 b failed c2"},
			want:   []string{"10:00-10:20 waiting: 0 of 2 run it, 2 behind (trouble)", "10:20-12:00 failed: 1 of 2 run it, 1 failed (degraded)"},
		},
		{
			name:   "counts what fails of an application, also if it failed before",
			events: []string{"07:00 a ready c1", "07:00 b ready c1", "09:30 b failed c1", "10:10 a ready c2", "10:20 b failed c2"},
			want:   []string{"10:00-10:20 waiting: 0 of 2 run it, 2 behind (trouble)", "10:20-12:00 failed: 1 of 2 run it, 1 failed (degraded)"},
		},
		{
			name:   "does not mind a failure that the gate accepts",
			gate:   comply.Gate{Require: comply.Require{Count: 1}},
			events: []string{"09:00 a ready c1", "10:20 b failed c1", "10:30 a ready c2"},
			want:   []string{"10:00-10:30 waiting: 0 of 2 run it, 1 behind, 1 missing", "10:30-12:00 holds: 1 of 2 run it, 1 behind"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			q := timelineOf(t, test.events)
			q.Gate, q.Joined = test.gate, map[comply.Member]time.Time{}
			for cluster, at := range test.joined {
				q.Joined[comply.Member{Cluster: cluster, ClusterType: q.Expected[0].ClusterType}] = at
			}
			var got []string
			for _, s := range comply.Timeline(q, at("12:00")) {
				text := fmt.Sprintf("%s-%s %s: %s", clock(s.From), clock(s.To), s.Standing, s)
				if s.Degraded {
					text += " (degraded)"
				}
				if s.Trouble {
					text += " (trouble)"
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(got, test.want); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
		})
	}
}

// timelineOf reads events of the clusters a and b.
func timelineOf(t *testing.T, events []string) comply.TimelineQuestion {
	branch := hub.Source{Repository: gitOps, Ref: "dev"}
	q := comply.TimelineQuestion{Question: comply.Question{
		Commit: hash("c2"), Published: at("10:00"), History: comply.HistoryOf(map[string]bool{hash("c1"): false, hash("c2"): true}),
	}}
	var clusters []comply.Cluster
	for _, name := range []string{"a", "b"} {
		clusters = append(clusters, comply.Cluster{Name: name, Heard: at("12:00"), Memberships: []comply.Membership{{Environment: "dev", ClusterType: "large"}}})
	}
	q.Expected = comply.ExpectPlatform(clusters, "dev", branch, comply.Folders{})
	for _, event := range events {
		words := strings.Fields(event)
		if words[2] == "silent" {
			from, to, _ := strings.Cut(words[0], "-")
			q.Silences = append(q.Silences, comply.Silence{Cluster: words[1], From: at(from), To: at(to)})
			continue
		}
		o := comply.Past{Observation: comply.Observation{
			Cluster: words[1], Reconciler: "platform", Source: branch, State: hub.State(words[2]), Revision: revision(words[3]), Observed: at(words[0]),
		}}
		o.Source.Path = "large"
		var before *comply.Observation
		for i := range q.Outcomes {
			if last := &q.Outcomes[i]; last.Cluster == o.Cluster && last.Until.IsZero() {
				last.Until, before = o.Observed, &last.Observation
			}
		}
		o.Follow(before)
		q.Outcomes = append(q.Outcomes, o)
	}
	if len(q.Outcomes) == 0 {
		t.Fatal("no outcomes")
	}
	return q
}

// TestTimelineAgreesWithJudge checks that each instant of a timeline is what [comply.Judge] says about what was known then.
func TestTimelineAgreesWithJudge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := drawTimeline(t)
		end := noon.Add(2 * time.Hour)
		spans := comply.Timeline(q, end)
		if q.Outcomes = rapid.Permutation(q.Outcomes).Draw(t, "order"); cmp.Diff(spans, comply.Timeline(q, end)) != "" {
			t.Fatal("the order of outcomes matters")
		}
		if len(spans) == 0 || !spans[0].From.Equal(q.Published) || !spans[len(spans)-1].To.Equal(end) {
			t.Fatalf("spans do not cover the time: %v", spans)
		}
		held := false
		for i, s := range spans {
			if i > 0 && (!s.From.Equal(spans[i-1].To) || s.Standing == spans[i-1].Standing) {
				t.Fatalf("spans %v and %v", spans[i-1], s)
			}
			checkInstant(t, &q, s, s.From, held)
			checkInstant(t, &q, s, s.From.Add(s.Duration()/2), held)
			held = held || s.Standing == comply.StandingHolds
		}
	})
}

func checkInstant(t *rapid.T, q *comply.TimelineQuestion, s comply.Span, at time.Time, held bool) {
	v := comply.Judge(knownAt(q, at), at)
	want := map[comply.Result][]comply.Standing{
		comply.Passed:     {comply.StandingHolds},
		comply.NoClusters: {comply.StandingNoClusters},
		comply.Waiting:    {comply.StandingWaiting},
		comply.TimedOut:   {comply.StandingFailed},
		comply.Failed:     {comply.StandingFailed},
	}[v.Result]
	if held && (v.Result == comply.Waiting || v.Result == comply.TimedOut) {
		want = []comply.Standing{comply.StandingUnknown, comply.StandingLost}
	}
	if v.Result == comply.Failed && v.Counts.Offline > 0 && q.Gate.Offline == v1alpha1.OfflineBlock {
		want = append(want, comply.StandingUnknown, comply.StandingLost, comply.StandingWaiting)
	}
	if !slices.Contains(want, s.Standing) {
		t.Fatalf("at %s the span says %s (%s), and the verdict %s: %s", clock(at), s.Standing, s, v.Result, v.Reason)
	}
}

// knownAt returns what was known at a time.
func knownAt(q *comply.TimelineQuestion, at time.Time) comply.Question {
	known := q.Question
	known.Expected, known.Observations = slices.Clone(q.Expected), nil
	for i := range known.Expected {
		e := &known.Expected[i]
		e.Heard = at
		for _, s := range q.Silences {
			if s.Cluster == e.Cluster && s.From.Before(at) && s.To.After(at) {
				e.Heard = s.From
			}
		}
	}
	for _, o := range q.Outcomes {
		if !o.Observed.After(at) && (o.Until.IsZero() || o.Until.After(at)) {
			known.Observations = append(known.Observations, o.Observation)
		}
	}
	return known
}

// drawTimeline returns random outcomes and silences of the clusters of a small fleet, each with one reconciler from the beginning.
func drawTimeline(t *rapid.T) comply.TimelineQuestion {
	q := comply.TimelineQuestion{Question: drawQuestion(t)}
	q.Published, q.Gate.SparesEarlier = noon, rapid.Bool().Draw(t, "spares")
	for i := range q.Expected {
		e := &q.Expected[i]
		e.Heard = noon.Add(3 * time.Hour)
		if i > 0 && q.Expected[i-1].Cluster == e.Cluster {
			continue
		}
		last := noon.Add(-time.Hour)
		for range rapid.IntRange(1, 5).Draw(t, "outcomes") {
			o := comply.Past{Observation: rapid.SampledFrom(append(slices.Clone(q.Observations), comply.Observation{
				Source: e.Source, Revision: revision("c2"), State: hub.StateReady,
			})).Draw(t, "outcome")}
			o.Cluster, o.Reconciler, o.Observed = e.Cluster, "a", last
			o.BrokeAt = rapid.SampledFrom([]revisions.Revision{{}, revision("c1"), revision("c2")}).Draw(t, "broke at")
			last = last.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "minutes")) * time.Minute)
			o.Until = last
			q.Outcomes = append(q.Outcomes, o)
		}
		q.Outcomes[len(q.Outcomes)-1].Until = time.Time{}
		if rapid.Bool().Draw(t, "silent") {
			from := noon.Add(time.Duration(rapid.IntRange(-60, 60).Draw(t, "from")) * time.Minute)
			q.Silences = append(q.Silences, comply.Silence{Cluster: e.Cluster, From: from, To: from.Add(time.Duration(rapid.IntRange(1, 60).Draw(t, "for")) * time.Minute)})
		}
	}
	return q
}
