package query

import (
	"context"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
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
	Paging
}

// Missing returns the required values that targets lack, as the last rounds found them.
func (o *Observer) Missing(_ context.Context, q MissingQuery) (Page[MissingValue], error) {
	all := []MissingValue{}
	add := func(m MissingValue, problems []fleet.Problem) {
		for _, p := range problems {
			if p.Lacks == "" || q.Environment != "" && q.Environment != m.Environment {
				continue
			}
			one := m
			if one.Target = p.Assignment; m.Application == "" {
				one.ClusterType, one.Target, _ = strings.Cut(p.Assignment, "/")
			}
			for key := range strings.SplitSeq(p.Lacks, ", ") {
				one.Key, one.SetBy, one.Holds, one.Problem = key, p.SetBy, p.Severity == fleet.SeverityError, p
				all = append(all, one)
			}
		}
	}
	if o.Fleet != nil {
		for _, cp := range o.Fleet.ControlPlanes() {
			if q.ControlPlane != "" && !repourl.Same(cp.URL, q.ControlPlane) {
				continue
			}
			for _, s := range cp.standings() {
				if s.scheduled != nil && s.scheduled.Outcome != nil && s.scheduled.Outcome.Plan != nil && q.Application == "" {
					add(MissingValue{ControlPlane: cp.URL, Environment: s.name}, s.scheduled.Outcome.Plan.Problems)
				}
			}
			for _, a := range cp.Applications {
				if q.Application != "" && q.Application != a.Name {
					continue
				}
				for i := range a.Environments {
					e := &a.Environments[i]
					add(MissingValue{ControlPlane: cp.URL, Environment: e.Environment, Application: a.Name, Subject: a.Subject}, e.detail().ProblemList)
				}
			}
		}
	}
	return cut(all, q.Paging, func(m *MissingValue) string {
		return names(m.Environment, m.Application, m.Target, m.ClusterType, m.Key, m.ControlPlane, m.Subject)
	})
}
