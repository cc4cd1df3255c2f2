package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

// arrival is how long a change may take from Git to a cluster, on a machine that has much else to do.
// A namespace that goes away takes the most of it: Kubernetes looks after it again only after some seconds.
const arrival = 3 * time.Minute

// roll has the clusters look at the GitOps repository, and waits until they have applied a commit.
// What Flux refuses is a bug of Kalypso's, so everything that is followed has to be healthy then.
func roll(t *testing.T, commit string) {
	t.Helper()
	for _, c := range stack.Clusters {
		must(t, c.Pull(t.Context(), platform))
	}
	for _, c := range stack.Clusters {
		eventually(t, c.Name+" applies what was merged", func(ctx context.Context) error {
			if err := c.Applied(ctx, platform, commit); err != nil {
				return err
			}
			return c.Healthy(ctx)
		})
	}
}

// deployed is what came to a cluster, in the words of its API.
type deployed struct {
	Namespaces, Configurations, Sources, Reconcilers, Applications []string
}

// wantDeployed waits until a cluster has exactly what is said, and nothing else.
func wantDeployed(t *testing.T, cluster string, want deployed) {
	t.Helper()
	c := stack.Clusters[cluster]
	eventually(t, cluster+" has what it should", func(ctx context.Context) error {
		got, err := inspect(ctx, c)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(got, want); diff != "" {
			return fmt.Errorf("what is there and should not be (-), and the other way round (+):\n%s", diff)
		}
		return nil
	})
}

// inspect lists what Kalypso could have brought. Left out is what was there before.
func inspect(ctx context.Context, c *harness.Cluster) (deployed, error) {
	var d deployed
	for _, part := range []struct {
		out  *[]string
		kind schema.GroupVersionResource
		ours func(namespace, name string) bool
	}{
		{&d.Namespaces, harness.Namespaces, func(_, name string) bool { return !isOld(name) }},
		{&d.Configurations, harness.ConfigMaps, func(namespace, name string) bool { return !isOld(namespace) && name != "kube-root-ca.crt" }},
		{&d.Sources, harness.GitRepositories, func(_, name string) bool { return !isPlatform(name) }},
		{&d.Reconcilers, harness.Kustomizations, func(_, name string) bool { return !isPlatform(name) }},
		{&d.Applications, harness.Applications, func(string, string) bool { return true }},
	} {
		if part.kind == harness.Applications && c.Name != large {
			continue // the kind is not known there
		}
		objects, err := c.List(ctx, part.kind)
		if err != nil {
			return d, err
		}
		for _, o := range objects {
			if part.ours(o.GetNamespace(), o.GetName()) {
				*part.out = append(*part.out, strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/"))
			}
		}
	}
	return d, nil
}

// isOld knows the namespaces that a cluster has before anything is delivered.
func isOld(namespace string) bool {
	switch namespace {
	case "default", "flux-system", "argocd", agentNamespace:
		return true
	}
	return strings.HasPrefix(namespace, "kube-")
}

// isPlatform knows the objects by which Flux follows the platform's GitOps repository, in one environment or another.
func isPlatform(name string) bool {
	return name == platform || strings.HasPrefix(name, platform+"-")
}

// leave takes from a cluster what it follows, and waits until nothing of it is left.
func leave(t *testing.T, c *harness.Cluster) {
	t.Helper()
	ctx := context.Background() // the test's own is over
	objects, err := c.List(ctx, harness.Kustomizations)
	if err != nil {
		t.Error(err)
	}
	for _, o := range objects {
		if !isPlatform(o.GetName()) {
			continue
		}
		if err := c.Unfollow(ctx, o.GetName()); err != nil {
			t.Error(err)
		}
	}
	err = harness.Until(ctx, arrival, func(ctx context.Context) error {
		got, err := inspect(ctx, c)
		if diff := cmp.Diff(got, deployed{}); err == nil && diff != "" {
			err = fmt.Errorf("left on %s (-):\n%s", c.Name, diff)
		}
		return err
	})
	if err != nil {
		t.Errorf("what is not followed any more goes away: %v", err)
	}
}

// value returns a value of an assignment's platform configuration on a cluster.
func value(t *testing.T, cluster, namespace, key string) string {
	t.Helper()
	o := configuration(t, cluster, namespace)
	text, _, _ := unstructured.NestedString(o.Object, "data", key)
	return text
}

func configuration(t *testing.T, cluster, namespace string) *unstructured.Unstructured {
	t.Helper()
	o, err := stack.Clusters[cluster].Get(t.Context(), harness.ConfigMaps, namespace, "platform-config")
	must(t, err)
	return o
}

func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	if err := harness.Until(t.Context(), arrival, check); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
