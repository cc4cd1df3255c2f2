package serve

import (
	"context"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// Deliveries delivers the applications that control planes register, identified by their subjects in the ledger.
// Its methods can be called concurrently and repeatedly; rounds of one application run one after the other.
type Deliveries interface {
	// Registered returns the applications of a control plane.
	Registered(ctx context.Context, controlPlane string) (*Registered, error)
	// Deliver runs a round of all environments of an application, and of its chain.
	Deliver(ctx context.Context, controlPlane, application string) (*Delivered, error)
	// Follow runs a round of the chain only, with the last results of the environments. It makes no requests to forges unless something
	// has to be done.
	Follow(ctx context.Context, controlPlane, application string) (*Delivered, error)
}

// Registered are the applications of a control plane.
type Registered struct {
	Applications []string
	// Problems are invalid registrations.
	Problems []string
}

// Delivered is the result of a round of an application.
type Delivered struct {
	// Application is the state after the round; may be nil.
	Application *query.Application
	// Did lists what was done, in order.
	Did []string
	// Problems are errors of single environments.
	Problems []string
	// Read are the locations that were read; empty for a round of the chain only.
	Read []schedule.Location
	// Next is when another round of the chain is needed without an event; zero for never.
	Next time.Time
	// Again is when another round of all environments is needed without an event; zero for never.
	Again time.Time
}

// listApplications lists the applications of a control plane, and enqueues all of them.
func (k *Keeper) listApplications(ctx context.Context, controlPlane string) error {
	registered, err := k.Deliveries.Registered(ctx, controlPlane)
	if registered == nil || err != nil {
		return err
	}
	i := item{task: listApplications, controlPlane: controlPlane}
	k.mu.Lock()
	was := k.rounds[i]
	k.rounds[i] = found{problems: registered.Problems}
	gone := slices.DeleteFunc(slices.Clone(k.applications[controlPlane]), func(a string) bool { return slices.Contains(registered.Applications, a) })
	k.applications[controlPlane] = registered.Applications
	for _, application := range gone {
		delete(k.rounds, item{task: doDeliver, controlPlane: controlPlane, application: application})
		delete(k.durations, application)
		k.Metrics.undelivered(controlPlane, application)
	}
	k.mu.Unlock()
	k.log(i, nil, newProblems(registered.Problems, was.problems))
	k.deliverAll(controlPlane)
	return nil
}

// deliverAll enqueues the known applications of a control plane.
func (k *Keeper) deliverAll(controlPlane string) {
	for _, application := range k.registered(controlPlane) {
		k.queue.Add(item{task: doDeliver, controlPlane: controlPlane, application: application})
	}
}

// Deliver schedules a round of an application whose repositories have not changed, for example after a scan. It does not block.
func (k *Keeper) Deliver(controlPlane, application string) {
	k.start()
	k.wake(item{task: doDeliver, controlPlane: controlPlane, application: application}, k.delay(application))
}

// followAll schedules rounds of the chains of a control plane's applications.
func (k *Keeper) followAll(controlPlane string) {
	for _, application := range k.registered(controlPlane) {
		k.wake(item{task: doFollow, controlPlane: controlPlane, application: application}, k.delay(application))
	}
}

func (k *Keeper) registered(controlPlane string) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.applications[controlPlane]
}

// deliver runs a round of an application. If it did something, another round may be needed.
func (k *Keeper) deliver(ctx context.Context, i item) error {
	delivered, err := k.Deliveries.Deliver(ctx, i.controlPlane, i.application)
	if delivered == nil || k.gone(i) { // it was removed during the round
		return err
	}
	k.mu.Lock()
	was := k.rounds[i]
	now := found{read: placesOf(delivered.Read), problems: delivered.Problems}
	if err != nil || len(delivered.Problems) > 0 {
		now.read = append(now.read, was.read...) // some locations may not have been read this time
	}
	slices.SortFunc(now.read, place.compare)
	now.read = slices.Compact(now.read)
	k.rounds[i] = now
	k.mu.Unlock()
	k.delivered(i, delivered, newProblems(delivered.Problems, was.problems))
	if err == nil && len(delivered.Did) > 0 {
		k.queue.AddAfter(i, k.delay(i.application))
	}
	if !delivered.Again.IsZero() {
		k.queue.AddAfter(i, time.Until(delivered.Again))
	}
	return err
}

// follow runs a round of an application's chain. If it did something, the application is delivered again.
func (k *Keeper) follow(ctx context.Context, i item) error {
	begun := time.Now()
	delivered, err := k.Deliveries.Follow(ctx, i.controlPlane, i.application)
	if k.gone(i) { // it was removed during the round
		return err
	}
	k.noteDuration(i.application, time.Since(begun))
	if delivered == nil {
		return err
	}
	k.delivered(i, delivered, nil)
	if len(delivered.Did) > 0 {
		k.queue.Add(item{task: doDeliver, controlPlane: i.controlPlane, application: i.application})
	}
	return err
}

// delivered logs the result of a round, and schedules the next one.
func (k *Keeper) delivered(i item, d *Delivered, problems []string) {
	k.log(i, d.Did, problems)
	k.Metrics.delivered(d.Application)
	if !d.Next.IsZero() {
		again := item{task: doFollow, controlPlane: i.controlPlane, application: i.application}
		k.queue.AddAfter(again, max(time.Until(d.Next), k.delay(i.application)))
	}
}

// chainsOf returns the chains of the applications whose branches reconcilers follow according to reports. A report without a source
// concerns all, because the ledger does not have the previous source.
func (k *Keeper) chainsOf(sources []ledger.Source) []item {
	places := map[place]bool{}
	every := false
	for _, source := range sources {
		every = every || source.Repository == ""
		if id, err := forge.ParseID(source.Repository); err == nil {
			places[place{id.Path, source.Ref}] = true
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var items []item
	for i, last := range k.rounds {
		if i.task == doDeliver && (every || last.first || slices.ContainsFunc(last.read, func(p place) bool { return places[p] })) {
			items = append(items, item{task: doFollow, controlPlane: i.controlPlane, application: i.application})
		}
	}
	return items
}
