package v1alpha1

import (
	"cmp"
	"slices"
)

// Health says whether the objects that a reconciler applied work, by the reconciler's own checks.
type Health string

// Health of a reconciler or an object, from best to worst.
const (
	// HealthHealthy means that all health checks passed.
	HealthHealthy Health = "healthy"
	// HealthUnknown means that nothing is known about the health, such as of a reconciler that does not check it. It is the same
	// as no health.
	HealthUnknown Health = "unknown"
	// HealthProgressing means that not all health checks passed yet, and none failed for good.
	HealthProgressing Health = "progressing"
	// HealthDegraded means that an object failed.
	HealthDegraded Health = "degraded"
)

// healths lists the health values by increasing severity.
var healths = []Health{HealthHealthy, HealthUnknown, HealthProgressing, HealthDegraded}

// Severity returns 1 for healthy, 2 for unknown and no health, up to 4 for degraded; and 0 for other values.
func (h Health) Severity() int {
	if h == "" {
		h = HealthUnknown
	}
	return slices.Index(healths, h) + 1
}

// HealthOf returns the health with a severity; none if it is unknown.
func HealthOf(severity int) Health {
	if severity < 1 || severity > len(healths) || healths[severity-1] == HealthUnknown {
		return ""
	}
	return healths[severity-1]
}

// ParseHealth returns the health for a status of Argo CD (https://argo-cd.readthedocs.io/en/stable/operator-manual/health/) or of
// kstatus (https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md), which Flux uses; none for others.
// Objects that are missing, suspended or being deleted may become healthy: they are progressing.
func ParseHealth(status string) Health {
	switch status {
	case "Healthy", "Current":
		return HealthHealthy
	case "Degraded", "Failed":
		return HealthDegraded
	case "Progressing", "Suspended", "Missing", "InProgress", "NotFound", "Terminating":
		return HealthProgressing
	}
	return ""
}

// Unhealthy returns at most [MaxUnhealthy] objects that are not healthy: the worst first, otherwise by kind, namespace and name.
func Unhealthy(objects []ObjectHealth) []ObjectHealth {
	objects = slices.DeleteFunc(objects, func(o ObjectHealth) bool { return o.Health == HealthHealthy })
	slices.SortStableFunc(objects, func(a, b ObjectHealth) int {
		return cmp.Or(cmp.Compare(b.Health.Severity(), a.Health.Severity()), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return objects[:min(len(objects), MaxUnhealthy)]
}

// ObjectHealth is the health of an object that a reconciler applied.
//
// +kubebuilder:object:generate=false
type ObjectHealth struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"` // empty for cluster-scoped objects
	Name      string `json:"name"`
	// Health is progressing, degraded or unknown.
	Health Health `json:"health"`
	// Message explains the health, on one line of at most [MaxObjectMessage] bytes.
	Message string `json:"message,omitempty"`
}

// String returns, for example, "Deployment shop/web is degraded: exceeded its progress deadline".
func (o ObjectHealth) String() string {
	text := o.Kind + " "
	if o.Namespace != "" {
		text += o.Namespace + "/"
	}
	text += o.Name
	switch o.Health {
	case HealthDegraded, HealthProgressing, HealthHealthy:
		text += " is " + string(o.Health)
	default:
		text += " has an unknown health"
	}
	if o.Message != "" {
		text += ": " + o.Message
	}
	return text
}
