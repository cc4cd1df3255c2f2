package ingest

import (
	"context"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// tolerance is how wrong a clock may be before its times are corrected. It is longer than sending may take,
// so that a slow line does not look like a wrong clock.
const tolerance = 2 * time.Minute

// farthest is how far in the future a cluster may think it is. Much more than that is no time one can calculate with.
const farthest = 100 * 365 * 24 * time.Hour

// arrival is a message of a cluster, as far as time is concerned.
type arrival struct {
	cluster string
	sent    time.Time // by the clock of the cluster
	now     time.Time // by ours
	// observed are the times in it. A message without any was sent when it was made: nobody tries to send a heartbeat again.
	observed []time.Time
}

// late is what has to be added to a time of the cluster to have ours, if the message took no time.
func (a arrival) late() time.Duration { return a.now.Sub(a.sent).Truncate(time.Microsecond) }

// clock corrects the times of one message. The first of the readings is in force, those after it were before.
type clock struct {
	sent     time.Time
	readings []ledger.Clock
}

// correction is what has to be added to times.
func (c clock) correction() time.Duration {
	if len(c.readings) == 0 {
		return 0
	}
	return c.readings[0].Correction
}

// correct is a time of the cluster by our clock. Times that are from before the clock changed stay what they were.
func (c clock) correct(t time.Time) time.Time {
	if len(c.readings) == 0 {
		return t
	}
	reading, before := c.readings[0], clock{c.sent, c.readings[1:]}
	switch earlier := before.correct(t); {
	case t.After(c.sent): // nothing is observed after it was sent, unless the clock was set back in between
		return earlier
	case reading.Correction < before.correction() && !earlier.After(reading.Noted): // it was set forward
		return earlier
	}
	return t.Add(reading.Correction)
}

// wasBehind says whether it was found a moment ago that the clock is behind: what the cluster said of late may look old.
// It is true for a while, since the answer that says so may get lost.
func (c clock) wasBehind(now time.Time) bool {
	if len(c.readings) == 0 || now.Sub(c.readings[0].Noted) > tolerance {
		return false
	}
	return c.correction() > clock{c.sent, c.readings[1:]}.correction()
}

// clockAt is the clock that was in force when a message was sent: the last one that had begun by then,
// and by which the message did not arrive before it was sent.
func clockAt(readings []ledger.Clock, a arrival) clock {
	begun := len(readings)
	for i, r := range readings {
		if a.sent.Before(r.From) {
			continue
		}
		if a.late() >= r.Correction-tolerance {
			return clock{a.sent, readings[i:]}
		}
		begun = min(begun, i)
	}
	if a.late() >= -tolerance {
		return clock{sent: a.sent}
	}
	return clock{a.sent, readings[begun:]}
}

// clockOf is the clock of a cluster as a message shows it. What is new about it is noted, so that it is the same for
// every later message, whoever takes it.
func (i *Intake) clockOf(ctx context.Context, a arrival) (clock, error) {
	if a.late() < -farthest {
		return clock{}, refuse(ErrInvalid, "it was sent in the year %d: set the clock of the cluster", a.sent.Year())
	}
	readings, err := i.Ledger.Clocks(ctx, a.cluster)
	if err != nil {
		return clock{}, err
	}
	c := clockAt(readings, a)
	off := a.late() - c.correction()
	// A message may be late, but not early.
	if off >= -tolerance && (off <= tolerance || len(a.observed) > 0) {
		return c, nil
	}
	reading := ledger.Clock{Cluster: a.cluster, From: a.sent, Correction: a.late(), Noted: a.now}
	if reading.Correction.Abs() <= tolerance {
		reading.Correction = 0
	}
	next := clock{a.sent, append([]ledger.Clock{reading}, c.readings...)}
	newest, err := i.newest(ctx, a.cluster)
	if err != nil || !inOrder(c, next, a, newest) {
		return c, err
	}
	return next, i.Ledger.NoteClock(ctx, reading)
}

// inOrder says whether one clock may follow another. Order counts more than time: no observation from now on may come
// to lie before the newest one that is known.
func inOrder(c, next clock, a arrival, newest time.Time) bool {
	for _, t := range a.observed {
		if corrected := next.correct(t); !corrected.Equal(c.correct(t)) && !corrected.After(newest) {
			return false
		}
	}
	return !newest.After(a.now)
}

// newest is the time of the newest observation of a cluster.
func (i *Intake) newest(ctx context.Context, cluster string) (time.Time, error) {
	page, err := i.Ledger.States(ctx, ledger.StateQuery{Cluster: cluster})
	var newest time.Time
	for _, s := range page.States {
		if s.Confirmed.After(newest) {
			newest = s.Confirmed
		}
	}
	return newest, err
}
