package web

import (
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// environmentPage is everything about one environment.
type environmentPage struct {
	query.EnvironmentDetail
	State any
	Gate  *gateView
	Rings []ringView
	Types []clusterTypeView
	// Steps are the most recent steps, without commit statuses.
	Steps []stepView
	// Behind are the first clusters that are not up to date; More is the address of the full list.
	Behind  []query.Discrepancy
	More    string
	Matrix  matrixView
	Missing *missingView
	// Preview is the address of the full pending plan; empty without previews, and for the past.
	Preview string
	// Approvable reports that a pull request waits for approval.
	Approvable bool
	// AsOf is the point in time that is shown, zero for now. Now is the address of the current state.
	AsOf time.Time
	Now  string
	// Time chooses the moment.
	Time *timeBar
}

// clusterTypeView is a cluster type with the bar of its clusters.
type clusterTypeView struct {
	query.ClusterType
	Address string
	Parts   []barPart
}

// maxBehind limits the clusters that are listed.
const maxBehind = 12

func (s *site) environment(q *pageRequest) (*pageResult, error) {
	name := q.PathValue("name")
	asOf, moved, err := q.asOf()
	if err != nil || moved != "" {
		return &pageResult{to: moved}, err
	}
	controlPlane, err := s.choose(q, name)
	if err != nil {
		return nil, err
	}
	detail, err := q.observer.Environment(q.Context(), query.EnvironmentQuery{Name: name, ControlPlane: controlPlane, AsOf: asOf})
	if err != nil {
		return nil, err
	}
	behind, err := s.behind(q, &detail, asOf)
	if err != nil {
		return nil, err
	}
	matrix, err := s.matrix(q, &detail, controlPlane, asOf)
	if err != nil {
		return nil, err
	}
	view := environmentPage{
		EnvironmentDetail: detail, State: stateOf(detail.Environment), Gate: gateOf(detail.Environment.Gate, detail.Commit, detail.Phase),
		Types: typesOf(detail), Steps: recentSteps(detail.Steps), Behind: behind.Items, Matrix: matrix, AsOf: asOf, Now: q.with("asOf", ""),
	}
	if view.Gate != nil {
		view.Gate.Trouble, view.Gate.TroubleTone = detail.Trouble(), troubleTone(&detail.Environment)
	}
	if view.Time, err = s.timeBar(q, name, asOf); err != nil {
		return nil, err
	}
	if asOf.IsZero() {
		view.Rings = ringsOf(q, detail.Name, detail.ControlPlane, detail.Rings)
		if view.Missing, err = s.missingValues(q, query.MissingQuery{Environment: detail.Name, ControlPlane: detail.ControlPlane}); err != nil {
			return nil, err
		}
	}
	if behind.Next != "" {
		view.More = "/clusters?environment=" + url.QueryEscape(name) + "&state=behind"
	}
	view.Approvable = detail.Change != nil || slices.ContainsFunc(detail.Proposals, func(p decide.Proposal) bool { return p.State == decide.ProposalOpen })
	if s.Trials != nil && !q.observer.Scoped() && asOf.IsZero() && detail.ControlPlane != "" {
		view.Preview = PlanAddress(schedule.PlanRequest{ControlPlane: detail.ControlPlane, Environment: name})
	}
	words := []string{"history", "environment", name, "--as-of", asOf.Format(time.RFC3339)}
	if asOf.IsZero() {
		words = []string{"status"}
	}
	return &pageResult{
		title: line(name), value: detail, view: view, command: s.command(words...), summary: summaryOf([]query.Environment{detail.Environment}),
		concerns: whenCurrent(asOf, operations("environments/"+url.PathEscape(name)), operations("clusters/"), operations("promotions/")),
	}, nil
}

// behind returns the first clusters that are not up to date. If several control planes have an environment of this
// name, these are the ones of its gate.
func (s *site) behind(q *pageRequest, d *query.EnvironmentDetail, asOf time.Time) (query.Page[query.Discrepancy], error) {
	page := query.Page[query.Discrepancy]{}
	if q.text("controlPlane") == "" {
		return q.observer.Discrepancies(q.Context(), query.DiscrepanciesQuery{
			Environment: d.Name, AsOf: asOf, Paging: query.Paging{Limit: maxBehind},
		})
	}
	if d.Gate != nil {
		for _, r := range d.Gate.Worst {
			page.Items = append(page.Items, query.Discrepancy{Environment: d.Name, Commit: d.Gate.Commit, Reconciler: r})
		}
	}
	return page, nil
}

// maxRecentSteps limits the steps on the page.
const maxRecentSteps = 8

// recentSteps returns the first steps, without commit statuses.
func recentSteps(all []ledger.Step) []stepView {
	var steps []stepView
	for _, step := range all {
		if step.Kind != string(promote.StatusPosted) && len(steps) < maxRecentSteps {
			steps = append(steps, stepOf(step))
		}
	}
	return steps
}

// whenCurrent returns addresses for a page of the current state, and none for one of the past, which does not change.
func whenCurrent(asOf time.Time, addresses ...string) []string {
	if !asOf.IsZero() {
		return nil
	}
	return addresses
}

func typesOf(d query.EnvironmentDetail) []clusterTypeView {
	var views []clusterTypeView
	for _, t := range d.ClusterTypes {
		views = append(views, clusterTypeView{
			ClusterType: t, Address: clustersAddress(d.Name, t.Name, ""),
			Parts: barOf([]stateCount{
				{"reached", t.States.Reached}, {"behind", t.States.Behind}, {"failed", t.States.Failed}, {"offline", t.States.Offline}, {"missing", t.States.Missing},
			}),
		})
	}
	return views
}

// clustersAddress returns the address of a filtered list of clusters. Empty values do not filter.
func clustersAddress(environment, clusterType, state string) string {
	values := url.Values{"environment": {environment}, "clusterType": {clusterType}, "state": {state}}
	maps.DeleteFunc(values, func(_ string, all []string) bool { return all[0] == "" })
	return "/clusters?" + values.Encode()
}
