package reconciler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// Status returns the state of an object of any kind, and why it is not ready. Its rules are those of kstatus, which Flux and most other
// tools share: https://github.com/fluxcd/cli-utils/tree/main/pkg/kstatus. The program in judges/kstatus compares the two. An object can
// wait for something for a while before it counts as failed, so the state depends on the time.
//
// Where the rules are stricter:
//   - An object that is stalled has failed, also while it is reconciling.
//   - A Ready condition of an earlier generation does not count.
//   - A kind of apps/v1 is progressing until its controller has seen the object.
//   - A StatefulSet with OnDelete is ready when its pods are. It is not when they fail.
//   - A pod that failed has failed.
func Status(fields map[string]any, now time.Time) (hub.State, string) {
	o := object(fields)
	stalled, reconciling := o.condition("Stalled"), o.condition("Reconciling")
	switch {
	case o.removing():
		return hub.StateProgressing, "is being removed"
	case o.unseen():
		return hub.StateProgressing, ""
	case stalled.status == "True":
		return hub.StateFailed, join(stalled.message, o.condition("Ready").message)
	case reconciling.status == "True":
		return hub.StateProgressing, reconciling.message
	}
	if rule := coreKinds[o.groupKind()]; rule != nil {
		return rule(o, now)
	}
	ready := o.condition("Ready")
	switch {
	case ready.status == "False" || ready.status == "Unknown":
		return hub.StateProgressing, ready.message
	case ready.status != "" && o.outdated(ready):
		return hub.StateProgressing, ""
	}
	return hub.StateReady, ""
}

// coreKinds are the rules of kinds whose conditions do not say whether they are ready, by group and kind.
var coreKinds = map[string]func(object, time.Time) (hub.State, string){
	"apps/Deployment":        timeless(deployment),
	"apps/StatefulSet":       timeless(statefulSet),
	"apps/DaemonSet":         timeless(daemonSet),
	"apps/ReplicaSet":        timeless(replicaSet),
	"batch/Job":              timeless(job),
	"/PersistentVolumeClaim": timeless(persistentVolumeClaim),
	"/Service":               timeless(service),
	"apiextensions.k8s.io/CustomResourceDefinition": timeless(customResourceDefinition),
	"/ConfigMap": alwaysReady, "/Secret": alwaysReady, "batch/CronJob": alwaysReady, "policy/PodDisruptionBudget": alwaysReady,
	"/Pod": podStatus,
}

func alwaysReady(object, time.Time) (hub.State, string) { return hub.StateReady, "" }

func timeless(rule func(object) (hub.State, string)) func(object, time.Time) (hub.State, string) {
	return func(o object, _ time.Time) (hub.State, string) { return rule(o) }
}

// groupKind returns, for example, "apps/Deployment", or "/Pod" for a kind of the core group.
func (o object) groupKind() string {
	group, _, found := strings.Cut(o.text("apiVersion"), "/")
	if !found {
		group = ""
	}
	return group + "/" + o.text("kind")
}

// unseen reports whether the controller of an object has seen another generation than the present one.
func (o object) unseen() bool {
	return o.at("metadata", "generation") != nil && o.at("status", "observedGeneration") != nil &&
		o.number("metadata", "generation") != o.number("status", "observedGeneration")
}

const (
	unseenByController = "no controller has seen it yet"
	// unscheduledFor is how long a pod may wait for a node. A node can be on its way.
	unscheduledFor = 15 * time.Second
)

func deployment(o object) (hub.State, string) {
	progress := o.condition("Progressing")
	updated := o.number("status", "updatedReplicas")
	switch {
	case progress.reason == "ProgressDeadlineExceeded":
		return hub.StateFailed, progress.message
	case o.number("status", "observedGeneration") == 0:
		return hub.StateProgressing, unseenByController
	}
	if text := o.lacks(o.replicas(), "replicas", "updatedReplicas"); text != "" {
		return hub.StateProgressing, text
	}
	if text := o.surplus(); text != "" {
		return hub.StateProgressing, text
	}
	if text := o.lacks(updated, "availableReplicas"); text != "" {
		return hub.StateProgressing, text
	}
	if text := o.lacks(o.replicas(), "readyReplicas"); text != "" {
		return hub.StateProgressing, text
	}
	complete := progress.status == "True" && progress.reason == "NewReplicaSetAvailable"
	switch {
	case o.at("spec", "progressDeadlineSeconds") != nil && !complete:
		return hub.StateProgressing, "the rollout is not complete"
	case o.condition("Available").status != "True":
		return hub.StateProgressing, "is not available yet"
	}
	return hub.StateReady, ""
}

func statefulSet(o object) (hub.State, string) {
	if o.number("status", "observedGeneration") == 0 {
		return hub.StateProgressing, unseenByController
	}
	wanted := o.replicas()
	if text := o.lacks(wanted, "replicas", "readyReplicas"); text != "" {
		return hub.StateProgressing, text
	}
	if text := o.surplus(); text != "" {
		return hub.StateProgressing, text
	}
	strategy := fields("spec.updateStrategy")
	switch partition := append(slices.Clone(strategy), "rollingUpdate", "partition"); {
	case o.text(append(slices.Clone(strategy), "type")...) == "OnDelete":
		return hub.StateReady, "" // a user replaces its pods
	case o.at(partition...) != nil:
		if text := o.lacks(wanted-o.number(partition...), "updatedReplicas"); text != "" {
			return hub.StateProgressing, text
		}
		return hub.StateReady, ""
	}
	if text := o.lacks(wanted, "currentReplicas"); text != "" {
		return hub.StateProgressing, text
	}
	if o.text("status", "currentRevision") != o.text("status", "updateRevision") {
		return hub.StateProgressing, "not all replicas are updated"
	}
	return hub.StateReady, ""
}

