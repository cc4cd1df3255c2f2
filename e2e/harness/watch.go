package harness

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// Watch calls see with an object when it exists, and after each change of it, until see returns true. Unlike [Until], it
// sees what lasts only a moment. When the context is over before, it is an error.
func (c *Cluster) Watch(
	ctx context.Context, kind schema.GroupVersionResource, namespace, name string, see func(*unstructured.Unstructured) bool,
) error {
	what := fmt.Sprintf("watch %s %s/%s on %s", kind.Resource, namespace, name, c.Name)
	watcher, err := c.client.Resource(kind).Namespace(namespace).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer watcher.Stop()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, ctx.Err())
		case event, ok := <-watcher.ResultChan():
			switch {
			case !ok:
				return fmt.Errorf("%s: the API server closed the connection", what)
			case event.Type == watch.Error:
				return fmt.Errorf("%s: %w", what, apierrors.FromObject(event.Object))
			}
			if object, ok := event.Object.(*unstructured.Unstructured); ok && see(object) {
				return nil
			}
		}
	}
}
