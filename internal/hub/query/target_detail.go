package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/text/repourl"
)

// TargetQuery identifies a target of an environment.
type TargetQuery struct {
	Environment  string    `path:"name" maxLength:"253" doc:"Name of the environment."`                               // required
	Target       string    `path:"target" maxLength:"600" doc:"Name of the target in the fleet, or WORKLOAD/TARGET."` // required
	ControlPlane string    `query:"controlPlane" maxLength:"2048" doc:"URL of the control plane; required only if several have an environment of this name."`
	AsOf         time.Time `query:"asOf" doc:"The target at this time. Default: now."`
}

// TargetDetail is a target with what runs on which clusters, and what was deployed to it.
type TargetDetail struct {
	Target
	ControlPlane string `json:"controlPlane,omitempty"`
	// Assignments are where it should run, by cluster type, with the states of the clusters. For the past, states only have the expected
	// number of clusters.
	Assignments []Assignment `json:"assignments"`
	// Reconcilers follow its manifests: failed ones first, at most 100. MoreReconcilers means that there are others.
	Reconcilers     []TargetReconciler `json:"reconcilers"`
	MoreReconcilers bool               `json:"moreReconcilers,omitempty"`
	// Delivery is how its application is delivered there; absent if the server does not deliver it, and for the past.
	Delivery *TargetDelivery `json:"delivery,omitempty"`
	// Revisions are what was deployed to it, the newest first; absent if they were not read, which Unread explains.
	Revisions *TargetRevisions `json:"revisions,omitempty"`
	Unread    string           `json:"unread,omitempty"`
	// History has the last events, the newest first, at most 20: rollouts, and promotions and pull requests of all targets of its application.
	History []Event `json:"history"`
}

// TargetReconciler is a reconciler that follows the manifests of a target.
type TargetReconciler struct {
	Reconciler
	// Version is that of the deployment descriptor at its revision, or of the target's revision; empty if unknown.
	Version string `json:"version,omitempty"`
	// TargetRevision is the revision of the target that it is at: the last commit until its own that changed the target's files. Empty
	// if that is not one of the revisions that were read.
	TargetRevision string `json:"targetRevision,omitempty"`
}

// TargetDelivery is how the application of a target is delivered to it.
type TargetDelivery struct {
	// Application is the name of the application, Subject identifies it in the ledger.
	Application string `json:"application"`
	Subject     string `json:"subject"`
	// Pin is what the target is pinned to on the GitOps branch; absent if it follows its environment.
	Pin *deliver.PinnedTarget `json:"pin,omitempty"`
	// Requested is what the open pull request wants for the target; absent if that is what it has.
	Requested *deliver.PinnedTarget `json:"requested,omitempty"`
	// Held is why it keeps its published files; absent if it does not.
	Held *fleet.Problem `json:"held,omitempty"`
	// Change is the open pull request of the environment, for all targets of the application.
	Change *Change `json:"change,omitempty"`
	// Configuration is the branch with its values; absent if there are none.
	Configuration *Branch `json:"configuration,omitempty"`
}

const (
	// maxTargetReconcilers limits the reconcilers of a target.
	maxTargetReconcilers = 100
	// readRevisions limits the time to read revisions from Git. The rest of the answer does not wait longer for them.
	readRevisions = 5 * time.Second
)

