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
	Types []clusterTypeView
	// Steps are the last steps that say something to people.
	Steps []stepView
	// Behind are the first clusters that do not run what they should; More is where all of them are.
	Behind []query.Discrepancy
	More   string
	Matrix matrixView
	// Preview is where the pending plan is shown in full; empty where nothing plans, and for the past.
	Preview string
	// Approvable says that a pull request waits for somebody to merge it.
	Approvable bool
	// AsOf is the time that is shown, zero for now, and Now where it is shown how things are.
	AsOf time.Time
	Now  string
}

// clusterTypeView is a cluster type with the bar of its clusters.
type clusterTypeView struct {
	query.ClusterType
	Address string
	Parts   []barPart
}

// maxBehind is how many clusters are listed that differ.
const maxBehind = 12

func (s *site) environment(q *question) (*answer, error) {
	name := q.PathValue("name")
	asOf, err := q.when("asOf")
	if err != nil {
		return nil, err
	}
	controlPlane, err := s.choose(q, name)
	if err != nil {
		return nil, err
	}
	detail, err := s.Observer.Environment(q.Context(), query.EnvironmentQuery{Name: name, ControlPlane: controlPlane, AsOf: asOf})
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
		Types: typesOf(detail), Steps: told(detail.Steps), Behind: behind.Items, Matrix: matrix, AsOf: asOf, Now: q.with("asOf", ""),
	}
	if behind.Next != "" {
		view.More = "/clusters?environment=" + url.QueryEscape(name) + "&state=behind"
	}
	view.Approvable = detail.Change != nil || slices.ContainsFunc(detail.Proposals, func(p decide.Proposal) bool { return p.State == decide.ProposalOpen })
	if s.Trials != nil && asOf.IsZero() && detail.ControlPlane != "" {
		view.Preview = PlanAddress(schedule.Trial{ControlPlane: detail.ControlPlane, Environment: name})
	}
	words := []string{"history", "environment", name, "--as-of", asOf.Format(time.RFC3339)}
	if asOf.IsZero() {
		words = []string{"status"}
	}
	return &answer{
		title: line(name), value: detail, view: view, command: s.command(words...), summary: summaryOf([]query.Environment{detail.Environment}),
		concerns: now(asOf, operations("environments/"+url.PathEscape(name)), operations("clusters/"), operations("promotions/")),
	}, nil
}

// behind are the first clusters that do not run what they should. An environment that shares its name with one of another
// control plane has only those of its gate.
func (s *site) behind(q *question, d *query.EnvironmentDetail, asOf time.Time) (query.Page[query.Discrepancy], error) {
	page := query.Page[query.Discrepancy]{}
	if q.text("controlPlane") == "" {
		return s.Observer.Discrepancies(q.Context(), query.DiscrepanciesQuery{
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

// maxTold is how many steps are told at a glance.
const maxTold = 8

// told are steps without those that only repeat for the forge what was decided.
func told(all []ledger.Step) []stepView {
	var steps []stepView
	for _, step := range all {
		if step.Kind != string(promote.Shown) && len(steps) < maxTold {
			steps = append(steps, stepOf(step))
		}
	}
	return steps
}

// now are the addresses that a page of a time depends on: the past does not change.
func now(asOf time.Time, addresses ...string) []string {
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

// clustersAddress lists the clusters of an environment and cluster type, in a state; empty values do not restrict.
func clustersAddress(environment, clusterType, state string) string {
	values := url.Values{"environment": {environment}, "clusterType": {clusterType}, "state": {state}}
	maps.DeleteFunc(values, func(_ string, all []string) bool { return all[0] == "" })
	return "/clusters?" + values.Encode()
}
