package query

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Histories reads the histories of the GitOps branches of applications, from Git.
type Histories interface {
	// Revisions returns the commits that changed a target of an application.
	Revisions(ctx context.Context, a *Application, r deliver.PastRequest) (*deliver.TargetPast, error)
	// Versions returns the commits that changed an environment of an application.
	Versions(ctx context.Context, a *Application, r deliver.PastRequest) (*deliver.EnvironmentPast, error)
}

// TargetRevision is a commit that changed the files of a target, with what clusters reported about it.
type TargetRevision struct {
	deliver.Revision
	// Deployed is when the first reconciler was ready with it, Failed when the first one failed; zero means never, or unknown.
	Deployed time.Time `json:"deployed,omitzero"`
	Failed   time.Time `json:"failed,omitzero"`
	// Reconcilers is how many reconcilers are at it now, by state; absent if there are none, or it is unknown.
	Reconcilers map[ledger.State]int `json:"reconcilers,omitempty"`
	// PullRequest is the one that was merged as this commit; absent if none is known, as for a squashed or rebased one on some forges.
	PullRequest *MergedPullRequest `json:"pullRequest,omitempty"`
}

// MergedPullRequest is a pull request that the server saw merged.
type MergedPullRequest struct {
	Number int    `json:"number"`
	Title  string `json:"title,omitempty"`
	URL    string `json:"url,omitempty"`
	// By is who merged it, as the forge says; empty if it does not.
	By string `json:"by,omitempty"`
}

// TargetRevisions are the revisions of a target.
type TargetRevisions struct {
	deliver.TargetPlace
	// Revisions are sorted, the newest first. More means that there are older ones, or can be: only some of the commits were read.
	Revisions []TargetRevision `json:"revisions"`
	More      bool             `json:"more,omitempty"`
	// Pinned is the pin that the target has, with the commit that brought it; absent if it follows its environment.
	Pinned *deliver.PinnedSince `json:"pinned,omitempty"`
	// Reports means that a ledger was read. Without one, it is unknown what clusters run and ran.
	Reports bool `json:"reports"`
}

// RevisionsQuery identifies a target of an application.
type RevisionsQuery struct {
	ApplicationQuery
	Environment string `path:"environment" maxLength:"253" doc:"Name of the environment."`                                            // required
	Target      string `path:"target" maxLength:"253" doc:"Name of the target in the Workload, or the one that it has in the fleet."` // required
	Limit       int    `query:"limit" minimum:"0" maximum:"200" doc:"How many revisions to return, the newest first. Default: 20."`
}

// SolutionVersionsQuery identifies an environment of an application.
type SolutionVersionsQuery struct {
	ApplicationQuery
	Environment string `path:"environment" maxLength:"253" doc:"Name of the environment."` // required
	Limit       int    `query:"limit" minimum:"0" maximum:"200" doc:"How many versions to return, the newest first. Default: 20."`
}

// Revisions returns which commits of its GitOps branch changed a target of an application, and what clusters reported about each. It
// reads Git and the ledger.
func (o *Observer) Revisions(ctx context.Context, q RevisionsQuery) (TargetRevisions, error) {
	a, err := o.pastOf(q.ApplicationQuery, q.Environment)
	if err != nil {
		return TargetRevisions{}, err
	}
	r, _, err := o.revisions(ctx, a, deliver.PastRequest{Environment: q.Environment, Target: q.Target, Limit: q.Limit})
	return r, err
}

// revisions reads the revisions of a target of an application.
func (o *Observer) revisions(ctx context.Context, a *Application, q deliver.PastRequest) (TargetRevisions, *deliver.TargetPast, error) {
	past, err := o.Histories.Revisions(ctx, a, q)
	var unknown *deliver.UnknownTargetError
	if errors.As(err, &unknown) {
		return TargetRevisions{}, nil, &UnknownError{What: "target", Name: unknown.Target, Near: unknown.Near}
	}
	if err != nil {
		return TargetRevisions{}, nil, err
	}
	r, err := Reported(ctx, o.Ledger, past)
	if err != nil {
		return r, past, err
	}
	changes, err := o.Ledger.ChangeEvents(ctx, ledger.ChangeQuery{Repository: past.Repository, Branch: past.Branch, Limit: maxAppearances})
	r.addPullRequests(changes)
	return r, past, err
}

