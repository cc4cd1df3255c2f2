package operator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// Documents are the objects of a namespace, as the files of a control plane at a commit.
type Documents struct {
	// Main and Branch take the place of the base branch and of the environment's branch. Their commit is a hash of their content.
	Main, Branch fleet.Source

	// statuses are those of the objects, without ConfigMaps, which have none.
	statuses []documentStatus
}

// documentKind is a kind whose objects are documents.
type documentKind struct {
	schema.GroupVersionKind
	// resource is the name of the kind in roles.
	resource string
	// main means that the documents are usually on the base branch.
	main bool
}

// documentKinds are sorted by kind. Workloads are read from the repositories that WorkloadRegistrations name.
func documentKinds() []documentKind {
	own := func(kind, resource string, main bool) documentKind {
		return documentKind{v1alpha1.GroupVersion.WithKind(kind), resource, main}
	}
	return []documentKind{
		own("BaseRepo", "baserepoes", false),
		own("CheckPolicy", "checkpolicies", true),
		own("Cluster", "clusters", false),
		own("ClusterType", "clustertypes", false),
		{corev1.SchemeGroupVersion.WithKind("ConfigMap"), "configmaps", false},
		own("ConfigRepo", "configrepoes", false),
		own("ConfigSchema", "configschemas", false),
		own("DeploymentTarget", "deploymenttargets", false),
		own("Environment", "environments", true),
		own("GitOpsRepo", "gitopsrepoes", false),
		own("Grant", "grants", true),
		own("SchedulingPolicy", "schedulingpolicies", false),
		own("Template", "templates", true),
		own("WorkloadRegistration", "workloadregistrations", true),
	}
}

// isConfigMap reports whether the kind is the one of Kubernetes itself, of which only platform configuration counts.
func (k documentKind) isConfigMap() bool { return k.Group == "" }

// definition is the name of the kind's CustomResourceDefinition.
func (k documentKind) definition() string { return k.resource + "." + k.Group }

// configurationLabel and its value mark the ConfigMaps that are platform configuration.
const configurationLabel, configurationValue = "platform-config", "true"

// Limits of what a namespace takes from the memory that all tenants share.
const (
	// pageSize is how many objects one request lists. An object can have 1.5 MiB.
	pageSize = 100
	// maxDocuments is the size of all documents of a control plane, in bytes.
	maxDocuments = 64 << 20
)

// readDocuments lists the objects of a namespace that a selector matches. It returns an error if any kind cannot be listed completely,
// or if the namespace or a kind's definition is being deleted: what is missing then was not removed by a user.
func readDocuments(ctx context.Context, reader client.Reader, namespace string, source *v1alpha1.ObjectsSource) (*Documents, error) {
	selector := labels.Everything()
	if source.Selector != nil {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(source.Selector); err != nil {
			return nil, fmt.Errorf("spec.source.objects.selector: %w", err)
		}
	}
	var main, branch []document
	var statuses []documentStatus
	room := maxDocuments
	for _, kind := range documentKinds() {
		objects, err := listKind(ctx, reader, namespace, selector, kind, &room)
		if err != nil {
			return nil, fmt.Errorf("list %s in namespace %q, so nothing is scheduled: %w", kind.resource, namespace, err)
		}
		if kind.main {
			main = append(main, objects...)
		} else {
			branch = append(branch, objects...)
		}
		if kind.isConfigMap() {
			continue
		}
		for _, o := range objects {
			statuses = append(statuses, o.status)
		}
	}
	// The definitions and the namespace are read last: if none is being deleted now, no object has been removed by its deletion.
	for _, kind := range documentKinds() {
		if err := checkDefinition(ctx, reader, kind); err != nil {
			return nil, err
		}
	}
	var home corev1.Namespace
	err := reader.Get(ctx, client.ObjectKey{Name: namespace}, &home)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read namespace %q, so nothing is scheduled: %w", namespace, err)
	}
	if err != nil || !home.DeletionTimestamp.IsZero() || home.Status.Phase == corev1.NamespaceTerminating {
		return nil, fmt.Errorf("namespace %q is being deleted, so nothing is scheduled", namespace)
	}
	return &Documents{
		statuses: statuses,
		Main:     sourceOf(fleet.Source{Name: schedule.DefaultBase, Branch: schedule.DefaultBase, Repo: source.Repository}, main),
		Branch:   sourceOf(fleet.Source{Name: source.Environment, Branch: source.Environment, Repo: source.Repository}, branch),
	}, nil
}

