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

// What can be approved: the change that brings files to the GitOps branch, and the one that asks for another commit of main.
const (
	approveFiles    = "files"
	approveProposal = "proposal"
)

// open is a change that somebody may approve.
type open struct {
	forge.PullRequest
	// Of is which of the two it is.
	Of string
	// Against is why it cannot be merged here; empty when nothing speaks against it.
	Against string

	repo forge.Repository
}

// open finds the change that is meant, and what speaks against it. It is nil where there is none.
func (s *service) open(ctx context.Context, e *query.EnvironmentDetail, given url.Values) (*open, error) {
	if s.Forges == nil {
		return nil, nil
	}
	o := &open{Of: approveFiles}
	proposed := slices.ContainsFunc(e.Proposals, func(p decide.Proposal) bool { return p.State == decide.ProposalOpen })
	if of := given.Get("of"); of == approveProposal || of == "" && e.Change == nil && proposed {
		o.Of = approveProposal
	}
	found, err := s.find(ctx, e, o)
	if !found || err != nil {
		return nil, err
	}
	o.Against, err = against(ctx, o)
	return o, err
}

// find reads the change from the forge, as it is now.
func (s *service) find(ctx context.Context, e *query.EnvironmentDetail, o *open) (found bool, err error) {
	if o.Of == approveProposal {
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

// files is the repository and number of the change that brings files; 0 where none is open.
func (s *service) files(e *query.EnvironmentDetail) (string, int) {
	for _, standing := range s.Pages.Observer.Standings() {
		if standing.ControlPlane != e.ControlPlane || standing.Environment != e.Name || standing.Scheduling == nil {
			continue
		}
		if o := standing.Scheduling.Outcome; o != nil && o.Change != nil {
			return o.GitOps.Repo, o.Change.Number
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

// against is what speaks against merging a change from here, by the rules of a change that merges itself: whoever wants
// to overrule them has the forge.
func against(ctx context.Context, o *open) (string, error) {
	switch mark := pullrequest.MarkOf(o.Body); {
	case o.State != forge.Open:
		return "It is " + string(o.State) + " already.", nil
	case o.Head.Fork != "" || mark.Commit != o.Head.Commit:
		return "It is not what Kalypso proposed: somebody pushed to its branch.", nil
	case o.Draft:
		return "It is a draft, which is not meant to be merged yet.", nil
	case o.Mergeable == forge.MergeableNo:
		return "The branches conflict.", nil
	}
	status, err := pullrequest.Unfinished(ctx, o.repo, o.Head.Commit)
	if status == nil || err != nil {
		return "", err
	}
	return fmt.Sprintf("The status %s is %s: %s", status.Context, status.State, sentence(secret.Line(status.Description))), nil
}

// approve merges the change that was looked at, and nothing that came to it later.
func (s *service) approve(r *request, v *view) error {
	switch {
	case v.Open == nil || v.Open.Against != "":
		s.show(r, http.StatusConflict, v) // it says what speaks against it
		return nil
	case r.PostForm.Get("head") != v.Open.Head.Commit:
		v.Note = "The pull request has another commit than when this page was shown. Look again at what it does."
		s.show(r, http.StatusConflict, v)
		return nil
	}
	detail := fmt.Sprintf("controlPlane=%q change=%q head=%q", v.Environment.ControlPlane, v.Open.URL, v.Open.Head.Commit)
	if v.Why != "" {
		detail += fmt.Sprintf(" why=%q", v.Why)
	}
	if err := s.Trail.Record(r.Context(), r.who, r.action, v.Environment.Name, detail); err != nil {
		return err
	}
	message := "Approved by " + secret.Line(r.who.Name)
	if v.Why != "" {
		message += ": " + secret.Line(v.Why)
	}
	_, err := v.Open.repo.MergePullRequest(r.Context(), v.Open.Number, forge.Merge{Head: v.Open.Head.Commit, Title: v.Open.Title, Message: message})
	if err != nil {
		v.Note = "The forge does not merge it: " + sentence(secret.Line(secret.Redact(err.Error())))
		s.Log.Warn("approve a change", "change", v.Open.URL, "error", secret.Line(secret.Redact(err.Error())))
		s.show(r, statusOf(err), v)
		return nil
	}
	if s.Spoken != nil {
		s.Spoken(v.Environment.ControlPlane, v.Environment.Name)
	}
	s.Forms.Tell(r.w, fmt.Sprintf("#%d %s is merged. The next round heeds it.", v.Open.Number, v.Open.Title))
	http.Redirect(r.w, r.Request, v.Back, http.StatusSeeOther)
	return nil
}

// statusOf is how an answer of the forge is passed on.
func statusOf(err error) int {
	switch {
	case errors.Is(err, forge.ErrConflict), errors.Is(err, forge.ErrInvalid), errors.Is(err, forge.ErrNotFound):
		return http.StatusConflict
	case errors.Is(err, forge.ErrDenied):
		return http.StatusForbidden
	}
	return http.StatusServiceUnavailable
}

// tries is what the plan on the page is of.
func (v *view) tries() (schedule.Trial, bool) {
	t := schedule.Trial{ControlPlane: v.Environment.ControlPlane, Environment: v.Environment.Name}
	switch {
	case v.Open != nil && v.Open.Of == approveFiles && v.Open.State == forge.Open:
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
