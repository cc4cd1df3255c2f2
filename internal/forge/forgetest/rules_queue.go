package forgetest

import (
	"github.com/kalypso-io/kalypso/internal/forge"
)

// queueRules are about branches that are merged into through a merge queue or a merge train.
var queueRules = []rule{
	{"a queue is not jumped", func(s *suite) {
		finish := s.queue()
		c := s.open("queued")
		s.enqueue(c)
		s.enqueue(c) // the next round
		if got := s.pullRequest(c.Number); got.State != forge.Open {
			s.Fatalf("the pull request is %s before the queue tested it", got.State)
		}
		finish()
		got := s.pullRequest(c.Number)
		if got.State != forge.Merged {
			s.Fatalf("the pull request is %s, want merged", got.State)
		}
		if commit := s.merge(s.repo, c); commit != got.MergeCommit {
			s.Errorf("merged as %s, then %s", got.MergeCommit, commit)
		}
	}},
	{"a queue refuses a head that was not checked", func(s *suite) {
		finish := s.queue()
		c := s.open("queued")
		s.Commit(s.T, s.url, "queued")
		s.enqueue(c)
		finish()
		if got := s.pullRequest(c.Number); got.State != forge.Open {
			s.Errorf("the pull request is %s", got.State)
		}
	}},
	{"a queue waits for the required statuses of what it tests", func(s *suite) {
		queuer := can[forge.Queuer](s, s.repo)
		s.must(can[forge.Protector](s, s.repo).Protect(s.ctx, "main", forge.Protection{Checks: []string{"kalypso/checks"}}))
		finish := s.queue()
		c := s.open("queued")
		success := forge.Status{Context: "kalypso/checks", State: forge.Success}
		s.must(s.repo.SetStatus(s.ctx, c.Head.Commit, success))
		if q, err := queuer.Queued(s.ctx, c.Number); q != nil || err != nil {
			s.Fatalf("got %+v, %v before it is queued", q, err)
		}
		s.enqueue(c)
		finish()
		q, err := queuer.Queued(s.ctx, c.Number)
		s.must(err)
		if q == nil || q.Commit == "" || q.Commit == c.Head.Commit || q.Head != c.Head.Commit || !q.SameFiles {
			s.Fatalf("got %+v, want a commit with the files of %s", q, c.Head.Commit)
		}
		s.must(s.repo.SetStatus(s.ctx, q.Commit, success))
		finish()
		if got := s.pullRequest(c.Number); got.State != forge.Merged {
			s.Errorf("the pull request is %s, want merged", got.State)
		}
	}},
	{"a queue tests later pull requests with those before", func(s *suite) {
		queuer := can[forge.Queuer](s, s.repo)
		s.must(can[forge.Protector](s, s.repo).Protect(s.ctx, "main", forge.Protection{Checks: []string{"ci"}}))
		s.queue()
		first, second := s.open("first"), s.open("second")
		for _, c := range []forge.PullRequest{first, second} {
			s.must(s.repo.SetStatus(s.ctx, c.Head.Commit, forge.Status{Context: "ci", State: forge.Success}))
			s.enqueue(c)
		}
		q, err := queuer.Queued(s.ctx, second.Number)
		s.must(err)
		if q == nil || q.Commit == "" || q.SameFiles {
			s.Errorf("got %+v, want a commit with other files", q)
		}
	}},
}

// queue makes the repository merge through a queue, or skips the rule.
func (s *suite) queue() (finish func()) {
	s.Helper()
	if s.Queue == nil {
		s.Skip("the forge has no queue")
	}
	return s.Queue(s.T, s.url)
}

// enqueue merges a pull request, which the forge only adds to its queue.
func (s *suite) enqueue(c forge.PullRequest) {
	s.Helper()
	_, err := s.repo.MergePullRequest(s.ctx, c.Number, forge.Merge{Head: c.Head.Commit})
	s.wantKind(err, forge.ErrConflict)
}
