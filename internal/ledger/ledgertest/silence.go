package ledgertest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// silent formats silences as "large-01 1-5", in minutes.
func silent(t *testing.T, l ledger.Ledger, q ledger.SilenceQuery) []string {
	t.Helper()
	all, err := l.Silences(t.Context(), q)
	must(t, err)
	var out []string
	for _, s := range all {
		out = append(out, fmt.Sprintf("%s %d-%d", s.Cluster, minute(s.From), minute(s.To)))
	}
	return out
}

func heardAt(t *testing.T, l ledger.Ledger, cluster string, minutes ...int) {
	t.Helper()
	for _, m := range minutes {
		must(t, l.Heard(t.Context(), cluster, at(m)))
	}
}

// silences is the rule for what is a silence: a gap between heartbeats of the length that is set.
func silences(t *testing.T, l ledger.Ledger) {
	heardAt(t, l, "large-01", 10, 11, 13, 14) // none before the first one; two minutes are enough
	take(t, l, report("large-01", 19, 1, ledger.StateReady))
	heardAt(t, l, "large-01", 21)
	equal(t, "of two minutes", silent(t, l, ledger.SilenceQuery{}), []string{"large-01 11-13", "large-01 14-20"})

	must(t, l.KeepSilences(t.Context(), "https://git.example/a", time.Minute))
	must(t, l.KeepSilences(t.Context(), "https://git.example/b", time.Hour))
	heardAt(t, l, "large-01", 22, 24)
	equal(t, "of one minute, which a needs", silent(t, l, ledger.SilenceQuery{From: at(21)}), []string{"large-01 21-22", "large-01 22-24"})
	must(t, l.KeepSilences(t.Context(), "https://git.example/b", time.Second)) // becomes ten
	must(t, l.Heard(t.Context(), "large-01", at(24).Add(9*time.Second)))
	must(t, l.Heard(t.Context(), "large-01", at(24).Add(19*time.Second)))
	equal(t, "of ten seconds, which b needs", len(silent(t, l, ledger.SilenceQuery{From: at(24)})), 1)
	must(t, l.KeepSilences(t.Context(), "https://git.example/b.git", 15*time.Minute))
	heardAt(t, l, "large-01", 25)
	equal(t, "of one minute, which a still needs", len(silent(t, l, ledger.SilenceQuery{From: at(24)})), 1)
	must(t, l.KeepSilences(t.Context(), "https://git.example/a", 15*time.Minute))
	heardAt(t, l, "large-01", 26, 28)
	equal(t, "no subject needs one minute", silent(t, l, ledger.SilenceQuery{From: at(25)}), []string{"large-01 26-28"})
}

// lateHeartbeats is the rule that only a heartbeat after all others makes a silence, and that none removes one.
func lateHeartbeats(t *testing.T, l ledger.Ledger) {
	heardAt(t, l, "large-01", 10, 20, 15, 5, 20, 20)
	late, repeated := report("large-01", 16, 1, ledger.StateReady), report("large-01", 19, 1, ledger.StateReady)
	take(t, l, late)
	take(t, l, repeated, late)
	equal(t, "silences", silent(t, l, ledger.SilenceQuery{}), []string{"large-01 10-20"})
	// What arrives together is heard one after the other.
	take(t, l, report("large-01", 30, 1, ledger.StateReady), report("large-01", 20, 1, ledger.StateReady), report("large-01", 22, 1, ledger.StateReady),
		report("large-01", 11, 1, ledger.StateReady))
	equal(t, "reports of one call", silent(t, l, ledger.SilenceQuery{From: at(20)}), []string{"large-01 21-23", "large-01 23-31"})
}

// silencesOfServices is the rule that a cluster that reports to a service is not silent while nothing changes there.
func silencesOfServices(t *testing.T, l ledger.Ledger) {
	for m, revision := range map[int]int{10: 1, 50: 2} {
		r := report("large-01", m, revision, ledger.StateReady)
		r.Received = r.Observed
		take(t, l, r)
	}
	equal(t, "silences", len(silent(t, l, ledger.SilenceQuery{})), 0)
}

// silenceAfterReset is the rule that a reset does not hide that a cluster was not heard.
func silenceAfterReset(t *testing.T, l ledger.Ledger) {
	heardAt(t, l, "large-01", 10)
	must(t, l.Reset(t.Context(), "large-01", at(12)))
	must(t, l.Reset(t.Context(), "large-01", at(13)))
	clusters, err := l.Clusters(t.Context(), ledger.ClusterQuery{Name: "large-01"})
	must(t, err)
	if !clusters[0].LastHeard.IsZero() {
		t.Errorf("after a reset, it was heard at %s", clusters[0].LastHeard)
	}
	heardAt(t, l, "large-01", 14, 15)
	equal(t, "silences", silent(t, l, ledger.SilenceQuery{}), []string{"large-01 10-14"})
}

