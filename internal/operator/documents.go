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

// configurationLabel and its value mark the ConfigMaps that are platform configuration.
const configurationLabel, configurationValue = "platform-config", "true"

// pageSize is how many objects one request lists.
const pageSize = 500

// readDocuments lists the objects of a namespace that a selector matches. It returns an error if any kind cannot be listed completely,
// or if the namespace is being deleted: what is missing then was not removed by a user.
func readDocuments(ctx context.Context, reader client.Reader, namespace string, source *v1alpha1.ObjectsSource) (*Documents, error) {
	selector := labels.Everything()
	if source.Selector != nil {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(source.Selector); err != nil {
			return nil, fmt.Errorf("spec.source.objects.selector: %w", err)
		}
	}
	var main, branch []unstructured.Unstructured
	for _, kind := range documentKinds() {
		objects, err := listKind(ctx, reader, namespace, selector, kind)
		if err != nil {
			return nil, fmt.Errorf("list %s in namespace %q, so nothing is scheduled: %w", kind.resource, namespace, err)
		}
		if kind.main {
			main = append(main, objects...)
		} else {
			branch = append(branch, objects...)
		}
	}
	// The namespace is read last: if it is active now, no object has been removed by its deletion.
	var home corev1.Namespace
	err := reader.Get(ctx, client.ObjectKey{Name: namespace}, &home)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read namespace %q, so nothing is scheduled: %w", namespace, err)
	}
	if err != nil || !home.DeletionTimestamp.IsZero() || home.Status.Phase == corev1.NamespaceTerminating {
		return nil, fmt.Errorf("namespace %q is being deleted, so nothing is scheduled", namespace)
	}
	mainSource, err := sourceOf(fleet.Source{Name: schedule.DefaultBase, Branch: schedule.DefaultBase, Repo: source.Repository}, main)
	if err != nil {
		return nil, err
	}
	branchSource, err := sourceOf(fleet.Source{Name: source.Environment, Branch: source.Environment, Repo: source.Repository}, branch)
	return &Documents{Main: mainSource, Branch: branchSource}, err
}

func listKind(ctx context.Context, reader client.Reader, namespace string, selector labels.Selector, kind documentKind) ([]unstructured.Unstructured, error) {
	if kind.isConfigMap() {
		configuration, err := labels.NewRequirement(configurationLabel, selection.Equals, []string{configurationValue})
		if err != nil {
			return nil, err
		}
		selector = selector.Add(*configuration)
	}
	var all []unstructured.Unstructured
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	for {
		err := reader.List(ctx, list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector},
			client.Limit(pageSize), client.Continue(list.GetContinue()))
		if err != nil {
			return nil, err
		}
		for _, o := range list.Items {
			if !isDerived(&o) {
				all = append(all, *o.DeepCopy())
			}
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

// sourceOf adds objects to a source, as files in the order of kinds and names.
func sourceOf(source fleet.Source, objects []unstructured.Unstructured) (fleet.Source, error) {
	source.Objects = true
	hash := sha256.New()
	for i := range objects {
		o := &objects[i]
		text, err := documentOf(o)
		if err != nil {
			return source, fmt.Errorf("%s: %w", nameOf(o), err)
		}
		sum := sha256.Sum256(text)
		source.Files = append(source.Files, fleet.File{
			Path: nameOf(o), ID: hex.EncodeToString(sum[:]), Size: int64(len(text)), Read: func() ([]byte, error) { return text, nil },
		})
		if at := changed(o); at.After(source.Time) {
			source.Time = at
		}
	}
	slices.SortFunc(source.Files, func(a, b fleet.File) int { return strings.Compare(a.Path, b.Path) })
	for _, f := range source.Files {
		fmt.Fprintf(hash, "%s\n%s\n", f.Path, f.ID)
	}
	source.Commit = hex.EncodeToString(hash.Sum(nil))[:40]
	return source, nil
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
