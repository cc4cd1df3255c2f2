package query

import (
	"context"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/text/repourl"
)

// MissingValue is a required value that a target lacks.
type MissingValue struct {
	ControlPlane string `json:"controlPlane"`
	Environment  string `json:"environment"`
	// Application is the workload whose configuration lacks the value; empty for platform configuration. Subject identifies it in the ledger.
	Application string `json:"application,omitempty"`
	Subject     string `json:"subject,omitempty"`
	// Target is the target: its name in the Workload, or the whole name for platform configuration. ClusterType is where it lacks the value;
	// empty for an application, whose values are the same everywhere.
	Target      string `json:"target,omitempty"`
	ClusterType string `json:"clusterType,omitempty"`
	// Cluster is the cluster with values of its own; empty for those that share the values of the cluster type.
	Cluster string `json:"cluster,omitempty"`
	// Key is the key of the value.
	Key string `json:"key"`
	// SetBy says who may set it, as in "dba or ada"; empty if everyone may who may change the file.
	SetBy string `json:"setBy,omitempty"`
	// Holds means that the target keeps its published files until the value is set.
	Holds bool `json:"holds,omitempty"`
	// Problem is the problem with all details.
	Problem fleet.Problem `json:"problem"`
}

// MissingQuery selects missing values. Empty fields match all.
type MissingQuery struct {
	Environment  string `query:"environment" maxLength:"253" doc:"Only values that this environment lacks."`
	ControlPlane string `query:"controlPlane" maxLength:"2048" doc:"Only values of this control plane and its applications."`
	Application  string `query:"application" maxLength:"253" doc:"Only values of the configuration of this application."`
	Target       string `query:"target" maxLength:"253" doc:"Only values that this target lacks; its name in the fleet."`
	Paging
}

// MissingOf returns the values of the platform's configuration that assignments lack. about has the control plane and environment.
func MissingOf(about MissingValue, lacks []schedule.Lack) []MissingValue {
	var all []MissingValue
	for _, l := range lacks {
		about.ClusterType, about.Cluster, about.Target = l.ClusterType, l.Cluster, l.Target
		all = about.add(all, l.Problem)
	}
	return all
}

// MissingIn returns the values that targets of an application lack by problems. about has the environment and application.
func MissingIn(about MissingValue, problems []fleet.Problem) []MissingValue {
	var all []MissingValue
	for _, p := range problems {
		about.Target = p.Assignment
		all = about.add(all, p)
	}
	return all
}

// add adds the values that a problem says are missing.
func (m MissingValue) add(all []MissingValue, p fleet.Problem) []MissingValue {
	if p.Lacks == "" {
		return all
	}
	for key := range strings.SplitSeq(p.Lacks, ", ") {
		m.Key, m.SetBy, m.Holds, m.Problem = key, p.SetBy, p.Severity == fleet.SeverityError, p
		all = append(all, m)
	}
	return all
}

// inFleet returns the name of the target in the fleet.
func (m *MissingValue) inFleet() string {
	if m.Application == "" {
		return m.Target
	}
	return m.Application + "-" + m.Target
}

// Missing returns the required values that targets lack, as the last rounds found them.
func (o *Observer) Missing(_ context.Context, q MissingQuery) (Page[MissingValue], error) {
	all := []MissingValue{}
	add := func(values []MissingValue) {
		for _, m := range values {
			if (q.Environment == "" || q.Environment == m.Environment) && (q.Target == "" || q.Target == m.inFleet()) {
				all = append(all, m)
			}
		}
	}
	if o.Fleet != nil {
		for _, cp := range o.Fleet.ControlPlanes() {
			if q.ControlPlane != "" && !repourl.Same(cp.URL, q.ControlPlane) {
				continue
			}
			for _, s := range cp.standings() {
				if s.scheduled == nil || q.Application != "" {
					continue
				}
				if draft := s.scheduled.Outcome.Draft(); draft != nil {
					add(MissingOf(MissingValue{ControlPlane: cp.URL, Environment: s.name}, draft.Lacks()))
				}
			}
			for _, a := range cp.Applications {
				if q.Application != "" && q.Application != a.Name {
					continue
				}
				for i := range a.Environments {
					e := &a.Environments[i]
					add(MissingIn(MissingValue{ControlPlane: cp.URL, Environment: e.Environment, Application: a.Name, Subject: a.Subject}, e.detail().ProblemList))
				}
			}
		}
	}
	return cut(all, q.Paging, func(m *MissingValue) string {
		return names(m.Environment, m.Application, m.Target, m.ClusterType, m.Cluster, m.Key, m.ControlPlane, m.Subject)
	})
}
