package ingest_test

import (
	"testing"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
)

// at is a time of a cluster whose clock is off.
func at(minutes int, off time.Duration) time.Time {
	return after(time.Duration(minutes)*time.Minute + off)
}

// A clock that is ahead is known to be so by the first message: nothing arrives before it was sent.
func TestClockAhead(t *testing.T) {
	w := newWorld(t)
	const ahead = time.Hour
	first := batch(at(0, ahead), report("platform", 1, hub.StateReady, at(0, ahead-time.Second)))
	w.take(first, at(0, 0))
	w.expect("platform ready 1 since 11:59:59")
	w.take(batch(at(5, ahead), report("platform", 2, hub.StateFailed, at(5, ahead-time.Second))), at(5, 300*time.Millisecond))
	w.expect("platform failed 2 since 12:04:59")
	w.take(first, at(6, 0))
	w.expect("platform failed 2 since 12:04:59")
	if got := w.heard(); !got.Equal(at(6, 0)) {
		t.Errorf("heard at %s, want the time of the server", got)
	}
}

// When the first message was late, the clock seems less ahead than it is. Correcting that later must not turn around
// what was observed while the server was away.
func TestClockAheadAndLate(t *testing.T) {
	w := newWorld(t)
	const ahead = time.Hour
	w.take(batch(at(0, ahead), report("platform", 1, hub.StateReady, at(0, ahead))), at(50, 0))
	w.take(batch(at(51, ahead), report("platform", 2, hub.StateFailed, at(10, ahead))), at(51, 0))
	w.expect("platform failed 2 since 13:00:00")
	w.take(batch(at(52, ahead)), at(52, 0))
	w.take(batch(at(53, ahead), report("platform", 3, hub.StateReady, at(53, ahead))), at(53, 0))
	w.expect("platform ready 3 since 13:43:00")
	// Once the times that were too late are past, they can be put right.
	w.take(batch(at(120, ahead)), at(120, 0))
	w.take(batch(at(121, ahead), report("platform", 4, hub.StateReady, at(121, ahead))), at(121, 0))
	w.expect("platform ready 4 since 14:01:00")
}

// A heartbeat puts right what lies a little in the future only when that is past: else what is observed next would look old.
func TestClockAheadAndALittleLate(t *testing.T) {
	w := newWorld(t)
	const ahead = time.Hour
	w.take(batch(at(0, ahead), report("platform", 1, hub.StateReady, at(0, ahead))), at(3, 0))
	w.take(batch(at(3, ahead), report("platform", 2, hub.StateFailed, at(1, ahead+30*time.Second))), at(3, 0))
	w.expect("platform failed 2 since 12:04:30")
	w.take(batch(at(4, ahead)), at(4, 0))
	w.take(batch(at(4, ahead+10*time.Second), report("platform", 3, hub.StateReady, at(4, ahead+5*time.Second))), at(4, 10*time.Second))
	w.expect("platform ready 3 since 12:07:05")
}

// One that is behind could as well be a message that is late. A heartbeat tells, since nobody sends one again.
func TestClockBehind(t *testing.T) {
	w := newWorld(t)
	const behind = -time.Hour
	w.take(batch(at(0, behind), report("platform", 1, hub.StateReady, at(0, behind))), at(0, 0))
	w.expect("platform ready 1 since 11:00:00")
	if receipt := w.take(batch(at(1, behind)), at(1, 0)); !receipt.Resend {
		t.Error("got no wish to resend, want one: what was sent until now may have looked old")
	}
	if receipt := w.take(batch(at(2, behind)), at(2, 0)); !receipt.Resend {
		t.Error("got no second wish to resend, want one: the first may have been lost")
	}
	if receipt := w.take(batch(at(4, behind)), at(4, 0)); receipt.Resend {
		t.Error("got a wish to resend that does not end")
	}
	w.take(batch(at(5, behind), report("platform", 2, hub.StateReady, at(5, behind))), at(5, time.Second))
	w.expect("platform ready 2 since 12:05:00")
	w.take(batch(at(0, behind), report("platform", 1, hub.StateReady, at(0, behind))), at(9, 0))
	w.expect("platform ready 2 since 12:05:00")
}

// A batch that waited for hours is no wrong clock.
func TestLateBatch(t *testing.T) {
	w := newWorld(t)
	w.take(batch(at(0, 0), report("platform", 1, hub.StateReady, at(0, 0))), at(0, 0))
	w.take(batch(at(1, 0), report("platform", 2, hub.StateFailed, at(1, 0))), at(181, 0))
	w.expect("platform failed 2 since 12:01:00")
	w.take(batch(at(182, 0), report("platform", 3, hub.StateReady, at(30, 0))), at(182, 0))
	w.expect("platform ready 3 since 12:30:00")
	// Not even a heartbeat that came late, against all promises, spoils what comes after it.
	w.take(batch(at(183, 0)), at(243, 0))
	w.take(batch(at(244, 0), report("platform", 4, hub.StateReady, at(244, 0))), at(244, 0))
	w.expect("platform ready 4 since 16:04:00")
}

