package simulate

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// store holds the objects of a cluster, and validates them as its API server would.
type store struct {
	entries map[key]*entry
	kinds   []kind // beside those of Kubernetes itself: of the reconciler, which are there for ever
	// version counts changes of specs, not of statuses.
	version uint64
}

// entry is an object in a cluster.
type entry struct {
	*manifest
	owner      key // the reconciler that applied it; zero for what was there from the start
	generation int64
	created    time.Time
	status     map[string]any // replaced as a whole, never changed
	// available is when its pods become ready; zero for an object without pods.
	available time.Time
}

func newStore(r Reconciler) *store { return &store{entries: map[key]*entry{}, kinds: installed(r)} }

func namespace(name string) *manifest {
	return manifestOf(map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}})
}

func manifestOf(object map[string]any) *manifest {
	m, err := newManifest(&unstructured.Unstructured{Object: object})
	if err != nil {
		return &manifest{refusal: ": " + err.Error()}
	}
	return m
}

// sorted returns all objects by kind, namespace and name.
func (s *store) sorted() iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		for _, k := range slices.SortedFunc(maps.Keys(s.entries), key.compare) {
			if !yield(s.entries[k]) {
				return
			}
		}
	}
}

// put adds or replaces an object. Its pods become ready after a delay.
func (s *store) put(m *manifest, owner key, now time.Time, delay func() time.Duration) {
	e := s.entries[m.key]
	if e == nil {
		e = &entry{created: now}
		s.entries[m.key] = e
	}
	if e.manifest == nil || e.digest != m.digest {
		e.generation++
		s.version++
		if runsPods(m.key) {
			e.available = now.Add(delay())
		}
	}
	e.manifest, e.owner = m, owner
}

// runsPods reports whether a kind is ready only when its pods are.
func runsPods(k key) bool {
	return k.group == "apps" && slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet"}, k.kind)
}

// remove removes an object and what depends on it: the objects in a namespace, of a kind,
// and what a Flux reconciler has applied. Argo CD keeps that by default.
func (s *store) remove(k key) {
	e := s.entries[k]
	if e == nil {
		return
	}
	delete(s.entries, k)
	s.version++
	for other := range s.entries {
		if o := s.entries[other]; o != nil && e.takesAlong(o) {
			s.remove(other)
		}
	}
}

func (e *entry) takesAlong(o *entry) bool {
	switch {
	case e.key == key{kind: "Namespace", name: e.name}:
		return o.namespace == e.name
	case e.kind == "CustomResourceDefinition":
		return slices.ContainsFunc(defined(e.fields), func(k kind) bool { return k.Group == o.group && k.Kind == o.kind })
	case o.owner != e.key:
		return false
	case e.group == kustomizeGroup:
		return e.fields.is("spec", "prune")
	case e.group == argoGroup:
		finalizers, _ := e.fields.at("metadata", "finalizers").([]any)
		return slices.Contains(finalizers, any("resources-finalizer.argocd.argoproj.io"))
	}
	return false
}

// custom returns a custom kind that the cluster has, or will have after some manifests are applied.
func (s *store) custom(gvk schema.GroupVersionKind, with []*manifest) (kind, bool) {
	is := func(k kind) bool { return k.GroupVersionKind == gvk }
	if i := slices.IndexFunc(s.kinds, is); i >= 0 {
		return s.kinds[i], true
	}
	for _, m := range with {
		if i := slices.IndexFunc(definedBy(m), is); i >= 0 {
			return definedBy(m)[i], true
		}
	}
	for _, k := range s.defined() {
		if is(k) {
			return k, true
		}
	}
	return kind{}, false
}

// defined returns the kinds that CRDs of the cluster define.
func (s *store) defined() []kind {
	var all []kind
	for k, e := range s.entries {
		if k.kind == "CustomResourceDefinition" {
			all = append(all, definedBy(e.manifest)...)
		}
	}
	slices.SortFunc(all, kind.compare)
	return all
}

func definedBy(m *manifest) []kind {
	if m.kind != "CustomResourceDefinition" {
		return nil
	}
	return defined(m.fields)
}

// refusal says why an API server rejects an object.
type refusal struct {
	key
	// text follows the object in messages: an optional reason in brackets, a colon, and the rest.
	text string
	// noKind means that the cluster does not serve the kind.
	noKind bool
}

// refuse returns why a manifest cannot be applied together with others, or nil.
func (s *store) refuse(m *manifest, with []*manifest, created map[string]bool) *refusal {
	k, ok := m.builtin, m.isBuiltin
	if !ok {
		k, ok = s.custom(m.gvk, with)
	}
	switch {
	case !ok:
		return &refusal{m.key, fmt.Sprintf(": no matches for kind %q in version %q", m.kind, m.gvk.GroupVersion()), true}
	case m.refusal != "":
		return &refusal{m.key, m.refusal, false}
	case !k.namespaced:
		return nil
	case m.namespace == "":
		return &refusal{m.key, ": namespace not specified: the server could not find the requested resource", false}
	case s.entries[key{kind: "Namespace", name: m.namespace}] == nil && !created[m.namespace]:
		return &refusal{m.key, fmt.Sprintf(" (NotFound): namespaces %q not found", m.namespace), false}
	}
	return nil
}

// admit returns the first refusal among manifests that are applied together, or nil.
func (s *store) admit(all, with []*manifest) *refusal {
	created := map[string]bool{}
	for _, m := range with {
		if m.group == "" && m.kind == "Namespace" {
			created[m.name] = true
		}
	}
	for _, m := range all {
		if r := s.refuse(m, with, created); r != nil {
			return r
		}
	}
	return nil
}

// apply puts manifests into the cluster. If it prunes, it removes what their owner had applied before.
func (s *store) apply(all []*manifest, owner key, prune bool, now time.Time, delay func() time.Duration) {
	wanted := make(map[key]bool, len(all))
	for _, m := range all {
		wanted[m.key] = true
		s.put(m, owner, now, delay)
	}
	if !prune {
		return
	}
	for k := range s.entries {
		if e := s.entries[k]; e != nil && e.owner == owner && !wanted[k] {
			s.remove(k)
		}
	}
}

// availableAt returns when everything that a reconciler has applied is ready.
func (s *store) availableAt(owner key) time.Time {
	var last time.Time
	for _, e := range s.entries {
		if e.owner == owner && e.available.After(last) {
			last = e.available
		}
	}
	return last
}
