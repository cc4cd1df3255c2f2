package direct

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// Deliverer applies what the store says. One goroutine at a time uses it, except for [Deliverer.Reports] and [Deliverer.Wake].
type Deliverer struct {
	Store   *Store           // required
	Cluster *Cluster         // required
	Log     *slog.Logger     // required
	Now     func() time.Time // required
	// Status returns the state of an object by the rules of kstatus. // required
	Status func(object map[string]any) (hub.State, string)

	wake    chan struct{}
	changed chan struct{}
	states  map[string]*state
	// next is when a delivery is looked at again, and failures how many attempts failed in a row, by ID.
	next     map[string]time.Time
	failures map[string]int
	// applied is when everything was applied last, by ID: it is applied again after resync.
	applied map[string]time.Time
	// filled is whether an archive has objects, by digest.
	filled map[string]bool
	// damaged are the state files that cannot be read, by name. What their deliveries have on the cluster is not known, so these wait.
	damaged map[string]error
	// stuck is why the store keeps a delivery from going on, by ID.
	stuck map[string]error

	mu      sync.Mutex
	reports []hub.Report
	known   bool
}

const (
	// lookAgain is the pause between two looks at objects that are not healthy yet, and lookSeldom at others.
	lookAgain, lookUnhealthy, lookSeldom = 2 * time.Second, 10 * time.Second, time.Minute
	// definedWithin is how long a definition of a kind may take until the API server serves the kind.
	definedWithin = 20 * time.Second
	// resync is the time after which everything is applied again, which undoes changes by hand.
	resync = 10 * time.Minute
	// pruneAgain is the time after which what could not be removed is tried again.
	pruneAgain = time.Minute
)

// Open prepares the store and reads it.
func (d *Deliverer) Open() (err error) {
	d.wake, d.changed = make(chan struct{}, 1), make(chan struct{}, 1)
	d.next, d.failures, d.applied = map[string]time.Time{}, map[string]int{}, map[string]time.Time{}
	if err := d.Store.open(); err != nil {
		return err
	}
	d.stuck = map[string]error{}
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
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.wake:
			clear(d.next)
		case <-timer.C:
		}
		pause, err := d.Advance(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			d.Log.Error("cannot go on with what the cluster should run", "error", err)
		}
		timer.Reset(pause)
	}
}

// Advance does what is due, and returns the time until the next call. An error is of the store: the cluster is not changed without it.
func (d *Deliverer) Advance(ctx context.Context) (time.Duration, error) {
	desired, err := d.Store.Desired()
	if err != nil {
		return lookSeldom, err
	}
	if desired == nil {
		return lookSeldom, nil
	}
	defer func() { d.report(desired) }()
	var failed []error
	for _, id := range d.removed(desired) {
		failed = append(failed, d.due(id, func() error { return d.remove(ctx, id) }))
	}
	for i := range desired.Deliveries {
		one := &desired.Deliveries[i]
		failed = append(failed, d.due(one.ID(), func() error { return d.deliver(ctx, desired, one) }))
		if ctx.Err() != nil {
			return 0, errors.Join(failed...)
		}
		d.report(desired)
	}
	if len(d.damaged) == 0 { // otherwise it is not known what is needed
		if err := d.Store.tidy(d.needed()); err != nil {
			d.Log.Debug("cannot remove archives that are not needed", "error", err)
		}
	}
	pause := lookSeldom
	for id, at := range d.next {
		if d.states[id] == nil && !slices.ContainsFunc(desired.Deliveries, func(o hub.Delivery) bool { return o.ID() == id }) {
			delete(d.next, id)
			continue
		}
		if at.After(d.Now()) || d.isCurrent(desired, id) {
			pause = min(pause, max(at.Sub(d.Now()), 100*time.Millisecond))
		}
	}
	return pause, errors.Join(failed...)
}

// isCurrent reports whether something is to be done about a delivery at all.
func (d *Deliverer) isCurrent(desired *hub.Deliveries, id string) bool {
	return slices.ContainsFunc(desired.Deliveries, func(o hub.Delivery) bool { return o.ID() == id }) || slices.Contains(d.removed(desired), id)
}

// due calls a function unless its delivery has to wait. The function says how long the next call has to. Its error keeps no other delivery.
func (d *Deliverer) due(id string, do func() error) error {
	if d.Now().Before(d.next[id]) {
		return nil
	}
	d.next[id] = d.Now().Add(lookAgain)
	err := d.damaged[stateName(id)]
	if err == nil {
		err = do()
	}
	if delete(d.stuck, id); err != nil {
		d.stuck[id] = err
		d.later(id)
		return fmt.Errorf("%s: %w", id, err)
	}
	return nil
}

