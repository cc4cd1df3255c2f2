package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

// TestRings: an environment has two rings, the first with a cluster of Flux, the second with one of Argo CD. A commit soaks in the first
// before it enters the second; one that fails in the first goes back there, and never reaches the second. Users are told, although another
// receiver of the messages is dead.
func TestRings(t *testing.T) {
	t.Parallel()
	s := newRingStory(t)
	s.alive, s.dead = newReceiver(t, false), newReceiver(t, true)
	s.configuration = notifications(s.alive, s.dead)
	s.server = s.serve(t)
	for _, step := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"the first commit goes ring by ring, and each cluster finds its branch in its folder", s.begin},
		{"a commit soaks in the first ring before it enters the second", func(t *testing.T) { s.rollOut(t, "one", "two") }},
		{"a commit that fails goes back, and the second ring never has it", s.goBack},
		{"the next commit passes both", func(t *testing.T) { s.rollOut(t, "two", "three") }},
		{"users are told", s.wantMessages},
	} {
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
	must(t, s.server.Stop(t.Context()))
	s.wantDiscreetLog(t, s.server)
}

// ringStory is an environment with rings, whose clusters get a greeting.
type ringStory struct {
	*fleet
	// whole is the test of which the steps are parts.
	whole       *testing.T
	server      *server
	flux        *harness.Cluster
	argo        *argoClusters
	environment string
	// alive and dead are receivers of messages.
	alive, dead *receiver
	// good is the commit of the first ring that both clusters run.
	good string
}

// The rings. A commit soaks long enough in the first one for the test to see that the second one does not have it.
const canary, others = "canary", "others"

// greetingTemplate writes what reaches a cluster: a namespace by another template, and a ConfigMap.
const greetingTemplate = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: Template
metadata: {name: greeting}
spec:
  type: reconciler
  manifests:
  - |
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: greeting
      namespace: {{ quote .Namespace }}
    data:
      says: one
