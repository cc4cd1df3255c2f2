package replica

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
)

// server is a member with a count of its changes, and the notes that it received.
type server struct {
	*Member
	t       *testing.T
	changes int
	notes   []string
}

// newServers returns members that joined one after the other. Tests renew leases and exchange notes themselves.
func newServers(t *testing.T, names ...string) (*sqlite.Ledger, []*server) {
	t.Helper()
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	var all []*server
	for _, name := range names {
		all = append(all, newServer(t, l, name))
	}
	for _, s := range all {
		s.beat(t.Context())
	}
	return l, all
}

func newServer(t *testing.T, l ledger.Replicas, name string) *server {
	t.Helper()
	s := &server{t: t}
	s.Member = New(Options{
		Ledger: l, Name: name, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Changed: func() { s.changes++ }, Received: func(text string) { s.notes = append(s.notes, text) },
	})
	if err := s.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// begin begins work that has to succeed.
func (s *server) begin(unit string) (context.Context, func()) {
	s.t.Helper()
	under, end, err := s.Begin(s.t.Context(), unit)
	if err != nil {
		s.t.Fatalf("begin %s: %v", unit, err)
	}
	return under, end
}

func units(n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("environment %d", i))
	}
	return all
}

// Each unit is one member's, each member has about the same number, and one that ends moves only its own.
func TestUnitsAreShared(t *testing.T) {
	l, all := newServers(t, "a", "b", "c", "d")
	owners := map[string]string{}
	count := map[string]int{}
	for _, unit := range units(400) {
		for _, s := range all {
			if !s.Mine(unit) {
				if _, _, err := s.Begin(t.Context(), unit); !errors.Is(err, ErrElsewhere) {
					t.Fatalf("%s began %s of another one: %v", s.Name, unit, err)
				}
				continue
			}
			if other := owners[unit]; other != "" {
				t.Fatalf("%s is of %s and %s", unit, other, s.Name)
			}
			owners[unit] = s.Name
			count[s.Name]++
		}
	}
	for _, s := range all {
		if n := count[s.Name]; n < 70 || n > 130 {
			t.Errorf("%s has %d of 400 units", s.Name, n)
		}
	}
	all[3].leave(t.Context())
	for _, s := range all[:3] {
		s.beat(t.Context())
	}
	for _, unit := range units(400) {
		i := slices.IndexFunc(all[:3], func(s *server) bool { return s.Mine(unit) })
		if i < 0 {
			t.Fatalf("%s has no replica", unit)
		}
		if was := owners[unit]; was != "d" && was != all[i].Name {
			t.Errorf("%s moved from %s to %s", unit, was, all[i].Name)
		}
	}
	if holds, err := l.Holds(t.Context()); err != nil || len(holds) > 0 {
		t.Errorf("asking claims nothing: %v, %v", holds, err)
	}
}

