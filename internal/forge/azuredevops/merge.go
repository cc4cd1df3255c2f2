package azuredevops

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// The forge completes pull requests in the background. The adapter checks for the result this often.
const (
	attempts = 20
	interval = 500 * time.Millisecond
)

// MergePullRequest completes a pull request and waits until the forge has done it.
func (r *Repository) MergePullRequest(ctx context.Context, number int, m forge.Merge) (string, error) {
	p, err := r.checked(ctx, "merge pull request", number, m)
	if err != nil {
		return "", err
	}
	if p.Status == completed {
		return p.Merge.ID, nil
	}
	options, err := r.completion(ctx, p, m)
	if err != nil {
		return "", err
	}
	in := map[string]any{"status": completed, "lastMergeSourceCommit": commitRef{m.Head}, "completionOptions": options}
	if err := r.complete(ctx, "merge pull request", p, in); err != nil {
		return "", err
	}
	for range attempts {
		if p, err = r.pullRequest(ctx, number); err != nil {
			return "", err
		}
		switch {
		case p.Status == completed:
			return p.Merge.ID, nil
		case p.Status == abandoned, p.MergeStatus == "conflicts", p.MergeStatus == "rejectedByPolicy", p.MergeStatus == "failure":
			return "", r.Fail(forge.ErrConflict, "merge pull request", "the forge did not merge it: "+p.MergeStatus)
		}
		if err := r.forge.clock.Sleep(ctx, interval); err != nil {
			return "", &forge.Error{Kind: forge.ErrUnavailable, Op: "merge pull request", Where: r.Of.String(), Detail: err.Error(), Cause: err}
		}
	}
	return "", r.Fail(forge.ErrConflict, "merge pull request", "the forge has not finished merging")
}

// AutoMerge asks the forge to complete a pull request once its policies allow it; immediately if they already do.
// The forge does not compare the head. Policies must reset on a later push, as those of [Repository.Protect] do.
func (r *Repository) AutoMerge(ctx context.Context, number int, m forge.Merge) error {
	p, err := r.checked(ctx, "merge pull request later", number, m)
	if err != nil || p.Status == completed {
		return err
	}
	viewer, err := r.forge.viewer(ctx, r.organization)
	if err != nil {
		return err
	}
	options, err := r.completion(ctx, p, m)
	if err != nil {
		return err
	}
	return r.complete(ctx, "merge pull request later", p, map[string]any{
		"autoCompleteSetBy": map[string]any{"id": viewer.ID}, "completionOptions": options,
	})
}

// checked reads a pull request and checks that it can be merged: it is open or already merged, at the expected head.
func (r *Repository) checked(ctx context.Context, op string, number int, m forge.Merge) (pullRequest, error) {
	if m.Head == "" {
		return pullRequest{}, r.Fail(forge.ErrInvalid, op, "no commit was checked")
	}
	p, err := r.pullRequest(ctx, number)
	switch {
	case err != nil:
		return p, err
	case p.Head.ID != m.Head:
		return p, r.Fail(forge.ErrConflict, op, "the head is another commit")
	case p.Status == abandoned:
		return p, r.Fail(forge.ErrConflict, op, "the pull request is closed")
	}
	return p, nil
}

// complete asks the forge to complete a pull request. It first repeats the head's statuses on the pull request,
// in case an earlier attempt failed. If the forge refuses, the pull request may already be merged,
// perhaps by an earlier request of ours whose answer was lost.
func (r *Repository) complete(ctx context.Context, op string, p pullRequest, in map[string]any) error {
	if err := r.inform(ctx, p); err != nil {
		return err
	}
	err := r.do(ctx, rest.Request{Op: op, Method: http.MethodPatch, Path: pull(p.Number), In: in})
	var e *forge.Error
	// The forge answers an unfulfilled policy like a missing permission.
	if errors.As(err, &e) && errors.Is(e.Kind, forge.ErrDenied) && strings.Contains(strings.ToLower(e.Detail), "polic") {
		e.Kind, e.Right, e.Hint = forge.ErrConflict, "", ""
	}
	if !errors.Is(err, forge.ErrConflict) && !errors.Is(err, forge.ErrUnavailable) {
		return err
	}
	if after, readErr := r.pullRequest(ctx, p.Number); readErr == nil && after.Status == completed && after.Head.ID == p.Head.ID {
		return nil
	}
	return err
}

// completion returns the options of a merge. They keep the branch and linked work items, and merge in the first way that the policies
// of the branch allow.
func (r *Repository) completion(ctx context.Context, p pullRequest, m forge.Merge) (map[string]any, error) {
	strategy, err := r.strategy(ctx, strings.TrimPrefix(p.Target, heads), m)
	if err != nil {
		return nil, err
	}
	options := map[string]any{"mergeStrategy": strategy, "deleteSourceBranch": false, "transitionWorkItems": false}
	if message := strings.TrimSpace(m.Title + "\n\n" + m.Message); message != "" {
		options["mergeCommitMessage"] = fit(message, 4000)
	}
	return options, nil
}

// strategies are the ways to merge by their names in pull requests.
var strategies = map[forge.MergeMethod]string{forge.MergeCommits: "noFastForward", forge.MergeSquash: "squash", forge.MergeRebase: "rebase"}

// strategy returns the first way to merge that all policies of the branch allow, or the first one if they cannot be read.
func (r *Repository) strategy(ctx context.Context, branch string, m forge.Merge) (string, error) {
	methods := m.Methods()
	ids, err := r.ids(ctx)
	if err != nil {
		return "", err
	}
	policies, err := r.policies(ctx, ids, branch)
	if err != nil {
		return strategies[methods[0]], forge.Ignore(forge.Ignore(err, forge.ErrDenied), forge.ErrNotFound)
	}
	allowed := map[string]bool{"noFastForward": true, "squash": true, "rebase": true, "rebaseMerge": true}
	for _, p := range policies {
		if s := p.Settings; p.Type.ID == mergeStrategyPolicy {
			for name, yes := range map[string]bool{"noFastForward": s.NoFastForward, "squash": s.Squash, "rebase": s.Rebase, "rebaseMerge": s.RebaseMerge} {
				allowed[name] = allowed[name] && yes
			}
		}
	}
	for _, method := range methods {
		if allowed[strategies[method]] {
			return strategies[method], nil
		}
	}
	if m.Method == "" && allowed["rebaseMerge"] {
		return "rebaseMerge", nil
	}
	return strategies[methods[0]], nil
}
