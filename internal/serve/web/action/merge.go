package action

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// What can be merged: the pull request of the GitOps branch, and the one that proposes another commit of main.
const (
	mergeFiles    = "files"
	mergeProposal = "proposal"
)

// openPullRequest is a pull request that an operator can merge.
type openPullRequest struct {
	forge.PullRequest
	// Of is mergeFiles or mergeProposal.
	Of string
	// Blocked is why it cannot be merged from here; empty if it can be.
	Blocked string

	repo forge.Repository
}

// findOpen finds the requested pull request and what blocks it; nil if none is open.
func (s *service) findOpen(ctx context.Context, e *query.EnvironmentDetail, given url.Values) (*openPullRequest, error) {
	if s.Forges == nil {
		return nil, nil
	}
	o := &openPullRequest{Of: mergeFiles}
	proposed := slices.ContainsFunc(e.Proposals, func(p decide.Proposal) bool { return p.State == decide.ProposalOpen })
	if of := given.Get("of"); of == mergeProposal || of == "" && e.Change == nil && proposed {
		o.Of = mergeProposal
	}
	found, err := s.find(ctx, e, o)
	if !found || err != nil {
		return nil, err
	}
	if o.Blocked, err = pullrequest.BlockedBy(ctx, o.repo, &o.PullRequest); o.Of == mergeFiles && e.Phase == decide.TakenBack {
		o.Blocked = sentence("It is not to be merged: " + secret.Line(e.Reason))
	}
	return o, err
}

// find reads the pull request from the forge.
func (s *service) find(ctx context.Context, e *query.EnvironmentDetail, o *openPullRequest) (found bool, err error) {
	if o.Of == mergeProposal {
		if o.repo, err = s.repository(e.ControlPlane); err != nil {
			return false, err
		}
		all, err := o.repo.FindPullRequests(ctx, forge.PullRequestFilter{State: forge.Open, Head: promote.ProposalBranch(e.Name), Limit: 1})
		if err != nil || len(all) == 0 {
			return false, err
		}
		o.PullRequest = all[0]
	} else {
		gitOps, number := s.files(e)
		if number == 0 {
			return false, nil
		}
		if o.repo, err = s.repository(gitOps); err != nil {
			return false, err
		}
		o.Number = number
	}
	o.PullRequest, err = o.repo.PullRequest(ctx, o.Number)
	return err == nil, err
}

// files returns the repository and number of the GitOps branch's pull request; 0 if none is open.
func (s *service) files(e *query.EnvironmentDetail) (string, int) {
	for _, standing := range s.Pages.Observer.Standings() {
		if standing.ControlPlane != e.ControlPlane || standing.Environment != e.Name || standing.Scheduling == nil {
			continue
		}
		if o := standing.Scheduling.Outcome; o != nil && o.PullRequest != nil {
			return o.GitOps.Repo, o.PullRequest.Number
		}
	}
	return "", 0
}

func (s *service) repository(url string) (forge.Repository, error) {
	host, err := s.Forges.Forge(url)
	if err != nil {
		return nil, err
	}
	return host.Repository(url)
}

// merge merges the pull request at the commit that the form shows.
func (s *service) merge(r *request, v *view) error {
	switch {
	case v.Open == nil || v.Open.Blocked != "":
		s.show(r, http.StatusConflict, v) // the page says what blocks it
		return nil
	case r.PostForm.Get("head") != v.Open.Head.Commit:
		v.Note = "The pull request has changed since this page was loaded. Review it again."
		s.show(r, http.StatusConflict, v)
		return nil
	}
	detail := fmt.Sprintf("controlPlane=%q change=%q head=%q", v.Environment.ControlPlane, v.Open.URL, v.Open.Head.Commit)
	if v.Reason != "" {
		detail += fmt.Sprintf(" why=%q", v.Reason)
	}
	if err := s.Trail.Record(r.Context(), r.who, r.action, v.Environment.Name, detail); err != nil {
		return err
	}
	message := "Merged by " + secret.Line(r.who.Name)
	if v.Reason != "" {
		message += ": " + secret.Line(v.Reason)
	}
	_, err := v.Open.repo.MergePullRequest(r.Context(), v.Open.Number, forge.Merge{Head: v.Open.Head.Commit, Title: v.Open.Title, Message: message})
	if err != nil {
		v.Note = "The forge refused to merge it: " + sentence(secret.Line(secret.Redact(err.Error())))
		s.Log.Warn("merge a pull request", "change", v.Open.URL, "error", secret.Line(secret.Redact(err.Error())))
		s.show(r, statusOf(err), v)
		return nil
	}
	if s.Merged != nil {
		s.Merged(v.Environment.ControlPlane, v.Environment.Name)
	}
	s.Forms.Tell(r.w, fmt.Sprintf("#%d %s is merged. It takes effect in a few seconds.", v.Open.Number, v.Open.Title))
	http.Redirect(r.w, r.Request, v.Back, http.StatusSeeOther)
	return nil
}

// statusOf maps an error of the forge to an HTTP status.
func statusOf(err error) int {
	switch {
	case errors.Is(err, forge.ErrConflict), errors.Is(err, forge.ErrInvalid), errors.Is(err, forge.ErrNotFound):
		return http.StatusConflict
	case errors.Is(err, forge.ErrDenied):
		return http.StatusForbidden
	}
	return http.StatusServiceUnavailable
}

// planRequest returns what the page previews; false for nothing.
func (v *view) planRequest() (schedule.PlanRequest, bool) {
	t := schedule.PlanRequest{ControlPlane: v.Environment.ControlPlane, Environment: v.Environment.Name}
	switch {
	case v.Ring != nil:
		return t, false
	case v.Open != nil && v.Open.Of == mergeFiles && v.Open.State == forge.Open:
		return t, true
	case v.Open != nil:
		for _, p := range v.Environment.Proposals {
			if p.State == decide.ProposalOpen {
				t.Commit = p.Commit
			}
		}
	case v.Action == "promote" || v.Action == "rollback":
		t.Commit = v.Commit
	}
	return t, hash.MatchString(t.Commit)
}
