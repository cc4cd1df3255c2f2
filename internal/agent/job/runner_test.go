package job

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// assignment is the namespace of an assignment with a template.
const assignment = `
apiVersion: v1
kind: Namespace
metadata: {name: dev-large-shop, labels: {environment: dev, workspace: kaizen, workload: shop, deploymentTarget: shop}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: smoke-test, namespace: dev-large-shop, uid: u1, labels: {kalypso.io/job-template: smoke}}
spec:
  schedule: "0 0 1 1 *"
  suspend: true
  jobTemplate:
    metadata: {labels: {app: smoke}}
    spec:
      backoffLimit: 0
      template:
        spec:
          serviceAccountName: smoke
          restartPolicy: Never
          containers: [{name: smoke, image: "registry.example/smoke:1"}]
`

// other is the same in another environment.
var other = strings.NewReplacer("dev-large", "prod-large", "environment: dev", "environment: prod").Replace(assignment)

var request = hub.JobRequest{
	ID: strings.Repeat("0123456789abcdef", 2), Template: "smoke", Environment: "dev", Revision: strings.Repeat("c0ffee1234", 4), Seconds: 300,
}

func clusterOf(t *testing.T, documents string) (*Runner, *fake.FakeDynamicClient) {
	t.Helper()
	var objects []runtime.Object
	for document := range strings.SplitSeq(documents, "\n---\n") {
		o := &unstructured.Unstructured{}
		text, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		if err := o.UnmarshalJSON(text); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
	lists := map[schema.GroupVersionResource]string{namespaces: "NamespaceList", cronJobs: "CronJobList", jobs: "JobList"}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, objects...)
	return &Runner{Client: client, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}, client
}

func jobsIn(t *testing.T, client *fake.FakeDynamicClient) []unstructured.Unstructured {
	t.Helper()
	all, err := client.Resource(jobs).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return all.Items
}

