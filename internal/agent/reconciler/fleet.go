package reconciler

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// fleetGroup is the API group of Rancher Fleet: https://fleet.rancher.io/ref-crds
const fleetGroup = "fleet.cattle.io"

// Fleet's objects for the cluster that it runs on. Other namespaces are for clusters that it manages from there.
const (
	fleetLocalNamespace = "fleet-local"
	fleetLocalCluster   = "local"
)

// Labels of what Fleet makes of a GitRepo. A Bundle and its BundleDeployments get the commit together with the content of it.
const (
	labelFleetRepo             = "fleet.cattle.io/repo-name"
	labelFleetCommit           = "fleet.cattle.io/commit"
	labelFleetBundle           = "fleet.cattle.io/bundle-name"
	labelFleetBundleNamespace  = "fleet.cattle.io/bundle-namespace"
	labelFleetCluster          = "fleet.cattle.io/cluster"
	labelFleetClusterNamespace = "fleet.cattle.io/cluster-namespace"
)

// Made returns the objects of a kind that Rancher Fleet made of a GitRepo. It returns false if the kind cannot be read.
type Made func(kind, namespace, gitRepo string) ([]*unstructured.Unstructured, bool)

// madeOf returns the GitRepo that Fleet made an object of; empty if there is none. A BundleDeployment is in the namespace of its
// cluster.
func madeOf(u *unstructured.Unstructured) (namespace, gitRepo string) {
	o := object(u.Object)
	if u.GetKind() == "BundleDeployment" {
		return o.label(labelFleetBundleNamespace), o.label(labelFleetRepo)
	}
	return o.text("metadata", "namespace"), o.label(labelFleetRepo)
}

// fleetRepo is a GitRepo and what Fleet made of it:
//
//	GitRepo ─ a Job clones the repository ─► Bundles ─ for each cluster ─► BundleDeployments ─ Fleet's agent ─► Helm releases
//
// The GitRepo only says which commit the Job cloned. It is applied when each of its Bundles has a BundleDeployment of that commit,
// and each of these is deployed.
type fleetRepo struct {
	object
	commit               string
	bundles, deployments []object
	// readable is set if bundles and deployments are known.
	readable bool
}

// gitRepo returns a report for each path of a GitRepo. It returns none if the GitRepo is, or may be, for other clusters: what
// they run is not the state of this one.
func gitRepo(o object, made Made) []hub.Report {
	f := fleetRepo{object: o, commit: o.text("status", "commit")}
	if namespace, name := o.text("metadata", "namespace"), o.text("metadata", "name"); made != nil {
		bundles, readable := made("Bundle", namespace, name)
		deployments, also := made("BundleDeployment", namespace, name)
		f.bundles, f.deployments, f.readable = objectsOf(bundles), objectsOf(deployments), readable && also
	}
	if !f.isLocal() {
		return nil
	}
	base := hub.Report{Repository: address(o.text("spec", "repo")), Ref: f.ref()}
	f.setState(&base)
	if f.isApplied() {
		base.Applied = revision(f.commit)
	}
	base.Revision = revision(f.commit)
	if base.State == hub.StateSuspended {
		base.Revision = base.Applied // the Job goes on cloning while it is paused
	}
	reports := make([]hub.Report, 0, 1)
	for i, path := range f.paths() {
		r := base
		r.Path = folder(path)
		if i > 0 {
			r.Name = fmt.Sprintf("#%d", i+1) // names in Kubernetes cannot contain "#"
		}
		reports = append(reports, r)
	}
	return reports
}

// objectsOf returns the content of objects, in the order of their names.
func objectsOf(all []*unstructured.Unstructured) []object {
	objects := make([]object, 0, len(all))
	for _, u := range all {
		objects = append(objects, u.Object)
	}
	slices.SortFunc(objects, func(a, b object) int { return strings.Compare(a.text("metadata", "name"), b.text("metadata", "name")) })
	return objects
}

// isLocal reports whether a GitRepo is for the cluster that it is on, and for no other one.
func (f *fleetRepo) isLocal() bool {
	return f.text("metadata", "namespace") == fleetLocalNamespace && f.number("status", "desiredReadyClusters") <= 1 &&
		!slices.ContainsFunc(f.deployments, func(d object) bool {
			return d.label(labelFleetClusterNamespace) != fleetLocalNamespace || d.label(labelFleetCluster) != fleetLocalCluster
		})
}

// ref returns the branch, tag or commit that Fleet clones. It prefers the branch.
func (f *fleetRepo) ref() string {
	switch wanted, pinned := f.text("spec", "branch"), f.text("spec", "revision"); {
	case wanted != "":
		return branch(wanted)
	case pinned != "":
		return branch(pinned) // like Argo CD, it does not distinguish tags from commits
	default:
		return "master" // Fleet's default
	}
}

// paths returns the folders that Fleet makes bundles of.
func (f *fleetRepo) paths() []string {
	paths := f.texts("spec", "paths")
	if bundles := f.objects("spec", "bundles"); len(bundles) > 0 {
		paths = nil
		for _, b := range bundles {
			paths = append(paths, b.text("base"))
		}
	}
	if len(paths) == 0 {
		return []string{""}
	}
	return paths
}

