package wiring

import (
	"context"
	"errors"
	"testing"
	"time"
)

// answers is a database that answers with an error, or not at all.
type answers struct {
	err   error
	hangs bool
	asked int
}

func (a *answers) Ping(ctx context.Context) error {
	a.asked++
	if a.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return a.err
}

// TestPulse: the server knows since when its database is away, and asks it once a second, however often it is asked itself.
func TestPulse(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	now, database := noon, &answers{}
	p := &pulse{database: database, now: func() time.Time { return now }}
	want := func(what string, since time.Time, asked int) {
		t.Helper()
		if got := p.away(); !got.Equal(since) || database.asked != asked {
			t.Errorf("%s: away since %v, asked %d times; want %v, %d", what, got, database.asked, since, asked)
		}
	}
	want("answers", time.Time{}, 1)
	database.err = errors.New("connection refused")
	want("within a second", time.Time{}, 1)
	now = noon.Add(2 * time.Second)
	want("away", now, 2)
	database.err, database.hangs = nil, true
	now = noon.Add(4 * time.Second)
	want("hangs", noon.Add(2*time.Second), 3)
	database.hangs = false
	now = noon.Add(6 * time.Second)
	want("is back", time.Time{}, 4)
	if got := newPulse(nil).away(); !got.IsZero() {
		t.Error("a ledger that cannot be away is away since", got)
	}
}