// ends sets the condition of all Jobs, as the controller of Jobs does.
func ends(t *testing.T, client *fake.FakeDynamicClient, condition map[string]any) {
	t.Helper()
	for _, job := range jobsIn(t, client) {
		job.Object["status"] = map[string]any{"conditions": []any{condition}}
		if _, err := client.Resource(jobs).Namespace(job.GetNamespace()).Update(t.Context(), &job, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOneJobForOneRequest: the Job is that of the template, limited in time, and repeating the request creates no other.
func TestOneJobForOneRequest(t *testing.T) {
	t.Parallel()
	r, client := clusterOf(t, assignment+"---\n"+other)
	for range 3 {
		if got := r.Run(t.Context(), request); got.State != hub.JobRunning || got.ID != request.ID {
			t.Fatalf("got %+v", got)
		}
	}
	all := jobsIn(t, client)
	if len(all) != 1 {
		t.Fatalf("%d jobs, want one, in the environment of the request", len(all))
	}
	want := `
apiVersion: batch/v1
kind: Job
metadata:
  name: smoke-test-ef204ff7f1272c43
  namespace: dev-large-shop
  labels: {app: smoke}
  annotations: {kalypso.io/run: 0123456789abcdef0123456789abcdef, kalypso.io/revision: c0ffee1234c0ffee1234c0ffee1234c0ffee1234}
  ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: smoke-test, uid: u1}]
spec:
  activeDeadlineSeconds: 300
  ttlSecondsAfterFinished: 3600
  backoffLimit: 0
  template:
    spec:
      serviceAccountName: smoke
      restartPolicy: Never
      containers: [{name: smoke, image: "registry.example/smoke:1"}]
`
	var wanted, got map[string]any
	text, err := yaml.Marshal(all[0].Object)
	if err != nil || yaml.Unmarshal(text, &got) != nil || yaml.Unmarshal([]byte(want), &wanted) != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("the job (-want +got):\n%s", diff)
	}
	ends(t, client, map[string]any{"type": "Complete", "status": "True"})
	if got := r.Run(t.Context(), request); got.State != hub.JobSucceeded || got.Message != "" {
		t.Errorf("got %+v", got)
	}
	again := request
	again.ID = strings.Repeat("f", 32)
	if got := r.Run(t.Context(), again); got.State != hub.JobRunning || len(jobsIn(t, client)) != 2 {
		t.Errorf("another request: %+v, %d jobs", got, len(jobsIn(t, client)))
	}
}

// TestFailedJob reports what the Job says.
func TestFailedJob(t *testing.T) {
	t.Parallel()
	r, client := clusterOf(t, assignment)
	r.Run(t.Context(), request)
	ends(t, client, map[string]any{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "Job has reached\nthe limit"})
	want := hub.JobResult{ID: request.ID, State: hub.JobFailed, Message: "dev-large-shop/smoke-test: BackoffLimitExceeded: Job has reached the limit"}
	got := r.Run(t.Context(), request)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := got.Check(); err != nil {
		t.Error(err)
	}
}

// TestWhatIsNotRun: what a request or a template must not do, with the reason for users.
func TestWhatIsNotRun(t *testing.T) {
	t.Parallel()
	app := request
	app.Workspace, app.Workload = "kaizen", "cart"
	for _, test := range []struct {
		name, documents string
		request         func(r *hub.JobRequest)
		want            string
	}{
		{"no template", assignment, func(r *hub.JobRequest) { r.Template = "load" }, "no CronJob with the label kalypso.io/job-template=load is in a namespace"},
		{"another workload", assignment, func(r *hub.JobRequest) { *r = app }, "environment=dev,workload=cart,workspace=kaizen,deploymentTarget"},
		{"not an assignment's namespace", strings.Replace(assignment, ", deploymentTarget: shop", "", 1), nil, "no CronJob"},
		{"a schedule", strings.Replace(assignment, "suspend: true", "suspend: false", 1), nil, "set suspend: true"},
		{"an ID that is not one", assignment, func(r *hub.JobRequest) { r.ID = "../x" }, "the ID of the request is not valid"},
		{"a selector", assignment, func(r *hub.JobRequest) { r.Environment = "dev,!deploymentTarget" }, "the request is not valid"},
		{"every environment", assignment, func(r *hub.JobRequest) { r.Environment = "" }, "it names no environment"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r, client := clusterOf(t, test.documents)
			asked := request
			if test.request != nil {
				test.request(&asked)
			}
			if got := r.Run(t.Context(), asked); got.State != hub.JobImpossible || !strings.Contains(got.Message, test.want) || len(jobsIn(t, client)) != 0 {
				t.Errorf("got %+v, %d jobs", got, len(jobsIn(t, client)))
			}
		})
	}
}

// TestRightsOfTheNamespace: without a binding in the namespace, the agent creates nothing.
func TestRightsOfTheNamespace(t *testing.T) {
	t.Parallel()
	r, client := clusterOf(t, assignment)
	client.PrependReactor("create", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(jobs.GroupResource(), "smoke-test", nil)
	})
	if got := r.Run(t.Context(), request); got.State != hub.JobImpossible || !strings.Contains(got.Message, "bind it to the ClusterRole kalypso-agent-jobs") {
		t.Errorf("got %+v", got)
	}
}

// second is another template in the namespace of the assignment.
var second = assignment[strings.Index(assignment, "---\n")+4:]

// TestTemplatesWithLongNames: templates whose names begin with the same characters have a Job each.
func TestTemplatesWithLongNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("checkout-", 5) + "x" // as long as a name that a CronJob may have, without its end
	r, client := clusterOf(t, strings.Replace(assignment, "smoke-test", long+"-read", 1)+"---\n"+strings.Replace(second, "smoke-test", long+"-write", 1))
	if got := r.Run(t.Context(), request); got.State != hub.JobRunning || len(jobsIn(t, client)) != 2 {
		t.Errorf("got %+v, %d jobs", got, len(jobsIn(t, client)))
	}
	for _, job := range jobsIn(t, client) {
		if len(job.GetName()) > 63 {
			t.Errorf("the name %q is too long", job.GetName())
		}
	}
}

