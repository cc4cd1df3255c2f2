package ledger

import (
	"slices"
	"time"
)

// DeploymentQuery selects deployments and incidents. Empty fields match all.
type DeploymentQuery struct {
	Environment string
	Workload    string
	Workspace   string
	From, To    time.Time // from, inclusive, to, exclusive
	Limit       int       // 0 means all
}

// Deployment is a version of a workload, or a promoted commit of a control plane, that reached the clusters of an environment.
type Deployment struct {
	// Version is that of the workload. For the platform, its version and commit are the promoted commit, and Built is when the
	// promotion of the commit began.
	Version
	// ControlPlane is set for the platform, whose deployments have no workload.
	ControlPlane string `json:"controlPlane,omitempty"`
	// Deployed is when the first reconciler was ready with the version, or the gate passed for the commit; zero means not yet.
	Deployed time.Time `json:"deployed,omitzero"`
	// Failed is when the first reconciler failed with it, the commit failed, or a user took it back; zero means never.
	Failed time.Time `json:"failed,omitzero"`
}

// Incident is an outage of a workload, or of the platform, in an environment: from the first failure until none is left.
// Reconcilers that fail at the same time are one incident.
type Incident struct {
	// ControlPlane is set for the platform, which has no workload.
	ControlPlane string `json:"controlPlane,omitempty"`
	Workload     string `json:"workload,omitempty"`
	Workspace    string `json:"workspace,omitempty"`
	Environment  string `json:"environment"`
	// Failures counts the failures of single reconcilers.
	Failures int       `json:"failures"`
	Failed   time.Time `json:"failed"`
	Restored time.Time `json:"restored,omitzero"` // zero while it lasts
}

// Performance holds the four DORA metrics, as defined in docs/reference/ledger.md. The SQL views have the same definitions.
type Performance struct {
	Deployments int `json:"deployments"`
	// PerDay is the deployment frequency.
	PerDay float64 `json:"perDay"`
	// LeadTime is the median time from build to the first cluster, of deployments with a known build time.
	LeadTime time.Duration `json:"leadTime"`
	// ChangeFailureRate is the share of deployments that failed on a cluster, from 0 to 1.
	ChangeFailureRate float64 `json:"changeFailureRate"`
	// TimeToRestore is the median length of incidents that are over.
	TimeToRestore time.Duration `json:"timeToRestore"`
	OpenIncidents int           `json:"openIncidents"`
}

// Perform computes the metrics of a period. A deployment that was never ready counts only as a failed change.
func Perform(deployments []Deployment, incidents []Incident, within time.Duration) Performance {
	var p Performance
	var leads, restores []time.Duration
	failed := 0
	for _, d := range deployments {
		if !d.Failed.IsZero() {
			failed++
		}
		if d.Deployed.IsZero() {
			continue
		}
		p.Deployments++
		if !d.Built.IsZero() {
			leads = append(leads, d.Deployed.Sub(d.Built))
		}
	}
	for _, i := range incidents {
		if i.Restored.IsZero() {
			p.OpenIncidents++
			continue
		}
		restores = append(restores, i.Restored.Sub(i.Failed))
	}
	if days := within.Hours() / 24; days > 0 {
		p.PerDay = float64(p.Deployments) / days
	}
	if len(deployments) > 0 {
		p.ChangeFailureRate = float64(failed) / float64(len(deployments))
	}
	p.LeadTime, p.TimeToRestore = median(leads), median(restores)
	return p
}

// median returns 0 for an empty slice, and the lower of two middle values.
func median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[(len(d)-1)/2]
}
