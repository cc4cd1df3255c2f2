package model

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestWhatIsLeftOut walks through the states at random, and compares the decisions with those for logs from which nothing is left out: neither
// the ticks that make no difference, nor the order of events that mean the same in another one.
func TestWhatIsLeftOut(t *testing.T) {
	for _, c := range configurations {
		t.Run(c.name, func(t *testing.T) {
			short, long := newModel(c), newModel(c)
			long.exact = true
			rapid.Check(t, func(t *rapid.T) {
				w, whole := short.begin(), long.begin()
				var trace []string
				for range rapid.IntRange(0, 25).Draw(t, "events") {
					e := rapid.SampledFrom(short.enabled(&w)).Draw(t, "event")
					trace = append(trace, short.text(e))
					w, _ = short.apply(w, e)
					whole, _ = long.apply(whole, e)
					if is, want := short.ask(&w).moves, long.ask(&whole).moves; !slices.Equal(is, want) {
						t.Fatalf("decides %v, and with all that happened %v, after %q", is, want, trace)
					}
				}
			})
		})
	}
}
