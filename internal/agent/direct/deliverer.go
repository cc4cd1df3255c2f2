package direct

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// Deliverer applies what the store says. It decides which deliveries are due, and workers do one step of one delivery each at a time. One that is slow,
// or fails, does not delay the others: see place. One goroutine uses it, except for [Deliverer.Wake] and [Deliverer.Changed].
type Deliverer struct {
	Store   *Store           // required
	Cluster *Cluster         // required
	Log     *slog.Logger     // required
	Now     func() time.Time // required
	// Status returns the state of an object by the rules of kstatus. // required
	Status func(object map[string]any, now time.Time) (hub.State, string)

	// told is when the reports were made.
	told    time.Time
	wake    chan struct{}
	changed chan struct{}
	// moved receives a value when a worker stored a state or ended.
	moved   chan struct{}
	workers sync.WaitGroup
	// filled is whether an archive has objects, by digest.
	filled map[string]bool
	// damaged are the state files that cannot be read, by name. What their deliveries have on the cluster is not known, so these wait.
	damaged map[string]error

	// turn and most replace turnLength and maxHeld in tests.
	turn time.Duration
	most int64

	mu     sync.Mutex
	states map[string]*state
	tracks map[string]*track
	places places
	// stuck is why the store keeps a delivery from going on, by ID.
	stuck   map[string]error
	reports []hub.Report
	known   bool
}

// track is when and by whom a delivery is worked on. While a worker has it, only the worker uses its times.
type track struct {
	// next is when the delivery is due.
	next time.Time
	// applyAt is when everything is applied again, which undoes changes by hand.
	applyAt time.Time
	// lookAt is when a delivery that is healthy is looked at again.
	lookAt time.Time
	// failures is how many attempts failed in a row.
	failures int

	running bool
	place   place
	// woken makes the delivery due again when the worker ends.
	woken bool
	// leads is set while a version of the platform is applied for the first time: what it declares waits.
	leads bool
	// digest is that of the archive that is being applied.
	digest string
	// staged is what was found in a version that waits for its window.
	staged staged
	// progress is how far a version was applied when it gave way to another delivery.
	progress progress
}

const (
	// lookAgain is the pause between two looks at objects that are not healthy yet, and lookSeldom at others.
	lookAgain, lookUnhealthy, lookSeldom = 2 * time.Second, 10 * time.Second, time.Minute
	// tellEvery is the time between two reports while steps are done one after the other.
	tellEvery = 200 * time.Millisecond
	// restRate is how many objects are looked at in a second, and applied again, while all of them are healthy. So a cluster with many objects is looked
	// at less often, and its API server has the same work.
	restRate = 10
)

// rest returns the time between two looks at everything that is healthy.
func (d *Deliverer) rest() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	objects := 0
	for _, s := range d.states {
		objects += len(s.Objects)
	}
	return max(lookSeldom, time.Duration(objects)*time.Second/restRate)
}

// Open prepares the store and reads it.
func (d *Deliverer) Open() (err error) {
	d.wake, d.changed, d.moved = make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}, 1)
	d.tracks, d.filled, d.stuck = map[string]*track{}, map[string]bool{}, map[string]error{}
	if err := d.Store.open(); err != nil {
		return err
	}
	if d.states, d.damaged, err = d.Store.states(); err != nil {
		return fmt.Errorf("read what was applied: %w", err)
	}
	for _, one := range d.states {
		if one.Phase == waiting || one.Phase == applying {
			one.Since = d.Now().UTC() // the time in which the agent did not run does not count
		}
	}
	return nil
}

// Wake makes Run look at the store.
func (d *Deliverer) Wake() { signal(d.wake) }

// Changed receives a value when the reports may have changed.
func (d *Deliverer) Changed() <-chan struct{} { return d.changed }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // a value is waiting
	}
}

// Run applies until the context ends.
func (d *Deliverer) Run(ctx context.Context) {
	defer d.workers.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.wake:
			d.renew()
		case <-d.moved:
		case <-timer.C:
		}
		pause, err := d.dispatch(ctx, nil)
		if err != nil && ctx.Err() == nil {
			d.Log.Error("cannot go on with what the cluster should run", "error", err)
		}
		timer.Reset(pause)
	}
}

