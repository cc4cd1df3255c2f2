package bundle

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// HandedOver is the annotation of an object of a reconciler that another one takes over from. It stays on clusters until it is
// removed, and deletes nothing then.
const HandedOver = "scheduler.kalypso.io/handed-over"

// Values of the annotation.
const (
	// handedOverBefore is that of an object that the platform team can remove.
	handedOverBefore = "true"
	// handedOverMeanwhile is that of an object that was handed over while others were removed. Nobody has checked that clusters have applied that.
	handedOverMeanwhile = "meanwhile"
)

// handOver makes the files of an assignment keep the published objects of its reconciler that the rendered ones replace. To delete
// such an object, for example because its name or namespace changes, deletes everything that it applied, and the new one creates it
// again: an outage. So it is handed over:
//
//  1. The new object is added beside the old one, which no longer deletes anything. The new one adopts what the old one applied.
//  2. When the platform team says that every cluster has done this ([fleet.GitOpsRepo.RemoveHandedOver]), the old one is removed.
//
// What is handed over while the platform team says so stays until it says so again. Otherwise the change of an application, which can lead to
// a hand-over, would be followed by a removal that nobody asked for, and that blocks the changes of others until it is approved.
//
// Kustomizations and Applications can take over from each other, because both adopt what is there. A HelmRelease that another
// one replaces cannot be handed over: the assignment is held. Everything else is not handed over, and neither are rendered files
// without any object of a reconciler, or with another namespace: clusters delete the old objects and what they applied, which the plan
// counts.
func (f *folderBuild) handOver(a, published *Assignment) *fleet.Problem {
	if published == nil {
		return nil
	}
	at := slices.IndexFunc(a.Files, func(file File) bool { return file.Name() == reconcilerName })
	before, found := published.File(reconcilerName)
	if at < 0 || !found || before.Hash == a.Files[at].Hash {
		return nil
	}
	held := func(message, hint string) *fleet.Problem {
		return &fleet.Problem{
			Severity: fleet.SeverityError, Kind: fleet.KindHandedOver, Assignment: a.Name(),
			Position: fleet.Position{Source: "gitops", File: before.Path}, Message: message, Hint: hint,
		}
	}
	old, err := f.builder.published.Read(before.Path)
	if err != nil {
		return held(fmt.Sprintf("what its reconciler has on clusters cannot be read: %v", err), "try again")
	}
	remove := f.snapshot.GitOps != nil && f.snapshot.GitOps.RemoveHandedOver
	h := newHandOver(old, a.Files[at].Content(), remove)
	switch _, drifted := f.published.drifted[before.Path]; {
	case h.release != Object{}:
		return held(h.release.String()+" would be replaced by another one, and Helm would uninstall or install the release again",
			"keep its name and namespace in the template; docs/how-to/contain-a-fleet.md shows how to move it by hand")
	case len(h.kept) == 0:
		return nil
	case drifted:
		return held("the file was changed by hand while another reconciler takes over, so it is not known what is on clusters", "undo the change on the GitOps branch")
	}
	a.Files[at] = NewFile(a.Files[at].Path, h.text)
	a.digest = fleet.Digest{} // its inputs are not only those of rendering
	hint := "when every cluster has applied this, set handedOver: remove in the GitOpsRepo"
	if remove {
		hint = "set handedOver in the GitOpsRepo to keep and, when every cluster has applied this, to remove again"
	}
	a.warnings = append(slices.Clip(a.warnings), fleet.Problem{
		Severity: fleet.SeverityNotice, Kind: fleet.KindHandedOver, Assignment: a.Name(),
		Message: "the previous objects of its reconciler stay beside the new ones, which take over what they applied", Hint: hint,
	})
	return nil
}

// handOver is how the objects of a new file take over from those of an old one.
type handOver struct {
	// text is the new file, with the old objects that are kept; kept names them.
	text []byte
	kept []Object
	// release is a HelmRelease that cannot be handed over; zero without one.
	release Object
}

// newHandOver decides what is handed over. remove leaves out what was handed over before it was set.
func newHandOver(old, now []byte, remove bool) handOver {
	h := handOver{text: now}
	if !bytes.Contains(old, []byte("fluxcd.io")) && !bytes.Contains(old, []byte(argo)) || SameObjects(old, now) {
		return h
	}
	written := map[Object]bool{}
	adopts, installs := false, false
	for _, o := range Objects(now) {
		written[o] = true
		adopts = adopts || o.adopts()
		installs = installs || o.Group == fluxHelm
	}
	values := scalars(now)
	how := handing{stale: !sameSource(old, values), since: handedOverBefore}
	if remove {
		how.since = handedOverMeanwhile
	}
	text, sources := bytes.Clone(now), []byte(nil)
	decoder := yaml.NewDecoder(bytes.NewReader(old))
	for {
		var n yaml.Node
		if err := decoder.Decode(&n); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return h // no reconciler can apply it
		}
		o := objectOf(&n)
		switch {
		case written[o] || len(n.Content) == 0:
		case o.Group == fluxHelm && installs:
			h.release = o
		case o.Group == fluxSource:
			sources = appendDocument(sources, handedOverDocument(&n, o, handing{since: how.since}))
			h.kept = append(h.kept, o)
		case o.adopts() && adopts && !(remove && annotation(&n) == handedOverBefore) && (namespaceOf(&n) == "" || values[namespaceOf(&n)]):
			text = appendDocument(text, handedOverDocument(&n, o, how))
			h.kept = append(h.kept, o)
		}
	}
	if !slices.ContainsFunc(h.kept, Object.adopts) {
		h.kept = nil // sources alone keep nothing
		return h
	}
	h.text = append(text, sources...)
	return h
}

