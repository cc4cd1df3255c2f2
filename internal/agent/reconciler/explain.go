package reconciler

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// explained has the kinds that are looked up to explain why they are not healthy.
var explained = map[string]schema.GroupVersionResource{
	"Deployment":  {Group: "apps", Version: "v1", Resource: "deployments"},
	"StatefulSet": {Group: "apps", Version: "v1", Resource: "statefulsets"},
	"DaemonSet":   {Group: "apps", Version: "v1", Resource: "daemonsets"},
	"Job":         {Group: "batch", Version: "v1", Resource: "jobs"},
	"Pod":         {Version: "v1", Resource: "pods"},
}

// Explained returns the kinds that a watcher reads to explain why objects are not healthy. It needs get and list on them.
func Explained() []schema.GroupResource {
	var all []schema.GroupResource
	for _, r := range explained {
		all = append(all, r.GroupResource())
	}
	return all
}

const (
	// explainAgain is the pause after which an object is looked up again that did not show why it is not healthy.
	explainAgain = 30 * time.Second
	// maxAgain limits how many objects are looked up again at once, each with up to two requests: what stays as it is must not keep the
	// API server busy.
	maxAgain = 5
	// maxPods limits the pods that are read for an object.
	maxPods = 50
)

// explainer finds out why objects are not healthy, if their reconcilers do not say it: from their conditions and pods. It only
// sends requests while something is not healthy. A reason stays the same as long as the reconciler's report does, because pods
// alternate between reasons, such as ErrImagePull and ImagePullBackOff.
//
// An Application may only say that something in it is not healthy. Its [suspects] have no health until it is looked up, and again after
// explainAgain, because it changes without a change of the Application.
type explainer struct {
	client dynamic.Interface
	log    *slog.Logger
	wanted chan struct{}

	mu    sync.Mutex
	known map[subject]reason
	// missing are the subjects of the last snapshot without a reason.
	missing map[subject]bool
}

// subject is an object that is not healthy at a revision of its reconciler.
type subject struct {
	object   hub.ObjectHealth // without its message
	revision string
	// within is the health of the reconciler if that of the object is not known: both change together.
	within hub.Health
}

// reason is why an object is not healthy; empty if it was not found out. The health is only that of a suspect.
type reason struct {
	text   string
	health hub.Health
	at     time.Time
}

func newExplainer(client dynamic.Interface, log *slog.Logger) *explainer {
	return &explainer{client: client, log: log, wanted: make(chan struct{}, 1), known: map[subject]reason{}, missing: map[subject]bool{}}
}

// fill adds the reasons that are known to reports, and has the others looked up.
func (e *explainer) fill(reports []hub.Report, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	used := map[subject]reason{}
	clear(e.missing)
	for i := range reports {
		objects := reports[i].Unhealthy
		for j := range objects {
			s := subject{object: objects[j], revision: reports[i].Revision}
			if s.object.Health == "" {
				s.within = reports[i].Health
			}
			if s.object.Message != "" || explained[s.object.Kind].Resource == "" {
				continue
			}
			r, ok := e.known[s]
			if ok {
				used[s], objects[j].Message = r, r.text
			}
			suspect := s.object.Health == ""
			if suspect {
				objects[j].Health = r.health
			}
			if !ok || (suspect || r.text == "") && now.Sub(r.at) >= explainAgain {
				e.missing[s] = true
			}
		}
		reports[i].Unhealthy = withoutSuspects(objects)
	}
	e.known = used // forget the others
	if len(e.missing) == 0 {
		return
	}
	select {
	case e.wanted <- struct{}{}:
	default: // it is already requested
	}
}

// run looks up reasons until the context ends, and calls changed when it found some.
func (e *explainer) run(ctx context.Context, changed func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.wanted:
		}
		for _, s := range e.next() {
			bounded, done := context.WithTimeout(ctx, checkTimeout)
			found, err := e.explain(bounded, s.object)
			done()
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				e.log.Debug("cannot look up why an object is not healthy", "object", s.object.String(), "error", err)
			}
			e.mu.Lock()
			last := e.known[s]
			if last.health == found.health && last.text != "" {
				found.text = last.text
			}
			e.known[s] = found
			e.mu.Unlock()
			if found.text != last.text || found.health != last.health {
				changed()
			}
		}
	}
}

