package local

import (
	"context"
	"sync"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// events notifies subscribers in the process at once, and hooks in the background.
type events struct {
	mu          sync.Mutex
	subscribers map[int]func(forge.Event)
	last        int
	deliveries  *deliveries
}

func newEvents(in *installation) *events {
	return &events{subscribers: map[int]func(forge.Event){}, deliveries: newDeliveries(in.log)}
}

func (v *events) close() { v.deliveries.close() }

// Subscribe calls tell for each event on the forge, until the subscription is canceled.
// The call happens during a write to a repository: tell must not block, and must not call the forge.
func (f *Forge) Subscribe(tell func(forge.Event)) (cancel func()) {
	v := f.events
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last++
	id := v.last
	v.subscribers[id] = tell
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.subscribers, id)
	}
}

func scanHook(s scanner) (h forge.Hook, err error) {
	var secret string
	err = s.Scan(&h.URL, &secret)
	h.Secret = forge.NewSecret(secret)
	return h, err
}

// EnsureHook delivers all events of the repository to a URL.
func (r *Repository) EnsureHook(ctx context.Context, h forge.Hook) (err error) {
	defer r.explain("subscribe to events", &err)
	if h.Secret.IsZero() {
		return invalid("a hook needs a secret")
	}
	if _, err := forge.ParseSite(h.URL); err != nil {
		return invalid("the URL is not of the form https://host/path")
	}
	e, err := r.enter(ctx, Admin)
	if err != nil {
		return err
	}
	err = execute(ctx, r.forge.db, "upsertHook", e.id, h.URL, h.Secret.Reveal())
	return err
}

// tell publishes an event of a repository.
func (in *installation) tell(ctx context.Context, e entry, event forge.Event) error {
	event.Repository, event.Time = e.path(), in.now()
	event.Delivery = newDelivery()
	in.events.mu.Lock()
	for _, tell := range in.events.subscribers {
		tell(event)
	}
	in.events.mu.Unlock()
	hooks, err := queryAll(ctx, in.db, scanHook, "selectHooks", e.id)
	if err != nil {
		return err
	}
	for _, h := range hooks {
		in.events.deliveries.add(h, event)
	}
	return nil
}

// tellAbout publishes an event of a pull request.
func (in *installation) tellAbout(ctx context.Context, e entry, kind forge.EventKind, number int, actor string) error {
	event := forge.Event{Kind: kind, PullRequest: number, Sender: actor}
	if err := row(ctx, in.db, "selectPlace", e.id, number).Scan(&event.Branch, &event.Commit); err != nil {
		return err
	}
	return in.tell(ctx, e, event)
}
