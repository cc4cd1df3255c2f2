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

// found is the result of a round.
type found struct {
	// first means that the first round is running: it is unknown what it reads, so every event concerns it.
	first bool
	// read are the branches that the round read. Events about them lead to another round.
	read []place
	// waits is why its pull request is not opened or merged.
	waits string
	// problems are the problems that were logged.
	problems []string
}

// placesOf returns the branches of locations.
func placesOf(read []schedule.Location) []place {
	var places []place
	for _, at := range read {
		if id, err := forge.ParseID(at.Repo); err == nil {
			places = append(places, place{id.Path, at.Branch})
		}
	}
	return places
}

// startRound marks the first round of an item. Other tasks read nothing that events are about.
func (k *Keeper) startRound(i item) {
	if i.task != doRound && i.task != doRecord && i.task != doDeliver {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, known := k.rounds[i]; !known {
		k.rounds[i] = found{first: true}
	}
}

// endRound forgets a first round without a result.
func (k *Keeper) endRound(i item) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.rounds[i].first {
		delete(k.rounds, i)
	}
}

// remember stores the result of a round, and returns the previous one. A round that read nothing does not replace it.
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

// HandleEvent schedules the rounds that an event may concern. It does not block. Forges ignore the case of a repository's path,
// and tell it as it was written when the repository was created; an event for another repository would do no harm.
func (k *Keeper) HandleEvent(e forge.Event) {
	switch e.Kind {
	case forge.EventPush, forge.EventPullRequest, forge.EventLabel, forge.EventStatus:
	default:
		return
	}
	k.start()
	k.tell(note{Event: &e})
	k.handleEvent(e)
}

func (k *Keeper) handleEvent(e forge.Event) {
	refreshed := map[string]bool{}
	for _, url := range k.ControlPlanes {
		id, err := forge.ParseID(url)
		if err != nil || !strings.EqualFold(id.Path, e.Repository) {
			continue
		}
		switch {
		case e.Kind == forge.EventPush && e.Branch == schedule.DefaultBase:
			k.queue.Add(item{task: doRefresh, controlPlane: url}) // environments may come and go
			refreshed[url] = true
		case e.Kind != forge.EventStatus:
			k.queue.Add(item{task: listChanges, controlPlane: url})
		}
	}
	for _, i := range k.readersOf(e) {
		if i.task != doRound || !refreshed[i.controlPlane] { // a refresh enqueues the rounds of its environments
			k.queue.Add(i)
		}
	}
}

// readersOf returns the rounds that read the branch of an event; an event without a branch concerns all branches.
func (k *Keeper) readersOf(e forge.Event) []item {
	k.mu.Lock()
	defer k.mu.Unlock()
	var items []item
	for i, last := range k.rounds {
		if last.first || slices.ContainsFunc(last.read, func(p place) bool {
			return strings.EqualFold(p.repository, e.Repository) && (p.branch == e.Branch || e.Branch == "" || p.branch == "")
		}) {
			items = append(items, i)
		}
	}
	return items
}
