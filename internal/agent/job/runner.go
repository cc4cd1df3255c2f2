package job

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Runner runs templates of a cluster as Jobs. What runs and has ended is in the cluster. In memory it only keeps which Jobs succeeded, for
// requests whose other Jobs take longer than the cluster keeps them. One goroutine uses it at a time.
type Runner struct {
	Client dynamic.Interface // required
	Log    *slog.Logger      // required

	succeeded map[string]*successes // by the ID of the request
}

// successes are the Jobs of a request that succeeded, by the namespace and name of the template.
type successes struct {
	jobs  map[string]bool
	asked time.Time // when the request was last repeated
}

// forgetAfter is how long after its last repetition a request is forgotten.
const forgetAfter = 24 * time.Hour

const (
	// requestTimeout bounds the requests about one run.
	requestTimeout = 30 * time.Second
	// maxTemplates is how many CronJobs a run may have. They are listed in pages, of which there may be maxPages: the CronJobs of all
	// applications have the same label.
	maxTemplates, pageSize, maxPages = 500, 500, 20
	// keep is how long a Job stays after its end, in seconds, and leastKeep the least that a template can set: the agent must see it.
	keep, leastKeep = 3600, 300
	// maxName is the length of the name of a Job, which becomes a label of its pods.
	maxName = 63
	// runAnnotation has the ID of the request, and revisionAnnotation the commit that is verified.
	runAnnotation      = "kalypso.io/run"
	revisionAnnotation = "kalypso.io/revision"
)

var (
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	cronJobs   = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "cronjobs"}
	jobs       = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}

	idPattern = regexp.MustCompile(`^[0-9a-f]{32}$`)
)

// Connect returns a runner of a cluster. It sends no requests.
func Connect(config *rest.Config, log *slog.Logger) (*Runner, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return &Runner{Client: client, Log: log}, nil
}

// Run starts the Jobs of a request that do not exist yet, and returns how far all of them are. All must succeed.
func (r *Runner) Run(ctx context.Context, request hub.JobRequest) hub.JobResult {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	result := hub.JobResult{ID: request.ID}
	templates, err := r.templates(ctx, request)
	if err != nil {
		result.State, result.Message = hub.JobImpossible, line(err.Error())
		return result
	}
	var all []*unstructured.Unstructured
	for i := range templates {
		job, err := jobOf(&templates[i], request)
		if err != nil { // before any Job is created
			result.State, result.Message = hub.JobImpossible, line(title(&templates[i])+": "+err.Error())
			return result
		}
		all = append(all, job)
	}
	result.State = hub.JobSucceeded
	done := r.successesOf(request.ID, time.Now())
	for i, job := range all {
		template := title(&templates[i])
		if done[template] {
			continue
		}
		state, why := r.advance(ctx, job, request)
		if state == hub.JobSucceeded {
			done[template] = true
		}
		if severity(state) > severity(result.State) {
			result.State, result.Message = state, ""
			if why != "" {
				result.Message = line(template + ": " + why)
			}
		}
	}
	return result
}

func title(o *unstructured.Unstructured) string { return o.GetNamespace() + "/" + o.GetName() }

// successesOf returns the Jobs of a request that succeeded, and forgets requests that are not repeated any more.
func (r *Runner) successesOf(id string, now time.Time) map[string]bool {
	maps.DeleteFunc(r.succeeded, func(_ string, s *successes) bool { return now.Sub(s.asked) > forgetAfter })
	s := r.succeeded[id]
	if s == nil {
		s = &successes{jobs: map[string]bool{}}
		if r.succeeded == nil {
			r.succeeded = map[string]*successes{}
		}
		r.succeeded[id] = s
	}
	s.asked = now
	return s.jobs
}

// severity orders the states of several Jobs: the highest is that of all of them.
func severity(s hub.JobState) int {
	return slices.Index([]hub.JobState{hub.JobSucceeded, hub.JobRunning, hub.JobImpossible, hub.JobFailed}, s)
}

// templates returns the CronJobs of a request, sorted.
func (r *Runner) templates(ctx context.Context, request hub.JobRequest) ([]unstructured.Unstructured, error) {
	if !idPattern.MatchString(request.ID) {
		return nil, errors.New("the ID of the request is not valid")
	}
	scope := map[string]string{"environment": request.Environment}
	if request.Workload != "" {
		scope["workspace"], scope["workload"] = request.Workspace, request.Workload
	}
	where, err := labels.ValidatedSelectorFromSet(scope)
	if err != nil || request.Environment == "" {
		return nil, fmt.Errorf("the request is not valid: %w", cmp.Or(err, errors.New("it names no environment")))
	}
	what, err := labels.ValidatedSelectorFromSet(map[string]string{hub.JobTemplateLabel: request.Template})
	if err != nil || request.Template == "" {
		return nil, fmt.Errorf("the request is not valid: %w", cmp.Or(err, errors.New("it names no template")))
	}
	in, err := r.Client.Resource(namespaces).List(ctx, metav1.ListOptions{LabelSelector: where.String() + ",deploymentTarget"})
	if err != nil {
		return nil, fmt.Errorf("list the namespaces of assignments: %w", err)
	}
	assigned := map[string]bool{}
	for i := range in.Items {
		assigned[in.Items[i].GetName()] = true
	}
	templates, err := r.cronJobsIn(ctx, assigned, what.String())
	switch {
	case err != nil:
		return nil, err
	case len(templates) == 0:
		return nil, fmt.Errorf("no CronJob with the label %s is in a namespace with the labels %s,deploymentTarget", what, where)
	case len(templates) > maxTemplates:
		return nil, fmt.Errorf("%d CronJobs with the label %s are in namespaces with the labels %s,deploymentTarget: at most %d can run", len(templates), what, where, maxTemplates)
	}
	slices.SortFunc(templates, func(a, b unstructured.Unstructured) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
	return templates, nil
}

// cronJobsIn returns the CronJobs with a label in some namespaces. It does not return a part of them.
func (r *Runner) cronJobsIn(ctx context.Context, namespaces map[string]bool, label string) ([]unstructured.Unstructured, error) {
	var all []unstructured.Unstructured
	options := metav1.ListOptions{LabelSelector: label, Limit: pageSize}
	for range maxPages {
		page, err := r.Client.Resource(cronJobs).List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("list the CronJobs: %w", err)
		}
		for _, c := range page.Items {
			if namespaces[c.GetNamespace()] {
				all = append(all, c)
			}
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return all, nil
		}
	}
	return nil, fmt.Errorf("the cluster has more than %d CronJobs with the label %s", maxPages*pageSize, label)
}