// A member whose lease ended cannot write, whether it has noticed or not, and joins again.
func TestLostLease(t *testing.T) {
	l, all := newServers(t, "a")
	a := all[0]
	under, end := a.begin("dev")
	if err := Check(under); err != nil {
		t.Fatal(err)
	}
	// The database ends the lease, and another member takes over.
	old := a.id
	if err := l.Leave(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	b := newServer(t, l, "b")
	_, endB := b.begin("dev")
	defer endB()
	step := ledger.Step{PromotionID: ledger.PromotionID{Subject: "s", Commit: "c", Environment: "dev"}, Kind: "promoted", At: time.Now()}
	if err := l.RecordStep(under, step); !errors.Is(err, ledger.ErrFenced) {
		t.Errorf("a late step: %v", err)
	}
	a.beat(t.Context())
	if err := context.Cause(under); !errors.Is(err, ErrLost) {
		t.Errorf("the work goes on: %v", err)
	}
	if err := Check(under); !errors.Is(err, ErrLost) {
		t.Errorf("a late write is allowed: %v", err)
	}
	end()
	s := a.State()
	if s.ID == old || s.Losses != 1 || len(s.Replicas) != 2 {
		t.Errorf("after joining again: %+v", s)
	}
}

// The clock is read right before a write: timers of a paused process run late.
func TestPausedProcess(t *testing.T) {
	_, all := newServers(t, "a")
	a := all[0]
	under, end := a.begin("dev")
	defer end()
	a.mu.Lock()
	a.expiry.Stop() // it is paused
	a.until = time.Now().Add(-time.Second)
	a.mu.Unlock()
	if err := Check(under); !errors.Is(err, ErrLost) {
		t.Errorf("got %v", err)
	}
	if a.Mine("dev") {
		t.Error("it still has units")
	}
	if _, _, err := a.Begin(t.Context(), "dev"); !errors.Is(err, ErrElsewhere) {
		t.Errorf("it begins work: %v", err)
	}
	// The ledger knows that the lease goes on.
	a.beat(t.Context())
	if err := Check(under); err != nil {
		t.Errorf("after the lease was renewed: %v", err)
	}
}

// A unit goes to a new member when the work on it has ended.
func TestUnitMovesAfterItsWork(t *testing.T) {
	l, all := newServers(t, "a")
	a := all[0]
	ends := map[string]func(){}
	for _, unit := range units(20) {
		_, end := a.begin(unit)
		ends[unit] = end
	}
	for _, unit := range units(40)[20:] {
		_, end := a.begin(unit)
		end()
	}
	if n := a.State().Units; n != 40 {
		t.Fatalf("%d units are held without others, want all 40", n)
	}
	b := newServer(t, l, "b")
	changes := a.changes
	a.beat(t.Context())
	if a.changes != changes+1 {
		t.Error("the new member was not noticed")
	}
	moved := 0
	for _, unit := range units(40) {
		if !b.Mine(unit) {
			continue
		}
		moved++
		_, end, err := b.Begin(t.Context(), unit)
		if finish, busy := ends[unit]; busy {
			if !errors.Is(err, ErrBusy) {
				t.Fatalf("%s is worked on twice: %v", unit, err)
			}
			finish()
			_, end = b.begin(unit)
		} else if err != nil {
			t.Fatal(err)
		}
		end()
	}
	if got := a.State().Units + b.State().Units; moved == 0 || got != 40 {
		t.Errorf("%d units moved, %d are held", moved, got)
	}
}

// An earlier run of a server does not keep its units from the next one, and cannot come back beside it.
func TestRestart(t *testing.T) {
	l, all := newServers(t, "a")
	first := all[0]
	under, end := first.begin("dev")
	defer end()
	second := newServer(t, l, "a")
	if !second.Mine("dev") {
		t.Error("the unit is not the new run's")
	}
	_, endSecond := second.begin("dev")
	defer endSecond()
	first.beat(t.Context())
	if err := Check(under); !errors.Is(err, ErrLost) {
		t.Errorf("the earlier run works on: %v", err)
	}
	first.beat(t.Context())
	if s := first.State(); len(s.Replicas) > 0 {
		t.Errorf("the earlier run joined again: %+v", s)
	}
	if s := second.State(); len(s.Replicas) != 1 || s.Losses != 0 {
		t.Errorf("the new run: %+v", s)
	}
}

// Notes reach the other members once and in order, and not their sender.
func TestNotes(t *testing.T) {
	_, all := newServers(t, "a", "b", "c")
	a, b, c := all[0], all[1], all[2]
	for _, text := range []string{"one", "two", "one"} {
		a.Post(text)
	}
	b.Post("three")
	for range 2 {
		for _, s := range all {
			s.exchange(t.Context())
		}
	}
	for _, test := range []struct {
		s    *server
		want []string
	}{{a, []string{"three"}}, {b, []string{"one", "two"}}, {c, []string{"one", "two", "three"}}} {
		if !slices.Equal(test.s.notes, test.want) {
			t.Errorf("%s received %q, want %q", test.s.Name, test.s.notes, test.want)
		}
	}
	// Without others, nothing is written.
	b.leave(t.Context())
	c.leave(t.Context())
	a.beat(t.Context())
	a.Post("four")
	if len(a.pending) > 0 {
		t.Errorf("notes to no one: %q", a.pending)
	}
	// One that was away for long has missed some.
	changes := a.changes
	a.readAt = time.Now().Add(-ledger.NotesKept)
	a.exchange(t.Context())
	if a.changes != changes+1 {
		t.Error("missed notes were not noticed")
	}
}

// lossy is a ledger whose answers to claims get lost, and which cannot be told that a unit is given up.
type lossy struct {
	ledger.Replicas
	lost bool
}

var errAnswer = errors.New("no answer")

func (l *lossy) ClaimUnit(ctx context.Context, id, unit string) (ledger.Hold, error) {
	h, err := l.Replicas.ClaimUnit(ctx, id, unit)
	if l.lost {
		return ledger.Hold{}, errAnswer
	}
	return h, err
}

func (l *lossy) YieldUnit(ctx context.Context, h ledger.Hold) error {
	if l.lost {
		return errAnswer
	}
	return l.Replicas.YieldUnit(ctx, h)
}

// audited renews the lease until the units were compared with the ledger.
func (s *server) audited() {
	for range auditEvery {
		s.beat(s.t.Context())
	}
}

// Units go to a new member although an answer of the ledger got lost when they were claimed, or given up.
func TestLostAnswers(t *testing.T) {
	l, all := newServers(t, "a")
	a := all[0]
	broken := &lossy{Replicas: l}
	a.Ledger = broken
	for _, unit := range units(20) {
		_, end := a.begin(unit)
		end()
	}
	broken.lost = true
	for _, unit := range units(40)[20:] {
		if _, _, err := a.Begin(t.Context(), unit); !errors.Is(err, errAnswer) {
			t.Fatalf("got %v", err)
		}
	}
	b := newServer(t, l, "b")
	a.beat(t.Context()) // it cannot give up what is assigned to b
	broken.lost = false
	a.audited()
	moved := 0
	for _, unit := range units(40) {
		s := a
		if b.Mine(unit) {
			s = b
			moved++
		}
		_, end := s.begin(unit)
		end()
	}
	if moved == 0 {
		t.Error("no unit moved")
	}
}

// A hold that the database has lost is claimed again, and work under it ends.
func TestHoldLostByDatabase(t *testing.T) {
	l, all := newServers(t, "a")
	a := all[0]
	under, end := a.begin("dev")
	kept, endKept := a.begin("prod")
	defer endKept()
	h, _ := ledger.HoldOf(under)
	if err := l.YieldUnit(t.Context(), h); err != nil { // as a copy without the last write
		t.Fatal(err)
	}
	a.audited()
	if err := context.Cause(under); !errors.Is(err, ErrLost) {
		t.Errorf("the work goes on: %v", err)
	}
	if err := context.Cause(kept); err != nil {
		t.Errorf("other work has ended: %v", err)
	}
	end()
	again, end := a.begin("dev")
	defer end()
	h, _ = ledger.HoldOf(again)
	if err := l.PutResult(again, h, []byte("{}")); err != nil {
		t.Errorf("work under the new hold: %v", err)
	}
}