// isApplied reports whether the commit is proven to be applied: nothing else of it is to come, and nothing of another commit is left.
// One gap remains: Fleet does not say when the Job has written its last bundle. It writes all of them within moments.
func (f *fleetRepo) isApplied() bool {
	if !f.isWritten() || len(f.bundles) == 0 {
		return false
	}
	deployed := map[string]bool{}
	for _, d := range f.deployments {
		if d.removing() || d.label(labelFleetCommit) != f.commit || !d.isDeployed() || !d.is("status", "nonModified") {
			return false
		}
		deployed[d.label(labelFleetBundle)] = true
	}
	for _, b := range f.bundles {
		name := b.text("metadata", "name")
		if b.removing() || b.outdated(condition{}) || b.label(labelFleetCommit) != f.commit || !deployed[name] {
			return false
		}
		delete(deployed, name)
	}
	return len(deployed) == 0 // otherwise it is of a bundle that is gone
}

// isWritten reports whether the Job of the commit has written its bundles.
func (f *fleetRepo) isWritten() bool {
	return f.readable && f.commit != "" && f.text("status", "gitJobStatus") == "Current" && !f.outdated(condition{}) && !f.removing()
}

// isDeployed reports whether Fleet's agent has deployed what a BundleDeployment wants. Fleet also calls it applied when Helm
// failed for a reason that another attempt would not change, with the condition Installed False:
// https://github.com/rancher/fleet/blob/v0.15.0/internal/cmd/agent/deployer/deployer.go#L305
func (o object) isDeployed() bool {
	wanted := o.text("spec", "deploymentID")
	return wanted != "" && wanted == o.text("status", "appliedDeploymentID") && wanted == o.text("spec", "stagedDeploymentID") &&
		o.condition("Deployed").status == "True" && o.condition("Installed").status == "True"
}

// setState sets state, message and health. A repository that cannot be polled does not change the state, because what was applied
// still runs.
func (f *fleetRepo) setState(r *hub.Report) {
	polling := ""
	if c := f.condition("GitPolling"); c.status == "False" {
		polling = "cannot poll the repository: " + c.message
	}
	accepted := f.condition("Accepted")
	switch {
	case f.removing():
		r.State, r.Message = hub.StateProgressing, "is being removed"
	case f.is("spec", "paused"):
		r.State = hub.StateSuspended
	case accepted.status == "False":
		r.State, r.Message = hub.StateFailed, accepted.message
	case f.text("status", "gitJobStatus") == "Failed":
		r.State, r.Message = hub.StateFailed, f.condition("Stalled").message
	case f.commit == "" && polling != "":
		r.State, r.Message = hub.StateFailed, polling
	case !f.readable:
		r.State, r.Message = hub.StateProgressing, "the agent cannot read what is applied: it needs get, list and watch on bundles and bundledeployments"
	case !f.isWritten():
		r.State, r.Message = hub.StateProgressing, polling
	case len(f.bundles) == 0:
		r.State, r.Message = hub.StateProgressing, join("has no bundles yet", polling)
	default:
		f.setDeployed(r)
		r.Message = join(r.Message, polling)
	}
}

// setDeployed sets the worst state of the deployments, and their health.
func (f *fleetRepo) setDeployed(r *hub.Report) {
	r.State, r.Health = hub.StateProgressing, ""
	if f.isApplied() {
		r.State, r.Health = hub.StateReady, hub.HealthHealthy
	}
	for _, b := range f.bundles {
		if text := b.failure(); text != "" {
			r.State, r.Message = hub.StateFailed, text
		}
	}
	for _, d := range f.deployments {
		if d.removing() || d.label(labelFleetCommit) != f.commit {
			continue // it is not about this commit
		}
		s := d.deployment()
		if s.state.Severity() > r.State.Severity() || r.Message == "" && s.state == r.State {
			r.State, r.Message = s.state, s.message
		}
		if s.health.Severity() > r.Health.Severity() {
			r.Health = s.health
		}
		r.Unhealthy = append(r.Unhealthy, s.unhealthy...)
	}
	r.Unhealthy = hub.Unhealthy(slices.DeleteFunc(r.Unhealthy, func(u hub.ObjectHealth) bool { return u.Kind == "" || u.Name == "" }))
}

// fleetSummary matches a message that counts deployments in a state. It repeats what they say, which can be data of modified objects.
var fleetSummary = regexp.MustCompile(`(?s)^([A-Za-z]+)\(\d+\) \[.*`)

// failure returns why Fleet cannot make deployments of a bundle; empty if it can.
func (o object) failure() string {
	ready := o.condition("Ready")
	if ready.status != "False" || ready.reason != "Error" || fleetSummary.MatchString(ready.message) {
		return ""
	}
	return ready.message
}

// deploymentState is what a BundleDeployment says.
type deploymentState struct {
	state     hub.State
	message   string
	health    hub.Health
	unhealthy []hub.ObjectHealth
}

