package direct

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/artifact"
)

// maxObjects bounds the objects of a delivery.
const maxObjects = 5000

// ref identifies an object on the cluster.
type ref struct {
	Group     string `json:"group,omitempty"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Done is set in inventories when the object was applied. Without it, the object may exist.
	Done bool `json:"done,omitempty"`
	// Unwanted is set in inventories when the object should be removed, and is still there.
	Unwanted bool `json:"unwanted,omitempty"`
}

// String returns, for example, "Deployment shop/web".
func (r ref) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// same reports whether two references are of one object, in whatever version.
func (r ref) same(o ref) bool { return r.key() == o.key() }

// key returns what references of one object have in common.
func (r ref) key() ref {
	return ref{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

func (r ref) gvk() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
}

func refOf(u *unstructured.Unstructured) ref {
	gvk := u.GroupVersionKind()
	return ref{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: u.GetNamespace(), Name: u.GetName()}
}

// order is the order of applying, by kind. Kinds without an entry come last but two; what calls other programs comes at the end.
var order = map[string]int{
	"Namespace": 0, "CustomResourceDefinition": 0,
	"ResourceQuota": 1, "LimitRange": 1, "ServiceAccount": 1, "ClusterRole": 1, "Role": 1, "NetworkPolicy": 1, "PriorityClass": 1, "StorageClass": 1,
	"ClusterRoleBinding": 2, "RoleBinding": 2,
	"ConfigMap": 3, "Secret": 3, "PersistentVolumeClaim": 3, "PersistentVolume": 3,
	"Service":                        4,
	"ValidatingWebhookConfiguration": 7, "MutatingWebhookConfiguration": 7, "APIService": 7,
}

func rank(r ref) int {
	if at, ok := order[r.Kind]; ok {
		return at
	}
	return 5
}

// givesRights reports whether an object may be what gives an account its rights.
func givesRights(r ref) bool {
	switch r.Group + "/" + r.Kind {
	case "/ServiceAccount", "rbac.authorization.k8s.io/Role", "rbac.authorization.k8s.io/RoleBinding", "rbac.authorization.k8s.io/ClusterRole", "rbac.authorization.k8s.io/ClusterRoleBinding":
		return true
	}
	return false
}

// objectsOf returns the objects of an archive in the order of applying. One that cannot be read is an error, so that nothing is applied in
// part. Documents for Kalypso and kustomizations are left out.
func objectsOf(files []artifact.File) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, f := range files {
		found, err := decode(f.Content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		if all = append(all, found...); len(all) > maxObjects {
			return nil, fmt.Errorf("it has more than %d objects", maxObjects)
		}
	}
	slices.SortStableFunc(all, func(a, b *unstructured.Unstructured) int {
		x, y := refOf(a), refOf(b)
		return cmp.Or(cmp.Compare(rank(x), rank(y)), cmp.Compare(x.Group, y.Group), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
	return all, nil
}

func decode(content []byte) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		var fields map[string]any
		if err := yaml.Unmarshal(text, &fields); err != nil {
			return nil, err
		}
		if len(fields) == 0 {
			continue // only comments
		}
		found, err := flatten(fields, 0)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
}

// flatten returns an object, or the items of a List.
func flatten(fields map[string]any, depth int) ([]*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{Object: fields}
	kind := u.GetKind()
	if items, ok := fields["items"].([]any); ok && strings.HasSuffix(kind, "List") {
		if depth > 3 {
			return nil, errors.New("lists are nested too deeply")
		}
		var all []*unstructured.Unstructured
		for _, item := range items {
			m, ok := item.(map[string]any)
			if !ok {
				return nil, fmt.Errorf("an item of the %.100s is not an object", kind)
			}
			found, err := flatten(m, depth+1)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
		return all, nil
	}
	gv, err := schema.ParseGroupVersion(u.GetAPIVersion())
	switch {
	case err != nil:
		return nil, err
	case gv.Group == hub.GroupVersion.Group, gv.Group == "kustomize.config.k8s.io":
		return nil, nil
	case gv.Version == "" || kind == "" || u.GetName() == "":
		return nil, fmt.Errorf("a document has apiVersion %.100q, kind %.100q and name %.100q, want all of them: objects with generateName cannot be applied", u.GetAPIVersion(), kind, u.GetName())
	}
	for _, name := range []string{u.GetName(), u.GetNamespace(), kind} {
		if strings.ContainsAny(name, "/%\\?#\x00") || name == "." || name == ".." || len(name) > hub.MaxName {
			return nil, fmt.Errorf("%.100q is not a name", name)
		}
	}
	// What the API server writes does not belong to what is applied.
	unstructured.RemoveNestedField(fields, "status")
	for _, name := range []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"} {
		unstructured.RemoveNestedField(fields, "metadata", name)
	}
	return []*unstructured.Unstructured{u}, nil
}
