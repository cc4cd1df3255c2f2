package ingest

import (
	"context"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// tolerance is how far a clock may be off before its times are corrected. It is longer than sending may take,
// so that a slow connection does not look like a wrong clock.
const tolerance = 2 * time.Minute

// longestOutage limits how far after its arrival an observation may seem to be.
const longestOutage = 24 * time.Hour

// farthest is how far ahead a cluster's clock may be; larger values would overflow.
const farthest = 100 * 365 * 24 * time.Hour

// arrival holds the times of a message.
type arrival struct {
	cluster string
	sent    time.Time // by the clock of the cluster
	now     time.Time // by the server's clock
	// observed are the times in it. A message without any is a heartbeat, which is not sent again.
	observed []time.Time
}

// late is the correction of the cluster's clock if the message took no time.
func (a arrival) late() time.Duration { return a.now.Sub(a.sent).Truncate(time.Microsecond) }

// clock corrects the times of one message. The first reading is in force, followed by earlier ones.
type clock struct {
	sent     time.Time
	readings []ledger.Clock
}

// correction is added to times.
func (c clock) correction() time.Duration {
	if len(c.readings) == 0 {
		return 0
	}
	return c.readings[0].Correction
}

// correct converts a time of the cluster. Times before the clock changed get the earlier correction.
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

// bound corrects the time of an observation and bounds it: an observation in the future would outlast all true ones until then.
// Nothing is observed after it was sent, so a later time becomes that of sending, unless the clock was set back in between.
// Where a late message hid how far the clock is ahead, times may stay ahead for as long as it was late, to keep their order.
func (c clock) bound(t, arrived time.Time) time.Time {
	corrected := c.correct(t)
	if corrected.Sub(arrived) > tolerance && t.After(c.sent) {
		corrected = c.correct(c.sent)
	}
	if latest := arrived.Add(longestOutage); corrected.After(latest) {
		return latest
	}
	return corrected
}

// wasBehind reports whether the clock was recently found to be behind, so that recent reports may look old.
// It stays true for a while, because the response may get lost.
func (c clock) wasBehind(now time.Time) bool {
	if len(c.readings) == 0 || now.Sub(c.readings[0].Noted) > tolerance {
		return false
	}
	return c.correction() > clock{c.sent, c.readings[1:]}.correction()
}

// clockAt returns the clock in force when a message was sent: the last one that began before, and by which the message
// did not arrive early.
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

// clockOf returns the clock of a cluster for a message. It stores a new correction, so that every server uses it for later messages.
func (i *Intake) clockOf(ctx context.Context, a arrival) (clock, error) {
	if a.late() < -farthest {
		return clock{}, refuse(ErrInvalid, "the batch was sent in the year %d: set the clock of the cluster", a.sent.Year())
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

// inOrder reports whether one clock may follow another: the observations keep their order, and no later one becomes older than the
// newest known one.
func inOrder(c, next clock, a arrival, newest time.Time) bool {
	var last time.Time
	for _, t := range slices.SortedFunc(slices.Values(a.observed), time.Time.Compare) {
		corrected := next.correct(t)
		if corrected.Before(last) || !corrected.Equal(c.correct(t)) && !corrected.After(newest) {
			return false
		}
		last = corrected
	}
	return !newest.After(a.now)
}

// newest returns the time of the newest observation of a cluster.
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
