package pullrequest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/azuredevops/azuredevopstest"
	"github.com/kalypso-io/kalypso/internal/forge/bitbucket/bitbuckettest"
	"github.com/kalypso-io/kalypso/internal/forge/bitbucketserver/bitbucketservertest"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/gitea/giteatest"
	"github.com/kalypso-io/kalypso/internal/forge/github/githubtest"
	"github.com/kalypso-io/kalypso/internal/forge/gitlab/gitlabtest"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
)

// pusher commits to a branch of any forge. A commit with the same message is the same commit.
type pusher struct {
	commit func(branch string) string
	made   map[string]string
	head   string
}

func (p *pusher) Commit(_ context.Context, c pullrequest.Commit) (string, error) {
	if p.made[c.Message] == "" {
		p.made[c.Message] = p.commit("kalypso/main")
		p.head = p.made[c.Message]
	}
	return p.made[c.Message], nil
}

func (p *pusher) Head(context.Context, string, string) (string, error)       { return p.head, nil }
func (p *pusher) Push(context.Context, string, string, string, string) error { return nil }

// A forge can answer reads from copies that are late. Rounds meanwhile open no second pull request, and touch none that a user closed.
func TestRoundsWhileReadsAreLate(t *testing.T) {
	for name, start := range map[string]func(t *testing.T) forgetest.Harness{
		"github": githubtest.Harness,
		"gitea":  giteatest.Harness,
		"gitlab": func(t *testing.T) forgetest.Harness { _, h := gitlabtest.Start(t); return h },
		"azure":  func(t *testing.T) forgetest.Harness { _, h := azuredevopstest.Start(t); return h },

		"bitbucket":       func(t *testing.T) forgetest.Harness { _, h := bitbuckettest.Start(t); return h },
		"bitbucketserver": func(t *testing.T) forgetest.Harness { _, h := bitbucketservertest.Start(t); return h },
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t)
			url := h.NewRepository(t)
			repo, err := h.Forge.Repository(url)
			if err != nil {
				t.Fatal(err)
			}
			p := &pusher{commit: func(branch string) string { return h.Commit(t, url, branch) }, made: map[string]string{}}
			h.Fake.Faults.Lag(4)
			rounds := func(digest string) {
				t.Helper()
				for range 10 {
					round := &pullrequest.PullRequest{Repository: repo, Committer: p, URL: url, Base: "main", Commit: "base", Head: "kalypso/main", Name: "main"}
					if err := round.Find(t.Context()); err != nil {
						t.Fatal(err)
					}
					err := round.Propose(t.Context(), pullrequest.Proposal{
						Message: digest, Title: "Change " + digest, Digest: digest, Body: func(int) string { return "text " + digest },
						Statuses: []forge.Status{{Context: "kalypso/checks", State: forge.Success}},
						Labels:   []pullrequest.Label{{Label: forge.Label{Name: "promoted"}, Applied: digest == "1"}},
					})
					if err != nil && !errors.Is(err, pullrequest.ErrMoved) {
						t.Fatal(err)
					}
				}
			}
			check := func(state forge.State, title string, labels int) {
				t.Helper()
				h.Fake.Faults.Lag(0)
				defer h.Fake.Faults.Lag(4)
				all, err := repo.FindPullRequests(t.Context(), forge.PullRequestFilter{})
				if err != nil {
					t.Fatal(err)
				}
				if len(all) != 1 || all[0].State != state || all[0].Title != title || len(all[0].Labels) != labels {
					t.Fatalf("got %+v, want one that is %s, %q", all, state, title)
				}
			}
			rounds("1")
			check(forge.Open, "Change 1", 1)
			rounds("2")
			check(forge.Open, "Change 2", 0)
			person, err := h.Person.Repository(url)
			if err != nil {
				t.Fatal(err)
			}
			if err := person.EditPullRequest(t.Context(), 1, forge.PullRequestEdit{State: new(forge.Closed)}); err != nil {
				t.Fatal(err)
			}
			rounds("2")
			check(forge.Closed, "Change 2", 0)
		})
	}
}
