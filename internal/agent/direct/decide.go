package direct

import (
	"slices"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// view is what is known of all deliveries when it is decided what is done next. It decides without side effects.
type view struct {
	desired *hub.Deliveries
	// wanted are the desired deliveries by ID.
	wanted map[string]*hub.Delivery
	// states are as they are stored. They are replaced, never changed.
	states map[string]*state
	// filled has the platform's deliveries, by name, whose folder has anything. An empty folder, which may have been removed or renamed, does not say that
	// all applications should go.
	filled map[string]bool
	// closures are when the cluster may be changed, by the name of the platform's delivery, and staged what waits for that, by ID.
	closures map[string]closure
	staged   map[string]staged
	has      func(digest string) bool
	now      time.Time
}

// removed returns the IDs of deliveries that the folder of the platform no longer declares, the last first. What belongs to a folder that is gone or
// could not be read stays: no document says that it should be removed.
func (v *view) removed() []string {
	var ids []string
	for id, s := range v.states {
		if !s.Delivery.Platform() && v.wanted[id] == nil && v.filled[s.Delivery.Of] {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	return ids
}

// removedOf returns the deliveries that the folder of a platform's delivery no longer declares, and that still have something.
func (v *view) removedOf(platform *hub.Delivery) []*hub.Delivery {
	var all []*hub.Delivery
	for _, id := range v.removed() {
		if other := &v.states[id].Delivery; other.Of == platform.Name {
			all = append(all, other)
		}
	}
	return all
}

// target returns the version that should be applied: what the server says, or the version before if that one was rejected.
func (v *view) target(one *hub.Delivery) *hub.Delivery {
	if s := v.states[one.ID()]; s != nil && s.Rejected == one.Content() && s.Healthy != nil {
		return s.Healthy
	}
	return one
}

// toApply returns the version that is applied now; nil if there is nothing to apply, or it has to wait. applyAt is when what was applied is applied again.
func (v *view) toApply(one *hub.Delivery, applyAt time.Time) *hub.Delivery {
	if one.Digest == "" {
		return nil
	}
	target, s := v.target(one), v.states[one.ID()]
	if s.runs(target) && s.Delivery.Version() == target.Version() && v.now.Before(applyAt) {
		return nil
	}
	if target == one && (v.waits(one) != "" || v.closedFor(one).why != "") {
		if s == nil || !s.runs(&s.Delivery) || v.now.Before(applyAt) {
			return nil
		}
		target = &s.Delivery // what runs is kept meanwhile
	}
	if !v.has(target.Digest) {
		return nil
	}
	return target
}

// isApplied reports whether a version was applied as a whole.
func (v *view) isApplied(one *hub.Delivery) bool {
	s := v.states[one.ID()]
	return s != nil && s.Applied == one.Commit && s.Delivery.Version() == one.Version()
}

// waits returns the dependency that a delivery waits for before a new version is applied.
func (v *view) waits(one *hub.Delivery) string {
	if v.isApplied(one) {
		return ""
	}
	for _, name := range one.Spec.DependsOn {
		for i := range v.desired.Deliveries {
			other := &v.desired.Deliveries[i]
			if other.Name != name || other.ID() == one.ID() {
				continue
			}
			if of := v.states[other.ID()]; of == nil || of.Phase != healthy || of.Delivery.Version() != other.Version() {
				return name
			}
		}
	}
	return ""
}
