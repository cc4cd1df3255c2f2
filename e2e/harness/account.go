package harness

import (
	"context"
	"fmt"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// As returns the cluster as a service account sees it, which may do there what its roles say.
// Programs that would run in a pod with it run beside the cluster with the same rights, by [Cluster.Kubeconfig].
func (c *Cluster) As(ctx context.Context, namespace, account string) (*Cluster, error) {
	token, err := c.token(ctx, namespace, account)
	if err != nil {
		return nil, fmt.Errorf("act as service account %s/%s on %s: %w", namespace, account, c.Name, err)
	}
	config := rest.AnonymousClientConfig(c.config)
	config.BearerToken = token
	kubeconfig := filepath.Join(filepath.Dir(c.kubeconfig), c.Name+"-"+namespace+"-"+account+".yaml")
	if err := writeKubeconfig(kubeconfig, config); err != nil {
		return nil, err
	}
	return newCluster(c.Name, kubeconfig, config)
}

// token asks the API server for a token of a service account, as kubelets do for pods.
func (c *Cluster) token(ctx context.Context, namespace, account string) (string, error) {
	request := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": map[string]any{"name": account}, "spec": map[string]any{},
	}}
	made, err := c.client.Resource(ServiceAccounts).Namespace(namespace).Create(ctx, request, metav1.CreateOptions{}, "token")
	if err != nil {
		return "", err
	}
	token, _, err := unstructured.NestedString(made.Object, "status", "token")
	return token, err
}
