package schedule

import (
	"context"
	"errors"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// statusless is a repository that has no commit of a fork.
type statusless struct{ forge.Repository }

func (statusless) Statuses(context.Context, string) ([]forge.Status, error) { return nil, nil }
func (statusless) SetStatus(context.Context, string, forge.Status) error {
	return &forge.Error{Kind: forge.ErrNotFound, Op: "set status"}
}

// GitLab knows commits of forks only in the fork. A missing status there must not fail each round.
func TestStatusOfAForkMayBeImpossible(t *testing.T) {
	for fork, want := range map[string]error{"stranger/control-plane": nil, "": forge.ErrNotFound} {
		change := forge.PullRequest{Head: forge.Ref{Commit: "c", Fork: fork}}
		if err := setHeadStatus(t.Context(), statusless{}, forge.Limits{}, change, notPlanned); !errors.Is(err, want) {
			t.Errorf("fork %q: got %v, want %v", fork, err, want)
		}
	}
}