// silenceQueries is the rule for what queries select.
func silenceQueries(t *testing.T, l ledger.Ledger) {
	must(t, l.Register(t.Context(), ledger.Registration{Cluster: "b", Memberships: member("prod"), At: at(0)}))
	must(t, l.Register(t.Context(), ledger.Registration{Cluster: "b", Revoked: true, At: at(30)}))
	heardAt(t, l, "b", 10, 20, 40)
	heardAt(t, l, "a", 10, 20)
	heardAt(t, l, "c", 12, 15)
	many := []string{"a", "c"}
	for n := range 1000 {
		many = append(many, fmt.Sprintf("other-%d", n))
	}
	for name, test := range map[string]struct {
		q    ledger.SilenceQuery
		want []string
	}{
		"all":                   {ledger.SilenceQuery{}, []string{"a 10-20", "b 10-20", "b 20-40", "c 12-15"}},
		"of one":                {ledger.SilenceQuery{Cluster: "b"}, []string{"b 10-20", "b 20-40"}},
		"of some":               {ledger.SilenceQuery{Clusters: []string{"c", "a"}}, []string{"a 10-20", "c 12-15"}},
		"of many":               {ledger.SilenceQuery{Clusters: many}, []string{"a 10-20", "c 12-15"}},
		"of none":               {ledger.SilenceQuery{Clusters: []string{}}, nil},
		"that overlap":          {ledger.SilenceQuery{From: at(14), To: at(16)}, []string{"a 10-20", "b 10-20", "c 12-15"}},
		"the ends are not in":   {ledger.SilenceQuery{From: at(20), To: at(40)}, []string{"b 20-40"}},
		"that end too early":    {ledger.SilenceQuery{From: at(15), To: at(20)}, []string{"a 10-20", "b 10-20"}},
		"of the environment":    {ledger.SilenceQuery{Environment: "prod"}, []string{"b 10-20", "b 20-40"}},
		"while it was a member": {ledger.SilenceQuery{Environment: "prod", From: at(35), To: at(36)}, nil},
		"of an environment":     {ledger.SilenceQuery{Environment: "dev"}, nil},
	} {
		equal(t, name, silent(t, l, test.q), test.want)
	}
}

// concurrentSilences is the rule that silences do not overlap, however many heartbeats arrive at the same time.
func concurrentSilences(t *testing.T, l ledger.Ledger) {
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for n := range 20 {
				if err := l.Heard(t.Context(), "large-01", at(3*n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	Disjoint(t, l, at(0), at(57))
}

// Disjoint checks that the silences of a cluster follow each other from one time to another. Some can be as long as several, because of
// heartbeats that arrived late.
func Disjoint(t *testing.T, l ledger.Ledger, from, to time.Time) {
	t.Helper()
	all, err := l.Silences(t.Context(), ledger.SilenceQuery{})
	must(t, err)
	for _, s := range all {
		if !s.From.Equal(from) || !s.To.After(s.From) {
			t.Errorf("silence from %s to %s, want one from %s", s.From, s.To, from)
		}
		from = s.To
	}
	equal(t, "end of the last silence", from, to)
}

// restoring is the rule that facts of another ledger make no silences of their own.
func restoring(t *testing.T, l ledger.Ledger) {
	heardAt(t, l, "large-01", 10, 11)
	facts := ledger.Restored{
		Reports:    []ledger.Report{report("large-01", 40, 1, ledger.StateReady), report("large-01", 20, 1, ledger.StateReady)},
		Heartbeats: []ledger.Heartbeat{{Cluster: "large-01", At: at(60)}, {Cluster: "large-02", At: at(60)}},
		Silences: []ledger.Silence{
			{Cluster: "large-01", From: at(50), To: at(55)}, {Cluster: "large-01", From: at(54), To: at(56)}, {Cluster: "new", From: at(1), To: at(2)},
		},
	}
	for range 2 {
		must(t, l.Restore(t.Context(), facts))
	}
	equal(t, "silences", silent(t, l, ledger.SilenceQuery{}), []string{"large-01 50-55", "new 1-2"})
	heardAt(t, l, "large-01", 70)
	equal(t, "the next one", silent(t, l, ledger.SilenceQuery{From: at(56)}), []string{"large-01 60-70"})
	for _, wrong := range []ledger.Restored{
		{Silences: []ledger.Silence{{Cluster: "a", From: at(2), To: at(2)}}},
		{Silences: []ledger.Silence{{From: at(1), To: at(2)}}},
		{Heartbeats: []ledger.Heartbeat{{At: at(1)}}},
		{Reports: []ledger.Report{{}}},
	} {
		if err := l.Restore(t.Context(), wrong); err == nil {
			t.Errorf("%+v: got no error", wrong)
		}
	}
}
