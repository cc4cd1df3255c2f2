package web

import (
	"errors"
	"net/url"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// cellPage is a cell of the matrix: a target on a cluster type. Scripts show it beside the matrix.
type cellPage struct {
	Cell
	// Back is the environment's page, TargetPage that of the target, and Clusters the list of the clusters of the type.
	Back, TargetPage, Clusters string
	// Explain is the page that explains it; empty if the user has none. Values is the form for the application's values.
	Explain, Values string
	State           string
	Parts           []barPart
	// One explains it; nil if that is not known, or not for this user.
	One     *pairView
	Commits []commitView
	Round   time.Time
	Files   []fileView
	// Groups are the last events of the target, by cause.
	Groups []eventGroup
	AsOf   time.Time
	Now    string
}

// Cell is what clients get that ask for JSON.
type Cell struct {
	Environment string `json:"environment"`
	Target      string `json:"target"`
	Workload    string `json:"workload,omitempty"`
	ClusterType string `json:"clusterType"`
	Wanted      string `json:"wanted,omitempty"`
	// Assignment has the state; absent if the target is not assigned to the cluster type.
	Assignment *query.Assignment `json:"assignment,omitempty"`
	// Source is where its manifests are; absent if that is not known.
	Source *ledger.Source `json:"source,omitempty"`
	// Reconcilers follow the manifests of the target on clusters of the type: failed ones first. MoreReconcilers means that there are others.
	Reconcilers     []query.TargetReconciler `json:"reconcilers"`
	MoreReconcilers bool                     `json:"moreReconcilers,omitempty"`
	// Objects are those that the platform writes for it, by file; empty if they are not known.
	Objects []CellObject `json:"objects"`
	// Pair explains it; absent if that is not known.
	Pair *schedule.Pair `json:"pair,omitempty"`
}

// CellObject is an object that the platform writes for an assignment.
type CellObject struct {
	bundle.Object
	File string `json:"file"`
}

// fileView is a file of the assignment with its objects.
type fileView struct {
	At      placeView
	Objects []bundle.Object
}

// cell shows a target on a cluster type.
func (s *site) cell(q *pageRequest) (*pageResult, error) {
	environment, target, clusterType := q.PathValue("name"), q.PathValue("target"), q.PathValue("clusterType")
	asOf, moved, err := q.asOf()
	if err != nil || moved != "" {
		return &pageResult{to: moved}, err
	}
	d, err := q.observer.TargetDetail(q.Context(), query.TargetQuery{Environment: environment, Target: target, ControlPlane: q.text("controlPlane"), AsOf: asOf})
	if err != nil {
		return nil, err
	}
	kept := []string{"controlPlane", q.text("controlPlane"), "asOf", q.text("asOf")}
	view := cellPage{
		Cell: Cell{
			Environment: d.Environment, Target: d.Name, Workload: d.Workload, ClusterType: clusterType, Source: d.Source, Objects: []CellObject{},
		},
		Back: environmentAddress(d.Environment, kept...), TargetPage: targetAddress(d.Environment, d.Name, kept...),
		Clusters: clustersAddress(d.Environment, clusterType, ""), State: "unassigned", AsOf: asOf, Now: q.with("asOf", ""),
		Groups: groupsOf(timelineOf(d.History, "")),
	}
	if d.Wanted != nil {
		view.Wanted = d.Wanted.Version
	}
	view.assigned(&d)
	if err := s.addCellReconcilers(q, &view, &d); err != nil {
		return nil, err
	}
	if asOf.IsZero() {
		if err := s.explainCell(q, &view, &d); err != nil {
			return nil, err
		}
	}
	if view.Assignment == nil && view.One == nil {
		var names []string
		for _, a := range d.Assignments {
			names = append(names, a.ClusterType)
		}
		return nil, query.Unknown("cluster type", clusterType, names)
	}
	return &pageResult{
		title: line(d.Name) + " on " + line(clusterType), value: view.Cell, view: view,
		concerns: whenCurrent(asOf, operations("environments/"+url.PathEscape(environment)), operations("clusters/")),
	}, nil
}

// assigned adds the assignment and its state.
func (v *cellPage) assigned(d *query.TargetDetail) {
	i := slices.IndexFunc(d.Assignments, func(a query.Assignment) bool { return a.ClusterType == v.ClusterType })
	if i < 0 {
		return
	}
	a := d.Assignments[i]
	v.Assignment = &a
	v.Parts = targetTypeOf(a, "").Parts
	v.State = cellState(&query.Cell{ClusterType: a.ClusterType, Held: a.Held != nil, Pending: a.Pending, States: a.States}, !v.AsOf.IsZero())
	if t := d.Delivery; t != nil && t.Configuration != nil {
		v.Values = "/workloads/" + url.PathEscape(d.Workload) + "/values?" + url.Values{
			"environment": {d.Environment}, "target": {d.ShortName}, "subject": {t.Subject},
		}.Encode()
	}
}

// addCellReconcilers adds the reconcilers on clusters of the type.
func (s *site) addCellReconcilers(q *pageRequest, v *cellPage, d *query.TargetDetail) error {
	v.Reconcilers = []query.TargetReconciler{}
	if v.Assignment == nil {
		return nil
	}
	of := query.ClustersQuery{Environment: v.Environment, ClusterType: v.ClusterType, AsOf: v.AsOf, Paging: query.Paging{Limit: query.MaxLimit}}
	clusters, err := q.observer.Clusters(q.Context(), of)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, c := range clusters.Items {
		known[c.Name] = true
	}
	for _, r := range d.Reconcilers {
		if known[r.Cluster] {
			v.Reconcilers = append(v.Reconcilers, r)
		}
	}
	v.MoreReconcilers = d.MoreReconcilers || clusters.Next != ""
	return nil
}

// explainCell adds why it is as it is, its values and its objects. Explanations name the things of other teams, and the objects are in the
// platform's repository, so only users of the server get them.
func (s *site) explainCell(q *pageRequest, v *cellPage, d *query.TargetDetail) error {
	if q.observer.Scoped() || d.ControlPlane == "" {
		return nil
	}
	found, err := q.observer.Explain(q.Context(), query.ExplainQuery{
		Name: v.Environment, ControlPlane: d.ControlPlane, Target: v.Target, ClusterType: v.ClusterType, Config: "*",
	})
	switch {
	case errors.Is(err, query.ErrNotRead), errors.Is(err, ledger.ErrNotFound):
		return nil
	case err != nil:
		return err
	case len(found.Pairs) == 0:
		return nil
	}
	places := s.placesOf(found.Inputs)
	one := s.pairView(found, found.Pairs[0], places)
	one.WithWhatIf = s.Trials != nil
	v.One, v.Pair, v.Explain, v.Commits, v.Round = &one, &found.Pairs[0], one.Address, places.commits(found), found.Round
	if v.Assignment == nil {
		v.State = one.State
	}
	return s.addCellObjects(v, d.ControlPlane, q.observer)
}

// addCellObjects adds the objects that the platform writes for it, as of the last round.
func (s *site) addCellObjects(v *cellPage, controlPlane string, observer *query.Observer) error {
	standing, err := observer.Standing(v.Environment, controlPlane)
	if err != nil {
		return err
	}
	draft, err := standing.Draft()
	if err != nil || draft.Bundle == nil {
		return nil //nolint:nilerr // not read yet
	}
	a, ok := draft.Bundle.Assignment(v.ClusterType, v.Target)
	if !ok {
		return nil
	}
	outcome := standing.Scheduling.Outcome
	on := s.onForge(outcome.GitOps.Repo)
	for _, f := range a.Files {
		one := fileView{At: placeView{Text: f.Path}}
		if v.Assignment != nil && v.Assignment.Pending != plan.Added {
			one.At.Address = on.File(outcome.Head, f.Path, 0)
		}
		if f.Written() {
			one.Objects = bundle.Objects(f.Content())
		}
		for _, o := range one.Objects {
			v.Objects = append(v.Objects, CellObject{o, f.Path})
		}
		v.Files = append(v.Files, one)
	}
	return nil
}

// environmentAddress returns the page of an environment. more are further parameters, as pairs of name and value.
func environmentAddress(environment string, more ...string) string {
	return withParameters("/environments/"+url.PathEscape(environment), more...)
}
