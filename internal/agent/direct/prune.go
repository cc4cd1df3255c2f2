package direct

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// remove removes everything that a delivery has, in the reverse order.
func (w *work) remove(ctx context.Context) error {
	s := w.state
	if s.Phase != removing {
		s.Phase, s.Message, s.Unhealthy = removing, "is being removed", nil
		if err := w.put(); err != nil {
			return err
		}
	}
	left, failures := w.prune(ctx, &s.Delivery, s.Objects, func(ref) bool { return false })
	if ctx.Err() != nil {
		return nil
	}
	s.Objects = left
	if len(failures) > 0 {
		s.Message = "cannot be removed: " + summary(failures)
		w.later()
		return w.put()
	}
	if err := w.Store.forget(w.id); err != nil {
		return err
	}
	w.Log.Info("removed a delivery", "delivery", w.id)
	w.gone(&s.Delivery)
	return nil
}

// pruneAfter removes what a version that was applied no longer has. What a removed delivery has goes before what the platform gave it: its namespace, and what
// may be its rights.
func (w *work) pruneAfter(ctx context.Context, target *hub.Delivery, refs []ref) {
	keep := map[ref]bool{}
	for _, r := range refs {
		keep[r.key()] = true
	}
	var before []*hub.Delivery
	if target.Platform() {
		before = w.view.removedOf(target)
	}
	left, failures := w.prune(ctx, target, w.state.Objects, func(r ref) bool {
		return keep[r.key()] || len(before) > 0 && givesRights(r) || slices.ContainsFunc(before, func(o *hub.Delivery) bool { return hasIn(o, r) })
	})
	w.state.Objects, w.state.Left = left, ""
	switch {
	case len(left) > len(refs) && len(before) > 0:
		w.track.applyAt = time.Time{}
	case len(before) == 0 && len(failures) == 0:
		w.state.Was = nil // all of its objects have its ID now
	}
	if len(failures) > 0 {
		w.state.Left = "everything was applied; not removed: " + summary(failures)
		w.track.applyAt = w.Now().Add(pruneAgain)
		w.Log.Warn("cannot remove what a delivery no longer has", "delivery", w.id, "commit", target.Commit, "reason", w.state.Left)
	}
}

// hasIn reports whether an object is the namespace of a delivery, or in it.
func hasIn(one *hub.Delivery, r ref) bool {
	namespaces := []string{one.Namespace, one.Spec.TargetNamespace}
	return r.Namespace != "" && slices.Contains(namespaces, r.Namespace) || r.Group == "" && r.Kind == "Namespace" && slices.Contains(namespaces, r.Name)
}

// prune removes objects that are not kept, in the reverse order, and returns those that are left. What may give the account of an application its rights goes
// last, after everything else is gone: without its rights, the rest could never be removed.
func (w *work) prune(ctx context.Context, one *hub.Delivery, objects []ref, keep func(ref) bool) (left []ref, failures []string) {
	isLeft := map[ref]bool{}
	for _, last := range []bool{false, true} {
		for _, r := range slices.Backward(objects) {
			if keep(r) {
				isLeft[r] = true
				continue
			}
			if (!one.Platform() && givesRights(r)) != last {
				continue
			}
			if last && len(failures) > 0 {
				isLeft[r] = true // the failures explain it
				continue
			}
			if err := w.pruneOne(ctx, one, r); err != nil {
				isLeft[r] = true
				failures = append(failures, fmt.Sprintf("%s: %s", r, oneLine(err)))
			}
		}
	}
	for _, r := range objects {
		if isLeft[r] {
			left = append(left, r)
		}
	}
	return left, failures
}

// pruneOne removes an object with the rights of the delivery's account. What gave these rights, and was applied with them, is removed with those of the agent: of a
// role and its binding, one would always be left.
func (w *work) pruneOne(ctx context.Context, one *hub.Delivery, r ref) error {
	err := w.Cluster.remove(ctx, account(one), w.owners(), r)
	if !apierrors.IsForbidden(err) {
		return err
	}
	if w.namespaceGone(ctx, one, r, err) || !r.Done {
		return nil // what the account may not even read, it has not created
	}
	if one.Platform() {
		return fmt.Errorf("%w: give the agent the right to get and delete it, or remove it with kubectl", err)
	}
	if givesRights(r) && w.Cluster.remove(ctx, "", w.owners(), r) == nil {
		return nil
	}
	return fmt.Errorf("%w: give the service account the right to get and delete it, or remove it with kubectl", err)
}

// namespaceGone reports whether an account has no rights because its namespace is gone, and the object with it.
func (w *work) namespaceGone(ctx context.Context, one *hub.Delivery, r ref, err error) bool {
	if one.Platform() || r.Namespace == "" || !apierrors.IsForbidden(err) {
		return false
	}
	u, err := w.Cluster.get(ctx, "", ref{Version: "v1", Kind: "Namespace", Name: r.Namespace})
	return err == nil && (u == nil || u.GetDeletionTimestamp() != nil)
}
