package harness

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Cluster is an API server, seen by its administrator or by a user with other rights.
type Cluster struct {
	Name string

	kubeconfig string
	config     *rest.Config
	// server is the API server, and again starts it once more; only of a cluster seen by its administrator.
	server *Process
	again  func(ctx context.Context) (*Process, error)
	client dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

// What tests look for on clusters.
var (
	Namespaces      = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	ConfigMaps      = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	ServiceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	Secrets         = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	Deployments     = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	Definitions     = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	GitRepositories = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "gitrepositories"}
	Kustomizations  = schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}
	Applications    = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}
)

func newCluster(name, kubeconfig string, config *rest.Config) (*Cluster, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", name, err)
	}
	api, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", name, err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(api))
	return &Cluster{Name: name, kubeconfig: kubeconfig, config: config, client: client, mapper: mapper}, nil
}

// Restart ends the API server without a word, and starts it again with what it had stored.
func (c *Cluster) Restart(ctx context.Context) error {
	if err := c.server.Kill(); err != nil {
		return err
	}
	var err error
	c.server, err = c.again(ctx)
	return err
}

// Kubeconfig is the file with which programs reach the cluster, with the same rights.
func (c *Cluster) Kubeconfig() string { return c.kubeconfig }

// Get returns an object. The namespace is empty for what has none.
func (c *Cluster) Get(ctx context.Context, kind schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	return c.client.Resource(kind).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
}

// List returns all objects of a kind, sorted by namespace and name.
func (c *Cluster) List(ctx context.Context, kind schema.GroupVersionResource) ([]unstructured.Unstructured, error) {
	list, err := c.client.Resource(kind).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list %s on %s: %w", kind.Resource, c.Name, err)
	}
	return list.Items, nil
}

// Apply makes objects what they say, as "kubectl apply --server-side" does. An API server that has only just started
// may still refuse what it takes a moment later, and applying again changes nothing, so it is tried until it is taken.
func (c *Cluster) Apply(ctx context.Context, objects ...*unstructured.Unstructured) error {
	return Until(ctx, startTime, func(ctx context.Context) error {
		return c.apply(ctx, metav1.PatchOptions{}, objects...)
	})
}

// Check asks whether the API server would accept an object, and changes nothing.
// It is stricter than what Flux asks: a field that does not exist is an error as well.
func (c *Cluster) Check(ctx context.Context, object *unstructured.Unstructured) error {
	return c.apply(ctx, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}, object)
}

func (c *Cluster) apply(ctx context.Context, options metav1.PatchOptions, objects ...*unstructured.Unstructured) error {
	force := true
	options.FieldManager, options.Force = "e2e", &force
	for _, object := range objects {
		resource, err := c.resource(object)
		if err != nil {
			return err
		}
		text, err := object.MarshalJSON()
		if err != nil {
			return err
		}
		if _, err := resource.Patch(ctx, object.GetName(), types.ApplyPatchType, text, options); err != nil {
			return fmt.Errorf("apply %s %s to %s: %w", object.GetKind(), object.GetName(), c.Name, err)
		}
	}
	return nil
}

// Delete takes objects away. What is gone already is no error, and what takes a while is not waited for.
func (c *Cluster) Delete(ctx context.Context, objects ...*unstructured.Unstructured) error {
	for _, object := range objects {
		resource, err := c.resource(object)
		if err != nil {
			return err
		}
		if err := resource.Delete(ctx, object.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete %s %s on %s: %w", object.GetKind(), object.GetName(), c.Name, err)
		}
	}
	return nil
}

// resource is where objects of an object's kind and namespace are.
func (c *Cluster) resource(object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, fmt.Errorf("%s does not know %s: %w", c.Name, kind, err)
	}
	all := c.client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return all.Namespace(object.GetNamespace()), nil
	}
	return all, nil
}

// Annotate sets an annotation of an object, or removes it when the value is empty.
func (c *Cluster) Annotate(ctx context.Context, kind schema.GroupVersionResource, namespace, name, annotation, value string) error {
	var set any
	if value != "" {
		set = value
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{annotation: set}}})
	if err != nil {
		return err
	}
	if _, err := c.client.Resource(kind).Namespace(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("annotate %s %s on %s: %w", kind.Resource, name, c.Name, err)
	}
	return nil
}

// Condition returns a condition of an object's status, or nil when there is none of the type.
func Condition(object *unstructured.Unstructured, condition string) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, one := range conditions {
		if fields, ok := one.(map[string]any); ok && fields["type"] == condition {
			return fields
		}
	}
	return nil
}

// conditionTrue wants a condition of the status to be true, and to be about the object as it is now.
func conditionTrue(object *unstructured.Unstructured, condition string) error {
	what := object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
	fields := Condition(object, condition)
	if fields == nil {
		return fmt.Errorf("%s does not say whether it is %s", what, condition)
	}
	if fields["status"] != "True" {
		return fmt.Errorf("%s is not %s: %v: %v", what, condition, fields["reason"], fields["message"])
	}
	observed, found, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	if found && observed != object.GetGeneration() {
		return fmt.Errorf("%s was %s before it was changed", what, condition)
	}
	return nil
}
