package query

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// visibleFleet is the part of a fleet that a viewer sees. It does not change.
type visibleFleet []ControlPlane

// ControlPlanes implements [Fleet].
func (f visibleFleet) ControlPlanes() []ControlPlane { return f }

// errUnread stands for errors of reading, which can name repositories.
var errUnread = errors.New("it could not be read the last time")

// fleet returns the part of the fleet that the viewer sees. Everything is copied field by field, so that new fields are left out.
func (v *visible) fleet() visibleFleet {
	seen := visibleFleet{}
	for i := range v.planes {
		all := &v.planes[i]
		cp := ControlPlane{URL: all.URL, Scheduling: map[string]*Scheduled{}}
		for _, a := range all.Applications {
			if a = v.application(all.URL, a); a != nil {
				cp.Applications = append(cp.Applications, a)
			}
		}
		has := func(environment string) bool { return v.environments[placed{all.URL, environment}] }
		if all.Environments != nil {
			cp.Environments = slices.DeleteFunc(slices.Clone(all.Environments), func(name string) bool { return !has(name) })
		}
		for environment, scheduled := range all.Scheduling {
			if has(environment) {
				cp.Scheduling[environment] = v.scheduled(all.URL, environment, scheduled)
			}
		}
		if p := all.Promotion; p != nil {
			cp.Promotion = &promote.Outcome{Subject: p.Subject, At: p.At}
			for j := range p.Environments {
				if e := &p.Environments[j]; has(e.Environment) {
					cp.Promotion.Environments = append(cp.Promotion.Environments, v.standing(e, has))
				}
			}
		}
		if len(cp.Scheduling) == 0 && len(cp.Applications) == 0 && (cp.Promotion == nil || len(cp.Promotion.Environments) == 0) {
			continue
		}
		if all.Err != nil {
			cp.Err = errUnread
		}
		seen = append(seen, cp)
	}
	return seen
}

// scheduled returns the viewer's targets and assignments in an environment.
func (v *visible) scheduled(controlPlane, environment string, all *Scheduled) *Scheduled {
	s := &Scheduled{At: all.At, Snapshot: &fleet.Snapshot{Environment: environment}}
	if all.Err != nil {
		s.Err = errUnread
	}
	inv := all.targets()
	seen := &inventory{clusterTypes: map[string]map[string]string{}}
	p := &plan.Plan{Environment: environment}
	for i := 0; inv != nil && i < len(inv.targets); i++ {
		if t := inv.targets[i]; v.sees(controlPlane, t.workspace, environment) {
			seen.targets = append(seen.targets, v.target(t, p))
		}
	}
	for name, labels := range mapOf(inv) {
		if v.clusterTypes[inEnvironment{environment, name}] {
			seen.clusterTypes[name] = labels
		}
	}
	s.once.Do(func() { s.inventory = seen })
	if all.Snapshot == nil {
		return s
	}
	for _, t := range all.Snapshot.Targets {
		if v.sees(controlPlane, t.Workspace, environment) {
			s.Snapshot.Targets = append(s.Snapshot.Targets, t)
		}
	}
	for _, ct := range all.Snapshot.ClusterTypes {
		if v.clusterTypes[inEnvironment{environment, ct.Name}] {
			s.Snapshot.ClusterTypes = append(s.Snapshot.ClusterTypes, &fleet.ClusterType{Name: ct.Name, Labels: ct.Labels})
		}
	}
	s.Outcome = &schedule.Outcome{Plan: p}
	return s
}

func mapOf(inv *inventory) map[string]map[string]string {
	if inv == nil {
		return nil
	}
	return inv.clusterTypes
}

// target returns a copy of a target, and adds what changes for it to a plan.
func (v *visible) target(t *target, p *plan.Plan) *target {
	seen := *t
	seen.assignments = slices.Clone(t.assignments)
	for i := range seen.assignments {
		a := &seen.assignments[i]
		c := plan.Change{Op: a.pending, ClusterType: a.clusterType, Target: t.name, Title: t.workload + "/" + t.shortName, Policies: a.policies}
		if a.held != nil {
			held := fleet.Problem{Severity: a.held.Severity, Kind: a.held.Kind, Assignment: a.held.Assignment}
			held.Message = v.text(a.held.Message, "it depends on what other workspaces have: ask the platform team")
			held.Hint = v.text(a.held.Hint, "")
			a.held, c.Op, c.Reason = &held, plan.Held, &held
			p.Problems = append(p.Problems, held)
		}
		if c.Op != "" {
			p.Assignments = append(p.Assignments, c)
			p.Counts.Count(c.Op)
		} else {
			p.Counts.Unchanged++
		}
	}
	return &seen
}