// later postpones a delivery after a failure. The pauses grow.
func (d *Deliverer) later(id string) {
	d.failures[id]++
	d.next[id] = d.Now().Add(min(lookAgain<<min(d.failures[id], 10), maxPause))
}

// needed returns the digests of archives that are or may be applied.
func (d *Deliverer) needed() map[string]bool {
	needed := map[string]bool{}
	if desired, err := d.Store.Desired(); err == nil && desired != nil {
		for _, one := range desired.Deliveries {
			needed[one.Digest] = true
		}
	}
	for _, s := range d.states {
		needed[s.Delivery.Digest] = true
		if s.Healthy != nil {
			needed[s.Healthy.Digest] = true
		}
	}
	return needed
}

// removed returns the IDs of deliveries that the folder of the platform no longer declares, the last first. What belongs to a folder that is gone or
// could not be read stays: no document says that it should be removed.
func (d *Deliverer) removed(desired *hub.Deliveries) []string {
	var ids []string
	for id, s := range d.states {
		if s.Delivery.Platform() || slices.ContainsFunc(desired.Deliveries, func(o hub.Delivery) bool { return o.ID() == id }) {
			continue
		}
		at := slices.IndexFunc(desired.Deliveries, func(o hub.Delivery) bool { return o.Platform() && o.Name == s.Delivery.Of && o.Error == "" })
		if at >= 0 && d.declares(desired, &desired.Deliveries[at]) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	return ids
}

// declares reports whether a folder of the platform has anything. An empty folder, which may have been removed or renamed, does not say
// that all applications should go.
func (d *Deliverer) declares(desired *hub.Deliveries, one *hub.Delivery) bool {
	if slices.ContainsFunc(desired.Deliveries, func(o hub.Delivery) bool { return o.Of == one.Name }) {
		return true
	}
	if known, ok := d.filled[one.Digest]; ok {
		return known
	}
	files, err := d.Store.Archive(one.Digest)
	if err != nil {
		return false // not yet
	}
	objects, err := objectsOf(files)
	d.filled = map[string]bool{one.Digest: err == nil && len(objects) > 0}
	return d.filled[one.Digest]
}

// account returns the account that applies a delivery; empty is the agent itself.
func account(d *hub.Delivery) string {
	if d.Platform() {
		return ""
	}
	return "system:serviceaccount:" + d.Namespace + ":" + d.Spec.ServiceAccount
}

// remove removes everything that a delivery has, in the reverse order.
func (d *Deliverer) remove(ctx context.Context, id string) error {
	s := d.states[id]
	if s.Phase != removing {
		s.Phase, s.Message, s.Unhealthy = removing, "is being removed", nil
		if err := d.Store.put(s); err != nil {
			return err
		}
	}
	left, failures := d.prune(ctx, &s.Delivery, s.Objects, func(ref) bool { return false })
	if ctx.Err() != nil {
		return nil
	}
	s.Objects = left
	if len(failures) > 0 {
		s.Message = "cannot be removed: " + summary(failures)
		d.later(id)
		return d.Store.put(s)
	}
	if err := d.Store.forget(id); err != nil {
		return err
	}
	d.Log.Info("removed a delivery", "delivery", id)
	delete(d.states, id)
	delete(d.next, id)
	delete(d.failures, id)
	delete(d.applied, id)
	return nil
}

// prune removes objects that are not kept, in the reverse order, and returns those that are left. What may give the account of an application its rights goes
// last, after everything else is gone: without its rights, the rest could never be removed.
func (d *Deliverer) prune(ctx context.Context, one *hub.Delivery, objects []ref, keep func(ref) bool) (left []ref, failures []string) {
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
			if err := d.pruneOne(ctx, one, r); err != nil {
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
func (d *Deliverer) pruneOne(ctx context.Context, one *hub.Delivery, r ref) error {
	err := d.Cluster.remove(ctx, account(one), one.ID(), r)
	if !apierrors.IsForbidden(err) {
		return err
	}
	if d.namespaceGone(ctx, one, r, err) || !r.Done {
		return nil // what the account may not even read, it has not created
	}
	if one.Platform() {
		return fmt.Errorf("%w: give the agent the right to get and delete it, or remove it with kubectl", err)
	}
	if givesRights(r) && d.Cluster.remove(ctx, "", one.ID(), r) == nil {
		return nil
	}
	return fmt.Errorf("%w: give the service account the right to get and delete it, or remove it with kubectl", err)
}

// namespaceGone reports whether an account has no rights because its namespace is gone, and the object with it.
func (d *Deliverer) namespaceGone(ctx context.Context, one *hub.Delivery, r ref, err error) bool {
	if one.Platform() || r.Namespace == "" || !apierrors.IsForbidden(err) {
		return false
	}
	u, err := d.Cluster.get(ctx, "", ref{Version: "v1", Kind: "Namespace", Name: r.Namespace})
	return err == nil && (u == nil || u.GetDeletionTimestamp() != nil)
}

// deliver brings a delivery forward by one step.
func (d *Deliverer) deliver(ctx context.Context, desired *hub.Deliveries, one *hub.Delivery) error {
	id := one.ID()
	s := d.states[id]
	if s != nil && s.Delivery.Of != one.Of { // its document is in another folder now, and only that one may remove it
		s.Delivery.Of = one.Of
		if err := d.Store.put(s); err != nil {
			return err
		}
	}
	if one.Digest == "" { // there is nothing new to apply
		d.next[id] = d.Now().Add(lookSeldom)
		return d.look(ctx, id)
	}
	if s == nil {
		s = &state{Delivery: *one, Phase: applying}
	}
	if s.Rejected != "" && s.Rejected != one.Version() {
		s.Rejected, s.Why = "", ""
	}
	target := one
	if s.Rejected == one.Version() && s.Healthy != nil {
		target = s.Healthy
	}
	if s.Phase != applying && s.Phase != removing && s.Delivery.Version() == target.Version() && d.Now().Sub(d.applied[id]) < resync {
		return d.look(ctx, id)
	}
	if !d.Store.HasArchive(target.Digest) || target == one && d.waits(desired, one, s) != "" {
		d.next[id] = d.Now().Add(lookAgain)
		if d.states[id] == nil {
			return nil
		}
		return d.look(ctx, id)
	}
	return d.apply(ctx, desired, s, target)
}

// waits returns the dependency that a delivery waits for before a new version is applied.
func (d *Deliverer) waits(desired *hub.Deliveries, one *hub.Delivery, s *state) string {
	if s.Applied == one.Commit && s.Delivery.Version() == one.Version() {
		return ""
	}
	for _, name := range one.Spec.DependsOn {
		for i := range desired.Deliveries {
			other := &desired.Deliveries[i]
			if other.Name != name || other.ID() == one.ID() {
				continue
			}
			if of := d.states[other.ID()]; of == nil || of.Phase != healthy || of.Delivery.Version() != other.Version() {
				return name
			}
		}
	}
	return ""
}

// apply applies a version, and prunes what it no longer has.
func (d *Deliverer) apply(ctx context.Context, desired *hub.Deliveries, s *state, target *hub.Delivery) error {
	id := target.ID()
	if s.Delivery.Version() != target.Version() || s.Since.IsZero() {
		s.Since = d.Now().UTC()
	}
	objects, refs, err := d.read(ctx, target)
	if unreachable(err) {
		d.later(id)
		return nil
	}
	if err != nil {
		return d.failed(s, target, "nothing was applied: "+oneLine(err))
	}
	if len(objects) == 0 && len(s.Objects) > 0 {
		instead := "remove the target instead"
		if target.Platform() {
			instead = "if nothing should run here any more, remove its namespaces by hand"
		}
		return d.failed(s, target, "the folder has no objects, and nothing is removed because of that: "+instead)
	}
	again := s.Delivery.Version() == target.Version() && s.Phase != applying && s.Phase != removing
	// Before the first object, the store knows what may be there afterwards.
	all := slices.Clone(refs)
	for _, r := range s.Objects {
		if at := slices.IndexFunc(all, r.same); at >= 0 {
			all[at].Done = r.Done
		} else {
			r.Unwanted = true
			all = append(all, r)
		}
	}
	if !again || len(all) != len(s.Objects) {
		if s.Delivery.Version() != target.Version() {
			s.Message, s.Unhealthy = "", nil
		}
		s.Delivery, s.Phase, s.Objects = *target, applying, all
		if err := d.Store.put(s); err != nil {
			return err
		}
		d.states[id] = s
	}
	failures, err := d.applyAll(ctx, target, objects, func(r ref) {
		if at := slices.IndexFunc(s.Objects, r.same); at >= 0 {
			s.Objects[at].Done = true
		}
	})
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		d.Log.Debug("the API server does not answer", "error", err)
		d.later(id)
		return nil
	}
	if len(failures) > 0 {
		return d.failed(s, target, fmt.Sprintf("%d of %d objects were applied; not applied: %s", len(objects)-len(failures), len(objects), summary(failures)))
	}
	// What a removed delivery has goes before what the platform gave it: its namespace, and what may be its rights.
	var before []*hub.Delivery
	if target.Platform() {
		for _, id := range d.removed(desired) {
			if other := &d.states[id].Delivery; other.Of == target.Name {
				before = append(before, other)
			}
		}
	}
	left, failures := d.prune(ctx, target, s.Objects, func(r ref) bool {
		return slices.ContainsFunc(refs, r.same) || len(before) > 0 && givesRights(r) || slices.ContainsFunc(before, func(o *hub.Delivery) bool { return hasIn(o, r) })
	})
	if ctx.Err() != nil {
		return nil
	}
	d.applied[id], s.Objects, s.Left = d.Now(), left, ""
	delete(d.failures, id)
	if len(before) > 0 {
		d.applied[id] = time.Time{}
	}
	if len(failures) > 0 {
		s.Left = "everything was applied; not removed: " + summary(failures)
		d.applied[id] = d.Now().Add(pruneAgain - resync)
		d.Log.Warn("cannot remove what a delivery no longer has", "delivery", id, "commit", target.Commit, "reason", s.Left)
	}
	s.Applied = target.Commit
	if !again || s.Phase == applying {
		s.Phase, s.Since, s.Message = waiting, d.Now().UTC(), ""
		d.Log.Info("applied a delivery", "delivery", id, "commit", target.Commit, "objects", len(objects))
	}
	if err := d.Store.put(s); err != nil {
		return err
	}
	return d.look(ctx, id)
}

// hasIn reports whether an object is the namespace of a delivery, or in it.
func hasIn(one *hub.Delivery, r ref) bool {
	namespaces := []string{one.Namespace, one.Spec.TargetNamespace}
	return r.Namespace != "" && slices.Contains(namespaces, r.Namespace) || r.Group == "" && r.Kind == "Namespace" && slices.Contains(namespaces, r.Name)
}

// read returns the objects of a version, with their namespaces.
func (d *Deliverer) read(ctx context.Context, target *hub.Delivery) ([]*unstructured.Unstructured, []ref, error) {
	files, err := d.Store.Archive(target.Digest)
	if err != nil {
		return nil, nil, err
	}
	objects, err := objectsOf(files)
	if err != nil {
		return nil, nil, err
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
	refs := make([]ref, len(objects))
	for i, u := range objects {
		namespaced, own := defined[u.GroupVersionKind().Group+"/"+u.GetKind()]
		if !own {
			kind, err := d.Cluster.serves(ctx, u.GroupVersionKind())
			if err != nil {
				return nil, nil, err
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
		if slices.ContainsFunc(refs[:i], refs[i].same) {
			return nil, nil, fmt.Errorf("%s is there twice", refs[i])
		}
	}
	return objects, refs, nil
}

// applyAll applies objects in their order, and calls done after each. It goes on after a failure, except if definitions or namespaces fail. An error means that the API
// server does not answer.
func (d *Deliverer) applyAll(ctx context.Context, target *hub.Delivery, objects []*unstructured.Unstructured, done func(ref)) (failures []string, err error) {
	for i, u := range objects {
		r := refOf(u)
		if rank(r) > 0 && i > 0 && rank(refOf(objects[i-1])) == 0 {
			if len(failures) > 0 {
				for _, rest := range objects[i:] {
					failures = append(failures, refOf(rest).String()+": what it needs failed")
				}
				return failures, nil
			}
			if err := d.established(ctx, target, objects[:i]); err != nil {
				return nil, err
			}
		}
		err := d.Cluster.apply(ctx, account(target), target.ID(), u)
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
func (d *Deliverer) established(ctx context.Context, target *hub.Delivery, objects []*unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, definedWithin)
	defer cancel()
	for _, u := range objects {
		if u.GetKind() != "CustomResourceDefinition" {
			continue
		}
		for {
			current, err := d.Cluster.get(ctx, account(target), refOf(u))
			if err != nil && ctx.Err() == nil {
				return err
			}
			if current != nil {
				if s, _ := d.Status(current.Object); s == hub.StateReady {
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
func (d *Deliverer) failed(s *state, target *hub.Delivery, why string) error {
	id := target.ID()
	d.later(id)
	overdue := s.Rejected == "" && target.Spec.Rollback && d.Now().Sub(s.Since) >= target.Timeout()
	if known := d.states[id]; known != nil && s.Phase == applying && s.Message == why && s.Delivery.Version() == target.Version() && !overdue {
		return nil
	}
	d.Log.Warn("cannot apply a delivery", "delivery", id, "commit", target.Commit, "reason", why)
	if s.Delivery.Version() != target.Version() {
		s.Unhealthy = nil
	}
	s.Delivery, s.Phase, s.Message = *target, applying, why
	d.states[id] = s
	if d.Now().Sub(s.Since) >= target.Timeout() {
		d.rollBack(s)
	}
	return d.Store.put(s)
}

// look finds out whether what was applied is healthy.
func (d *Deliverer) look(ctx context.Context, id string) error {
	s := d.states[id]
	if s == nil || s.Phase == applying || s.Phase == removing {
		return nil
	}
	found, failed, err := d.health(ctx, s)
	if err != nil {
		d.Log.Debug("cannot look at the objects of a delivery", "delivery", id, "error", err)
		return nil // the API server does not answer, which says nothing about health
	}
	was := *s
	s.Unhealthy = found
	since := max(d.Now().Sub(s.Since), 0)
	switch {
	case len(found) == 0:
		s.Phase, s.Message = healthy, ""
		if s.Healthy == nil || s.Healthy.Version() != s.Delivery.Version() {
			delivery := s.Delivery
			s.Healthy = &delivery
		}
		if s.Rejected == s.Delivery.Version() {
			s.Rejected, s.Why = "", ""
		}
		d.next[id] = d.Now().Add(lookSeldom)
	case s.Phase == waiting && !failed && since < s.Delivery.Timeout():
		s.Message = found[0].String()
		d.next[id] = d.Now().Add(lookAgain)
	case s.Healthy != nil && s.Healthy.Version() == s.Delivery.Version():
		// It was healthy once: another version would not mend what happened to it since.
		s.Phase, s.Message = unhealthy, "is no longer healthy: "+found[0].String()
	default:
		if s.Phase == waiting && !failed {
			s.Why = fmt.Sprintf("did not become healthy within %s", s.Delivery.Timeout())
		} else if s.Phase == waiting {
			s.Why = "is not healthy"
		}
		s.Phase, s.Message = unhealthy, s.Why+": "+found[0].String()
		d.rollBack(s)
	}
	if s.Phase == unhealthy && d.next[id].After(d.Now()) {
		d.next[id] = d.Now().Add(lookUnhealthy)
	}
	if was.Phase == s.Phase && was.Message == s.Message && slices.Equal(was.Unhealthy, s.Unhealthy) && was.Rejected == s.Rejected && (was.Healthy == nil) == (s.Healthy == nil) {
		return nil
	}
	return d.Store.put(s)
}

// rollBack decides that the last version that was healthy is applied again.
func (d *Deliverer) rollBack(s *state) {
	if !s.Delivery.Spec.Rollback || s.Healthy == nil || s.Healthy.Version() == s.Delivery.Version() || !d.Store.HasArchive(s.Healthy.Digest) {
		return
	}
	s.Rejected, s.Why = s.Delivery.Version(), s.Message // what is reported
	d.next[s.Delivery.ID()] = time.Time{}
	d.Log.Warn("rolling back a delivery", "delivery", s.Delivery.ID(), "commit", s.Delivery.Commit, "to", s.Healthy.Commit, "reason", s.Message)
}

// health returns the objects that are not healthy, the worst first. failed means that one cannot become healthy any more.
func (d *Deliverer) health(ctx context.Context, s *state) (found []hub.ObjectHealth, failed bool, err error) {
	for _, r := range s.Objects {
		if r.Unwanted {
			continue
		}
		u, err := d.Cluster.get(ctx, account(&s.Delivery), r)
		if err != nil && !apierrors.IsForbidden(err) {
			return nil, false, err
		}
		object := hub.ObjectHealth{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Health: hub.HealthProgressing}
		switch {
		case err != nil:
			object.Message = cut(oneLine(err), hub.MaxObjectMessage)
		case u == nil:
			object.Message = "does not exist"
			d.applied[s.Delivery.ID()] = time.Time{} // it was removed by another client: apply it again
		default:
			state, text := d.Status(u.Object)
			if state == hub.StateReady {
				continue
			}
			if state == hub.StateFailed {
				failed, object.Health = true, hub.HealthDegraded
			}
			object.Message = cut(strings.Join(strings.Fields(text), " "), hub.MaxObjectMessage)
		}
		found = append(found, object)
	}
	slices.SortStableFunc(found, func(a, b hub.ObjectHealth) int { return b.Health.Severity() - a.Health.Severity() })
	return found[:min(len(found), hub.MaxUnhealthy)], failed, nil
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
