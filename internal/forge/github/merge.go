package github

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// MergePullRequest merges a pull request, or adds it to the merge queue if its base branch has one. A refusal can mean that it is already merged, for example by an earlier
// request whose answer was lost, so the pull request's state decides.
func (r *Repository) MergePullRequest(ctx context.Context, number int, m forge.Merge) (string, error) {
	if m.Head == "" {
		return "", r.unchecked(mergePullRequest)
	}
	var err error
	for _, method := range m.Methods() {
		in := map[string]string{"sha": m.Head, "merge_method": string(method)}
		if m.Title != "" {
			in["commit_title"] = m.Title
		}
		if m.Message != "" {
			in["commit_message"] = m.Message
		}
		var merged struct {
			SHA string `json:"sha"`
		}
		if err = r.Do(ctx, mergePullRequest.write(http.MethodPut, rest.Path("pulls", number, "merge"), in, &merged)); err == nil {
			return merged.SHA, nil
		}
		var refused *forge.Error
		if !errors.As(err, &refused) || refused.Status == 0 {
			return "", err
		}
		if strings.Contains(strings.ToLower(refused.Detail), "merge queue") {
			return "", r.enqueue(ctx, number, m.Head)
		}
		if !methodRefused(refused.Detail) {
			break
		}
	}
	if !errors.Is(err, forge.ErrConflict) {
		return "", err
	}
	if p, readErr := r.pull(ctx, mergePullRequest, number); readErr == nil {
		if now := pullRequestOf(p); now.State == forge.Merged && now.Head.Commit == m.Head {
			return now.MergeCommit, nil
		}
	}
	return "", err
}

func (r *Repository) unchecked(o operation) error {
	return &forge.Error{Kind: forge.ErrInvalid, Op: o.name, Where: r.Of.String(), Detail: "no commit was checked"}
}

const enableAutoMerge = `mutation($input: EnablePullRequestAutoMergeInput!) {
  enablePullRequestAutoMerge(input: $input) { clientMutationId }
}`

// AutoMerge requests a merge once checks and reviews succeed. GitHub refuses that if the pull request can be merged now;
// then AutoMerge merges it.
func (r *Repository) AutoMerge(ctx context.Context, number int, m forge.Merge) error {
	if m.Head == "" {
		return r.unchecked(mergeLater)
	}
	p, err := r.pull(ctx, mergeLater, number)
	if err != nil {
		return err
	}
	input := map[string]any{"pullRequestId": p.NodeID, "expectedHeadOid": m.Head}
	if m.Title != "" {
		input["commitHeadline"] = m.Title
	}
	if m.Message != "" {
		input["commitBody"] = m.Message
	}
	var answer struct {
		Errors []struct{ Type, Message string }
	}
	for _, method := range m.Methods() {
		input["mergeMethod"], answer.Errors = strings.ToUpper(string(method)), nil
		err = r.forge.graphQL.Do(ctx, rest.Request{
			Op: mergeLater.name, Where: r.Of.String(), Right: mergeLater.right, Method: http.MethodPost, Path: "/graphql",
			In: map[string]any{"query": enableAutoMerge, "variables": map[string]any{"input": input}}, Out: &answer, Repeatable: true,
		})
		if err != nil || len(answer.Errors) == 0 {
			return err
		}
		if !methodRefused(answer.Errors[0].Message) {
			break
		}
	}
	switch {
	case strings.Contains(answer.Errors[0].Message, "clean status"):
		_, err := r.MergePullRequest(ctx, number, m)
		return err
	case answer.Errors[0].Type == "RATE_LIMITED":
		return &forge.Error{
			Kind: forge.ErrRateLimited, Op: mergeLater.name, Where: r.Of.String(), Detail: answer.Errors[0].Message, RetryAfter: time.Minute,
		}
	case cannotMergeLater(answer.Errors[0].Message):
		return &forge.Error{
			Kind: forge.ErrUnsupported, Op: mergeLater.name, Where: r.Of.String(), Detail: answer.Errors[0].Message,
			Hint: "allow auto-merge in the settings of the repository, and require checks of the branch",
		}
	}
	status := http.StatusConflict
	if answer.Errors[0].Type == "FORBIDDEN" {
		status = http.StatusForbidden
	}
	return rest.Failure{
		Op: mergeLater.name, Where: r.Of.String(), Right: mergeLater.right, Status: status, Message: answer.Errors[0].Message,
		Secrets: r.forge.inUse(),
	}.Error()
}

// cannotMergeLater reports whether GitHub never merges this pull request later: auto-merge is off, which is the default,
// the branch requires nothing, or only checks are unfinished that it does not require.
func cannotMergeLater(message string) bool {
	message = strings.ToLower(message)
	for _, part := range []string{"auto merge is not allowed", "auto-merge is not allowed", "protected branch rules not configured", "unstable status"} {
		if strings.Contains(message, part) {
			return true
		}
	}
	return false
}

// methodRefused reports whether the repository does not allow a way to merge: "Merge commits are not allowed on this repository."
func methodRefused(message string) bool {
	message = strings.ToLower(message)
	for _, part := range []string{"merge commits are not allowed", "squash merges are not allowed", "rebase merges are not allowed", "merge method"} {
		if strings.Contains(message, part) {
			return true
		}
	}
	return false
}
