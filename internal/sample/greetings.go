package sample

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/sample/simulate"
)

// greetings returns the greetings of the applications on a cluster, by namespace.
func (c *Control) greetings(r *http.Request) (any, error) {
	cluster := r.PathValue("cluster")
	var text bytes.Buffer
	if err := c.Simulation.Kubectl(&text, cluster, []string{"get", "deployments", "-A", "-o", "json"}); err != nil {
		return nil, err
	}
	var deployments struct {
		Items []struct{ Metadata struct{ Namespace string } }
	}
	if err := json.Unmarshal(text.Bytes(), &deployments); err != nil {
		return nil, fmt.Errorf("read the deployments of cluster %q: %w", cluster, err)
	}
	var namespaces []string
	for _, d := range deployments.Items {
		namespaces = append(namespaces, d.Metadata.Namespace)
	}
	slices.Sort(namespaces)
	all := []simulate.Greeting{}
	for _, namespace := range slices.Compact(namespaces) {
		found, err := c.Simulation.Greetings(cluster, namespace)
		if err != nil {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(found, func(g simulate.Greeting) bool { return g.Says() == "" })...)
	}
	return all, nil
}

// GreetingsOf returns the greetings of applications by namespace, from the Deployments and ConfigMaps of a real cluster.
func GreetingsOf(cluster string, objects []*unstructured.Unstructured) []simulate.Greeting {
	var namespaces []string
	for _, o := range objects {
		namespaces = append(namespaces, o.GetNamespace())
	}
	slices.Sort(namespaces)
	all := []simulate.Greeting{}
	for _, namespace := range slices.Compact(namespaces) {
		found := simulate.GreetingsOf(cluster, namespace, objects)
		all = append(all, slices.DeleteFunc(found, func(g simulate.Greeting) bool { return g.Says() == "" })...)
	}
	return all
}

// Greetings returns the greetings of the applications on a cluster, by namespace.
func (r Remote) Greetings(ctx context.Context, cluster string) ([]simulate.Greeting, error) {
	return client.Ask[[]simulate.Greeting](ctx, r.Client, "greetings/{cluster}", struct {
		Cluster string `path:"cluster"`
	}{cluster})
}
