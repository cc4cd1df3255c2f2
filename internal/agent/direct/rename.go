package direct

import (
	"fmt"
	"slices"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// rename gives the states of platform's deliveries their new names: a folder has another one when the cluster gets a second type in the environment, or loses it.
// What was applied from it stays, with its inventory. Names that have to wait, because a worker has the delivery, are returned.
//
// The new state is stored before the old one is removed, and says which one it replaces.
func (d *Deliverer) rename(desired *hub.Deliveries) (waiting map[string]bool, err error) {
	wanted := map[string]bool{}
	for i := range desired.Deliveries {
		wanted[desired.Deliveries[i].ID()] = true
	}
	waiting = map[string]bool{}
	for i := range desired.Deliveries {
		one := &desired.Deliveries[i]
		old := d.renamed(one, wanted)
		if old == nil {
			continue
		}
		if t := d.track(old.Delivery.ID()); t != nil && t.running {
			waiting[one.ID()] = true
			continue
		}
		if err := d.store(old.renamed(one)); err != nil {
			return nil, err
		}
		d.Log.Info("a delivery of the platform has another name", "delivery", one.ID(), "before", old.Delivery.ID())
	}
	for _, s := range d.all() {
		if err := d.replace(s, wanted); err != nil {
			return nil, err
		}
	}
	return waiting, nil
}

// renamed returns the state of the folder of a platform's delivery under another name, which is no longer wanted; nil if there is none.
func (d *Deliverer) renamed(one *hub.Delivery, wanted map[string]bool) *state {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !one.Platform() || one.Spec.Source.Repository == "" || d.states[one.ID()] != nil || d.damaged[stateName(one.ID())] != nil {
		return nil
	}
	for id, s := range d.states {
		if s.Delivery.Platform() && !wanted[id] && s.Delivery.Source() == one.Source() {
			return s
		}
	}
	return nil
}

// renamed returns the state with the name of a delivery.
func (s *state) renamed(one *hub.Delivery) *state {
	next := s.clone()
	next.Was = append(slices.DeleteFunc(next.Was, func(id string) bool { return id == one.ID() }), s.Delivery.ID())
	next.Delivery.Namespace, next.Delivery.Name = one.Namespace, one.Name
	if s.Healthy != nil {
		h := *s.Healthy
		h.Namespace, h.Name = one.Namespace, one.Name
		next.Healthy = &h
	}
	return next
}

// replace removes the states that a renamed one replaces, and lets what they declared belong to it.
func (d *Deliverer) replace(s *state, wanted map[string]bool) error {
	for _, was := range s.Was {
		for _, other := range d.all() {
			id := other.Delivery.ID()
			switch t := d.track(id); {
			case wanted[id] || t != nil && t.running:
			case id == was:
				if err := d.Store.forget(id); err != nil {
					return fmt.Errorf("rename %s: %w", id, err)
				}
				d.gone(&other.Delivery)
			case !other.Delivery.Platform() && s.Delivery.Namespace+"/"+other.Delivery.Of == was:
				next := other.clone()
				next.Delivery.Of = s.Delivery.Name
				if err := d.store(next); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// store stores and shows a state that no worker has.
func (d *Deliverer) store(s *state) error {
	if err := d.Store.put(s); err != nil {
		return err
	}
	d.publish(s)
	return nil
}

// all returns all states.
func (d *Deliverer) all() []*state {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []*state
	for _, s := range d.states {
		all = append(all, s)
	}
	return all
}

func (d *Deliverer) track(id string) *track {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.tracks[id]
}