// An agent without a memory that starts when the clock was set back says what looks old.
// After one heartbeat it is asked again, and believed.
func TestClockSetBack(t *testing.T) {
	w := newWorld(t)
	before := batch(at(0, 0), report("platform", 1, hub.StateReady, at(0, 0)))
	w.take(before, at(0, 0))
	const behind = -time.Hour
	restarted := report("platform", 2, hub.StateFailed, at(1, behind))
	w.take(batch(at(1, behind), restarted), at(1, 0))
	w.expect("platform ready 1 since 12:00:00")
	if receipt := w.take(batch(at(2, behind)), at(2, 0)); !receipt.Resend {
		t.Fatal("got no wish to resend")
	}
	w.take(batch(at(2, behind+time.Second), restarted), at(2, time.Second))
	w.expect("platform failed 2 since 12:01:00")
	// A batch of the time before comes again: it cannot have been sent by the clock as it is now.
	w.take(before, at(30, 0))
	w.expect("platform failed 2 since 12:01:00")
	if clocks, err := w.ledger.Clocks(t.Context(), "large-07"); err != nil || len(clocks) != 1 {
		t.Errorf("got %v, %v, want one correction", clocks, err)
	}
}

// An agent with a memory keeps to times that grow. They stay where they are until the clock has caught up.
func TestClockSetBackWithMemory(t *testing.T) {
	w := newWorld(t)
	w.take(batch(at(0, 0), report("platform", 1, hub.StateReady, at(0, 0))), at(0, 0))
	const behind = -time.Hour
	w.take(batch(at(1, behind)), at(1, 0))
	last := at(0, 0)
	for n := 2; n < 6; n++ {
		last = last.Add(time.Microsecond)
		w.take(batch(at(n, behind), report("platform", n, hub.StateReady, last)), at(n, 0))
	}
	w.expect("platform ready 5 since 12:00:00")
	w.take(batch(at(70, behind), report("platform", 7, hub.StateReady, at(70, behind))), at(70, 0))
	w.expect("platform ready 7 since 13:10:00")
}

// TestALateBatchKeepsTheOrderOfTheNext: a clock is an hour ahead, and a batch that takes three minutes hides three minutes of that. The next
// one arrives at once, with two observations from before and after the moment at which the first correction was made.
func TestALateBatchKeepsTheOrderOfTheNext(t *testing.T) {
	w := newWorld(t)
	second := func(n int) time.Time { return at(0, time.Hour+time.Duration(n)*time.Second) }
	w.take(batch(second(64), report("platform", 1, hub.StateReady, second(3))), at(0, 244*time.Second))
	w.take(batch(second(334), report("platform", 2, hub.StateFailed, second(154)), report("platform", 3, hub.StateReady, second(184))), at(0, 334*time.Second))
	w.expect("platform ready 3 since 12:06:04")
}

// A clock that jumps to another year, and back, must not have the last word for that long.
func TestClockGlitch(t *testing.T) {
	w := newWorld(t)
	w.take(batch(at(0, 0), report("platform", 1, hub.StateReady, at(0, 0)), report("apps", 1, hub.StateReady, at(0, 0))), at(0, 0))
	const years = 20 * 365 * 24 * time.Hour
	w.take(batch(at(5, years), report("apps", 2, hub.StateReady, at(4, 0)), report("platform", 2, hub.StateFailed, at(5, years))), at(5, 0))
	w.expect("platform failed 2 since 12:05:00", "apps ready 2 since 12:04:00")
	w.take(batch(at(6, 0), report("platform", 3, hub.StateReady, at(6, 0))), at(6, 0))
	w.expect("platform ready 3 since 12:06:00", "apps ready 2 since 12:04:00")
}

// With a time that nobody can calculate with, there is nothing to correct.
func TestClockOfAnotherAge(t *testing.T) {
	w := newWorld(t)
	sent := time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	_, err := w.intake.Take(t.Context(), "large-07", batch(sent, report("platform", 1, hub.StateReady, sent)), noon)
	refused(t, err, ingest.ErrInvalid, "in the year 9999: set the clock")
}

// Small differences, and lines that are slow, are left alone: correcting them would only shuffle what is in order.
func TestTolerance(t *testing.T) {
	w := newWorld(t)
	for n, off := range []time.Duration{90 * time.Second, -100 * time.Second, 0, 110 * time.Second} {
		w.take(batch(at(n, off), report("platform", n, hub.StateReady, at(n, off))), at(n, 0))
		w.take(batch(at(n, off)), at(n, time.Second))
	}
	clocks, err := w.ledger.Clocks(t.Context(), "large-07")
	if err != nil || len(clocks) > 0 {
		t.Errorf("got %v, %v, want no correction", clocks, err)
	}
}

// TestObservedInTheFuture: an observation in the future does not outlast the next true one.
func TestObservedInTheFuture(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"an hour": time.Hour, "a year": 365 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.take(batch(at(0, 0),
				report("platform", 2, hub.StateReady, at(0, ahead)), report("shop", 2, hub.StateReady, at(0, 0)),
			), at(0, 0))
			w.expect("platform ready 2 since 12:00:00", "shop ready 2 since 12:00:00")
			w.take(batch(at(5, 0), report("platform", 2, hub.StateFailed, at(5, 0))), at(5, 0))
			w.expect("platform failed 2 since 12:05:00", "shop ready 2 since 12:00:00")
		})
	}
}
