package model

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/text/revisions"
)

// TestGatesSayTheSame walks through the states at random, and compares what the log has from a gate with what package comply says of the same
// reports, which takes the silences of the past into account, and not only what is known at each moment.
func TestGatesSayTheSame(t *testing.T) {
	m := newModel(configuration{
		commits: maxCommits - 1, faults: 20, places: []placeConfig{{name: "dev", after: -1, clusters: 1}},
		events: []kind{failsThere, cuts, drifts, breaks},
	})
	m.exact = true
	rapid.Check(t, func(t *rapid.T) {
		w := m.begin()
		r := reports{at: now}
		r.read(&w)
		for range rapid.IntRange(0, 30).Draw(t, "events") {
			e := rapid.SampledFrom(m.enabled(&w)).Draw(t, "event")
			if r.at = r.at.Add(moment); e.kind == ticks {
				r.at = r.at.Add(tickTime)
			}
			w, _ = m.apply(w, e)
			r.read(&w)
		}
		r.at = r.at.Add(moment)
		var said, judged [][]string
		for i, c := range m.carriers(&w, 0) {
			said, judged = append(said, inTicks(c.Spans)), append(judged, inTicks(r.judge(i)))
		}
		said[0], judged[0] = said[0][1:], judged[0][1:] // it ran the first one before
		if diff := cmp.Diff(said, judged); diff != "" {
			t.Fatalf("the gate of dev says (-), and comply says (+):\n%s", diff)
		}
	})
}

// reports are those of the only cluster of an environment.
type reports struct {
	at          time.Time
	published   []time.Time // each revision
	past        []comply.Past
	silences    []comply.Silence
	heard       time.Time
	cut         bool
	runs, state uint8
}

// read takes what the cluster reports now, if it is connected.
func (r *reports) read(w *world) {
	p := &w.places[0]
	for len(r.published) < int(p.published) {
		r.published = append(r.published, r.at)
	}
	c := &p.clusters[0]
	if r.cut && !c.cut {
		r.silences = append(r.silences, comply.Silence{Cluster: "c", From: r.heard, To: r.at})
	}
	if r.cut = c.cut; c.cut {
		return
	}
	r.heard = r.at
	if len(r.past) > 0 && c.runs == r.runs && c.health == r.state {
		return
	}
	if n := len(r.past); n > 0 {
		r.past[n-1].Until = r.at
	}
	r.runs, r.state = c.runs, c.health
	o := comply.Observation{
		Cluster: "c", Reconciler: "platform", Source: reported, Revision: revisions.Parse("dev@sha1:" + revisionName(0, c.runs)),
		State: hub.StateReady, Observed: r.at, Since: r.at,
	}
	if c.health != well {
		o.State = hub.StateFailed
	}
	r.past = append(r.past, comply.Past{Observation: o})
}

var reported = hub.Source{Repository: "https://git.example/gitops", Ref: "dev", Path: "large"}

// judge returns what the gate said of a revision.
func (r *reports) judge(i int) []comply.Span {
	heard := r.at
	if r.cut {
		heard = r.heard
	}
	q := comply.TimelineQuestion{Outcomes: slices.Clone(r.past), Silences: r.silences}
	q.Commit, q.Published, q.Gate = revisionName(0, uint8(i)+1), r.published[i], comply.Gate{OfflineAfter: tickTime}
	q.Expected = []comply.Expected{{Cluster: "c", ClusterType: "large", Source: reported, Heard: heard}}
	q.History = func(hash string) (reached, known bool) {
		at := numberOf(hash, func(n uint8) string { return revisionName(0, n) })
		return int(at) > i, at > 0
	}
	if i+1 < len(r.published) {
		q.Until = r.published[i+1]
	}
	return comply.Timeline(q, r.at)
}

// inTicks returns what was said for how many ticks.
func inTicks(spans []comply.Span) []string {
	var merged []comply.Span
	for _, s := range spans {
		if n := len(merged); n > 0 && merged[n-1].Standing == s.Standing {
			merged[n-1].To, merged[n-1].Trouble = s.To, merged[n-1].Trouble || s.Trouble
			continue
		}
		merged = append(merged, s)
	}
	var all []string
	for _, s := range merged {
		all = append(all, fmt.Sprintf("%s %d %t", s.Standing, s.Duration()/tickTime, s.Trouble && s.Standing == comply.StandingWaiting))
	}
	return all
}