// checkDefinition returns an error if the definition of a kind is being deleted: the API server deletes all its objects first.
func checkDefinition(ctx context.Context, reader client.Reader, kind documentKind) error {
	if kind.isConfigMap() {
		return nil
	}
	name := kind.definition()
	definition := &metav1.PartialObjectMetadata{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	if err := reader.Get(ctx, client.ObjectKey{Name: name}, definition); err != nil {
		return fmt.Errorf("read the definition %s, so nothing is scheduled: %w", name, err)
	}
	if !definition.DeletionTimestamp.IsZero() {
		return fmt.Errorf("the definition %s is being deleted, so nothing is scheduled", name)
	}
	return nil
}

// document is an object as the document that it was made from.
type document struct {
	name    string
	text    []byte
	changed time.Time
	status  documentStatus
}

// listKind lists the documents of a kind, and takes their size from the room that is left.
func listKind(ctx context.Context, reader client.Reader, namespace string, selector labels.Selector, kind documentKind, room *int) ([]document, error) {
	if kind.isConfigMap() {
		configuration, err := labels.NewRequirement(configurationLabel, selection.Equals, []string{configurationValue})
		if err != nil {
			return nil, err
		}
		selector = selector.Add(*configuration)
	}
	var all []document
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	for {
		err := reader.List(ctx, list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector},
			client.Limit(pageSize), client.Continue(list.GetContinue()))
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			o := &list.Items[i]
			if isDerived(o) {
				continue
			}
			text, err := documentOf(o)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", nameOf(o), err)
			}
			if *room -= len(text); *room < 0 {
				return nil, fmt.Errorf("the objects have more than %d MiB", maxDocuments>>20)
			}
			all = append(all, document{nameOf(o), text, changed(o), statusOf(o)})
		}
		if list.GetContinue() == "" {
			return all, nil
		}
	}
}

// isDerived reports whether an object was made from a Workload, as the original scheduler makes DeploymentTargets.
func isDerived(o *unstructured.Unstructured) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
		group, err := schema.ParseGroupVersion(r.APIVersion)
		return err == nil && group.Group == v1alpha1.GroupVersion.Group && r.Kind == "Workload"
	})
}

// sourceOf adds documents to a source, as files in the order of kinds and names.
func sourceOf(source fleet.Source, documents []document) fleet.Source {
	source.Objects = true
	hash := sha256.New()
	for _, d := range documents {
		sum := sha256.Sum256(d.text)
		source.Files = append(source.Files, fleet.File{
			Path: d.name, ID: hex.EncodeToString(sum[:]), Size: int64(len(d.text)), Read: func() ([]byte, error) { return d.text, nil },
		})
		if d.changed.After(source.Time) {
			source.Time = d.changed
		}
	}
	slices.SortFunc(source.Files, func(a, b fleet.File) int { return strings.Compare(a.Path, b.Path) })
	for _, f := range source.Files {
		fmt.Fprintf(hash, "%s\n%s\n", f.Path, f.ID)
	}
	source.Commit = hex.EncodeToString(hash.Sum(nil))[:40]
	return source
}

// nameOf returns how problems name an object: "SchedulingPolicy dev/functional-tests".
func nameOf(o *unstructured.Unstructured) string {
	return o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
}

// Labels and annotations that the deliverers of objects add. A document in Git has none of them.
var added = []string{"kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/", "argocd.argoproj.io/", "kubectl.kubernetes.io/last-applied-configuration"}

// documentOf returns an object as the document that it was made from: without what the API server and deliverers add. JSON is YAML.
func documentOf(o *unstructured.Unstructured) ([]byte, error) {
	document := map[string]any{}
	for field, value := range o.Object {
		if field != "metadata" && field != "status" {
			document[field] = value
		}
	}
	metadata := map[string]any{"name": o.GetName()}
	if own := withoutAdded(o.GetLabels()); len(own) > 0 {
		metadata["labels"] = own
	}
	if own := withoutAdded(o.GetAnnotations()); len(own) > 0 {
		metadata["annotations"] = own
	}
	document["metadata"] = metadata
	return json.Marshal(document)
}

func withoutAdded(all map[string]string) map[string]string {
	own := map[string]string{}
	for key, value := range all {
		if !slices.ContainsFunc(added, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
			own[key] = value
		}
	}
	return own
}

// changed returns when an object was last changed, apart from its status.
func changed(o *unstructured.Unstructured) time.Time {
	at := o.GetCreationTimestamp().Time
	for _, field := range o.GetManagedFields() {
		if field.Subresource == "" && field.Time != nil && field.Time.After(at) {
			at = field.Time.Time
		}
	}
	return at.UTC()
}
