package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// fluxNamespace is where Flux's own objects are, by convention; templates follow it.
const fluxNamespace = "flux-system"

// startFlux starts the two controllers that follow Git repositories, for one cluster.
func (s *Stack) startFlux(ctx context.Context, c *Cluster, flags ...string) error {
	if err := c.defineFlux(ctx, s.Programs.FluxDefinitions); err != nil {
		return err
	}
	storage, err := s.Lab.Folder(c.Name+"-source-controller", "artifacts")
	if err != nil {
		return err
	}
	at, err := s.ports.take(5)
	if err != nil {
		return err
	}
	source, err := s.startController(c, "source-controller", s.Programs.SourceController,
		"--storage-path="+storage, "--storage-addr="+at[0], "--storage-adv-addr="+at[0],
		"--metrics-addr="+at[1], "--health-addr="+at[2])
	if err != nil {
		return err
	}
	kustomize, err := s.startController(c, "kustomize-controller", s.Programs.KustomizeController,
		append(flags, "--metrics-addr="+at[3], "--health-addr="+at[4], "--requeue-dependency=1s")...)
	if err != nil {
		return err
	}
	return errors.Join(
		source.WaitReady(ctx, answers("http://"+at[2]+"/readyz", "")),
		kustomize.WaitReady(ctx, answers("http://"+at[4]+"/readyz", "")),
	)
}

func (s *Stack) startController(c *Cluster, name, path string, args ...string) (*Process, error) {
	return s.Lab.Start(Program{
		Name: c.Name + "-" + name, Path: path,
		Args: append(args, "--watch-all-namespaces", "--events-addr=", "--enable-leader-election=false", "--interval-jitter-percentage=0"),
		Env:  []string{"KUBECONFIG=" + c.kubeconfig, "RUNTIME_NAMESPACE=" + fluxNamespace},
	})
}

// defineFlux makes Flux's kinds known to a cluster, and creates its namespace.
func (c *Cluster) defineFlux(ctx context.Context, definitions []string) error {
	for _, pattern := range definitions {
		if err := c.Define(ctx, pattern); err != nil {
			return err
		}
	}
	return c.Apply(ctx, Namespace(fluxNamespace))
}

// Namespace is a namespace to apply.
func Namespace(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
	}}
}

// Follow is what a cluster's Flux shall apply: a folder of a branch.
type Follow struct {
	// Name is that of the Flux objects.
	Name string // required
	URL  string // required
	// Branch and Path are where the manifests are.
	Branch, Path string // required
	// As is whose credential Flux uses.
	As Account // required
	// Namespace is where objects without one go; Argo CD only.
	Namespace string
	// Interval is how often Flux looks, besides when [Cluster.Pull] tells it to. Empty means a minute.
	Interval string
}

// Follow has the cluster's Flux apply a folder, as a user who sets up a cluster would.
func (c *Cluster) Follow(ctx context.Context, f Follow) error {
	interval := cmp.Or(f.Interval, "1m")
	return c.Apply(ctx,
		Credential(f.Name, f.As),
		fluxObject(GitRepositories, "GitRepository", f.Name, map[string]any{
			"interval": interval, "url": f.URL, "ref": map[string]any{"branch": f.Branch}, "secretRef": map[string]any{"name": f.Name},
		}),
		fluxObject(Kustomizations, "Kustomization", f.Name, map[string]any{
			"interval": interval, "retryInterval": "1s", "timeout": "30s", "prune": true, "wait": true, "path": f.Path,
			"sourceRef": map[string]any{"kind": "GitRepository", "name": f.Name},
		}),
	)
}

// Credential is a Secret with an account's token, as Flux wants it.
func Credential(name string, account Account) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name, "namespace": fluxNamespace},
		"stringData": map[string]any{"username": account.Name, "password": account.Token},
	}}
}

func fluxObject(kind schema.GroupVersionResource, name, object string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": kind.GroupVersion().String(), "kind": name,
		"metadata": map[string]any{"name": object, "namespace": fluxNamespace}, "spec": spec,
	}}
}

// Unfollow takes away what a cluster follows, and waits until Flux has removed what came from there.
func (c *Cluster) Unfollow(ctx context.Context, name string) error {
	kustomizations := c.client.Resource(Kustomizations).Namespace(fluxNamespace)
	if err := kustomizations.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("unfollow %s on %s: %w", name, c.Name, err)
	}
	err := Until(ctx, time.Minute, func(ctx context.Context) error {
		_, err := kustomizations.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is still there"), err)
	})
	if err != nil {
		return fmt.Errorf("unfollow %s on %s: %w", name, c.Name, err)
	}
	return c.client.Resource(GitRepositories).Namespace(fluxNamespace).Delete(ctx, name, metav1.DeleteOptions{})
}

// Pull tells Flux to look at its repository now, as a webhook would.
func (c *Cluster) Pull(ctx context.Context, name string) error {
	return c.Annotate(ctx, GitRepositories, fluxNamespace, name, "reconcile.fluxcd.io/requestedAt", time.Now().Format(time.RFC3339Nano))
}

// Applied has no error when Flux has applied a commit of what it follows, and found everything in it healthy.
func (c *Cluster) Applied(ctx context.Context, name, commit string) error {
	k, err := c.Get(ctx, Kustomizations, fluxNamespace, name)
	if err != nil {
		return err
	}
	if err := conditionTrue(k, "Ready"); err != nil {
		return err
	}
	applied, _, _ := unstructured.NestedString(k.Object, "status", "lastAppliedRevision")
	if !strings.HasSuffix(applied, ":"+commit) {
		return fmt.Errorf("%s has applied %q, and not yet %s", c.Name, applied, commit)
	}
	return nil
}

// Healthy has no error when everything that the cluster's Flux follows is fetched and applied.
// It is about what is delivered as well: a repository or a folder that a delivered object names wrongly is not found.
func (c *Cluster) Healthy(ctx context.Context) error {
	var problems []error
	for _, kind := range []schema.GroupVersionResource{GitRepositories, Kustomizations} {
		objects, err := c.List(ctx, kind)
		if err != nil {
			return err
		}
		for _, o := range objects {
			problems = append(problems, conditionTrue(&o, "Ready"))
		}
	}
	return errors.Join(problems...)
}