// advance creates a Job unless it exists, and returns its state.
func (r *Runner) advance(ctx context.Context, job *unstructured.Unstructured, request hub.JobRequest) (hub.JobState, string) {
	in := r.Client.Resource(jobs).Namespace(job.GetNamespace())
	there, err := in.Get(ctx, job.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		there, err = in.Create(ctx, job, metav1.CreateOptions{FieldManager: "kalypso-agent"})
		if err == nil {
			r.Log.Info("created a job", "namespace", job.GetNamespace(), "name", job.GetName(), "template", request.Template, "revision", request.Revision)
		}
	}
	switch {
	case apierrors.IsAlreadyExists(err):
		return hub.JobRunning, "" // created since it was looked up
	case apierrors.IsForbidden(err):
		return hub.JobImpossible, "the agent may not create Jobs in the namespace: bind it to the ClusterRole kalypso-agent-jobs there: " + err.Error()
	case apierrors.IsInvalid(err):
		return hub.JobFailed, err.Error()
	case err != nil:
		return hub.JobImpossible, err.Error()
	case there.GetAnnotations()[runAnnotation] != request.ID:
		return hub.JobImpossible, fmt.Sprintf("another Job is called %q", job.GetName())
	}
	return stateOf(there)
}

// jobOf returns the Job of a template.
func jobOf(template *unstructured.Unstructured, request hub.JobRequest) (*unstructured.Unstructured, error) {
	if suspended, _, _ := unstructured.NestedBool(template.Object, "spec", "suspend"); !suspended {
		return nil, errors.New("the CronJob is not suspended, so it also runs on its schedule: set suspend: true")
	}
	spec, ok, err := unstructured.NestedMap(template.Object, "spec", "jobTemplate", "spec")
	if err != nil || !ok {
		return nil, errors.New("the CronJob has no template of a Job")
	}
	seconds := min(max(request.Seconds, 1), int64(hub.MaxJobTime.Seconds()))
	if set, ok, _ := unstructured.NestedInt64(spec, "activeDeadlineSeconds"); ok {
		seconds = min(seconds, set)
	}
	stays := int64(keep)
	if set, ok, _ := unstructured.NestedInt64(spec, "ttlSecondsAfterFinished"); ok {
		stays = max(set, leastKeep)
	}
	spec["activeDeadlineSeconds"], spec["ttlSecondsAfterFinished"] = seconds, stays
	delete(spec, "suspend")
	job := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "batch/v1", "kind": "Job", "spec": spec}}
	metadata, _, _ := unstructured.NestedStringMap(template.Object, "spec", "jobTemplate", "metadata", "labels")
	job.SetLabels(metadata)
	annotations, _, _ := unstructured.NestedStringMap(template.Object, "spec", "jobTemplate", "metadata", "annotations")
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[runAnnotation], annotations[revisionAnnotation] = request.ID, request.Revision
	job.SetAnnotations(annotations)
	// The hash is that of the whole name: two templates may begin with the same characters.
	const digits = 16
	name := template.GetName()
	sum := sha256.Sum256([]byte(request.ID + "/" + name))
	job.SetName(strings.TrimRight(name[:min(len(name), maxName-digits-1)], "-.") + "-" + hex.EncodeToString(sum[:digits/2]))
	job.SetNamespace(template.GetNamespace())
	// Not its controller: the CronJob's controller would count the Job, and remove it with its history.
	job.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: name, UID: template.GetUID()}})
	return job, nil
}

// stateOf returns the state of a Job by its conditions: https://kubernetes.io/docs/concepts/workloads/controllers/job/#terminal-job-conditions
func stateOf(job *unstructured.Unstructured) (hub.JobState, string) {
	conditions, _, _ := unstructured.NestedSlice(job.Object, "status", "conditions")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if condition["status"] != "True" {
			continue
		}
		switch condition["type"] {
		case "Complete":
			return hub.JobSucceeded, ""
		case "Failed":
			return hub.JobFailed, strings.TrimSuffix(fmt.Sprintf("%v: %v", condition["reason"], condition["message"]), ": ")
		}
	}
	return hub.JobRunning, ""
}

// line returns a message on one line, without credentials in URLs, and within the limit.
func line(text string) string {
	text = secret.Line(secret.Redact(text))
	if len(text) > hub.MaxMessage {
		text = strings.ToValidUTF8(text[:hub.MaxMessage], "")
	}
	return text
}