// TestManyTemplates: templates are found on each page of the list, and a list that is too long is not taken for a whole one.
func TestManyTemplates(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pages int
		want  string
	}{
		{1, "the CronJob has no template of a Job"},
		{3, "the CronJob has no template of a Job"},
		{maxPages, "the CronJob has no template of a Job"},
		{maxPages + 1, "the cluster has more than 10000 CronJobs with the label kalypso.io/job-template=smoke"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if request.URL.Path == "/api/v1/namespaces" {
				fmt.Fprint(w, `{"kind": "NamespaceList", "apiVersion": "v1", "items": [{"metadata": {"name": "dev-large-shop"}}]}`)
				return
			}
			page, _ := strconv.Atoi(request.URL.Query().Get("continue"))
			next, namespace := strconv.Itoa(page+1), "another"
			if page+1 == test.pages {
				next, namespace = "", "dev-large-shop"
			}
			fmt.Fprintf(w, `{"kind": "CronJobList", "apiVersion": "batch/v1", "metadata": {"continue": %q}, "items": [
				{"kind": "CronJob", "apiVersion": "batch/v1", "metadata": {"name": "smoke", "namespace": %q}, "spec": {"suspend": true}}]}`, next, namespace)
		}))
		t.Cleanup(server.Close)
		r, err := Connect(&rest.Config{Host: server.URL, QPS: -1}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Run(t.Context(), request); got.State != hub.JobImpossible || !strings.Contains(got.Message, test.want) {
			t.Errorf("%d pages: %+v, want %s", test.pages, got, test.want)
		}
	}
}

// TestJobsThatSucceededRunOnce: while the Jobs of other templates cannot run, those that were removed after their success do not run again.
func TestJobsThatSucceededRunOnce(t *testing.T) {
	t.Parallel()
	r, client := clusterOf(t, assignment+"---\n"+strings.NewReplacer("dev-large-shop", "dev-large-cart", "deploymentTarget: shop", "deploymentTarget: cart").Replace(assignment))
	bound := false
	client.PrependReactor("create", "jobs", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return a.GetNamespace() == "dev-large-shop" && !bound, nil, apierrors.NewForbidden(jobs.GroupResource(), "smoke-test", nil)
	})
	r.Run(t.Context(), request)
	ends(t, client, map[string]any{"type": "Complete", "status": "True"})
	if got := r.Run(t.Context(), request); got.State != hub.JobImpossible || len(jobsIn(t, client)) != 1 {
		t.Fatalf("got %+v, %d jobs", got, len(jobsIn(t, client)))
	}
	ended := jobsIn(t, client)[0]
	if err := client.Resource(jobs).Namespace(ended.GetNamespace()).Delete(t.Context(), ended.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	bound = true
	if got := r.Run(t.Context(), request); got.State != hub.JobRunning || len(jobsIn(t, client)) != 1 {
		t.Errorf("got %+v, %d jobs", got, len(jobsIn(t, client)))
	}
	ends(t, client, map[string]any{"type": "Complete", "status": "True"})
	if got := r.Run(t.Context(), request); got.State != hub.JobSucceeded {
		t.Errorf("got %+v", got)
	}
}

// TestOneTemplateThatCannotRun: nothing is created while a template is not one that can run.
func TestOneTemplateThatCannotRun(t *testing.T) {
	t.Parallel()
	r, client := clusterOf(t, assignment+"---\n"+strings.NewReplacer("smoke-test", "zz", "suspend: true", "suspend: false").Replace(second))
	got := r.Run(t.Context(), request)
	if got.State != hub.JobImpossible || !strings.Contains(got.Message, "dev-large-shop/zz: the CronJob is not suspended") || len(jobsIn(t, client)) != 0 {
		t.Errorf("got %+v, %d jobs", got, len(jobsIn(t, client)))
	}
}

// TestLimitsOfATemplate: a template can shorten the time, and cannot hide the result.
func TestLimitsOfATemplate(t *testing.T) {
	t.Parallel()
	r, client := clusterOf(t, strings.Replace(assignment, "backoffLimit: 0", "activeDeadlineSeconds: 60\n      ttlSecondsAfterFinished: 0\n      suspend: true", 1))
	asked := request
	asked.Seconds = 1 << 40
	r.Run(t.Context(), asked)
	spec := jobsIn(t, client)[0].Object["spec"].(map[string]any)
	if got := []any{spec["activeDeadlineSeconds"], spec["ttlSecondsAfterFinished"], spec["suspend"]}; !slices.Equal(got, []any{int64(60), int64(300), nil}) {
		t.Errorf("got %v", got)
	}
}