// deployment returns the state of a BundleDeployment, which is Fleet's own
// (https://fleet.rancher.io/ref-status-fields), with errors of which Fleet only says that something is not ready.
func (o object) deployment() deploymentState {
	deployed, installed, monitored := o.condition("Deployed"), o.condition("Installed"), o.condition("Monitored")
	wanted, applied := o.text("spec", "deploymentID"), o.text("status", "appliedDeploymentID")
	switch {
	case o.is("spec", "paused"):
		return deploymentState{state: hub.StateSuspended, message: "is paused"}
	case o.is("spec", "offSchedule"):
		return deploymentState{state: hub.StateSuspended, message: "is outside of its schedule"}
	case deployed.status == "False" && strings.Contains(deployed.message, "dependent bundle(s) are not ready"):
		return deploymentState{state: hub.StateProgressing, message: deployed.message}
	case deployed.status == "False" && (wanted == applied || o.failedSince("Deployed")):
		return deploymentState{state: hub.StateFailed, message: deployed.message}
	case deployed.status == "False":
		return deploymentState{state: hub.StateProgressing, message: deployed.message}
	case wanted != applied:
		return deploymentState{state: hub.StateProgressing}
	case installed.status == "False":
		return deploymentState{state: hub.StateFailed, message: installed.message}
	case monitored.status == "False":
		return deploymentState{state: hub.StateProgressing, message: monitored.message}
	case wanted != o.text("spec", "stagedDeploymentID"):
		return deploymentState{state: hub.StateProgressing, message: "waits for other clusters of its rollout"}
	case !o.is("status", "ready"):
		return o.notReady()
	case !o.is("status", "nonModified"):
		return o.modified()
	}
	return deploymentState{state: hub.StateReady, health: hub.HealthHealthy}
}

// failedSince reports whether a condition changed after Fleet wrote what is to be deployed. Otherwise it may be about an earlier
// commit: the status has no generation. The times have seconds.
func (o object) failedSince(condition string) bool {
	written := ""
	for _, m := range o.objects("metadata", "managedFields") {
		if m.text("subresource") == "" {
			written = max(written, m.text("time")) // all are in UTC, of the same length
		}
	}
	for _, c := range o.objects("status", "conditions") {
		if c.text("type") == condition {
			return written != "" && c.text("lastUpdateTime") >= written
		}
	}
	return false
}

// notReady returns the state of a BundleDeployment with objects that are not ready.
func (o object) notReady() deploymentState {
	s := deploymentState{state: hub.StateProgressing, health: hub.HealthProgressing}
	for _, n := range o.objects("status", "nonReadyStatus") {
		messages := n.texts("summary", "message")
		if strings.HasPrefix(n.text("apiVersion"), fleetGroup+"/") {
			for i, text := range messages {
				messages[i] = fleetSummary.ReplaceAllString(text, "$1")
			}
		}
		u := fleetObject(n, hub.HealthProgressing, strings.Join(slices.Compact(messages), "; "))
		if n.is("summary", "error") {
			u.Health = hub.HealthDegraded
		}
		if u.Health.Severity() > s.health.Severity() || s.message == "" {
			s.message = u.String()
		}
		if u.Health == hub.HealthDegraded {
			s.state, s.health = hub.StateFailed, hub.HealthDegraded
		}
		if explained[u.Kind].Resource != "" {
			u.Message = "" // its pods say more
		}
		s.unhealthy = append(s.unhealthy, u)
	}
	return s
}

// modified returns the state of a BundleDeployment whose objects are not as they were deployed. It never says how they differ:
// that can be confidential.
func (o object) modified() deploymentState {
	s := deploymentState{state: hub.StateProgressing, health: hub.HealthUnknown}
	var names []string
	for _, m := range o.objects("status", "modifiedStatus") {
		u := fleetObject(m, hub.HealthUnknown, "was modified")
		switch {
		case m.is("missing") && m.is("exist"):
			u.Message = "belongs to another bundle"
		case m.is("missing"):
			u.Health, u.Message, s.health = hub.HealthProgressing, "is missing", hub.HealthProgressing
		case m.is("delete"):
			u.Message = "should be removed"
		}
		names = append(names, strings.TrimSpace(u.Kind+" "+strings.TrimPrefix(u.Namespace+"/"+u.Name, "/"))+" "+u.Message)
		s.unhealthy = append(s.unhealthy, u)
	}
	s.message = "differs from Git: " + strings.Join(names, ", ")
	return s
}

func fleetObject(o object, health hub.Health, text string) hub.ObjectHealth {
	return hub.ObjectHealth{
		Kind: line(o.text("kind"), hub.MaxName), Namespace: line(o.text("namespace"), hub.MaxName), Name: line(o.text("name"), hub.MaxName),
		Health: health, Message: line(redact(text), hub.MaxObjectMessage),
	}
}

// label returns a label of an object.
func (o object) label(name string) string { return o.text("metadata", "labels", name) }
