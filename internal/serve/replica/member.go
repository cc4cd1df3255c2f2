package replica

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

const (
	// Lease is how long a replica that does not renew its lease keeps its units, by default.
	Lease = 8 * time.Second
	// renewals is how often a lease is renewed before it ends.
	renewals = 4
	// exchange is how often notes are written and read.
	exchange = 250 * time.Millisecond
	// auditEvery is after how many renewals the units are compared with the ledger.
	auditEvery = 5
	// patience is the time for a request to the ledger.
	patience = 5 * time.Second
)

var (
	// ErrElsewhere means that another replica works on a unit.
	ErrElsewhere = errors.New("another replica works on it")
	// ErrBusy means that a unit is going to be this replica's, and another one has not given it up yet.
	ErrBusy = errors.New("another replica has not given it up yet")
	// ErrLost means that the lease of this replica ended during the work.
	ErrLost = errors.New("this replica lost its lease")
)

// Options are what a member is made from.
type Options struct {
	// Ledger has the leases. // required
	Ledger ledger.Replicas
	// Name identifies the server among its replicas. // required
	Name string
	// Alone means that it cannot work with others.
	Alone bool
	// Lease is how long this replica keeps its units without a renewal; a quarter of it passes between two renewals. Default: [Lease].
	Lease time.Duration
	// Log receives who comes and goes. // required
	Log *slog.Logger
	// Changed is called when units may have moved, and when notes may have been missed. It must not block.
	Changed func()
	// Received is called with each note of another replica. It must not block.
	Received func(text string)
}

// Member is this server among its replicas. It is safe for concurrent use.
type Member struct {
	Options

	mu sync.Mutex
	id string
	// living are the replicas with a lease; without this one if its own was lost.
	living []ledger.Replica
	// until is when the lease ends: by the monotonic clock, and by the wall clock, which also runs while a machine sleeps.
	until, wall time.Time
	expiry      *time.Timer
	// units are the holds of this replica.
	units map[string]*unit
	// pending are the notes to post.
	pending []string
	queued  map[string]bool
	// last is the number of the last note that was read, readAt when.
	last   int64
	readAt time.Time
	// deaf means that the last attempt to read notes failed. Only exchange uses it.
	deaf   bool
	losses int
	// beats counts the renewals. Only beat uses it.
	beats int
}

// unit is a hold, and the work under it.
type unit struct {
	hold ledger.Hold
	// work has the function that ends each piece of work.
	work map[int]context.CancelCauseFunc
	next int
}

// endAll ends all work on a unit that is no longer this replica's.
func (u *unit) endAll() {
	for _, end := range u.work {
		end(ErrLost)
	}
}

// New returns a member that has not joined yet.
func New(o Options) *Member {
	o.Lease = cmp.Or(o.Lease, Lease)
	return &Member{Options: o, units: map[string]*unit{}, queued: map[string]bool{}}
}

// Join gets the first lease. It replaces that of an earlier run with the same name.
func (m *Member) Join(ctx context.Context) error {
	_, last, err := m.Ledger.Notes(ctx, -1)
	if err != nil {
		return err
	}
	m.last, m.readAt = last, time.Now()
	return m.join(ctx, true)
}

// join gets a lease under a new ID.
func (m *Member) join(ctx context.Context, replace bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r := ledger.Replica{ID: rand.Text()[:10], Name: m.Name, Alone: m.Alone}
	if err := m.Ledger.Join(ctx, r, m.Lease, replace); err != nil {
		return err
	}
	m.mu.Lock()
	m.id = r.ID
	m.mu.Unlock()
	return m.renew(ctx)
}

// Run renews the lease and exchanges notes until the context ends. Then it gives the lease back.
func (m *Member) Run(ctx context.Context) {
	var wait sync.WaitGroup
	wait.Go(func() { m.every(ctx, m.Lease/renewals, m.beat) })
	wait.Go(func() { m.every(ctx, exchange, m.exchange) })
	wait.Wait()
	m.leave(context.WithoutCancel(ctx))
}

func (m *Member) every(ctx context.Context, interval time.Duration, do func(context.Context)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			do(ctx)
		}
	}
}

// leave ends the lease, so that the others need not wait until it expires.
func (m *Member) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	m.lose()
	m.mu.Lock()
	id := m.id
	m.mu.Unlock()
	if err := m.Ledger.Leave(ctx, id); err != nil {
		m.Log.Warn("end the lease of this replica", "error", err)
	}
}

