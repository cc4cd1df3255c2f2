package gitlab

import (
	"context"
	"errors"
	"net/http"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// MergePullRequest merges a merge request. When the forge will not, that may be since it was merged already,
// perhaps by an attempt of ours whose answer was lost.
func (r *Repository) MergePullRequest(ctx context.Context, number int, m forge.Merge) (string, error) {
	merged, err := r.merge(ctx, number, "merge pull request", m, false)
	if errors.Is(err, forge.ErrConflict) || errors.Is(err, forge.ErrUnavailable) {
		before, readErr := r.mergeRequest(ctx, number)
		if readErr != nil || before.State != "merged" || before.SHA != m.Head {
			return "", err
		}
		return before.commit(), nil
	}
	if err != nil {
		return "", err
	}
	if merged.State != "merged" {
		return "", r.fail(forge.ErrConflict, "merge pull request", "the forge did not merge it")
	}
	return merged.commit(), nil
}

// AutoMerge asks for a merge once the pipeline succeeded and what else is required is there.
// GitLab refuses to wait when there is no pipeline to wait for. Then the merge is tried at once,
// which it refuses as well when something required is missing.
func (r *Repository) AutoMerge(ctx context.Context, number int, m forge.Merge) error {
	_, err := r.merge(ctx, number, "merge pull request later", m, true)
	var e *forge.Error
	if errors.As(err, &e) && e.Status == http.StatusMethodNotAllowed {
		_, err = r.MergePullRequest(ctx, number, m)
	}
	return err
}

func (r *Repository) merge(ctx context.Context, number int, op string, m forge.Merge, later bool) (mergeRequest, error) {
	var merged mergeRequest
	if m.Head == "" {
		return merged, r.fail(forge.ErrInvalid, op, "no commit was judged")
	}
	in := map[string]any{"sha": m.Head, "squash": m.Method == forge.MergeSquash}
	if later {
		in["auto_merge"], in["merge_when_pipeline_succeeds"] = true, true // since 17.11, and before
	}
	if message := commitMessage(m); message != "" {
		in["merge_commit_message"], in["squash_commit_message"] = message, message
	}
	err := r.do(ctx, rest.Request{
		Op: op, Right: "scope api and the right to merge to the branch", Method: http.MethodPut,
		Path: numbered("/merge_requests", number, "merge"), In: in, Out: &merged,
	})
	return merged, explainMerge(err)
}

// commitMessage joins what other forges want apart. The body alone is no message.
func commitMessage(m forge.Merge) string {
	if m.Title == "" || m.Message == "" {
		return m.Title
	}
	return m.Title + "\n\n" + m.Message
}

// explainMerge reads the answers that merging has for itself: 401 for who may not merge, 406 and 422 for branches that conflict.
// 401 is also the answer to a wrong token, which says both.
func explainMerge(err error) error {
	var e *forge.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Status {
	case http.StatusUnauthorized:
		e.Right, e.Hint = "a valid token with scope api and the right to merge to the branch", "let the token's account merge there"
	case http.StatusNotAcceptable, http.StatusUnprocessableEntity:
		e.Kind = forge.ErrConflict
	}
	return err
}