// addPullRequests adds which pull requests were merged as the revisions.
func (r *TargetRevisions) addPullRequests(changes []ledger.ChangeEvent) {
	merged := map[string]*MergedPullRequest{}
	for _, c := range changes {
		if c.Kind == "merged" && c.Commit != "" {
			merged[c.Commit] = &MergedPullRequest{Number: c.Number, Title: c.Title, URL: c.URL, By: c.By}
		}
	}
	for i := range r.Revisions {
		r.Revisions[i].PullRequest = merged[r.Revisions[i].Commit]
	}
}

// SolutionVersions returns which commits of its GitOps branch changed an environment of an application. It reads Git.
func (o *Observer) SolutionVersions(ctx context.Context, q SolutionVersionsQuery) (deliver.EnvironmentPast, error) {
	a, err := o.pastOf(q.ApplicationQuery, q.Environment)
	if err != nil {
		return deliver.EnvironmentPast{}, err
	}
	past, err := o.Histories.Versions(ctx, a, deliver.PastRequest{Environment: q.Environment, Limit: q.Limit})
	if err != nil {
		return deliver.EnvironmentPast{}, err
	}
	return *past, nil
}

// pastOf returns the application whose history is read, and an error if this program does not read any.
func (o *Observer) pastOf(q ApplicationQuery, environment string) (*Application, error) {
	a, err := o.application(q)
	if err != nil {
		return nil, err
	}
	if a.environment(environment) == nil {
		var names []string
		for _, e := range a.Environments {
			names = append(names, e.Environment)
		}
		return nil, Unknown("environment", environment, names)
	}
	if o.Histories == nil {
		return nil, fmt.Errorf("%w: histories are read from Git, which only a server that delivers applications does", ledger.ErrInvalid)
	}
	return a, o.ownsHistory(a, environment)
}

// ownsHistory returns an error if the viewer does not see the history of an application's GitOps branch: before the first round, or because
// others have the branch, too.
func (o *Observer) ownsHistory(a *Application, environment string) error {
	if !o.Scoped() {
		return nil
	}
	at := a.environment(environment).GitOps
	switch {
	case at == nil:
		return ErrNotRead
	case !o.visible.branches.own(branch{at.Repository, at.Branch}):
		return fmt.Errorf("%w: the GitOps branch is not only of this workspace; its history needs a role of the server", ledger.ErrInvalid)
	}
	return nil
}

// Appearances returns when clusters were first at which revision.
type Appearances interface {
	Appearances(ctx context.Context, q ledger.AppearanceQuery) ([]ledger.Appearance, error)
}

// maxAppearances is how many appearances of a target are read, the newest first.
const maxAppearances = 10_000

// Reported adds what clusters reported to the revisions of a target. A reconciler is at a commit of the branch, which has the target's
// revision until the next one. Without a ledger, which is nil, it adds nothing.
func Reported(ctx context.Context, l Appearances, past *deliver.TargetPast) (TargetRevisions, error) {
	r := TargetRevisions{TargetPlace: past.TargetPlace, More: past.More, Pinned: past.Pinned, Revisions: make([]TargetRevision, len(past.Revisions)), Reports: l != nil}
	for i, revision := range past.Revisions {
		r.Revisions[i].Revision = revision
	}
	if l == nil {
		return r, nil
	}
	all, err := l.Appearances(ctx, ledger.AppearanceQuery{
		Source: ledger.Source{Repository: past.Repository, Ref: past.Branch, Path: past.Folder}, Limit: maxAppearances,
	})
	if err != nil {
		return r, err
	}
	for _, a := range all {
		i, ok := past.At(a.Revision)
		if !ok {
			continue // older than the revisions, or a commit that was replaced
		}
		to := &r.Revisions[i]
		switch a.State {
		case ledger.StateReady:
			to.Deployed = utc(a.At) // the last one is the earliest
		case ledger.StateFailed:
			to.Failed = utc(a.At)
		}
		if a.Reconcilers > 0 {
			if to.Reconcilers == nil {
				to.Reconcilers = map[ledger.State]int{}
			}
			to.Reconcilers[a.State] += a.Reconcilers
		}
	}
	return r, nil
}