// beat renews the lease, or gets a new one.
func (m *Member) beat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := m.renew(ctx)
	if errors.Is(err, ledger.ErrLeaseLost) {
		if m.lose() {
			m.Log.Warn("this replica lost its lease: others work on its units")
		}
		if err = m.join(ctx, false); err == nil {
			m.Log.Info("joined the replicas again")
		}
	}
	if err == nil {
		err = m.audit(ctx)
	}
	if err != nil && ctx.Err() == nil {
		m.Log.Warn("renew the lease of this replica", "error", err)
	}
}

// audit compares the units of this replica with the ledger's holds. They differ after a request whose answer got lost, and after the database
// failed over to a copy that lacks the last writes. Without it, such a unit would have no replica that can work on it.
func (m *Member) audit(ctx context.Context) error {
	if m.beats++; m.beats%auditEvery != 0 {
		return nil
	}
	m.mu.Lock()
	id, before := m.id, maps.Clone(m.units)
	m.mu.Unlock()
	holds, err := m.Ledger.Holds(ctx)
	if err != nil {
		return err
	}
	m.mu.Lock()
	if id != m.id || m.expired() {
		m.mu.Unlock()
		return nil
	}
	var strays []ledger.Hold
	for _, h := range holds {
		switch u := before[h.Unit]; {
		case h.Replica != id:
		case u != nil && u.hold == h:
			delete(before, h.Unit)
		case m.units[h.Unit] == nil && !m.assigned(h.Unit): // what is assigned is claimed again when there is work
			strays = append(strays, h)
		}
	}
	for name, u := range before {
		if m.units[name] == u { // the ledger does not know of it
			u.endAll()
			delete(m.units, name)
		}
	}
	m.mu.Unlock()
	for _, h := range strays {
		m.yield(ctx, h)
	}
	return nil
}

// renew renews the lease, and notes who lives.
func (m *Member) renew(ctx context.Context) error {
	m.mu.Lock()
	id := m.id
	m.mu.Unlock()
	asked := time.Now()
	all, err := m.Ledger.Renew(ctx, id, m.Lease)
	if err != nil {
		return err
	}
	m.mu.Lock()
	if id != m.id || time.Since(asked) >= m.Lease {
		m.mu.Unlock()
		return nil // the answer is too late to be of use
	}
	was := m.living
	m.living, m.until, m.wall = all, asked.Add(m.Lease), asked.Round(0).Add(m.Lease)
	if m.expiry != nil {
		m.expiry.Stop()
	}
	until := m.until
	m.expiry = time.AfterFunc(time.Until(until), func() { m.expire(until) })
	changed := !slices.EqualFunc(was, all, func(a, b ledger.Replica) bool { return a.ID == b.ID })
	idle := m.idle()
	m.mu.Unlock()
	for _, h := range idle {
		m.yield(ctx, h)
	}
	if changed {
		m.Log.Info("replicas share the work", "replicas", names(all))
		m.changed()
	}
	return nil
}

func (m *Member) changed() {
	if m.Changed != nil {
		m.Changed()
	}
}

func names(all []ledger.Replica) []string {
	var list []string
	for _, r := range all {
		list = append(list, r.Name)
	}
	slices.Sort(list)
	return list
}

// idle removes the units that are assigned to others, and on which no work is done, and returns their holds. The caller holds the lock.
func (m *Member) idle() []ledger.Hold {
	var idle []ledger.Hold
	for name, u := range m.units {
		if len(u.work) == 0 && !m.assigned(name) {
			idle = append(idle, u.hold)
			delete(m.units, name)
		}
	}
	return idle
}

// yield gives a unit up.
func (m *Member) yield(ctx context.Context, h ledger.Hold) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := m.Ledger.YieldUnit(ctx, h); err != nil {
		m.Log.Warn("give up a unit of work", "error", err)
	}
}

// lose ends all work, because the lease ended. It reports whether there was a lease.
func (m *Member) lose() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.loseLocked()
}

// expire is called at the end of a lease that was not renewed.
func (m *Member) expire(until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.until.Equal(until) && m.loseLocked() {
		m.Log.Warn("the lease of this replica ended without an answer of the ledger: its work ends")
	}
}

func (m *Member) loseLocked() bool {
	if m.living == nil {
		return false
	}
	m.losses++
	m.living, m.until = nil, time.Time{}
	for _, u := range m.units {
		u.endAll()
	}
	m.units = map[string]*unit{}
	return true
}

