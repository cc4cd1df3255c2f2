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

// Deliveries is the work on the applications that control planes register. An application is named by what the ledger knows it by.
// Every method may be called at any time, by several goroutines, and again; rounds of one application come one after the other.
type Deliveries interface {
	// Registered returns the applications of a control plane.
	Registered(ctx context.Context, controlPlane string) (*Registered, error)
	// Deliver makes a round of each environment of an application, and one of its chain.
	Deliver(ctx context.Context, controlPlane, application string) (*Delivered, error)
	// Follow makes a round of the chain alone, with what the last rounds of the environments found. It asks no forge unless there
	// is something to do, so it is what reports of clusters lead to.
	Follow(ctx context.Context, controlPlane, application string) (*Delivered, error)
}

// Registered are the applications of a control plane.
type Registered struct {
	Applications []string
	// Problems are registrations that cannot be looked at.
	Problems []string
}

// Delivered says what a round of an application came to.
type Delivered struct {
	// Application is how it stands now; nil when nothing is known.
	Application *query.Application
	// Did lists what was done, in order; empty for a round in which nothing had to be.
	Did []string
	// Problems are what went wrong in single environments.
	Problems []string
	// Read are the locations that were read; empty for a round of the chain alone.
	Read []schedule.Location
	// Next is when to look again though nothing happens; zero when that is not needed.
	Next time.Time
}

// lookAtApplications finds the applications of a control plane, and puts all of them into the queue.
func (k *Keeper) lookAtApplications(ctx context.Context, controlPlane string) error {
	registered, err := k.Deliveries.Registered(ctx, controlPlane)
	if registered == nil || err != nil {
		return err
	}
	i := item{task: lookAtApplications, controlPlane: controlPlane}
	k.mu.Lock()
	was := k.rounds[i]
	k.rounds[i] = found{problems: registered.Problems}
	gone := slices.DeleteFunc(slices.Clone(k.applications[controlPlane]), func(a string) bool { return slices.Contains(registered.Applications, a) })
	k.applications[controlPlane] = registered.Applications
	for _, application := range gone {
		delete(k.rounds, item{task: doDeliver, controlPlane: controlPlane, application: application})
		delete(k.looks, application)
		k.Metrics.undelivered(application)
	}
	k.mu.Unlock()
	k.say(i, nil, news(registered.Problems, was.problems))
	k.deliverAll(controlPlane)
	return nil
}

// deliverAll puts the applications of a control plane that are known into the queue.
func (k *Keeper) deliverAll(controlPlane string) {
	for _, application := range k.registered(controlPlane) {
		k.queue.Add(item{task: doDeliver, controlPlane: controlPlane, application: application})
	}
}

// Deliver looks at an application again, because something else than its repositories has changed, such as what scans found.
// It returns at once.
func (k *Keeper) Deliver(controlPlane, application string) {
	k.start()
	k.queue.AddAfter(item{task: doDeliver, controlPlane: controlPlane, application: application}, k.settles(application))
}

// followAll looks in a moment at the chains of the applications of a control plane.
func (k *Keeper) followAll(controlPlane string) {
	for _, application := range k.registered(controlPlane) {
		k.queue.AddAfter(item{task: doFollow, controlPlane: controlPlane, application: application}, k.settles(application))
	}
}

func (k *Keeper) registered(controlPlane string) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.applications[controlPlane]
}

// deliver makes a round of an application. When it did something there may be more to do.
func (k *Keeper) deliver(ctx context.Context, i item) error {
	delivered, err := k.Deliveries.Deliver(ctx, i.controlPlane, i.application)
	if delivered == nil || k.gone(i) { // meanwhile
		return err
	}
	k.mu.Lock()
	was := k.rounds[i]
	now := found{read: placesOf(delivered.Read), problems: delivered.Problems}
	if err != nil || len(delivered.Problems) > 0 {
		now.read = append(now.read, was.read...) // what could not be read this time still counts
	}
	slices.SortFunc(now.read, place.compare)
	now.read = slices.Compact(now.read)
	k.rounds[i] = now
	k.mu.Unlock()
	k.delivered(i, delivered, news(delivered.Problems, was.problems))
	if err == nil && len(delivered.Did) > 0 {
		k.queue.AddAfter(i, k.settles(i.application))
	}
	return err
}

// follow makes a round of an application's chain. What it moved is delivered at once.
func (k *Keeper) follow(ctx context.Context, i item) error {
	begun := time.Now()
	delivered, err := k.Deliveries.Follow(ctx, i.controlPlane, i.application)
	if k.gone(i) { // meanwhile
		return err
	}
	k.looked(i.application, time.Since(begun))
	if delivered == nil {
		return err
	}
	k.delivered(i, delivered, nil)
	if len(delivered.Did) > 0 {
		k.queue.Add(item{task: doDeliver, controlPlane: i.controlPlane, application: i.application})
	}
	return err
}

// delivered tells what a round came to, and looks at the chain again when it says so.
func (k *Keeper) delivered(i item, d *Delivered, problems []string) {
	k.say(i, d.Did, problems)
	k.Metrics.delivered(d.Application)
	if !d.Next.IsZero() {
		again := item{task: doFollow, controlPlane: i.controlPlane, application: i.application}
		k.queue.AddAfter(again, max(time.Until(d.Next), k.settles(i.application)))
	}
}

// following returns the chains of the applications that read what reconcilers follow now;
// all of them if a reconciler follows nothing any more, as the ledger does not say what it followed before.
func (k *Keeper) following(reports []ledger.Report) []item {
	places := map[place]bool{}
	every := false
	for i := range reports {
		source := reports[i].Source
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
