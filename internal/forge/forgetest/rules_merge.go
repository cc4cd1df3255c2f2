package forgetest

import (
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
)

var mergeRules = []rule{
	{"merged is not closed", func(s *suite) {
		c := s.open("merged")
		commit := s.merge(s.repo, c)
		got := s.pullRequest(c.Number)
		if got.State != forge.Merged || got.MergeCommit != commit || commit == "" || got.EndedAt.IsZero() || got.EndedBy != got.Author {
			s.Errorf("merged as %q: %+v", commit, got)
		}
		if got.Head.Commit != c.Head.Commit {
			s.Errorf("merged head %s, want %s", got.Head.Commit, c.Head.Commit)
		}
		if found := s.find(forge.PullRequestFilter{State: forge.Closed}); len(found) != 0 {
			s.Errorf("found among the closed: %v", found)
		}
		if found := s.find(forge.PullRequestFilter{State: forge.Merged}); len(found) != 1 {
			s.Errorf("found among the merged: %v", found)
		}
	}},
	{"merging again is not an error", func(s *suite) {
		c := s.open("merged-twice")
		commit := s.merge(s.repo, c)
		again, err := s.repo.MergePullRequest(s.ctx, c.Number, forge.Merge{Head: c.Head.Commit})
		s.must(err)
		if again != commit {
			s.Errorf("got %s, want %s", again, commit)
		}
	}},
	{"what was merged at another head is a conflict", func(s *suite) {
		c := s.open("merged-otherwise")
		checked := c.Head.Commit
		c.Head.Commit = s.Commit(s.T, s.url, "merged-otherwise")
		s.merge(s.repo, c)
		_, err := s.repo.MergePullRequest(s.ctx, c.Number, forge.Merge{Head: checked})
		s.wantKind(err, forge.ErrConflict)
	}},
	{"only the expected head is merged", func(s *suite) {
		c := s.open("checked")
		next := s.Commit(s.T, s.url, "checked")
		s.eventually("the pull request has the old head", func() bool { return s.pullRequest(c.Number).Head.Commit == next })
		_, err := s.repo.MergePullRequest(s.ctx, c.Number, forge.Merge{Head: c.Head.Commit})
		s.wantKind(err, forge.ErrConflict)
		if got := s.pullRequest(c.Number); got.State != forge.Open {
			s.Errorf("the pull request is %s", got.State)
		}
	}},
	{"a merge without an expected head is refused", func(s *suite) {
		c := s.open("unjudged")
		_, err := s.repo.MergePullRequest(s.ctx, c.Number, forge.Merge{})
		s.wantKind(err, forge.ErrInvalid)
	}},
	{"a closed pull request is not merged", func(s *suite) {
		c := s.open("closed")
		s.must(s.repo.EditPullRequest(s.ctx, c.Number, forge.PullRequestEdit{State: new(forge.Closed)}))
		_, err := s.repo.MergePullRequest(s.ctx, c.Number, forge.Merge{Head: c.Head.Commit})
		s.wantKind(err, forge.ErrConflict)
	}},
	{"a merged pull request cannot be reopened", func(s *suite) {
		c := s.open("done")
		s.merge(s.repo, c)
		s.wantKind(s.repo.EditPullRequest(s.ctx, c.Number, forge.PullRequestEdit{State: new(forge.Open)}), forge.ErrConflict)
	}},
	{"squashing makes one commit", func(s *suite) {
		c := s.open("squashed")
		c.Head.Commit = s.Commit(s.T, s.url, "squashed")
		var commit string
		s.eventually("the pull request cannot be merged", func() bool {
			var err error
			m := forge.Merge{Head: c.Head.Commit, Method: forge.MergeSquash, Title: "All of it", Message: "In one."}
			commit, err = s.repo.MergePullRequest(s.ctx, c.Number, m)
			return err == nil
		})
		if got := s.pullRequest(c.Number); got.State != forge.Merged || got.MergeCommit != commit {
			s.Errorf("squashed as %q: %+v", commit, got)
		}
	}},
	{"the merging account is known", func(s *suite) {
		if s.Person == nil {
			s.Skip("the harness has no second account")
		}
		c := s.open("merged-by-a-person")
		s.merge(s.as(s.Person), c)
		if got := s.pullRequest(c.Number); got.EndedBy == "" || got.EndedBy == got.Author {
			s.Errorf("merged by %q, opened by %q", got.EndedBy, got.Author)
		}
	}},
	{"a missing check is a conflict until it succeeds", func(s *suite) {
		protector := can[forge.Protector](s, s.repo)
		s.must(protector.Protect(s.ctx, "main", forge.Protection{Checks: []string{"kalypso/deletions"}}))
		c := s.open("checked")
		s.must(s.repo.SetStatus(s.ctx, c.Head.Commit, forge.Status{Context: "kalypso/deletions", State: forge.Failure}))
		_, err := s.repo.MergePullRequest(s.ctx, c.Number, forge.Merge{Head: c.Head.Commit})
		s.wantKind(err, forge.ErrConflict)
		s.must(s.repo.SetStatus(s.ctx, c.Head.Commit, forge.Status{Context: "kalypso/deletions", State: forge.Success}))
		s.merge(s.repo, c)
	}},
	{"an automatic merge waits for the checks", func(s *suite) {
		auto := can[forge.AutoMerger](s, s.repo)
		protector := can[forge.Protector](s, s.repo)
		s.must(protector.Protect(s.ctx, "main", forge.Protection{Checks: []string{"ci"}}))
		c := s.open("later")
		s.wantKind(auto.AutoMerge(s.ctx, c.Number, forge.Merge{Head: strings.Repeat("0", 40)}), forge.ErrConflict)
		s.eventually("not accepted", func() bool { return auto.AutoMerge(s.ctx, c.Number, forge.Merge{Head: c.Head.Commit}) == nil })
		if got := s.pullRequest(c.Number); got.State != forge.Open {
			s.Fatalf("merged without the check: %+v", got)
		}
		s.must(s.repo.SetStatus(s.ctx, c.Head.Commit, forge.Status{Context: "ci", State: forge.Success}))
		s.eventually("not merged", func() bool { return s.pullRequest(c.Number).State == forge.Merged })
	}},
}