// TargetDetail returns one target of an environment. If its revisions cannot be read from Git, the answer has everything else.
func (o *Observer) TargetDetail(ctx context.Context, q TargetQuery) (TargetDetail, error) {
	if err := o.knows(q.AsOf); err != nil {
		return TargetDetail{}, err
	}
	s, err := o.oneEnvironment(ctx, q.ControlPlane, q.Environment, q.AsOf)
	if err != nil {
		return TargetDetail{}, err
	}
	sc, err := o.environmentView(ctx, s, targetFilter{target: q.Target}, q.AsOf)
	if err != nil {
		return TargetDetail{}, err
	}
	if q.Target == "" || len(sc.statuses) == 0 {
		var names []string
		for _, t := range sc.targets {
			names = append(names, t.name)
		}
		return TargetDetail{}, Unknown("target", q.Target, names)
	}
	p := &sc.statuses[0]
	d := TargetDetail{Target: sc.target(p), ControlPlane: sc.controlPlane, Assignments: []Assignment{}, Reconcilers: []TargetReconciler{}, History: []Event{}}
	cells, err := o.cells(ctx, sc, p)
	if err != nil {
		return TargetDetail{}, err
	}
	for n, a := range p.assignments {
		d.Assignments = append(d.Assignments, Assignment{
			Environment: sc.name, ClusterType: a.clusterType, Target: p.name, Workload: p.workload, Workspace: p.workspace,
			Policies: a.policies, Held: a.held, Pending: a.pending, States: cells[n],
		})
	}
	a := o.delivers(&s, p.workload)
	if a != nil && q.AsOf.IsZero() {
		d.Delivery = a.deliveryOf(sc.name, p.shortName)
	}
	past, err := o.addRevisions(ctx, &d, a, q)
	if err != nil {
		return TargetDetail{}, err
	}
	if err := o.addReconcilers(ctx, &d, p, past, q.AsOf); err != nil {
		return d, err
	}
	return d, o.addHistory(ctx, &d, q.AsOf)
}

// addHistory adds the last events; none if several control planes have an environment of this name, which the history does not tell apart.
func (o *Observer) addHistory(ctx context.Context, d *TargetDetail, asOf time.Time) error {
	if _, err := o.ControlPlaneOf(d.Environment, ""); err != nil || d.Workload == "" {
		return nil //nolint:nilerr // see above
	}
	history, err := o.History(ctx, HistoryQuery{Environment: d.Environment, Workload: d.Workload, Target: d.Name, To: until(asOf), Paging: Paging{Limit: lastEvents}})
	if errors.Is(err, ledger.ErrNotFound) {
		return nil // nothing is recorded of it, or it is not there any more
	}
	if err == nil {
		d.History = history.Items
	}
	return err
}