// application returns the parts of an application that the viewer sees; nil if there are none.
func (v *visible) application(controlPlane string, all *Application) *Application {
	everywhere := v.sees(controlPlane, all.Workspace, "")
	a := *all
	a.Environments = []ApplicationEnvironment{}
	hidden := false
	for _, e := range all.Environments {
		if !v.sees(controlPlane, all.Workspace, e.Environment) {
			hidden = true
			continue
		}
		e.After = slices.DeleteFunc(slices.Clone(e.After), func(name string) bool { return !v.sees(controlPlane, all.Workspace, name) })
		a.Environments = append(a.Environments, e)
	}
	if len(a.Environments) == 0 && !everywhere {
		return nil
	}
	if !hidden {
		return &a
	}
	// What the source says about all environments can name those that are hidden.
	a.ProblemList, a.Problems = nil, ProblemCounts{}
	if a.Error != "" {
		a.Error = errUnread.Error()
	}
	for i := range a.Environments {
		e := &a.Environments[i]
		a.Problems.Errors += e.Problems.Errors
		a.Problems.Warnings += e.Problems.Warnings
		a.Problems.Notices += e.Problems.Notices
	}
	return &a
}

// standing returns the state of the platform's commit in an environment, on the clusters that the viewer sees.
func (v *visible) standing(all *promote.Standing, has func(environment string) bool) promote.Standing {
	s := promote.Standing{
		Environment: all.Environment, Phase: all.Phase, Commit: all.Commit, Since: all.Since, GitOps: all.GitOps,
		After: slices.DeleteFunc(slices.Clone(all.After), func(name string) bool { return !has(name) }),
	}
	if all.Rollout.Commit != "" {
		s.Rollout = decide.Rollout{Commit: all.Rollout.Commit}
	}
	if all.Pause != nil {
		s.Pause = &decide.Pause{By: "the platform team", At: all.Pause.At}
	}
	s.Verdict = v.verdict(all)
	return s
}

// verdict returns the states of the platform's reconcilers on the viewer's clusters. The gate counts all clusters, so its result is that of
// all: it is shown only as far as the environment's phase does.
func (v *visible) verdict(all *promote.Standing) comply.Verdict {
	seen := comply.Verdict{Commit: all.Verdict.Commit, Reconcilers: []comply.Reconciler{}}
	if seen.Commit == "" {
		return seen
	}
	part := comply.Verdict{}
	for _, r := range all.Verdict.Reconcilers {
		if v.clusterTypes[inEnvironment{all.Environment, r.ClusterType}] {
			part.Reconcilers = append(part.Reconcilers, comply.Reconciler{
				Cluster: r.Cluster, ClusterType: r.ClusterType, State: r.State, Reason: reasons[r.State], Since: r.Since, Revision: r.Revision, Suspended: r.Suspended,
			})
		}
	}
	n := len(part.Reconcilers)
	part.Counts = comply.Counts{Expected: n, Counted: n, Required: n}
	seen.Add(&part, true)
	seen.Reason = fmt.Sprintf("%d of %d clusters with your targets run it", seen.Counts.Reached, n)
	switch {
	case n == 0:
		seen.Result = comply.NoClusters
	case seen.Counts.Failed > 0:
		seen.Result = comply.Failed
	case seen.Counts.Reached == n:
		seen.Result = comply.Passed
	default:
		seen.Result = comply.Waiting
	}
	return seen
}

// reasons stand for what the platform's reconcilers report, which can name others.
var reasons = map[comply.State]string{
	comply.Reached: "runs it", comply.Behind: "runs another commit", comply.Broken: "failed to apply it", comply.Offline: "is offline",
	comply.Missing: "reports no reconciler of the platform",
}