// adopts reports whether the object makes a reconciler apply others, and take over those that are there.
func (o Object) adopts() bool {
	return o.Group == fluxKustomize || o.Group == argo && o.Kind == "Application"
}

// objectOf identifies the object of a document. A List has none, because its items would have to be handed over.
func objectOf(n *yaml.Node) Object {
	var d document
	_ = n.Decode(&d) // what is not an object has no identity
	if all := d.appendTo(nil); len(all) == 1 && !strings.HasSuffix(d.Kind, "List") {
		return all[0]
	}
	return Object{}
}

// annotation returns since when an object is handed over; empty if it is not.
func annotation(n *yaml.Node) string {
	var d struct {
		Metadata struct{ Annotations map[string]string }
	}
	_ = n.Decode(&d) // what is not an object has no annotation
	return d.Metadata.Annotations[HandedOver]
}

// namespaceOf returns the namespace that an object applies others to; empty if their manifests name it.
func namespaceOf(n *yaml.Node) string {
	var d struct {
		Spec struct {
			TargetNamespace string `yaml:"targetNamespace"`
			Destination     struct{ Namespace string }
		}
	}
	_ = n.Decode(&d)
	return cmp.Or(d.Spec.TargetNamespace, d.Spec.Destination.Namespace)
}

// sameSource reports whether the new objects, which have the given values, surely apply what the old ones apply: their repository, ref and path.
func sameSource(old []byte, known map[string]bool) bool {
	decoder := yaml.NewDecoder(bytes.NewReader(old))
	for {
		var d struct {
			Spec struct {
				URL, Path string
				Ref       map[string]string
			}
		}
		if err := decoder.Decode(&d); errors.Is(err, io.EOF) {
			return true
		} else if err != nil {
			return false
		}
		for _, value := range append(slices.Collect(maps.Values(d.Spec.Ref)), d.Spec.URL, d.Spec.Path) {
			if value != "" && !known[path.Clean(value)] {
				return false
			}
		}
	}
}

// scalars returns the texts in a file, and paths in their shortest form.
func scalars(text []byte) map[string]bool {
	all := map[string]bool{}
	var visit func(n *yaml.Node)
	visit = func(n *yaml.Node) {
		if n.Kind == yaml.ScalarNode {
			all[path.Clean(n.Value)] = true
		}
		for _, child := range n.Content {
			visit(child)
		}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var n yaml.Node
		if decoder.Decode(&n) != nil {
			return all
		}
		visit(&n)
	}
}

// handing is how an object is handed over.
type handing struct {
	// stale means that its source is not that of the new objects.
	stale bool
	since string
}

// handedOverDocument marks an object as handed over, and makes sure that nothing is deleted with it.
//
//	Kustomization   prune: false, so that it deletes nothing, also not when it is deleted. It applies new commits as before, but no
//	                longer at intervals, so that the new one has the last word about the labels by which Flux prunes. If its source
//	                is stale it is suspended. Not always, because a Kustomization that waits for it would not see it become ready again.
//	Application     no finalizer, which would delete, and no automated synchronization, which would compete
func handedOverDocument(n *yaml.Node, o Object, how handing) []byte {
	root := n.Content[0]
	set(at(at(root, "metadata"), "annotations"), HandedOver, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: how.since, Style: yaml.DoubleQuotedStyle})
	spec := at(root, "spec")
	switch o.Group {
	case fluxKustomize:
		set(spec, "prune", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "false"})
		set(spec, "interval", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "8760h"})
		if how.stale {
			set(spec, "suspend", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"})
		}
		if field(spec, "deletionPolicy") != nil {
			set(spec, "deletionPolicy", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "Orphan"})
		}
	case argo:
		unset(at(root, "metadata"), "finalizers")
		if policy := field(spec, "syncPolicy"); policy != nil {
			unset(policy, "automated")
		}
	}
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if encoder.Encode(root) != nil || encoder.Close() != nil {
		return nil // cannot happen: it was decoded
	}
	return text.Bytes()
}

func appendDocument(text, document []byte) []byte {
	return append(append(text, "---\n"...), document...)
}

// field returns a value of a map, or nil.
func field(n *yaml.Node, key string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// at returns the map at a key, and adds it if it is not there.
func at(n *yaml.Node, key string) *yaml.Node {
	if v := field(n, key); v != nil && v.Kind == yaml.MappingNode {
		return v
	}
	v := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	set(n, key, v)
	return v
}

func set(n *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content[i+1] = value
			return
		}
	}
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, value)
}

func unset(n *yaml.Node, key string) {
	if n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content = slices.Delete(n.Content, i, i+2)
			return
		}
	}
}

// HandedOverObjects returns the objects in a text that have been handed over.
func HandedOverObjects(text []byte) []Object {
	if !bytes.Contains(text, []byte(HandedOver)) {
		return nil
	}
	var all []Object
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var n yaml.Node
		if decoder.Decode(&n) != nil {
			return all
		}
		if annotation(&n) != "" {
			all = append(all, objectOf(&n))
		}
	}
}