// delivers returns the application of a workload that the control plane of an environment registers; nil if there is none. For the past,
// control planes are unknown: then it is the only one of that name.
func (o *Observer) delivers(s *standing, workload string) *Application {
	var found []*Application
	for _, a := range o.applications() {
		if a.Name == workload && a.environment(s.name) != nil && (s.controlPlane == "" || repourl.Same(s.controlPlane, a.ControlPlane)) {
			found = append(found, a)
		}
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// deliveryOf returns how an application is delivered to a target.
func (a *Application) deliveryOf(environment, target string) *TargetDelivery {
	e := a.environment(environment)
	detail := e.detail()
	d := &TargetDelivery{Application: a.Name, Subject: a.Subject, Change: e.Change, Configuration: e.Configuration}
	for i := range detail.Pinned {
		if detail.Pinned[i].Name == target {
			d.Pin = &detail.Pinned[i]
		}
	}
	for i := range detail.Requests {
		if r := &detail.Requests[i]; r.Name == target && (d.Pin == nil && !r.IsZero() || d.Pin != nil && d.Pin.Pin != r.Pin) {
			d.Requested = &detail.Requests[i]
		}
	}
	for _, h := range detail.HeldList {
		if h.Target == target {
			d.Held = h.Reason
		}
	}
	return d
}

// addRevisions adds what was deployed to a target. An error is one of the ledger.
func (o *Observer) addRevisions(ctx context.Context, d *TargetDetail, a *Application, q TargetQuery) (*deliver.TargetPast, error) {
	switch {
	case a == nil:
		d.Unread = "the server does not deliver its application"
		return nil, nil
	case o.Histories == nil:
		d.Unread = "this program reads no histories from Git"
		return nil, nil
	}
	if err := o.ownsHistory(a, d.Environment); err != nil {
		d.Unread = errorLine(err)
		return nil, nil
	}
	limit := deliver.DefaultPast
	if !q.AsOf.IsZero() {
		limit = deliver.MaxPast // those after it are left out
	}
	reading, cancel := context.WithTimeout(ctx, readRevisions)
	defer cancel()
	found, past, err := o.revisions(reading, a, deliver.PastRequest{Environment: d.Environment, Target: d.ShortName, Limit: limit})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && past != nil: // by the ledger
		return nil, err
	case reading.Err() != nil:
		d.Unread = fmt.Sprintf("reading them from Git takes longer than %s", readRevisions)
		return nil, nil
	case err != nil:
		if d.Unread = errorLine(err); o.Scoped() && !errors.Is(err, ledger.ErrNotFound) {
			d.Unread = errUnread.Error()
		}
		return nil, nil
	}
	found.until(q.AsOf)
	d.Revisions = &found
	return past, nil
}

// until leaves out what happened after a time; nothing if that is zero. What reconcilers run now is unknown for the past.
func (r *TargetRevisions) until(asOf time.Time) {
	if asOf.IsZero() {
		return
	}
	r.Pinned = nil
	r.Revisions = slices.DeleteFunc(r.Revisions, func(one TargetRevision) bool { return one.Merged.After(asOf) })
	if n := len(r.Revisions); n > deliver.DefaultPast {
		r.Revisions, r.More = r.Revisions[:deliver.DefaultPast], true
	}
	for i := range r.Revisions {
		one := &r.Revisions[i]
		if one.Current, one.Reconcilers = i == 0, nil; one.Deployed.After(asOf) {
			one.Deployed = time.Time{}
		}
		if one.Failed.After(asOf) {
			one.Failed = time.Time{}
		}
	}
}

// addReconcilers adds which clusters run what of a target.
func (o *Observer) addReconcilers(ctx context.Context, d *TargetDetail, p *targetStatus, past *deliver.TargetPast, asOf time.Time) error {
	if p.source == (ledger.Source{}) {
		return nil
	}
	versions, known := map[string]string{}, map[ledger.State]bool{}
	for _, a := range p.appeared {
		versions[a.Revision], known[a.State] = a.Version, true
	}
	states := []ledger.State{ledger.StateFailed, ledger.StateProgressing, ledger.StateSuspended, ledger.StateReady}
	switch {
	case !asOf.IsZero():
		states = []ledger.State{""} // each would be looked up again
	case len(known) > 0: // a search for a state that no reconciler is in takes long
		states = slices.DeleteFunc(states, func(s ledger.State) bool { return !known[s] })
	}
	for _, state := range states {
		page, err := o.Ledger.States(ctx, ledger.StateQuery{
			Source: p.source, State: state, AsOf: asOf, Limit: max(1, maxTargetReconcilers-len(d.Reconcilers)),
		})
		if err != nil {
			return err
		}
		if len(d.Reconcilers) == maxTargetReconcilers && len(page.States) > 0 {
			d.MoreReconcilers = true
			return nil
		}
		for _, s := range page.States {
			r := TargetReconciler{Reconciler: reconcilerOf(s), Version: versions[s.Revision]}
			if past != nil {
				if at, ok := past.At(s.Revision); ok {
					r.TargetRevision, r.Version = past.Revisions[at].Commit, cmp.Or(r.Version, past.Revisions[at].Build.Version)
				}
			}
			d.Reconcilers = append(d.Reconcilers, r)
		}
		d.MoreReconcilers = d.MoreReconcilers || page.Next != ""
	}
	slices.SortStableFunc(d.Reconcilers, func(a, b TargetReconciler) int {
		return cmp.Or(cmp.Compare(b.State.Severity(), a.State.Severity()), cmp.Compare(a.Cluster, b.Cluster))
	})
	return nil
}
