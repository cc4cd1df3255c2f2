package gitlab

import (
	"context"
	"errors"
	"net/http"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// MergePullRequest merges a merge request, or adds it to the merge train of its base branch if the project has trains: the train merges it
// later, and the error is a [forge.ErrConflict] until then. If the forge refuses, it may already be merged,
// perhaps by an earlier request of ours whose answer was lost.
func (r *Repository) MergePullRequest(ctx context.Context, number int, m forge.Merge) (string, error) {
	trains, err := r.mergesByTrain(ctx, m)
	if err != nil {
		return "", err
	}
	var merged mergeRequest
	if trains {
		err = r.board(ctx, number, m)
	} else {
		merged, err = r.merge(ctx, number, mergeNow, m, false)
	}
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
		return "", r.Fail(forge.ErrConflict, mergeNow, "the forge did not merge it")
	}
	return merged.commit(), nil
}

const mergeNow = "merge pull request"

// AutoMerge requests a merge once the pipeline succeeds and all other requirements are met.
// GitLab refuses to wait if there is no pipeline. Then AutoMerge tries to merge at once,
// which GitLab also refuses if a requirement is missing. In projects with merge trains, GitLab adds it to the train then.
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
		return merged, r.Fail(forge.ErrInvalid, op, "no commit was checked")
	}
	in := map[string]any{"sha": m.Head}
	if m.Method != "" { // otherwise, what the project requires
		in["squash"] = m.Method == forge.MergeSquash
	}
	if later {
		in["auto_merge"], in["merge_when_pipeline_succeeds"] = true, true // since 17.11, and before
	}
	if message := commitMessage(m); message != "" {
		in["merge_commit_message"], in["squash_commit_message"] = message, message
	}
	err := r.Do(ctx, rest.Request{
		Op: op, Right: "scope api and the right to merge to the branch", Method: http.MethodPut,
		Path: rest.Path("merge_requests", number, "merge"), In: in, Out: &merged,
	})
	return merged, explainMerge(err)
}

// commitMessage joins title and body, which other forges take separately. A body alone is not a message.
func commitMessage(m forge.Merge) string {
	if m.Title == "" || m.Message == "" {
		return m.Title
	}
	return m.Title + "\n\n" + m.Message
}

// explainMerge handles the answers specific to merging: 401 if the account cannot merge, 406 and 422 for conflicts.
// 401 is also the answer to a wrong token, so the error mentions both.
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
