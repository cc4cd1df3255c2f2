package direct

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/artifact"
)

const (
	// definedWithin is how long a definition of a kind may take until the API server serves the kind.
	definedWithin = 20 * time.Second
	// resync is the time after which everything is applied again, which undoes changes by hand.
	resync = 10 * time.Minute
	// pruneAgain is the time after which what could not be removed is tried again.
	pruneAgain = time.Minute
)

// work is one step of a delivery. One goroutine at a time does it.
type work struct {
	*Deliverer
	view  *view
	id    string
	track *track
	// state is a copy, which counts once it is stored; nil if the delivery has none.
	state *state
}

// step brings a delivery forward. one is what should run; nil if the delivery is no longer wanted. target is the version to apply; nil if there is none.
func (w *work) step(ctx context.Context, one, target *hub.Delivery) error {
	s := w.state
	if one == nil {
		if c := w.view.closures[s.Delivery.Of]; c.why != "" && s.Phase != removing {
			return w.await(ctx, nil, c)
		}
		return w.remove(ctx)
	}
	if s != nil && s.Delivery.Of != one.Of { // its document is in another folder now, and only that one may remove it
		s.Delivery.Of = one.Of
		if err := w.put(); err != nil {
			return err
		}
	}
	if one.Digest == "" { // there is nothing new to apply
		w.track.next = w.Now().Add(lookSeldom)
		return w.look(ctx)
	}
	if s.runs(one) && s.Delivery.Version() != one.Version() {
		return w.adopt(ctx, one)
	}
	if c := w.view.closedFor(one); target == nil && c.why != "" {
		return w.await(ctx, one, c)
	}
	if target == nil {
		err := w.look(ctx)
		if !w.view.isApplied(w.view.target(one)) { // it waits for its archive, or for another delivery
			w.track.next = w.Now().Add(lookAgain)
		}
		return err
	}
	if s == nil {
		w.state = &state{Delivery: *one, Phase: applying}
	} else if target == one && s.Rejected != "" && s.Rejected != one.Content() {
		s.Rejected, s.Why = "", ""
	}
	return w.apply(ctx, target)
}

// adopt takes over a commit that has the content that was applied already: a branch that many targets share. Nothing is applied, and what is said about
// the content stays.
func (w *work) adopt(ctx context.Context, one *hub.Delivery) error {
	s := w.state
	s.Delivery, s.Applied, s.Rejected, s.Why = *one, one.Commit, "", ""
	if s.Healthy != nil && s.Healthy.Content() == one.Content() {
		s.Healthy = one
	}
	if err := w.put(); err != nil {
		return err
	}
	return w.look(ctx)
}

// put stores the state.
func (w *work) put() error {
	if err := w.Store.put(w.state); err != nil {
		return err
	}
	w.publish(w.state)
	return nil
}

// later postpones a delivery after a failure. The pauses grow.
func (w *work) later() {
	w.track.failures++
	w.track.next = w.Now().Add(min(lookAgain<<min(w.track.failures, 10), maxPause))
}

// account returns the account that applies a delivery; empty is the agent itself.
func account(one *hub.Delivery) string {
	if one.Platform() {
		return ""
	}
	return "system:serviceaccount:" + one.Namespace + ":" + one.Spec.ServiceAccount
}

// owners returns the values of the annotation that the delivery's objects may have: its ID, and those it had before.
func (w *work) owners() []string { return append([]string{w.id}, w.state.Was...) }

