package query

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Figures are the four key metrics of software delivery (DORA) for a period: of the workloads, and of the platform, whose deployments
// are promoted commits of a control plane.
type Figures struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Total is the performance of everything that was selected.
	Total Performance `json:"total"`
	// Items are per workspace, or per workspace and workload, and then per control plane.
	Items []Figure `json:"items"`
}

// Figure is the delivery performance of a workload, of a team, or of the platform.
type Figure struct {
	// ControlPlane is the repository of a control plane; set for the figures of the platform only.
	ControlPlane string `json:"controlPlane,omitempty"`
	Workspace    string `json:"workspace"`
	// Workload is empty for the figures of a team or of the platform.
	Workload string `json:"workload,omitempty"`
	Performance
}

// Performance is the values of the four metrics.
type Performance struct {
	// Deployments is the number of versions that became ready on a first cluster, or of commits that passed the gate, PerDay their
	// average per day.
	Deployments int     `json:"deployments"`
	PerDay      float64 `json:"perDay"`
	// LeadTimeSeconds is the median time from the build to the first cluster, or from the start of a commit's promotion to the gate;
	// 0 if no such time is known.
	LeadTimeSeconds float64 `json:"leadTimeSeconds"`
	// ChangeFailureRate is the share of deployments that failed on a cluster, from 0 to 1.
	ChangeFailureRate float64 `json:"changeFailureRate"`
	// TimeToRestoreSeconds is the median duration of incidents that began in the period and have ended; 0 if there are none. An incident
	// is an outage: from the first failure of a workload, or of the platform, in an environment until none is left.
	TimeToRestoreSeconds float64 `json:"timeToRestoreSeconds"`
	OpenIncidents        int     `json:"openIncidents"`
}

// FiguresQuery selects figures. Empty fields match all.
type FiguresQuery struct {
	Environment string    `query:"environment" maxLength:"253" doc:"Only deployments to this environment."`
	Workload    string    `query:"workload" maxLength:"253" doc:"Only deployments of this workload."`
	Workspace   string    `query:"workspace" maxLength:"253" doc:"Only deployments of this workspace."`
	ByTeam      bool      `query:"byTeam" doc:"Add up the workloads of each workspace."`
	From        time.Time `query:"from" doc:"Start of the period, inclusive. Default: 30 days before the end."`
	To          time.Time `query:"to" doc:"End of the period, exclusive. Default: now."`
}

// Part counts the deployments in a part of a period.
type Part struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Deployments is the number of versions that became ready for the first time in it, as in [Performance].
	Deployments int `json:"deployments"`
	// NeverReady is the number of versions that failed for the first time in it and were never ready.
	NeverReady int `json:"neverReady"`
	// Failed is how many of both ever failed.
	Failed int `json:"failed"`
}

// defaultPeriod is the length of the period if a query does not set From.
const defaultPeriod = 30 * 24 * time.Hour

// Figures returns deployment frequency, lead time, change failure rate and time to restore.
func (o *Observer) Figures(ctx context.Context, q FiguresQuery) (Figures, error) {
	f, _, err := o.Course(ctx, q, 0)
	return f, err
}

// knownIn returns an error if a query without a result names what the ledger does not know.
func (o *Observer) knownIn(ctx context.Context, q *FiguresQuery) error {
	var unknown error
	if q.Environment != "" {
		_, unknown = o.environment(ctx, "", q.Environment, time.Time{})
	}
	if unknown == nil && q.Workload != "" {
		unknown = o.registered(ctx, ledger.NameWorkload, q.Workload)
	}
	return unknown
}

