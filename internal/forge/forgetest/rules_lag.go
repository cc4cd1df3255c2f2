package forgetest

import (
	"errors"
	"slices"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// late is how many times in a row a read is late in the rules.
const late = 3

// lagRules are about forges whose reads are late. What is repeated, because its effect was not seen yet, has no second effect.
var lagRules = []rule{
	{"a pull request is not opened twice", lagging(func(s *suite) {
		s.Commit(s.T, s.url, "kalypso/dev")
		for range 2 {
			if found := s.find(forge.PullRequestFilter{Head: "kalypso/dev"}); len(found) > 0 {
				s.Fatalf("found %v, want a late list", found)
			}
			_, err := s.repo.OpenPullRequest(s.ctx, forge.NewPullRequest{Head: "kalypso/dev", Base: "main", Title: "T"})
			if err != nil && !errors.Is(err, forge.ErrConflict) {
				s.Error(err)
			}
		}
		s.settle()
		if found := s.find(forge.PullRequestFilter{Head: "kalypso/dev"}); len(found) != 1 {
			s.Errorf("found %v, want one", found)
		}
	})},
	{"edits may be repeated", lagging(func(s *suite) {
		c := s.open("edited")
		s.pullRequest(c.Number)
		for _, state := range []forge.State{forge.Closed, forge.Open, forge.Closed} {
			if state == forge.Open {
				s.reopen(c.Number)
			}
			for range 2 {
				s.must(s.repo.EditPullRequest(s.ctx, c.Number, forge.PullRequestEdit{Title: new("Edited"), State: new(state)}))
			}
			s.settle()
			if got := s.pullRequest(c.Number); got.State != state || got.Title != "Edited" {
				s.Errorf("got %+v, want %s", got, state)
			}
		}
	})},
	{"labels may be added and removed again", lagging(func(s *suite) {
		c := s.open("labels")
		s.must(s.repo.EnsureLabel(s.ctx, promoted))
		s.must(s.repo.EnsureLabel(s.ctx, promoted))
		s.pullRequest(c.Number)
		s.must(s.repo.AddLabels(s.ctx, c.Number, "promoted"))
		s.must(s.repo.AddLabels(s.ctx, c.Number, "promoted"))
		s.settle()
		if got := s.pullRequest(c.Number).Labels; !slices.Equal(got, []string{"promoted"}) {
			s.Errorf("got labels %q", got)
		}
		s.must(s.repo.RemoveLabel(s.ctx, c.Number, "promoted"))
		s.must(s.repo.RemoveLabel(s.ctx, c.Number, "promoted"))
		s.settle()
		if got := s.pullRequest(c.Number).Labels; len(got) != 0 {
			s.Errorf("got labels %q", got)
		}
	})},
	{"a label that was added just now is removed", lagging(func(s *suite) {
		c := s.open("labels")
		s.must(s.repo.EnsureLabel(s.ctx, promoted))
		s.pullRequest(c.Number)
		s.must(s.repo.AddLabels(s.ctx, c.Number, "promoted"))
		s.must(s.repo.RemoveLabel(s.ctx, c.Number, "promoted"))
		s.settle()
		if got := s.pullRequest(c.Number).Labels; len(got) != 0 {
			s.Errorf("got labels %q", got)
		}
	})},
	{"statuses may be set again", lagging(func(s *suite) {
		commit := s.Commit(s.T, s.url, "main")
		_, err := s.repo.Statuses(s.ctx, commit)
		s.must(err)
		for range 2 {
			s.must(s.repo.SetStatus(s.ctx, commit, forge.Status{Context: "ci", State: forge.Pending}))
		}
		s.must(s.repo.SetStatus(s.ctx, commit, forge.Status{Context: "ci", State: forge.Success}))
		s.settle()
		got, err := s.repo.Statuses(s.ctx, commit)
		s.must(err)
		if len(got) != 1 || got[0].State != forge.Success {
			s.Errorf("got %+v", got)
		}
	})},
	{"a merge may be requested again", lagging(func(s *suite) {
		c := s.open("merged")
		s.pullRequest(c.Number)
		for range late {
			if _, err := s.repo.MergePullRequest(s.ctx, c.Number, forge.Merge{Head: c.Head.Commit}); err != nil && !errors.Is(err, forge.ErrConflict) {
				s.Error(err)
			}
		}
		s.settle()
		if got := s.pullRequest(c.Number); got.State != forge.Merged {
			s.Errorf("got %+v", got)
		}
	})},
	{"only the head that was checked is merged", lagging(func(s *suite) {
		c := s.open("moved")
		s.pullRequest(c.Number)
		s.Commit(s.T, s.url, "moved")
		if _, err := s.repo.MergePullRequest(s.ctx, c.Number, forge.Merge{Head: c.Head.Commit}); !errors.Is(err, forge.ErrConflict) {
			s.Errorf("got %v", err)
		}
		s.settle()
		if got := s.pullRequest(c.Number); got.State != forge.Open {
			s.Errorf("got %+v", got)
		}
	})},
	{"a branch may be created and deleted again", lagging(func(s *suite) {
		brancher := can[forge.Brancher](s, s.repo)
		commit := s.Commit(s.T, s.url, "main")
		for range 2 {
			if err := brancher.CreateBranch(s.ctx, "new", commit); err != nil && !errors.Is(err, forge.ErrConflict) {
				s.Error(err)
			}
		}
		for range 2 {
			s.must(forge.Ignore(brancher.DeleteBranch(s.ctx, "new"), forge.ErrConflict))
		}
	})},
	{"a comment that was written just now is not written twice", lagging(func(s *suite) {
		c := s.open("commented")
		_, err := s.repo.Comments(s.ctx, c.Number)
		s.must(err)
		for _, text := range []string{"one", "two"} {
			_, err := s.repo.UpsertComment(s.ctx, c.Number, "m", text)
			s.must(err)
		}
		s.settle()
		got, err := s.repo.Comments(s.ctx, c.Number)
		s.must(err)
		if len(got) != 1 || !forge.Marked(got[0].Body, "m") || got[0].Body[:3] != "two" {
			s.Errorf("got %+v", got)
		}
	})},
	{"a protection may be set again", lagging(func(s *suite) {
		protector := can[forge.Protector](s, s.repo)
		want := forge.Protection{PullRequestsOnly: true}
		_, err := protector.Protection(s.ctx, "main")
		s.must(err)
		for range 2 {
			s.must(forge.Ignore(protector.Protect(s.ctx, "main", want), forge.ErrConflict))
		}
		s.settle()
		got, err := protector.Protection(s.ctx, "main")
		s.must(err)
		if !got.PullRequestsOnly || got.Approvals != 0 || len(got.Checks) != 0 {
			s.Errorf("got %+v", got)
		}
	})},
}

// lagging makes reads late. It skips forges that do not fail on demand.
func lagging(check func(s *suite)) func(s *suite) {
	return fake(func(s *suite) {
		s.Fake.Faults.Lag(late)
		check(s)
	})
}

// settle waits until no read is late.
func (s *suite) settle() { s.Fake.Faults.Lag(late) }
