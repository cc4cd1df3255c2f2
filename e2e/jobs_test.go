package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

// reporting is held by the story whose agent is on the cluster with a node.
var reporting sync.Mutex

var batchJobs = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}

// TestJobs: a commit is verified by a Job on the cluster, which its agent creates from a template that came through Git, once it may.
func TestJobs(t *testing.T) {
	t.Parallel()
	s := newJobStory(t)
	for _, step := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"an agent that may not create Jobs says so, and the commit waits", s.refused},
		{"once it may, the Job runs, and the commit is deployed", s.allowed},
		{"a Job that does not end in time fails the commit", s.fail},
		{"the next commit passes with a Job of its own", s.mend},
	} {
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
	must(t, s.server.Stop(t.Context()))
	s.wantDiscreetLog(t, s.server)
}

// jobStory is an environment whose commits are verified by a Job on the cluster with a node.
type jobStory struct {
	*fleet
	// whole is the test of which the steps are parts.
	whole                  *testing.T
	server                 *server
	cluster                *harness.Cluster
	environment, namespace string
}

// smokeTemplate writes a namespace with the template of a Job. The tag of the image decides what becomes of its pod.
const smokeTemplate = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: Template
metadata: {name: smoked}
spec:
  type: namespace
  manifests:
  - |
    apiVersion: v1
    kind: Namespace
    metadata:
      name: {{ quote .Namespace }}
      labels:
        environment: {{ quote .Environment }}
        workspace: {{ quote .Workspace }}
        workload: {{ quote .Workload }}
        deploymentTarget: {{ quote .DeploymentTargetName }}
  - |
    apiVersion: batch/v1
    kind: CronJob
    metadata:
      name: smoke
      namespace: {{ quote .Namespace }}
      labels: {kalypso.io/job-template: smoke}
    spec:
      schedule: "0 0 1 1 *"
      suspend: true
      jobTemplate:
        spec:
          backoffLimit: 0
          template:
            spec:
              restartPolicy: Never
              containers: [{name: smoke, image: "registry.test/smoke:v1"}]
