package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kalypso-io/kalypso/internal/agent/reconciler"
)

// Errors about clusters. Match with errors.Is.
var (
	// ErrNoFlux means that Flux is not installed on a cluster.
	ErrNoFlux = errors.New("no Flux is installed on the cluster")
	// ErrForeign means that an object with a name that the sample needs does not belong to the sample.
	ErrForeign = errors.New("it exists already, and does not belong to this sample")
	// ErrUnread means that the cluster has not read the repository yet; the error says why.
	ErrUnread = errors.New("the cluster cannot read the repository")
)

// Cluster is a real cluster.
type Cluster struct {
	client    dynamic.Interface
	discovery reconciler.Discovery
}

// New returns the cluster of a client configuration. It sends no request.
func New(config *rest.Config) (*Cluster, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	discovery, err := reconciler.NewDiscovery(config)
	return &Cluster{client, discovery}, err
}

// Identify returns the UID of the cluster, or [ErrNoFlux] if Flux is not installed on it.
func (c *Cluster) Identify(ctx context.Context) (uid string, err error) {
	for _, wanted := range []schema.GroupVersionResource{gitRepositories, kustomizations} {
		kinds, err := c.discovery.Kinds(ctx, wanted.Group, wanted.Version)
		if err != nil {
			return "", err
		}
		if kinds[wanted.Resource] == "" {
			return "", fmt.Errorf("%w: it does not serve %s of %s/%s", ErrNoFlux, wanted.Resource, wanted.Group, wanted.Version)
		}
	}
	switch _, err := c.client.Resource(namespaces).Get(ctx, Namespace, metav1.GetOptions{}); {
	case apierrors.IsNotFound(err):
		return "", fmt.Errorf("%w: namespace %s does not exist", ErrNoFlux, Namespace)
	case err != nil:
		return "", fmt.Errorf("read namespace %s: %w", Namespace, err)
	}
	system, err := c.client.Resource(namespaces).Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("identify the cluster: %w", err)
	}
	return string(system.GetUID()), nil
}

// Free returns [ErrForeign] if another object has the name of one of these.
func (c *Cluster) Free(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		if _, _, err := c.find(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// Apply creates or updates objects. If one does not belong to the sample, it applies nothing and returns [ErrForeign].
func (c *Cluster) Apply(ctx context.Context, objects []*unstructured.Unstructured) error {
	if err := c.Free(ctx, objects); err != nil {
		return err
	}
	for _, o := range objects {
		at, found, err := c.find(ctx, o)
		if err != nil {
			return err
		}
		if found == nil {
			_, err = at.Create(ctx, o, metav1.CreateOptions{FieldManager: manager})
		} else {
			_, err = at.Update(ctx, over(found, o), manage)
		}
		if err != nil {
			return fmt.Errorf("apply %s: %w", Name(o), err)
		}
	}
	return nil
}

const manager = "kalypso-sample"

var manage = metav1.UpdateOptions{FieldManager: manager}

// over returns an object with the desired content. It keeps the metadata, in which controllers keep their finalizers.
func over(found, wanted *unstructured.Unstructured) *unstructured.Unstructured {
	merged := found.DeepCopy()
	for field, value := range wanted.DeepCopy().Object {
		if field != "metadata" {
			merged.Object[field] = value
		}
	}
	return merged
}

// Remove deletes the objects of this sample, the last one first, and waits until Flux has pruned what they applied.
// Deleting an object that does not exist is not an error.
func (c *Cluster) Remove(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, o := range slices.Backward(objects) {
		at, found, err := c.find(ctx, o)
		if errors.Is(err, ErrForeign) || err == nil && found == nil {
			continue
		}
		if err == nil {
			uid := found.GetUID()
			err = at.Delete(ctx, o.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete %s: %w", Name(o), err)
		}
		if err := c.gone(ctx, o); err != nil {
			return fmt.Errorf("delete %s: %w", Name(o), err)
		}
	}
	return nil
}

// gone waits until an object is deleted. It does not wait for namespaces: nothing depends on their end.
func (c *Cluster) gone(ctx context.Context, o *unstructured.Unstructured) error {
	for o.GetKind() != "Namespace" {
		_, found, err := c.find(ctx, o)
		if err != nil || found == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it still exists, because Flux first prunes what it applied: %w", ctx.Err())
		case <-time.After(often):
		}
	}
	return nil
}

const often = 100 * time.Millisecond

// Reads returns nil if Flux has read all repositories among the objects, else [ErrUnread] with Flux's message.
func (c *Cluster) Reads(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		if o.GetKind() != "GitRepository" {
			continue
		}
		_, found, err := c.find(ctx, o)
		if err != nil {
			return err
		}
		if found == nil {
			return fmt.Errorf("%w: %s does not exist any more", ErrUnread, Name(o))
		}
		if err := ready(found); err != nil {
			return err
		}
	}
	return nil
}

// Applications returns the Deployments of the cluster and the ConfigMaps beside them, which greetings are made of.
func (c *Cluster) Applications(ctx context.Context) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, kind := range []schema.GroupVersionResource{deployments, configMaps} {
		list, err := c.client.Resource(kind).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", kind.Resource, err)
		}
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
	}
	return all, nil
}

// ready reads the Ready condition of a Flux object.
func ready(o *unstructured.Unstructured) error {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, one := range conditions {
		fields, _ := one.(map[string]any)
		if fields["type"] != "Ready" {
			continue
		}
		if fields["status"] == string(metav1.ConditionTrue) {
			return nil
		}
		return fmt.Errorf("%w: %s: %v", ErrUnread, Name(o), fields["message"])
	}
	return fmt.Errorf("%w: %s has no status; is Flux running?", ErrUnread, Name(o))
}

var (
	deployments     = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	configMaps      = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	namespaces      = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	gitRepositories = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "gitrepositories"}
	kustomizations  = schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}
)

// find returns the client of an object, and the existing object or nil. One without our label is [ErrForeign].
func (c *Cluster) find(ctx context.Context, o *unstructured.Unstructured) (dynamic.ResourceInterface, *unstructured.Unstructured, error) {
	kind := o.GroupVersionKind()
	// The kinds are few and known, and their plurals are regular.
	plural := strings.ToLower(kind.Kind) + "s"
	if strings.HasSuffix(plural, "ys") {
		plural = strings.TrimSuffix(plural, "ys") + "ies"
	}
	var at dynamic.ResourceInterface = c.client.Resource(kind.GroupVersion().WithResource(plural))
	if o.GetNamespace() != "" {
		at = c.client.Resource(kind.GroupVersion().WithResource(plural)).Namespace(o.GetNamespace())
	}
	found, err := at.Get(ctx, o.GetName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return at, nil, nil
	case err != nil:
		return at, nil, fmt.Errorf("read %s: %w", Name(o), err)
	case found.GetLabels()[Label] != o.GetLabels()[Label]:
		return at, nil, fmt.Errorf("%s: %w", Name(o), ErrForeign)
	}
	return at, found, nil
}