`

func newRingStory(t *testing.T) *ringStory {
	t.Helper()
	argo, err := startArgoCD()
	must(t, err)
	argo.lent.Lock()
	t.Cleanup(argo.lent.Unlock)
	f := newEmptyFleet(t, "rings")
	// The name of the environment makes that of the namespaces unique on the clusters.
	s := &ringStory{fleet: f, whole: t, flux: stack.Clusters[drone], argo: argo, environment: strings.ReplaceAll(f.organization, "rings-", "r")}
	f.borrow(t)
	url := f.url
	clusterType := func(name, pull string) string {
		return strings.Replace(object("ClusterType", name, "{reconciler: greeting, pull: "+pull+", namespaceService: default, configType: none}"),
			"{name: "+name+"}", "{name: "+name+", labels: {git-secret: "+platform+"}}", 1)
	}
	for _, branch := range []struct {
		at    string
		files map[string]string
	}{
		{"control-plane/main", map[string]string{
			"environment.yaml": object("Environment", s.environment, "{controlPlane: {repo: "+url("control-plane")+", branch: dev, path: .}, promotion: {rings: [{name: "+
				canary+", clusters: ["+drone+"], soak: 12s, onFailure: rollback}, {name: "+others+"}]}}"),
			"registration.yaml": object("WorkloadRegistration", "shop", "{workspace: shops, workload: {repo: "+url("shop")+", branch: main, path: .}}"),
			"greeting.yaml":     greetingTemplate,
		}},
		{"control-plane/dev", map[string]string{
			"base.yaml":     object("BaseRepo", "main", "{repo: "+url("control-plane")+", branch: main, path: .}"),
			"gitops.yaml":   object("GitOpsRepo", "gitops", "{repo: "+url("gitops")+", branch: dev, path: ., autoMerge: true}"),
			"types.yaml":    clusterType(drone, "flux") + "---\n" + clusterType(hubCluster, "argocd"),
			"clusters.yaml": object("Cluster", drone, "{clusterType: "+drone+"}") + "---\n" + object("Cluster", hubCluster, "{clusterType: "+hubCluster+"}"),
			"policy.yaml":   object("SchedulingPolicy", "everywhere", "{deploymentTargetSelector: {}, clusterTypeSelector: {}}"),
		}},
		{"shop/main", map[string]string{
			"workload.yaml": object("Workload", "shop", "{deploymentTargets: [{name: live, environment: "+s.environment+", manifests: {repo: "+url("shop")+", branch: main, path: .}}]}"),
		}},
		{"gitops/dev", map[string]string{"README.md": "generated\n"}},
	} {
		repository, name, _ := strings.Cut(branch.at, "/")
		f.checkouts[branch.at] = f.publish(t, repository, name, branch.files)
	}
	f.gitops = f.repositories["gitops"]
	for _, repository := range []string{"gitops", "control-plane"} {
		must(t, f.repositories[repository].Grant(t.Context(), f.bot, "write"))
	}
	return s
}

// head returns the commit of a ring's branch.
func (s *ringStory) head(ctx context.Context, ring string) (string, error) {
	return s.gitops.Head(ctx, s.environment+"-ring-"+ring)
}

// says wants a cluster to have a greeting.
func (s *ringStory) says(ctx context.Context, c *harness.Cluster, want string) error {
	o, err := c.Get(ctx, harness.ConfigMaps, s.environment+"-"+c.Name+"-shop-live", "greeting")
	if err != nil {
		return err
	}
	if got, _, _ := unstructured.NestedString(o.Object, "data", "says"); got != want {
		return fmt.Errorf("%s says %q, want %q", c.Name, got, want)
	}
	return nil
}

// wantSaid waits until a cluster has a greeting. Flux looks at its repositories when it is told to, Argo CD by itself.
func (s *ringStory) wantSaid(t *testing.T, c *harness.Cluster, want string) {
	t.Helper()
	eventually(t, c.Name+" says "+want, func(ctx context.Context) error {
		err := s.says(ctx, c, want)
		if err == nil || c != s.flux {
			return err
		}
		return errors.Join(err, s.pull(ctx))
	})
}

// pull has Flux look at the folder of its cluster, and at the branch of its ring once it follows that.
func (s *ringStory) pull(ctx context.Context) error {
	for _, name := range []string{"platform-" + s.environment + "-ring", "platform-" + s.environment} {
		if err := pullOnce(ctx, s.flux, name); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// pullOnce has Flux look at a repository, unless it is looking.
func pullOnce(ctx context.Context, c *harness.Cluster, name string) error {
	source, err := c.Get(ctx, harness.GitRepositories, "flux-system", name)
	if err != nil || source.GetAnnotations()["reconcile.fluxcd.io/requestedAt"] != field(source, "status", "lastHandledReconcileAt") {
		return err
	}
	return c.Pull(ctx, name)
}

func (s *ringStory) begin(t *testing.T) {
	eventually(t, "the first ring has a branch", func(ctx context.Context) error {
		_, err := s.head(ctx, canary)
		return err
	})
	ctx := t.Context()
	if at, err := s.head(ctx, others); err == nil {
		t.Errorf("the second ring has %s before the first one ran it", at)
	}
	must(t, s.flux.Apply(ctx, harness.Credential(platform, s.fleet.flux)))
	must(t, s.argo.AddRepository(ctx, s.organization+"-gitops", s.gitops, s.fleet.flux))
	s.whole.Cleanup(func() { s.leaveHub(s.whole) })
	s.server.registerWith(s.whole, s.flux, []string{"--reconciler", "flux", "--git-secret", platform}, s.environment)
	s.server.registerWith(s.whole, s.argo.Hub, []string{"--reconciler", "argocd"}, s.environment)
	s.wantSaid(t, s.flux, "one")
	s.wantSaid(t, s.argo.Hub, "one")
	s.wantDeployed(t)
}

// leaveHub removes from the hub what came from its ring. The Application that its folder has deletes nothing, until it is told to.
func (s *ringStory) leaveHub(t *testing.T) {
	t.Helper()
	ctx := context.Background() // the test's own is over
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{
		"name": "platform-" + s.environment, "namespace": harness.ArgoCDNamespace, "finalizers": []any{"resources-finalizer.argocd.argoproj.io/foreground"},
	}}}
	must(t, s.argo.Hub.Apply(ctx, o))
	must(t, s.argo.Remove(ctx, o.GetName()))
}

// wantDeployed waits until every ring has run the head of the environment's branch.
func (s *ringStory) wantDeployed(t *testing.T) {
	t.Helper()
	commit, err := s.repositories["control-plane"].Head(t.Context(), "main")
	must(t, err)
	wantText(t, s.server.ask(t, 0, "wait", "-e", s.environment, "--commit", commit, "--timeout", "3m"), `(?m)^`+s.environment+` +`+commit[:7]+` +passed +2/2`)
	s.good, err = s.head(t.Context(), canary)
	must(t, err)
}

// greet changes the greeting by a commit of main.
func (s *ringStory) greet(t *testing.T, old, text string) {
	t.Helper()
	c := s.checkouts[controlPlaneMain]
	must(t, c.Replace("greeting.yaml", old, text))
	push(t, c, "greet: "+t.Name())
}

func (s *ringStory) rollOut(t *testing.T, old, greeting string) {
	s.greet(t, "says: "+old, "says: "+greeting)
	s.wantSaid(t, s.flux, greeting)
	commit, err := s.head(t.Context(), canary)
	must(t, err)
	must(t, s.says(t.Context(), s.argo.Hub, old))
	if second, err := s.head(t.Context(), others); err != nil || second == commit {
		t.Errorf("the second ring has %s before it has soaked in the first: %v", second, err)
	}
	s.wantSaid(t, s.argo.Hub, greeting)
	s.wantDeployed(t)
	for _, ring := range []string{canary, others} {
		s.wantStatus(t, s.gitops, commit, s.environment+"/"+ring, "success")
	}
}

func (s *ringStory) goBack(t *testing.T) {
	before := s.good
	s.greet(t, "      name: greeting\n", "      name: greeting\n      "+strings.TrimSpace(unheardOf)+"\n")
	var bad string
	eventually(t, "the first ring gets the commit", func(ctx context.Context) error {
		var err error
		if bad, err = s.gitops.Head(ctx, dev); err == nil && bad == before {
			err = errors.New("it is not merged yet")
		}
		return err
	})
	eventually(t, "it fails in the first ring", func(ctx context.Context) error {
		got, err := s.gitops.Status(ctx, bad, s.environment+"/"+canary)
		if err == nil && got != "failure" {
			err = errors.Join(fmt.Errorf("its status is %q", got), s.pull(ctx))
		}
		return err
	})
	eventually(t, "the first ring goes back", func(ctx context.Context) error {
		at, err := s.head(ctx, canary)
		if err == nil && at != before {
			err = fmt.Errorf("it is at %s, want %s", at, before)
		}
		return err
	})
	eventually(t, "its cluster follows", func(ctx context.Context) error {
		err := s.flux.Applied(ctx, "platform-"+s.environment, before)
		if err != nil {
			err = errors.Join(err, s.pull(ctx))
		}
		return err
	})
	if second, err := s.head(t.Context(), others); err != nil || second != before {
		t.Errorf("the second ring is at %s, want %s: %v", second, before, err)
	}
	must(t, s.argo.Synced(t.Context(), "platform-"+s.environment, before))
	c := s.checkouts[controlPlaneMain]
	must(t, c.Replace("greeting.yaml", "\n      "+strings.TrimSpace(unheardOf), ""))
}

// wantMessages wants one message for each commit that every ring ran, and for the one that failed in a ring: not of the environment, too.
func (s *ringStory) wantMessages(t *testing.T) {
	done, ring := "done "+s.environment, s.environment+"/"+canary
	s.server.wantTold(t, s.alive, s.dead, []string{done, done, done, "failed " + ring, "rolledback " + ring})
}
