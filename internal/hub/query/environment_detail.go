package query

import (
	"context"
	"maps"
	"slices"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
	"github.com/kalypso-io/kalypso/internal/text/natural"
)

// lastEvents limits the events in the details of one thing.
const lastEvents = 20

// Environment returns one environment.
func (o *Observer) Environment(ctx context.Context, q EnvironmentQuery) (EnvironmentDetail, error) {
	if err := o.knows(q.AsOf); err != nil {
		return EnvironmentDetail{}, err
	}
	s, err := o.oneEnvironment(ctx, q.ControlPlane, q.Name, q.AsOf)
	if err != nil {
		return EnvironmentDetail{}, err
	}
	sc, err := o.environmentView(ctx, s, targetFilter{}, q.AsOf)
	if err != nil {
		return EnvironmentDetail{}, err
	}
	verdict, err := o.verdicts(q.AsOf).verdict(ctx, s)
	if err != nil {
		return EnvironmentDetail{}, err
	}
	d := EnvironmentDetail{
		ProblemList: []fleet.Problem{}, HeldList: []HeldAssignment{}, Details: detailsOf(&promote.Standing{}),
	}
	if d.Environment, err = o.summary(ctx, sc, verdict, q.AsOf); err != nil {
		return EnvironmentDetail{}, err
	}
	d.ClusterTypes = sc.types(verdict.Reconcilers)
	d.Cluster = s.scheduled.clusterObject(q.Cluster)
	d.addPlan(s.scheduled)
	d.addDetails(s.promotion)
	steps, err := o.platformSteps(ctx, &s, ledger.StepQuery{Environment: q.Name, Parts: true, To: until(q.AsOf), Limit: lastEvents})
	d.Steps = append([]ledger.Step{}, steps...)
	return d, err
}

// types returns the cluster types with the states of their members.
func (sc *environmentView) types(reconcilers []comply.Reconciler) []ClusterType {
	all := map[string]*ClusterType{}
	get := func(name string) *ClusterType {
		if all[name] == nil {
			all[name] = &ClusterType{Name: name, Labels: sc.clusterTypes[name], Clusters: sc.members[name]}
		}
		return all[name]
	}
	for name := range sc.clusterTypes {
		get(name)
	}
	for name := range sc.members {
		get(name)
	}
	for _, p := range sc.statuses {
		for _, a := range p.assignments {
			if a.isPublished() {
				get(a.clusterType).Targets++
			}
		}
	}
	for _, r := range reconcilers {
		get(r.ClusterType).States.add(r.State)
	}
	types := []ClusterType{}
	for _, name := range natural.Sort(slices.Collect(maps.Keys(all))) {
		types = append(types, *all[name])
	}
	return types
}

func (c *ComplianceCounts) add(s comply.State) {
	switch s {
	case comply.Reached:
		c.Reached++
	case comply.Behind:
		c.Behind++
	case comply.Broken:
		c.Failed++
	case comply.Offline:
		c.Offline++
	case comply.Missing:
		c.Missing++
	}
}

// addPlan adds the plan of the open pull request, or the next one.
func (d *EnvironmentDetail) addPlan(s *Scheduled) {
	if s == nil || s.Outcome == nil || s.Outcome.Plan == nil {
		return
	}
	p := s.Outcome.Plan
	d.ProblemList = append(d.ProblemList, p.Problems[:min(len(p.Problems), MaxLimit)]...)
	for _, c := range p.Assignments {
		if c.Op == plan.Held && len(d.HeldList) < MaxLimit {
			d.HeldList = append(d.HeldList, HeldAssignment{ClusterType: c.ClusterType, Target: c.Target, Reason: c.Reason})
		}
	}
	if p.Empty() && len(p.Refusals) == 0 {
		return
	}
	d.Plan = &PlanSummary{Title: p.Title(), Counts: p.Counts, Budget: p.Budget, Refusals: p.Refusals}
	for _, drift := range p.Drift[:min(len(p.Drift), MaxLimit)] {
		d.Plan.Drift = append(d.Plan.Drift, drift.Path)
	}
}

// addDetails adds verifications, proposals and commands.
func (d *EnvironmentDetail) addDetails(p *promote.Standing) {
	if p != nil {
		d.Details, d.Targets = detailsOf(p), p.Targets
	}
}

// detailsOf returns the rules, verifications, proposals and commands.
func detailsOf(p *promote.Standing) Details {
	w := Details{
		Rules: p.Rules, Checks: append([]decide.CheckProgress{}, p.Checks...), Proposals: []decide.Proposal{}, Aborted: append([]decide.Abort{}, p.Aborts...), Requested: p.Request,
	}
	for _, c := range p.Proposals {
		w.Proposals = append(w.Proposals, c.Proposal)
	}
	return w
}
