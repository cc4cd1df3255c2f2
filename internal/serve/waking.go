package serve

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// place is a branch of a repository.
type place struct{ repository, branch string }

func (p place) compare(other place) int {
	return cmp.Or(strings.Compare(p.repository, other.repository), strings.Compare(p.branch, other.branch))
}

// found is what a round found.
type found struct {
	// first says that the first round is not over: nobody knows yet what it reads, so every event is about it.
	first bool
	// read are the places that it read, so that events lead to the rounds they matter for.
	read []place
	// waits is why its change is not opened or merged.
	waits string
	// problems are what was said about it.
	problems []string
}

// placesOf returns where events come from that matter to whoever read some locations.
func placesOf(read []schedule.Location) []place {
	var places []place
	for _, at := range read {
		if id, err := forge.ParseID(at.Repo); err == nil {
			places = append(places, place{id.Path, at.Branch})
		}
	}
	return places
}

// begin notes that something is looked at for the first time. Other tasks than these read nothing that events are about.
func (k *Keeper) begin(i item) {
	if i.task != doRound && i.task != doRecord && i.task != doDeliver {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, known := k.rounds[i]; !known {
		k.rounds[i] = found{first: true}
	}
}

// end forgets a first look that found nothing.
func (k *Keeper) end(i item) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.rounds[i].first {
		delete(k.rounds, i)
	}
}

// remember keeps what a round found, and returns what the one before did.
// A round that came to nothing has read nothing, and the places of the one before still count.
func (k *Keeper) remember(i item, o *schedule.Outcome) (before found) {
	now := found{waits: o.Waits, read: placesOf(o.Read)}
	k.mu.Lock()
	defer k.mu.Unlock()
	before = k.rounds[i]
	if len(o.Read) > 0 {
		k.rounds[i] = now
	}
	return before
}

// Handle looks again at what an event may have changed. It returns at once.
func (k *Keeper) Handle(e forge.Event) {
	switch e.Kind {
	case forge.EventPush, forge.EventPullRequest, forge.EventLabel, forge.EventStatus:
	default:
		return
	}
	k.start()
	for _, url := range k.ControlPlanes {
		id, err := forge.ParseID(url)
		if err != nil || id.Path != e.Repository {
			continue
		}
		switch {
		case e.Kind == forge.EventPush && e.Branch == schedule.DefaultBase:
			k.queue.Add(item{task: lookAround, controlPlane: url}) // environments may come and go
		case e.Kind != forge.EventStatus:
			k.queue.Add(item{task: lookAtChanges, controlPlane: url})
		}
	}
	for _, i := range k.reading(e) {
		k.queue.Add(i)
	}
}

// reading returns the rounds that read what an event is about. An event without a branch is about all of them.
func (k *Keeper) reading(e forge.Event) []item {
	k.mu.Lock()
	defer k.mu.Unlock()
	var items []item
	for i, last := range k.rounds {
		if last.first || slices.ContainsFunc(last.read, func(p place) bool {
			return p.repository == e.Repository && (p.branch == e.Branch || e.Branch == "" || p.branch == "")
		}) {
			items = append(items, i)
		}
	}
	return items
}