// apply applies a version, and prunes what it no longer has.
func (w *work) apply(ctx context.Context, target *hub.Delivery) error {
	s := w.state
	if s.Delivery.Content() != target.Content() || s.Since.IsZero() {
		s.Since = w.Now().UTC()
	}
	objects, refs, emptied, err := w.read(ctx, target)
	if unreachable(err) {
		w.later()
		return nil
	}
	if err != nil {
		return w.failed(target, "nothing was applied: "+oneLine(err))
	}
	if len(objects) == 0 && len(s.Objects) > 0 && (!emptied || target.Platform()) {
		instead := "remove the target instead"
		if target.Platform() {
			instead = "if nothing should run here any more, remove its namespaces by hand"
		}
		return w.failed(target, "the folder has no objects, and nothing is removed because of that: "+instead)
	}
	again := s.Delivery.Version() == target.Version() && s.Phase != applying && s.Phase != removing
	// Before the first object, the store knows what may be there afterwards.
	if all := inventory(refs, s.Objects); !again || len(all) != len(s.Objects) {
		if s.Delivery.Version() != target.Version() {
			s.Message, s.Unhealthy = "", nil
		}
		s.Delivery, s.Phase, s.Begun, s.Objects = *target, applying, true, all
		if err := w.put(); err != nil {
			return err
		}
	}
	failures, err := w.applyAll(ctx, target, objects, func(r ref) {
		if at := slices.IndexFunc(s.Objects, r.same); at >= 0 {
			s.Objects[at].Done = true
		}
	})
	if ctx.Err() != nil {
		return nil
	}
	if errors.Is(err, errGaveWay) {
		w.track.next = w.Now() // behind those that waited
		return w.put()
	}
	if err != nil {
		w.Log.Debug("the API server does not answer", "error", err)
		w.later()
		return nil
	}
	if len(failures) > 0 {
		return w.failed(target, fmt.Sprintf("%d of %d objects were applied; not applied: %s", len(objects)-len(failures), len(objects), summary(failures)))
	}
	w.track.failures, w.track.applyAt = 0, w.Now().Add(max(resync, w.rest()))
	if w.pruneAfter(ctx, target, refs); ctx.Err() != nil {
		return nil
	}
	s.Applied = target.Commit
	if !again || s.Phase == applying {
		s.Phase, s.Since, s.Begun, s.Message = waiting, w.Now().UTC(), false, ""
		w.Log.Info("applied a delivery", "delivery", w.id, "commit", target.Commit, "objects", len(objects))
	}
	if err := w.put(); err != nil {
		return err
	}
	return w.look(ctx)
}

// inventory returns what a delivery may have while a version is applied: the objects of the version, and those that it had.
func inventory(refs, had []ref) []ref {
	all := slices.Clone(refs)
	at := make(map[ref]int, len(all))
	for i, r := range all {
		at[r.key()] = i
	}
	for _, r := range had {
		if i, ok := at[r.key()]; ok {
			all[i].Done = r.Done
		} else {
			r.Unwanted = true
			all = append(all, r)
		}
	}
	return all
}

// read returns the objects of a version, with their namespaces. emptied means that it says that there should be none.
func (w *work) read(ctx context.Context, target *hub.Delivery) (objects []*unstructured.Unstructured, refs []ref, emptied bool, err error) {
	files, err := w.Store.Archive(target.Digest)
	if err != nil {
		return nil, nil, false, err
	}
	if objects, err = objectsOf(files); err != nil {
		return nil, nil, false, err
	}
	defined := map[string]bool{}
	for _, u := range objects {
		if u.GetKind() == "CustomResourceDefinition" {
			kind, _, _ := unstructured.NestedString(u.Object, "spec", "names", "kind")
			group, _, _ := unstructured.NestedString(u.Object, "spec", "group")
			scope, _, _ := unstructured.NestedString(u.Object, "spec", "scope")
			defined[group+"/"+kind] = scope == "Namespaced"
		}
	}
	refs = make([]ref, len(objects))
	seen := map[ref]bool{}
	for i, u := range objects {
		namespaced, own := defined[u.GroupVersionKind().Group+"/"+u.GetKind()]
		if !own {
			kind, err := w.Cluster.serves(ctx, u.GroupVersionKind())
			if err != nil {
				return nil, nil, false, err
			}
			namespaced = kind.namespaced
		}
		switch {
		case !namespaced:
			u.SetNamespace("")
		case target.Spec.TargetNamespace != "":
			u.SetNamespace(target.Spec.TargetNamespace)
		case u.GetNamespace() == "" && !target.Platform():
			u.SetNamespace(target.Namespace)
		case u.GetNamespace() == "":
			u.SetNamespace("default")
		}
		refs[i] = refOf(u)
		if seen[refs[i].key()] {
			return nil, nil, false, fmt.Errorf("%s is there twice", refs[i])
		}
		seen[refs[i].key()] = true
	}
	_, emptied = artifact.Emptied(files)
	return objects, refs, emptied, nil
}