// expired reports whether the lease ended. The caller holds the lock.
func (m *Member) expired() bool {
	now := time.Now()
	return !now.Before(m.until) || !now.Round(0).Before(m.wall)
}

// assigned reports whether a unit is this replica's among those that live. The caller holds the lock.
func (m *Member) assigned(unit string) bool {
	var best ledger.Replica
	var most uint64
	for _, r := range m.living {
		if w := weight(r.Name, unit); best.ID == "" || w > most {
			best, most = r, w
		}
	}
	return best.ID != "" && best.ID == m.id
}

// weight is that of a replica for a unit. The replica with the greatest one gets the unit: so each one that comes or goes moves only
// its own share. It depends on the name, so that a replica that is restarted gets the same units.
func weight(replica, unit string) uint64 {
	sum := sha256.Sum256([]byte(replica + "\x00" + unit))
	return binary.BigEndian.Uint64(sum[:])
}

// Mine reports whether this replica is the one to work on a unit.
func (m *Member) Mine(unit string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.expired() && m.assigned(unit)
}

// memberKey is the key of the member in a context.
type memberKey struct{}

// Begin begins work on a unit: under is the context for it, and end has to be called after it. Several pieces of work can be done at a time.
// The error is [ErrElsewhere] if another replica works on it, [ErrBusy] if that is about to end, or the ledger's.
func (m *Member) Begin(ctx context.Context, name string) (under context.Context, end func(), err error) {
	m.mu.Lock()
	if m.expired() || !m.assigned(name) {
		m.mu.Unlock()
		return nil, nil, ErrElsewhere
	}
	id, u := m.id, m.units[name]
	m.mu.Unlock()
	var h ledger.Hold
	if u == nil {
		bounded, cancel := context.WithTimeout(ctx, patience)
		h, err = m.Ledger.ClaimUnit(bounded, id, name)
		cancel()
		switch {
		case errors.Is(err, ledger.ErrHeld), errors.Is(err, ledger.ErrLeaseLost):
			return nil, nil, fmt.Errorf("%w: %q", ErrBusy, name)
		case err != nil:
			return nil, nil, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.expired() || m.id != id || !m.assigned(name) {
		return nil, nil, ErrElsewhere // if the unit was claimed, audit gives it up
	}
	if u == nil {
		if u = m.units[name]; u == nil {
			u = &unit{hold: h, work: map[int]context.CancelCauseFunc{}}
			m.units[name] = u
		}
	} else if m.units[name] != u {
		return nil, nil, fmt.Errorf("%w: %q", ErrBusy, name) // given up meanwhile
	}
	under, cancel := context.WithCancelCause(context.WithValue(ledger.Under(ctx, u.hold), memberKey{}, m))
	u.next++
	number := u.next
	u.work[number] = cancel
	return under, func() { m.end(under, name, u, number) }, nil
}

// end ends a piece of work. A unit that is assigned to another replica is given up after the last one.
func (m *Member) end(ctx context.Context, name string, u *unit, number int) {
	m.mu.Lock()
	u.work[number](nil)
	delete(u.work, number)
	yields := len(u.work) == 0 && m.units[name] == u && !m.assigned(name)
	if yields {
		delete(m.units, name)
	}
	m.mu.Unlock()
	if yields {
		m.yield(ctx, u.hold)
	}
}

// Check returns [ErrLost] if the context is one of work under a lease that has ended. It reads the clock: a process that was paused may
// get here before its timers do.
func Check(ctx context.Context) error {
	m, ok := ctx.Value(memberKey{}).(*Member)
	if !ok {
		return nil
	}
	h, _ := ledger.HoldOf(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.expired() || h.Replica != m.id {
		return ErrLost
	}
	return nil
}

// State is what a member knows of all replicas.
type State struct {
	// ID is that of this replica; Replicas are those that live.
	ID       string
	Replicas []ledger.Replica
	// Units is how many units this replica holds, Losses how often it lost its lease.
	Units, Losses int
}

// State returns what is known. Without a lease, there are no replicas.
func (m *Member) State() State {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := State{ID: m.id, Units: len(m.units), Losses: m.losses}
	if !m.expired() {
		s.Replicas = slices.Clone(m.living)
	}
	return s
}

// Holds returns the units that this replica holds, sorted.
func (m *Member) Holds() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.units))
}