// Course returns the figures of a period, and the deployments in each of n equal parts of it, oldest first. It reads
// the ledger once, because a large fleet has many incidents.
func (o *Observer) Course(ctx context.Context, q FiguresQuery, n int) (Figures, []Part, error) {
	if q.To.IsZero() {
		q.To = o.Now()
	}
	if q.From.IsZero() {
		q.From = q.To.Add(-defaultPeriod)
	}
	f := Figures{From: utc(q.From), To: utc(q.To), Items: []Figure{}}
	if !q.From.Before(q.To) {
		return f, nil, fmt.Errorf("%w: the time from %s to %s is empty", ledger.ErrInvalid, f.From.Format(time.RFC3339), f.To.Format(time.RFC3339))
	}
	wanted := ledger.DeploymentQuery{Environment: q.Environment, Workload: q.Workload, Workspace: q.Workspace, From: q.From, To: q.To}
	deployments, err := o.Ledger.Deployments(ctx, wanted)
	if err != nil {
		return f, nil, err
	}
	incidents, err := o.Ledger.Incidents(ctx, wanted)
	if err != nil {
		return f, nil, err
	}
	if len(deployments)+len(incidents) == 0 {
		if err := o.knownIn(ctx, &q); err != nil {
			return f, nil, err
		}
	}
	f.Total = perform(deployments, incidents, q)
	f.Items = append(f.Items, grouped(deployments, incidents, q)...)
	return f, course(deployments, f.From, f.To, n), nil
}

// course counts deployments by the part of the period in which they became ready or, if they never did, failed.
func course(deployments []ledger.Deployment, from, to time.Time, n int) []Part {
	parts := make([]Part, max(0, n))
	if len(parts) == 0 {
		return nil
	}
	step := to.Sub(from) / time.Duration(n)
	for i := range parts {
		parts[i].From = from.Add(time.Duration(i) * step)
		parts[i].To = parts[i].From.Add(step)
	}
	parts[n-1].To = to // n need not divide the period evenly
	for _, d := range deployments {
		ready := !d.Deployed.IsZero()
		at := d.Deployed
		if !ready {
			at = d.Failed
		}
		part := &parts[n-1]
		if step > 0 {
			part = &parts[min(n-1, max(0, int(at.Sub(from)/step)))]
		}
		if ready {
			part.Deployments++
		} else {
			part.NeverReady++
		}
		if !d.Failed.IsZero() {
			part.Failed++
		}
	}
	return parts
}

// grouped returns the figures by team, and by workload unless ByTeam is set.
func grouped(deployments []ledger.Deployment, incidents []ledger.Incident, q FiguresQuery) []Figure {
	type group struct {
		Figure
		deployments []ledger.Deployment
		incidents   []ledger.Incident
	}
	groups := map[string]*group{}
	get := func(controlPlane, workspace, workload string) *group {
		if q.ByTeam {
			workload = ""
		}
		k := key(controlPlane, workspace, workload)
		if groups[k] == nil {
			groups[k] = &group{Figure: Figure{ControlPlane: controlPlane, Workspace: workspace, Workload: workload}}
		}
		return groups[k]
	}
	for _, d := range deployments {
		g := get(d.ControlPlane, d.Workspace, d.Workload)
		g.deployments = append(g.deployments, d)
	}
	for _, i := range incidents {
		g := get(i.ControlPlane, i.Workspace, i.Workload)
		g.incidents = append(g.incidents, i)
	}
	var all []Figure
	for _, k := range slices.Sorted(maps.Keys(groups)) {
		g := groups[k]
		g.Performance = perform(g.deployments, g.incidents, q)
		all = append(all, g.Figure)
	}
	return all
}

func perform(deployments []ledger.Deployment, incidents []ledger.Incident, q FiguresQuery) Performance {
	p := ledger.Perform(deployments, incidents, q.To.Sub(q.From))
	return Performance{
		Deployments: p.Deployments, PerDay: p.PerDay, LeadTimeSeconds: p.LeadTime.Seconds(),
		ChangeFailureRate: p.ChangeFailureRate, TimeToRestoreSeconds: p.TimeToRestore.Seconds(), OpenIncidents: p.OpenIncidents,
	}
}