// applyAll applies objects in their order, and calls done after each. It goes on after a failure, except if definitions or namespaces fail. An error means that the API
// server does not answer, or is errGaveWay.
func (w *work) applyAll(ctx context.Context, target *hub.Delivery, objects []*unstructured.Unstructured, done func(ref)) (failures []string, err error) {
	first := 0
	if p := w.track.progress; p.version == target.Version() {
		first, failures = p.next, p.failures
	}
	w.track.progress = progress{}
	for i, u := range objects {
		if i < first {
			continue
		}
		if i > first && !target.Platform() && w.givesWay(w.track) {
			w.track.progress = progress{target.Version(), i, failures}
			return nil, errGaveWay
		}
		r := refOf(u)
		if rank(r) > 0 && i > 0 && rank(refOf(objects[i-1])) == 0 {
			if len(failures) > 0 {
				for _, rest := range objects[i:] {
					failures = append(failures, refOf(rest).String()+": what it needs failed")
				}
				return failures, nil
			}
			if err := w.established(ctx, target, objects[:i]); err != nil {
				return nil, err
			}
		}
		err := w.Cluster.apply(ctx, account(target), w.owners(), u)
		if unreachable(err) || ctx.Err() != nil {
			return nil, err
		}
		if err != nil {
			failures = append(failures, fmt.Sprintf("%s: %s", r, oneLine(err)))
			continue
		}
		done(r)
	}
	return failures, nil
}

// established waits until the API server serves the kinds that were defined, but not for long: the objects say which kind is missing.
func (w *work) established(ctx context.Context, target *hub.Delivery, objects []*unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, definedWithin)
	defer cancel()
	for _, u := range objects {
		if u.GetKind() != "CustomResourceDefinition" {
			continue
		}
		for {
			current, err := w.Cluster.get(ctx, account(target), refOf(u))
			if err != nil && ctx.Err() == nil {
				return err
			}
			if current != nil {
				if s, _ := w.Status(current.Object, w.Now()); s == hub.StateReady {
					break
				}
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(500 * time.Millisecond):
			}
		}
	}
	return nil
}

// unreachable reports whether an error is of the connection to the API server: it says nothing about objects.
func unreachable(err error) bool {
	var broken *url.Error
	return errors.As(err, &broken)
}

// failed stores that an attempt failed. It is repeated after a pause.
func (w *work) failed(target *hub.Delivery, why string) error {
	s := w.state
	w.later()
	late := w.Now().Sub(s.Since) >= target.Timeout()
	if known := w.view.states[w.id]; known != nil && known.Phase == applying && known.Message == why && known.Delivery.Version() == target.Version() &&
		slices.Equal(known.Objects, s.Objects) && !(late && s.Rejected == "" && target.Spec.Rollback) {
		return nil
	}
	w.Log.Warn("cannot apply a delivery", "delivery", w.id, "commit", target.Commit, "reason", why)
	if s.Delivery.Version() != target.Version() {
		s.Unhealthy = nil
	}
	s.Begun = s.Begun && s.Delivery.Content() == target.Content()
	s.Delivery, s.Phase, s.Message = *target, applying, why
	if late {
		w.rollBack()
	}
	return w.put()
}

// rollBack decides that the last version that was healthy is applied again. Its content is not tried again, also not with another commit: a branch that many
// targets share gets commits all the time, and the cluster would change back and forth.
func (w *work) rollBack() {
	s := w.state
	if !s.Delivery.Spec.Rollback || s.Healthy == nil || s.Healthy.Content() == s.Delivery.Content() || !w.Store.HasArchive(s.Healthy.Digest) {
		return
	}
	s.Rejected, s.Why = s.Delivery.Content(), s.Message // what is reported
	w.track.next = time.Time{}
	w.Log.Warn("rolling back a delivery", "delivery", w.id, "commit", s.Delivery.Commit, "to", s.Healthy.Commit, "reason", s.Message)
}

// summary joins failures, and counts those that do not fit.
func summary(failures []string) string {
	const most = 5
	text := strings.Join(failures[:min(len(failures), most)], "; ")
	if len(failures) > most {
		text += fmt.Sprintf("; and %d more", len(failures)-most)
	}
	return text
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
