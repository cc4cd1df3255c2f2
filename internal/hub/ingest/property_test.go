package ingest_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// delivery is a batch on its way.
type delivery struct {
	batch   *hub.ReportBatch
	arrives time.Time
}

var names = []string{"platform", "apps", "infra"}

// simulated is an agent whose clock is off. It sends one batch after the other, each until it is taken, and heartbeats
// when there is nothing to send.
type simulated struct {
	off time.Duration // of its clock
	now time.Time     // by the clock of the server
	// waited is how long the last batch was on its way: what was observed meanwhile comes with the next one.
	waited time.Duration
	// last is what the reconcilers are in the end.
	last map[string]string
}

// send observes something and delivers it, at once or after an outage.
func (s *simulated) send(t *rapid.T, number int) delivery {
	begin := s.now
	s.now = s.now.Add(time.Duration(rapid.IntRange(5, 600).Draw(t, "seconds")) * time.Second)
	if s.waited == 0 && rapid.IntRange(0, 2).Draw(t, "heartbeat") == 0 {
		b := batch(s.now.Add(s.off))
		s.now = s.now.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "network")) * time.Second)
		return delivery{b, s.now}
	}
	var reports []hub.Report
	for n := range rapid.IntRange(1, 4).Draw(t, "reports") {
		name := rapid.SampledFrom(names).Draw(t, "name")
		state := rapid.SampledFrom([]hub.State{hub.StateReady, hub.StateFailed, hub.StateProgressing}).Draw(t, "state")
		observed := begin.Add(time.Duration(n+1) * time.Second)
		if s.waited > 0 {
			observed = begin.Add(-s.waited / time.Duration(n+2))
		}
		reports = append(reports, report(name, 10*number+n, state, observed.Add(s.off)))
		s.last[name] = fmt.Sprintf("%s %s %s", name, state, sha(10*number+n))
	}
	d := delivery{batch: batch(s.now.Add(s.off), reports...)}
	s.waited = rapid.SampledFrom([]time.Duration{0, 0, time.Second, 3 * time.Minute, 50 * time.Minute, 5 * time.Hour}).Draw(t, "outage")
	s.now = s.now.Add(s.waited)
	d.arrives = s.now
	return d
}

// deliver gives batches to an intake, in an order.
func deliver(t *rapid.T, intake *ingest.Intake, cluster string, all []delivery) {
	for _, d := range all {
		if _, err := intake.Take(t.Context(), cluster, d.batch, d.arrives); err != nil {
			t.Fatal(err)
		}
	}
}

// outcomes are what the reconcilers of a cluster are now, and with times, since when.
func outcomes(t *rapid.T, l ledger.Ledger, cluster string, times bool) []string {
	page, err := l.States(t.Context(), ledger.StateQuery{Cluster: cluster})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, s := range page.States {
		text := fmt.Sprintf("%s %s %s", s.Reconciler.Name, s.State, s.Revision)
		if times {
			text += fmt.Sprint(s.Since, s.Confirmed)
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return all
}

// Whatever its clock, a cluster is what it said last: also when the server was away, and batches come again.
func TestLastWord(t *testing.T) {
	l := openLedger(t)
	intake, n := &ingest.Intake{Ledger: l}, 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		cluster := fmt.Sprintf("word-%d", n)
		agent := &simulated{now: noon, last: map[string]string{}}
		agent.off = rapid.SampledFrom([]time.Duration{0, time.Minute, -time.Minute, time.Hour, -time.Hour, 30 * time.Hour, -30 * time.Hour}).Draw(t, "off")
		var sent []delivery
		for number := range rapid.IntRange(1, 12).Draw(t, "batches") {
			d := agent.send(t, number)
			deliver(t, intake, cluster, []delivery{d})
			if len(d.batch.Reports) > 0 {
				sent = append(sent, d)
			}
			if len(sent) > 0 && rapid.Bool().Draw(t, "again") {
				again := rapid.SampledFrom(sent).Draw(t, "which")
				deliver(t, intake, cluster, []delivery{{again.batch, agent.now}})
			}
		}
		var want []string
		for _, text := range agent.last {
			want = append(want, text)
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, outcomes(t, l, cluster, false)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// With a clock that is right, batches may come in any order, late and repeatedly: everything is as if they had come in order.
func TestAnyOrder(t *testing.T) {
	l := openLedger(t)
	intake, n := &ingest.Intake{Ledger: l}, 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		agent := &simulated{now: noon, last: map[string]string{}}
		agent.off = time.Duration(rapid.IntRange(-60, 60).Draw(t, "off")) * time.Second
		var ordered, shuffled []delivery
		for number := range rapid.IntRange(1, 10).Draw(t, "batches") {
			d := agent.send(t, number)
			ordered = append(ordered, d)
			if len(d.batch.Reports) > 0 {
				shuffled = append(shuffled, d)
			}
		}
		shuffled = append(shuffled, shuffled...)
		seed := rapid.Uint64().Draw(t, "seed")
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		for i := range shuffled {
			shuffled[i].arrives = agent.now.Add(time.Duration(i) * time.Second)
		}
		in, out := fmt.Sprintf("ordered-%d", n), fmt.Sprintf("shuffled-%d", n)
		deliver(t, intake, in, ordered)
		deliver(t, intake, out, shuffled)
		if diff := cmp.Diff(outcomes(t, l, in, true), outcomes(t, l, out, true)); diff != "" {
			t.Errorf("(-ordered +shuffled):\n%s", diff)
		}
	})
}
