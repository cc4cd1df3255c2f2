package github

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/google/go-github/v92/github"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// MergePullRequest merges a pull request. A refusal can mean that it is already merged, for example by an earlier
// request whose answer was lost, so the pull request's state decides.
func (r *Repository) MergePullRequest(ctx context.Context, number int, m forge.Merge) (string, error) {
	if m.Head == "" {
		return "", r.unjudged(mergePullRequest)
	}
	owner, name := r.names()
	options := &github.PullRequestOptions{CommitTitle: m.Title, SHA: m.Head, MergeMethod: string(m.Method)}
	merged, answer, err := r.forge.client.PullRequests.Merge(mergePullRequest.on(ctx), owner, name, number, m.Message, options)
	if err == nil {
		return merged.GetSHA(), nil
	}
	err = r.explain(mergePullRequest, answer, err)
	if !errors.Is(err, forge.ErrConflict) {
		return "", err
	}
	if p, readErr := r.pull(ctx, mergePullRequest, number); readErr == nil {
		if c := pullRequestOf(p); c.State == forge.Merged && c.Head.Commit == m.Head {
			return c.MergeCommit, nil
		}
	}
	return "", err
}

func (r *Repository) unjudged(o operation) error {
	return &forge.Error{Kind: forge.ErrInvalid, Op: o.name, Where: r.id.String(), Detail: "no commit was judged"}
}

const enableAutoMerge = `mutation($input: EnablePullRequestAutoMergeInput!) {
  enablePullRequestAutoMerge(input: $input) { clientMutationId }
}`

// AutoMerge requests a merge once checks and reviews succeed. GitHub refuses that if the pull request can be merged now;
// then AutoMerge merges it.
func (r *Repository) AutoMerge(ctx context.Context, number int, m forge.Merge) error {
	if m.Head == "" {
		return r.unjudged(mergeLater)
	}
	p, err := r.pull(ctx, mergeLater, number)
	if err != nil {
		return err
	}
	method := "MERGE"
	if m.Method == forge.MergeSquash {
		method = "SQUASH"
	}
	input := map[string]any{"pullRequestId": p.GetNodeID(), "mergeMethod": method, "expectedHeadOid": m.Head}
	if m.Title != "" {
		input["commitHeadline"] = m.Title
	}
	if m.Message != "" {
		input["commitBody"] = m.Message
	}
	var answer struct {
		Errors []struct{ Type, Message string }
	}
	_, err = r.forge.graphQL.Do(ctx, rest.Request{
		Op: mergeLater.name, Where: r.id.String(), Right: mergeLater.right, Method: http.MethodPost, Path: "/graphql",
		In: map[string]any{"query": enableAutoMerge, "variables": map[string]any{"input": input}}, Out: &answer, Repeatable: true,
	})
	switch {
	case err != nil || len(answer.Errors) == 0:
		return err
	case strings.Contains(answer.Errors[0].Message, "clean status"):
		_, err := r.MergePullRequest(ctx, number, m)
		return err
	}
	status := http.StatusConflict
	if answer.Errors[0].Type == "FORBIDDEN" {
		status = http.StatusForbidden
	}
	return rest.Failure{
		Op: mergeLater.name, Where: r.id.String(), Right: mergeLater.right, Status: status, Message: answer.Errors[0].Message,
		Secrets: r.forge.inUse(),
	}.Error()
}
