package github_test

import (
	"errors"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/github"
	"github.com/kalypso-io/kalypso/internal/forge/github/githubtest"
)

// annotating is a fake with a pull request, and an adapter with a given token.
type annotating struct {
	*githubtest.Fake
	t    *testing.T
	repo *github.Repository
	pull forge.PullRequest
}

func newAnnotating(t *testing.T, token string) *annotating {
	t.Helper()
	fake := githubtest.New(t)
	url := fake.AddRepository("acme/gitops")
	fake.Commit(url, "dev")
	repo, err := fake.Forge(t, github.Options{Token: forge.NewSecret(token)}).Repository(url)
	if err != nil {
		t.Fatal(err)
	}
	fake.World.Grant("ghs_job", "github-actions[bot]", "admin")
	c, err := repo.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: "dev", Base: "main", Title: "T"})
	if err != nil {
		t.Fatal(err)
	}
	return &annotating{fake, t, repo.(*github.Repository), c}
}

func (a *annotating) annotate(commit string, messages ...string) error {
	all := forge.Annotations{Name: "checks", Commit: commit}
	for i, message := range messages {
		all.All = append(all.All, forge.Annotation{File: "web.yaml", Line: i + 1, Level: forge.Warning, Message: message})
	}
	return a.repo.Annotate(a.t.Context(), a.pull.Number, all)
}

func (a *annotating) notes() []forgetest.Note {
	return a.Notes(a.URL+"/acme/gitops", a.pull.Number)
}

// GitHub collapses outdated comments.
func TestAnOutdatedReviewCommentIsReplaced(t *testing.T) {
	a := newAnnotating(t, githubtest.Token)
	for range 2 {
		if err := a.annotate(a.pull.Head.Commit, "has no limits"); err != nil {
			t.Fatal(err)
		}
		if notes := a.notes(); len(notes) != 1 || notes[0].Outdated {
			t.Errorf("got %+v", notes)
		}
		a.World.Outdate("acme/gitops", a.pull.Number)
	}
}

// Annotate waits until GitHub knows the head, instead of skipping all annotations.
func TestUnknownHeadIsAConflict(t *testing.T) {
	a := newAnnotating(t, githubtest.Token)
	if err := a.annotate("another", "has no limits"); !errors.Is(err, forge.ErrConflict) {
		t.Errorf("got %v", err)
	}
}

// Without a name, comments by bots count as ours, and those by users do not.
func TestJobTokenHasNoViewer(t *testing.T) {
	a := newAnnotating(t, githubtest.Token)
	if err := a.annotate(a.pull.Head.Commit, "a person's"); err != nil {
		t.Fatal(err)
	}
	job, err := a.Forge(t, github.Options{Token: forge.NewSecret("ghs_job")}).Repository(a.URL + "/acme/gitops")
	if err != nil {
		t.Fatal(err)
	}
	a.Faults.Inject(forgetest.Fault{Path: "/api/v3/user", Times: -1, Answer: forgetest.Answer(403, `{"message":"Resource not accessible by integration"}`)})
	a.repo = job.(*github.Repository)
	for _, message := range []string{"has no limits", "runs as root"} {
		if err := a.annotate(a.pull.Head.Commit, message); err != nil {
			t.Fatal(err)
		}
		if notes := a.notes(); len(notes) != 2 {
			t.Errorf("got %+v", notes)
		}
	}
}