`

func newJobStory(t *testing.T) *jobStory {
	t.Helper()
	reporting.Lock()
	t.Cleanup(reporting.Unlock)
	c, err := running()
	must(t, err)
	f := newEmptyFleet(t, "jobs")
	// The name of the environment makes that of the namespace unique on the cluster.
	s := &jobStory{fleet: f, whole: t, cluster: c, environment: strings.ReplaceAll(f.organization, "jobs-", "j")}
	s.namespace = s.environment + "-" + c.Name + "-shop-live"
	url := f.url
	for at, files := range map[string]map[string]string{
		"control-plane/main": {
			"environment.yaml": object("Environment", s.environment, "{controlPlane: {repo: "+url("control-plane")+", branch: dev, path: .}, promotion: {verify: ["+
				"{name: smoke, timeout: 3m, job: {template: smoke, timeout: 10s}}]}}"),
			"registration.yaml": object("WorkloadRegistration", "shop", "{workspace: shops, workload: {repo: "+url("shop")+", branch: main, path: .}}"),
			"greeting.yaml":     greetingTemplate,
			"smoke.yaml":        smokeTemplate,
		},
		"control-plane/dev": {
			"base.yaml":   object("BaseRepo", "main", "{repo: "+url("control-plane")+", branch: main, path: .}"),
			"gitops.yaml": object("GitOpsRepo", "gitops", "{repo: "+url("gitops")+", branch: dev, path: ., autoMerge: true}"),
			"type.yaml":   object("ClusterType", c.Name, "{reconciler: greeting, pull: flux, namespaceService: smoked, configType: none}"),
			"policy.yaml": object("SchedulingPolicy", "everywhere", "{deploymentTargetSelector: {}, clusterTypeSelector: {}}"),
		},
		"shop/main": {
			"workload.yaml": object("Workload", "shop", "{deploymentTargets: [{name: live, environment: "+s.environment+", manifests: {repo: "+url("shop")+", branch: main, path: .}}]}"),
		},
		"gitops/dev": {"README.md": "generated\n"},
	} {
		repository, name, _ := strings.Cut(at, "/")
		f.checkouts[at] = f.publish(t, repository, name, files)
	}
	f.gitops = f.repositories["gitops"]
	for _, repository := range []string{"gitops", "control-plane"} {
		must(t, f.repositories[repository].Grant(t.Context(), f.bot, "write"))
	}
	must(t, c.Apply(t.Context(), harness.Credential(platform, f.flux)))
	t.Cleanup(s.leave)
	s.server = s.serve(t)
	return s
}

// leave removes the namespace, which Flux keeps when what it follows is taken away.
func (s *jobStory) leave() {
	namespace := harness.Namespace(s.namespace)
	must(s.whole, s.cluster.Delete(context.Background(), namespace)) // the test's own context is over
}

// wantSaid waits until the status of the environment says something, while the cluster follows.
func (s *jobStory) wantSaid(t *testing.T, wants ...string) {
	t.Helper()
	eventually(t, "kalypso status says "+strings.Join(wants, ", "), func(ctx context.Context) error {
		if err := saysAll(s.server.ask(t, 0, "status"), wants...); err != nil {
			return fmt.Errorf("%w\n%w", err, pullOnce(ctx, s.cluster, "platform-"+s.environment))
		}
		return nil
	})
}

// wantDeployed waits until the commit of main is deployed, and wants its Job to have succeeded.
func (s *jobStory) wantDeployed(t *testing.T) {
	t.Helper()
	commit, err := s.repositories["control-plane"].Head(t.Context(), "main")
	must(t, err)
	s.wantSaid(t, commit[:7], "deployed")
	wantText(t, s.server.ask(t, 0, "wait", "-e", s.environment, "--commit", commit, "--timeout", "1m"), `(?m)^`+s.environment+` +`+commit[:7]+` +passed +1/1`)
	revision, err := s.gitops.Head(t.Context(), dev)
	must(t, err)
	job := s.job(t, revision)
	if succeeded, _, _ := unstructured.NestedInt64(job.Object, "status", "succeeded"); succeeded != 1 {
		t.Errorf("%s: %v", job.GetName(), job.Object["status"])
	}
	owners := job.GetOwnerReferences()
	if len(owners) != 1 || owners[0].Kind != "CronJob" || owners[0].Name != "smoke" {
		t.Errorf("%s belongs to %v, want its template", job.GetName(), owners)
	}
	s.wantStatus(t, s.repositories["control-plane"], commit, s.environment, "success")
}

// job returns the only Job about a commit of the GitOps branch.
func (s *jobStory) job(t *testing.T, revision string) *unstructured.Unstructured {
	t.Helper()
	all, err := s.cluster.List(t.Context(), batchJobs)
	must(t, err)
	var found []*unstructured.Unstructured
	for i := range all {
		if j := &all[i]; j.GetNamespace() == s.namespace && j.GetAnnotations()["kalypso.io/revision"] == revision {
			found = append(found, j)
		}
	}
	if len(found) != 1 {
		t.Fatalf("got %d Jobs about %s, want 1", len(found), revision)
	}
	return found[0]
}

func (s *jobStory) refused(t *testing.T) {
	eventually(t, "the first files are published", func(context.Context) error {
		return saysAll(s.server.ask(t, 0, "status"), s.environment, "no clusters")
	})
	s.server.registerWith(s.whole, s.cluster, []string{"--reconciler", "flux", "--git-secret", platform, "--run-jobs"}, s.environment)
	s.wantSaid(t, "smoke", "may not create")
	all, err := s.cluster.List(t.Context(), batchJobs)
	must(t, err)
	for _, j := range all {
		if j.GetNamespace() == s.namespace {
			t.Errorf("%s was created", j.GetName())
		}
	}
}

func (s *jobStory) allowed(t *testing.T) {
	binding, err := harness.Documents(`apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: kalypso-agent-jobs, namespace: ` + s.namespace + `}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kalypso-agent-jobs}
subjects:
- {kind: ServiceAccount, name: ` + agentAccount + `, namespace: ` + agentNamespace + `}
`)
	must(t, err)
	must(t, s.cluster.Apply(t.Context(), binding...))
	s.wantDeployed(t)
}

// smoke changes the image of the Job by a commit of main.
func (s *jobStory) smoke(t *testing.T, old, tag string) {
	t.Helper()
	c := s.checkouts[controlPlaneMain]
	must(t, c.Replace("smoke.yaml", "smoke:"+old, "smoke:"+tag))
	push(t, c, "smoke: "+t.Name())
}

func (s *jobStory) fail(t *testing.T) {
	s.smoke(t, "v1", "crash")
	commit, err := s.repositories["control-plane"].Head(t.Context(), "main")
	must(t, err)
	s.wantSaid(t, commit[:7], "failed", "smoke", "DeadlineExceeded")
	s.wantStatus(t, s.repositories["control-plane"], commit, s.environment, "failure")
}

func (s *jobStory) mend(t *testing.T) {
	s.smoke(t, "crash", "v2")
	s.wantDeployed(t)
}
