package relational

import (
	"cmp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// TestAdvance shows the rows of the picture at advance. A is 1, B is 2 and less favourable.
func TestAdvance(t *testing.T) {
	a := Current{Reconciler: 7, Source: 3, Outcome: 1, Since: 10, Confirmed: 20, Received: 21}
	for name, tc := range map[string]struct {
		at, outcome     int64
		want            Current
		fact, unsettled bool
	}{
		"newer, the same":           {30, 1, Current{7, 3, 1, 10, 30, 31}, true, false},
		"newer, another":            {30, 2, Current{7, 3, 2, 30, 30, 31}, true, false},
		"between, another":          {15, 2, a, true, true},
		"between, the same":         {15, 1, a, true, false},
		"older, the same":           {5, 1, a, true, true},
		"older, another":            {5, 2, a, true, true},
		"the same instant":          {20, 1, a, false, false},
		"the same instant, worse":   {20, 2, Current{7, 3, 2, 20, 20, 21}, true, true},
		"the same instant, better":  {20, -1, a, false, false},
		"the beginning, once again": {10, 1, a, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := a
			fact, unsettled := advance(&got, observed{Fact{7, tc.at, tc.at + 1, tc.outcome}, 3})
			if got != tc.want || fact != tc.fact || unsettled != tc.unsettled {
				t.Errorf("got %+v, %v, %v, want %+v, %v, %v", got, fact, unsettled, tc.want, tc.fact, tc.unsettled)
			}
		})
	}
}

// memory is a ledger of one reconciler: what adapters do, without a database.
type memory struct {
	facts map[int64]int64 // outcome by time
	state Current
}

func (m *memory) take(batch []observed) {
	states := map[int64]*Current{m.state.Reconciler: &m.state}
	news := advanceAll(states, slices.Clone(batch))
	for _, f := range news.facts {
		m.facts[f.Observed] = max(m.facts[f.Observed], f.Outcome)
	}
	for _, thin := range news.thin {
		for at := range m.facts {
			if at > thin.From && at < thin.To {
				delete(m.facts, at)
			}
		}
	}
	if len(news.unsettled) > 0 {
		m.settle()
	}
}

// settle finds the first fact of the outcome with no other one after it.
func (m *memory) settle() {
	m.state.Since = m.state.Confirmed
	for at := range m.facts {
		later := false
		for other, outcome := range m.facts {
			later = later || other >= at && outcome != m.state.Outcome
		}
		if !later {
			m.state.Since = min(m.state.Since, at)
		}
	}
}

// asOf is the outcome at a time.
func (m *memory) asOf(at int64) int64 {
	newest, outcome := int64(-1), int64(0)
	for observed, o := range m.facts {
		if observed <= at && observed > newest {
			newest, outcome = observed, o
		}
	}
	return outcome
}

// TestAnyOrder: in every order, in batches of every size and with repetitions, reports lead to the same state,
// and those of an hour to the same past.
func TestAnyOrder(t *testing.T) {
	for name, span := range map[string]int64{"an hour": settled.Microseconds(), "a day": 24 * settled.Microseconds()} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				step := span / 12
				reports := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) observed {
					at := rapid.Int64Range(1, 12).Draw(t, "at") * step
					return observed{Fact{7, at, at, rapid.Int64Range(1, 3).Draw(t, "outcome")}, 3}
				}), 1, 20).Draw(t, "reports")
				ordered := &memory{map[int64]int64{}, Current{Reconciler: 7}}
				for _, r := range slices.SortedFunc(slices.Values(reports), byTime) {
					ordered.take([]observed{r})
				}
				other := &memory{map[int64]int64{}, Current{Reconciler: 7}}
				arrivals := rapid.Permutation(append(slices.Clone(reports), reports[0])).Draw(t, "arrivals")
				for batch := range slices.Chunk(arrivals, rapid.IntRange(1, 5).Draw(t, "batch")) {
					other.take(batch)
				}
				compare(t, ordered, other, step, span <= settled.Microseconds())
			})
		})
	}
}

func byTime(a, b observed) int { return cmp.Compare(a.Observed, b.Observed) }

func compare(t *rapid.T, ordered, other *memory, step int64, past bool) {
	if !past {
		other.state.Since = ordered.state.Since
	}
	if other.state != ordered.state {
		t.Fatalf("got %+v, want %+v", other.state, ordered.state)
	}
	for at := int64(0); past && at <= 13; at++ {
		if got, want := other.asOf(at*step), ordered.asOf(at*step); got != want {
			t.Fatalf("as of %d: got %d, want %d", at, got, want)
		}
	}
}

func TestThin(t *testing.T) {
	m := &memory{map[int64]int64{}, Current{Reconciler: 7}}
	minute := settled.Microseconds() / 60
	for at := int64(1); at <= 600; at++ {
		m.take([]observed{{Fact{7, at * minute, at * minute, 1}, 3}})
	}
	if len(m.facts) > 63 || m.facts[minute] != 1 || m.facts[600*minute] != 1 {
		t.Errorf("%d facts of 600 repetitions, want those of the last hour, and the first", len(m.facts))
	}
}

// TestOutcomeID: worse states are greater, and equal outcomes are equal everywhere and forever.
func TestOutcomeID(t *testing.T) {
	o := ledger.Outcome{Source: ledger.Source{Repository: "r", Ref: "main"}, Revision: "c", State: ledger.StateReady}
	if got, want := OutcomeID(o), int64(1893540237585581652); got != want {
		t.Errorf("got %d, want %d: ledgers would not understand each other", got, want)
	}
	last := int64(0)
	for _, o.State = range []ledger.State{ledger.StateReady, ledger.StateProgressing, ledger.StateSuspended, ledger.StateFailed} {
		if id := OutcomeID(o); id <= last {
			t.Errorf("%s is %d, not more than %d", o.State, id, last)
		} else {
			last = id
		}
	}
	moved := o
	moved.Source.Repository, moved.Source.Ref = "rm", "ain"
	if OutcomeID(moved) == OutcomeID(o) {
		t.Error("texts run into each other")
	}
	if diff := gocmp.Diff(OutcomeID(o)>>severityShift, int64(4)); diff != "" {
		t.Error(diff)
	}
}