// Advance does what is due, each delivery at most once, and returns the time until the next call. An error is of the store: the cluster is not changed
// without it.
func (d *Deliverer) Advance(ctx context.Context) (time.Duration, error) {
	done := map[string]bool{}
	for {
		pause, err := d.dispatch(ctx, done)
		d.mu.Lock()
		idle := d.places.running == 0
		failed := slices.Collect(maps.Values(d.stuck))
		d.mu.Unlock()
		if !idle {
			<-d.moved
			continue
		}
		select {
		case <-d.moved: // one ended during dispatch, and others may have waited for it
		default:
			return pause, errors.Join(append(failed, err)...)
		}
	}
}

// renew makes all deliveries due.
func (d *Deliverer) renew() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.tracks {
		t.due()
	}
}

func (t *track) due() {
	if t.running {
		t.woken = true
	} else {
		t.next = time.Time{}
	}
}

// dispatch gives deliveries that are due to free workers, and returns the time until another one is due. done, if it is not nil, has those that are not
// due in spite of their time.
func (d *Deliverer) dispatch(ctx context.Context, done map[string]bool) (time.Duration, error) {
	desired, err := d.Store.Desired()
	if err != nil || desired == nil {
		return lookSeldom, err
	}
	waiting, err := d.rename(desired)
	if err != nil {
		return lookAgain, err
	}
	v := d.view(desired)
	pause := lookSeldom
	d.mu.Lock()
	d.places.refused = false
	d.mu.Unlock()
	for _, id := range d.queue(v) {
		d.mu.Lock()
		t := d.tracks[id]
		if t == nil || t.running || waiting[id] || d.places.busy == poolSize || ctx.Err() != nil {
			d.mu.Unlock()
			continue
		}
		wait := t.next.Sub(v.now)
		d.mu.Unlock()
		if wait > 0 || done[id] {
			pause = min(pause, max(wait, 100*time.Millisecond))
			continue
		}
		if d.start(ctx, v, id, t) && done != nil {
			done[id] = true
		}
	}
	d.mu.Lock()
	d.places.short = d.places.refused
	idle := d.places.running == 0
	d.mu.Unlock()
	if wait := tellEvery - time.Since(d.told); !idle && wait > 0 {
		return min(pause, wait), nil
	}
	d.tell(desired)
	return pause, nil
}

// tell reports all deliveries, and removes archives that nothing needs. That has a cost for each delivery, so it is not done after each step.
func (d *Deliverer) tell(desired *hub.Deliveries) {
	if len(d.damaged) == 0 { // otherwise it is not known what is needed
		if err := d.Store.tidy(d.needed(desired)); err != nil {
			d.Log.Debug("cannot remove archives that are not needed", "error", err)
		}
	}
	d.report(d.view(desired))
	d.told = time.Now()
}