func daemonSet(o object) (hub.State, string) {
	if o.number("status", "observedGeneration") == 0 || o.at("status", "desiredNumberScheduled") == nil {
		return hub.StateProgressing, unseenByController
	}
	wanted := o.number("status", "desiredNumberScheduled")
	if text := o.lacks(wanted, "currentNumberScheduled", "updatedNumberScheduled", "numberAvailable", "numberReady"); text != "" {
		return hub.StateProgressing, text
	}
	return hub.StateReady, ""
}

func replicaSet(o object) (hub.State, string) {
	switch failure := o.condition("ReplicaFailure"); {
	case failure.status == "True":
		return hub.StateProgressing, failure.message
	case o.number("status", "observedGeneration") == 0:
		return hub.StateProgressing, unseenByController
	}
	if text := o.lacks(o.replicas(), "fullyLabeledReplicas", "availableReplicas", "readyReplicas"); text != "" {
		return hub.StateProgressing, text
	}
	if text := o.surplus(); text != "" {
		return hub.StateProgressing, text
	}
	return hub.StateReady, ""
}

// replicas returns how many replicas are wanted; the default is one.
func (o object) replicas() int64 {
	if o.at("spec", "replicas") == nil {
		return 1
	}
	return o.number("spec", "replicas")
}

// countWords has the words for counts of the status.
var countWords = map[string]string{
	"replicas": "exist", "updatedReplicas": "are updated", "availableReplicas": "are available", "readyReplicas": "are ready",
	"currentReplicas": "are current", "fullyLabeledReplicas": "have all labels", "currentNumberScheduled": "are scheduled",
	"updatedNumberScheduled": "are updated", "numberAvailable": "are available", "numberReady": "are ready",
}

// lacks returns the first count of the status that is too low, as text, such as "1 of 3 replicas are ready"; "" if there is none.
func (o object) lacks(wanted int64, counts ...string) string {
	for _, name := range counts {
		if is := o.number("status", name); is < wanted {
			return fmt.Sprintf("%d of %d replicas %s", is, wanted, countWords[name])
		}
	}
	return ""
}

// surplus returns, as text, that there are more pods than wanted: they may all be of the version before.
func (o object) surplus() string {
	if more := o.number("status", "replicas") - o.replicas(); more > 0 {
		return fmt.Sprintf("%d replicas of the version before are still there", more)
	}
	return ""
}

// job follows the first condition that says how a Job ended, as kstatus does. Kubernetes sets only one.
func job(o object) (hub.State, string) {
	for _, c := range o.objects("status", "conditions") {
		switch is := conditionOf(c); {
		case is.status != "True":
		case c.text("type") == "Complete":
			return hub.StateReady, ""
		case c.text("type") == "Failed":
			return hub.StateFailed, is.message
		}
	}
	if o.text("status", "startTime") == "" {
		return hub.StateProgressing, "has not started"
	}
	return hub.StateReady, ""
}

func persistentVolumeClaim(o object) (hub.State, string) {
	switch phase := o.text("status", "phase"); phase {
	case "Bound":
		return hub.StateReady, ""
	case "":
		return hub.StateProgressing, "is not bound to a volume"
	default:
		return hub.StateProgressing, "is not bound to a volume: " + phase
	}
}

func service(o object) (hub.State, string) {
	if o.text("spec", "type") == "LoadBalancer" && o.text("spec", "clusterIP") == "" {
		return hub.StateProgressing, "has no cluster IP yet"
	}
	return hub.StateReady, ""
}

// customResourceDefinition follows the first condition that decides, as kstatus does.
func customResourceDefinition(o object) (hub.State, string) {
	for _, c := range o.objects("status", "conditions") {
		switch kind, is := c.text("type"), conditionOf(c); {
		case kind == "NamesAccepted" && is.status == "False":
			return hub.StateFailed, is.message
		case kind == "Established" && is.status == "True":
			return hub.StateReady, ""
		case kind == "Established" && is.status == "False" && is.reason != "Installing":
			return hub.StateFailed, is.message
		}
	}
	return hub.StateProgressing, "is not established"
}

func podStatus(o object, now time.Time) (hub.State, string) {
	switch phase := o.text("status", "phase"); phase {
	case "Succeeded":
		return hub.StateReady, ""
	case "Failed":
		return hub.StateFailed, join(o.text("status", "reason"), o.text("status", "message"))
	case "Running":
		if o.condition("Ready").status == "True" {
			return hub.StateReady, ""
		}
		if name := o.crashing(); name != "" {
			return hub.StateFailed, fmt.Sprintf("container %s crashes again and again", name)
		}
		return hub.StateProgressing, join(o.condition("Ready").message, "")
	case "Pending":
		scheduled := o.condition("PodScheduled")
		if scheduled.status != "False" || scheduled.reason != "Unschedulable" {
			return hub.StateProgressing, "is pending"
		}
		if created, err := time.Parse(time.RFC3339, o.text("metadata", "creationTimestamp")); err == nil && now.Sub(created) < unscheduledFor {
			return hub.StateProgressing, scheduled.message
		}
		return hub.StateFailed, scheduled.message
	default:
		return hub.StateProgressing, unseenByController
	}
}

// crashing returns the name of a container that crashes again and again; "" if there is none.
func (o object) crashing() string {
	for _, c := range o.objects("status", "containerStatuses") {
		if c.text("state", "waiting", "reason") == "CrashLoopBackOff" {
			return c.text("name")
		}
	}
	return ""
}
