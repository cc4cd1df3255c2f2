package web

import (
	"net/url"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// targetPage is everything about one target.
type targetPage struct {
	query.TargetDetail
	// Back is the environment's page. Explain and Values are pages about the target; empty if there are none for the user.
	Back, Explain, Values string
	// Operates reports whether the user may act on the target: as an operator of the server, or of its workspace.
	Operates bool
	// Rollback, Uninstall and Deploy are the pages that confirm these actions; empty if there is nothing to do.
	Rollback, Uninstall, Deploy string
	// PinCommit is the page of the revision that it is pinned to; empty if it is not known.
	PinCommit string
	// PinnedSince is the commit that pinned it, and PinnedAt its page; nil if it is not known.
	PinnedSince *deliver.Merge
	PinnedAt    string
	Types       []targetTypeView
	Revisions   []revisionView
	// Groups are the last events, by cause.
	Groups  []eventGroup
	Missing *missingView
	// AsOf is the point in time that is shown, zero for now. Now is the address of the current state, and Time chooses the moment.
	AsOf time.Time
	Now  string
	Time *timeBar
}

// targetTypeView is a cluster type that a target is assigned to.
type targetTypeView struct {
	query.Assignment
	// Address is the list of its clusters, Explain why it is assigned there; empty for none.
	Address, Explain string
	Parts            []barPart
}

// revisionView is a revision of a target.
type revisionView struct {
	query.TargetRevision
	// Address is the page of the commit on the forge; empty if unknown.
	Address string
	Running []stateCount
	// Rollback is the page that confirms to roll back to it; empty if that is not possible.
	Rollback string
}

func (s *site) target(q *pageRequest) (*pageResult, error) {
	environment, name := q.PathValue("name"), q.PathValue("target")
	asOf, moved, err := q.asOf()
	if err != nil || moved != "" {
		return &pageResult{to: moved}, err
	}
	d, err := q.observer.TargetDetail(q.Context(), query.TargetQuery{Environment: environment, Target: name, ControlPlane: q.text("controlPlane"), AsOf: asOf})
	if err != nil {
		return nil, err
	}
	view := targetPage{TargetDetail: d, AsOf: asOf, Now: q.with("asOf", ""), Groups: groupsOf(timelineOf(d.History, "")), Back: "/environments/" + url.PathEscape(environment)}
	if d.ControlPlane != "" {
		view.Back += "?" + url.Values{"controlPlane": {d.ControlPlane}}.Encode()
	}
	current := asOf.IsZero()
	if current && d.ControlPlane != "" && !q.observer.Scoped() { // explanations name the things of others
		view.Explain = "/environments/" + url.PathEscape(environment) + "/explain?" + url.Values{"controlPlane": {d.ControlPlane}, "target": {d.Name}}.Encode()
	}
	if v := d.Delivery; v != nil && v.Configuration != nil {
		view.Values = "/workloads/" + url.PathEscape(d.Workload) + "/values?" + url.Values{"environment": {d.Environment}, "target": {d.ShortName}, "subject": {v.Subject}}.Encode()
	}
	for _, a := range d.Assignments {
		view.Types = append(view.Types, targetTypeOf(a, view.Explain))
	}
	if current {
		if view.Missing, err = s.missingValues(q, query.MissingQuery{Environment: d.Environment, ControlPlane: d.ControlPlane, Target: d.Name}); err != nil {
			return nil, err
		}
	}
	s.addRevisions(&view)
	view.Operates = q.role.Includes(access.Operator) || q.scope.Acts(access.Operator, access.Place{ControlPlane: d.ControlPlane, Workspace: d.Workspace, Environment: d.Environment})
	view.addActions(q.text("controlPlane"))
	if view.Time, err = s.timeBar(q, environment, asOf); err != nil {
		return nil, err
	}
	command := ""
	if d.Revisions != nil && current {
		command = s.command("target", "revisions", d.Name, "-e", d.Environment)
	}
	return &pageResult{
		title: line(d.Name), value: d, view: view, command: command,
		concerns: whenCurrent(asOf, operations("environments/"+url.PathEscape(environment)), operations("applications/"+url.PathEscape(d.Workload)), operations("clusters/")),
	}, nil
}

// addActions adds what can be done now. controlPlane is only given if several have an environment of this name.
func (v *targetPage) addActions(controlPlane string) {
	if v.Delivery == nil { // not delivered by this server, or in the past
		return
	}
	address := func(action string, more ...string) string {
		page, parameters, _ := strings.Cut(targetAddress(v.Environment, v.Name, append(more, "controlPlane", controlPlane)...), "?")
		return strings.TrimSuffix(page+"/"+action+"?"+parameters, "?")
	}
	uninstalled := v.Delivery.Pin != nil && v.Delivery.Pin.Uninstalled
	for i := range v.Revisions {
		if r := &v.Revisions[i]; !r.Current && r.Files != "" {
			r.Rollback = address("rollback", "revision", r.Commit)
			v.Rollback = address("rollback")
		}
	}
	if !uninstalled {
		v.Uninstall = address("uninstall")
	}
	if v.Delivery.Pin != nil || v.Delivery.Requested != nil { // a request that is open is taken back by deploying it
		v.Deploy = address("deploy")
	}
}

func targetTypeOf(a query.Assignment, explain string) targetTypeView {
	v := targetTypeView{Assignment: a, Address: clustersAddress(a.Environment, a.ClusterType, "")}
	if explain != "" {
		v.Explain = explain + "&" + url.Values{"clusterType": {a.ClusterType}}.Encode()
	}
	n := a.States
	v.Parts = barOf([]stateCount{{"ready", n.Ready}, {"progressing", n.Progressing}, {"suspended", n.Suspended}, {"failed", n.Failed}, {"missing", n.Missing}})
	return v
}

// addRevisions prepares the revisions, with their pages on the forge.
func (s *site) addRevisions(v *targetPage) {
	if v.TargetDetail.Revisions == nil {
		return
	}
	on := s.onForge(v.TargetDetail.Revisions.Repository)
	for _, r := range v.TargetDetail.Revisions.Revisions {
		one := revisionView{TargetRevision: r, Address: on.Commit(r.Commit)}
		counts := map[any]int{}
		for state, n := range r.Reconcilers {
			counts[state] = n
		}
		one.Running = countsOf(counts)
		v.Revisions = append(v.Revisions, one)
	}
	if d := v.Delivery; d != nil && d.Pin != nil && d.Pin.Revision != "" {
		v.PinCommit = on.Commit(d.Pin.Revision)
	}
	if p := v.TargetDetail.Revisions.Pinned; p != nil && p.Since != nil && v.Delivery != nil && v.Delivery.Pin != nil && v.Delivery.Pin.Pin == p.Pin {
		v.PinnedSince, v.PinnedAt = p.Since, on.Commit(p.Since.Commit)
	}
}

// targetAddress returns the page of a target of an environment. more are further parameters, as pairs of name and value; empty ones are left out.
func targetAddress(environment, target string, more ...string) string {
	return withParameters("/environments/"+url.PathEscape(environment)+"/targets/"+url.PathEscape(target), more...)
}

// withParameters adds parameters to a path, as pairs of name and value. Empty ones are left out.
func withParameters(path string, more ...string) string {
	values := url.Values{}
	for i := 0; i+1 < len(more); i += 2 {
		if more[i+1] != "" {
			values.Set(more[i], more[i+1])
		}
	}
	return strings.TrimSuffix(path+"?"+values.Encode(), "?")
}