// view returns what is known now.
func (d *Deliverer) view(desired *hub.Deliveries) *view {
	v := &view{desired: desired, wanted: map[string]*hub.Delivery{}, filled: map[string]bool{}, staged: map[string]staged{}, has: d.Store.HasArchive, now: d.Now()}
	v.closures = closuresOf(desired.Deliveries, v.now)
	for i := range desired.Deliveries {
		one := &desired.Deliveries[i]
		v.wanted[one.ID()] = one
		if !one.Platform() {
			v.filled[one.Of] = true
		}
	}
	for i := range desired.Deliveries {
		if one := &desired.Deliveries[i]; one.Platform() {
			v.filled[one.Name] = one.Error == "" && (v.filled[one.Name] || d.isFilled(one.Digest))
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	v.states = maps.Clone(d.states)
	for id, t := range d.tracks {
		if t.staged.problem != "" {
			v.staged[id] = t.staged
		}
	}
	return v
}

// isFilled reports whether an archive has objects. One that is not complete yet has none.
func (d *Deliverer) isFilled(digest string) bool {
	if known, ok := d.filled[digest]; ok {
		return known
	}
	files, err := d.Store.Archive(digest)
	if err != nil {
		return false
	}
	objects, err := objectsOf(files)
	clear(d.filled)
	d.filled[digest] = err == nil && len(objects) > 0
	return d.filled[digest]
}

// queue returns the IDs of all deliveries that may need something, in the order in which workers get them: what is removed, the platform, and the others
// by how long they are due. It adds missing tracks, and removes those of deliveries that are gone.
func (d *Deliverer) queue(v *view) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	first := v.removed()
	var rest []string
	for i := range v.desired.Deliveries {
		if one := &v.desired.Deliveries[i]; one.Platform() {
			first = append(first, one.ID())
		} else {
			rest = append(rest, one.ID())
		}
	}
	current := map[string]bool{}
	for _, id := range slices.Concat(first, rest) {
		current[id] = true
		if d.tracks[id] == nil {
			d.tracks[id] = &track{}
		}
	}
	maps.DeleteFunc(d.tracks, func(id string, t *track) bool { return !t.running && !current[id] && d.states[id] == nil })
	times := map[string]time.Time{}
	for _, id := range rest {
		if t := d.tracks[id]; !t.running {
			times[id] = t.next
		}
	}
	slices.SortStableFunc(rest, func(a, b string) int { return times[a].Compare(times[b]) })
	return append(first, rest...)
}

// start gives a delivery to a worker, if one is free and the delivery does not have to wait for the platform.
func (d *Deliverer) start(ctx context.Context, v *view, id string, t *track) bool {
	one := v.wanted[id]
	var target *hub.Delivery
	if one != nil {
		target = v.toApply(one, t.applyAt)
	}
	var size int64
	if target != nil {
		size = d.Store.contentSize(target.Digest)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if target != nil && !one.Platform() && !v.isApplied(target) && d.leads(v, one.Of) || !d.take(t, size) {
		return false
	}
	w := &work{Deliverer: d, view: v, id: id, track: t}
	if s := v.states[id]; s != nil {
		w.state = s.clone()
	}
	t.next, t.running, t.digest = v.now.Add(lookAgain), true, ""
	if target != nil {
		t.digest, t.leads = target.Digest, one.Platform() && !v.isApplied(target) && t.failures == 0
	}
	d.workers.Go(func() {
		err := d.damaged[stateName(id)]
		if err == nil {
			err = w.step(ctx, one, target)
		}
		if err != nil {
			d.Log.Error("cannot go on with a delivery", "delivery", id, "error", err)
			w.later()
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if delete(d.stuck, id); err != nil {
			d.stuck[id] = fmt.Errorf("%s: %w", id, err)
		}
		woken := t.woken
		t.running, t.woken, t.leads = false, false, false
		if woken {
			t.due()
		}
		d.leave(t)
		signal(d.moved)
	})
	return true
}

// leads reports whether the platform's delivery of a name is being applied for the first time.
func (d *Deliverer) leads(v *view, name string) bool {
	return slices.ContainsFunc(v.desired.Deliveries, func(o hub.Delivery) bool {
		t := d.tracks[o.ID()]
		return o.Platform() && o.Name == name && t != nil && t.leads
	})
}

// publish shows a state to all others.
func (d *Deliverer) publish(s *state) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.states[s.Delivery.ID()] = s.clone()
	signal(d.moved)
}

// gone forgets a delivery that has nothing any more. The platform can then remove what it gave it.
func (d *Deliverer) gone(one *hub.Delivery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.states, one.ID())
	delete(d.tracks, one.ID())
	for id, s := range d.states {
		if t := d.tracks[id]; t != nil && s.Delivery.Platform() && s.Delivery.Name == one.Of {
			t.due()
		}
	}
}

// needed returns the digests of archives that are or may be applied.
func (d *Deliverer) needed(desired *hub.Deliveries) map[string]bool {
	needed := map[string]bool{}
	for i := range desired.Deliveries {
		needed[desired.Deliveries[i].Digest] = true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.states {
		needed[s.Delivery.Digest] = true
		if s.Healthy != nil {
			needed[s.Healthy.Digest] = true
		}
	}
	for _, t := range d.tracks {
		if t.running {
			needed[t.digest] = true
		}
	}
	return needed
}
