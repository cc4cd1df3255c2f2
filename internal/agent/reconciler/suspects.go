package reconciler

import (
	"slices"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// maxSuspects limits the objects of an Application that are looked up.
const maxSuspects = 20

// suspects returns objects of an Application of the watched cluster that may be why it is not healthy, without a health. Argo CD 3.0 and
// later does not say which they are, unless controller.resource.health.persist is set:
// https://argo-cd.readthedocs.io/en/stable/operator-manual/upgrading/2.14-3.0/
func suspects(o object) []hub.ObjectHealth {
	if health := argoHealth(o); health != hub.HealthDegraded && health != hub.HealthProgressing {
		return nil
	}
	var all []hub.ObjectHealth
	for _, r := range o.objects("status", "resources") {
		if r.text("health", "status") != "" {
			return nil // it says them
		}
		if mayRun(r) && len(all) < maxSuspects {
			all = append(all, hub.ObjectHealth{
				Kind: line(r.text("kind"), hub.MaxName), Namespace: line(r.text("namespace"), hub.MaxName), Name: line(r.text("name"), hub.MaxName),
			})
		}
	}
	return all
}

// suspect adds the suspects of an Application to its reports, which the [explainer] has to look up.
func suspect(reports []hub.Report, application object) {
	all := suspects(application)
	for i := range reports {
		if len(reports[i].Unhealthy) == 0 {
			reports[i].Unhealthy = slices.Clone(all)
		}
	}
}

// mayRun reports whether a resource of an Application is of a kind whose pods tell why it is not healthy.
func mayRun(resource object) bool {
	kind, ok := explained[resource.text("kind")]
	return ok && kind.Group == resource.text("group")
}

// withoutSuspects returns the objects that are known not to be healthy.
func withoutSuspects(objects []hub.ObjectHealth) []hub.ObjectHealth {
	if !slices.ContainsFunc(objects, func(o hub.ObjectHealth) bool { return o.Health == "" || o.Health == hub.HealthHealthy }) {
		return objects
	}
	return hub.Unhealthy(slices.DeleteFunc(objects, func(o hub.ObjectHealth) bool { return o.Health == "" }))
}

// workloadHealth returns the health of a workload or pod: that of [Status], but a Job is not healthy while it runs.
func workloadHealth(o object, now time.Time) hub.Health {
	if o.groupKind() == "batch/Job" {
		switch {
		case o.condition("Failed").status == "True":
			return hub.HealthDegraded
		case o.condition("Complete").status == "True", o.is("spec", "suspend"):
			return hub.HealthHealthy
		}
		return hub.HealthProgressing
	}
	switch state, _ := Status(o, now); state {
	case hub.StateReady:
		return hub.HealthHealthy
	case hub.StateFailed:
		return hub.HealthDegraded
	}
	return hub.HealthProgressing
}
