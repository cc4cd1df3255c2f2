package pullrequest_test

import (
	"context"
	"slices"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/github"
	"github.com/kalypso-io/kalypso/internal/forge/github/githubtest"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
)

// earlyForge sets statuses before the push, and records the order of both.
type earlyForge struct {
	forge.Repository
	committer
	order []string
}

func (e *earlyForge) SetEarlyStatus(_ context.Context, _ string, s forge.Status) error {
	e.order = append(e.order, s.Context)
	return nil
}

func (e *earlyForge) SetStatus(_ context.Context, _ string, s forge.Status) error {
	e.order = append(e.order, "late "+s.Context)
	return nil
}

func (e *earlyForge) Head(context.Context, string, string) (string, error) { return "", nil }

func (e *earlyForge) Push(context.Context, string, string, string, string) error {
	e.order = append(e.order, "push")
	return nil
}

// TestStatusesAreSetBeforeThePush: otherwise an open pull request could be merged between the push and its failing statuses.
func TestStatusesAreSetBeforeThePush(t *testing.T) {
	fake := githubtest.New(t)
	url := fake.AddRepository("acme/gitops")
	base := fake.Commit(url, "dev")
	repo, err := fake.Forge(t, github.Options{Token: forge.NewSecret(githubtest.Token)}).Repository(url)
	if err != nil {
		t.Fatal(err)
	}
	e := &earlyForge{Repository: repo, committer: committer{fake: fake.Server, url: url, branch: "kalypso/dev"}}
	p := &pullrequest.PullRequest{Repository: e, Committer: e, URL: url, Base: "dev", Commit: base, Head: "kalypso/dev", Name: "dev"}
	err = p.Propose(t.Context(), pullrequest.Proposal{
		Put: map[string][]byte{"a": nil}, Message: "m", Title: "t", Digest: "d", Body: func(int) string { return "text" },
		Statuses: []forge.Status{{Context: "kalypso/deletions", State: forge.Failure, Required: true}, {Context: "kalypso/checks", State: forge.Success, Required: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"kalypso/deletions", "kalypso/checks", "push"}; !slices.Equal(e.order, want) {
		t.Errorf("got %q, want %q", e.order, want)
	}
}