// next returns what to look up: everything that was not looked up yet, and of the others those whose last time is the longest ago.
func (e *explainer) next() []subject {
	e.mu.Lock()
	defer e.mu.Unlock()
	var first, again []subject
	for s := range e.missing {
		if _, ok := e.known[s]; ok {
			again = append(again, s)
		} else {
			first = append(first, s)
		}
	}
	slices.SortFunc(again, func(a, b subject) int {
		return cmp.Or(e.known[a].at.Compare(e.known[b].at), cmp.Compare(a.object.String(), b.object.String()))
	})
	return append(first, again[:min(len(again), maxAgain)]...)
}

// explain returns why an object is not healthy, and the health of a suspect.
func (e *explainer) explain(ctx context.Context, of hub.ObjectHealth) (reason, error) {
	found := reason{at: time.Now()}
	u, err := e.client.Resource(explained[of.Kind]).Namespace(of.Namespace).Get(ctx, of.Name, metav1.GetOptions{})
	if err != nil {
		return found, err
	}
	o := object(u.Object)
	if of.Health == "" {
		if found.health = workloadHealth(o, found.at); found.health == hub.HealthHealthy {
			return found, nil
		}
	}
	text, err := e.textOf(ctx, o, of)
	found.text = line(redact(text), hub.MaxObjectMessage)
	return found, err
}

// textOf returns why an object is not healthy: what its pods say, otherwise its conditions.
func (e *explainer) textOf(ctx context.Context, o object, of hub.ObjectHealth) (string, error) {
	if of.Kind == "Pod" {
		return podReason(o), nil
	}
	var selector metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.objectAt("spec", "selector"), &selector); err != nil {
		return conditionReason(o), err
	}
	if len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		return conditionReason(o), nil // it would select all pods
	}
	pods, err := e.client.Resource(explained["Pod"]).Namespace(of.Namespace).
		List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(&selector), Limit: maxPods})
	if err != nil {
		return conditionReason(o), err
	}
	slices.SortFunc(pods.Items, func(a, b unstructured.Unstructured) int {
		return b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time) // those of the newest rollout first
	})
	for _, pod := range pods.Items {
		if text := podReason(pod.Object); text != "" {
			return text, nil
		}
	}
	return conditionReason(o), nil
}

// conditionReason returns the message of a condition that says why pods are missing or not available.
func conditionReason(o object) string {
	for _, bad := range []struct{ kind, status string }{
		{"ReplicaFailure", "True"}, {"Failed", "True"}, {"Progressing", "False"}, {"Available", "False"},
	} {
		if c := o.condition(bad.kind); c.status == bad.status {
			return c.message
		}
	}
	return ""
}

// podReason returns why a pod is not ready, such as "container web: CrashLoopBackOff, exit code 1 (Error)"; empty if it is
// ready or only starting. It leaves out texts with generated names, so that the pods of many clusters have the same reason.
func podReason(pod object) string {
	for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
		for _, c := range pod.objects("status", field) {
			if text := containerReason(c); text != "" {
				return "container " + c.text("name") + ": " + text
			}
		}
	}
	if c := pod.condition("PodScheduled"); c.status == "False" {
		return "not scheduled: " + c.message
	}
	return ""
}

func containerReason(c object) string {
	waiting, ended := c.objectAt("state", "waiting"), c.objectAt("state", "terminated")
	if ended == nil {
		ended = c.objectAt("lastState", "terminated")
	}
	exit := ""
	if code := ended.number("exitCode"); ended != nil && code != 0 {
		exit = strings.TrimSuffix(fmt.Sprintf("exit code %d (%s)", code, ended.text("reason")), " ()")
	}
	switch reason := waiting.text("reason"); reason {
	case "", "ContainerCreating", "PodInitializing":
		if c.objectAt("state", "running") != nil {
			return "" // it was restarted, and may become ready
		}
		return exit
	case "CrashLoopBackOff":
		return strings.TrimSuffix(reason+", "+exit, ", ")
	default:
		return strings.TrimSuffix(reason+": "+waiting.text("message"), ": ")
	}
}
