package pullrequest_test

import (
	"slices"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

// queued is a repository with a merge queue, whose branches require our status.
func queued(t *testing.T) (*merging, *forgetest.Repo) {
	t.Helper()
	m := newMerging(t)
	if err := m.repo.(forge.Protector).Protect(t.Context(), "dev", forge.Protection{Checks: []string{"kalypso/checks"}}); err != nil {
		t.Fatal(err)
	}
	m.MergeQueue(m.commit.url)
	m.runs("completed", "success")
	return m, m.World.Repo("acme/gitops")
}

// A merge queue requires the statuses again, on the commit that it tests.
func TestStatusesInAMergeQueue(t *testing.T) {
	m, repo := queued(t)
	p := m.round() // adds it to the queue
	if pull := repo.PullRequest(1); pull.State != forge.Merged {
		t.Errorf("the pull request is %s, waits %q, did %v", pull.State, p.Waits, p.Did)
	}
	if !slices.Contains(p.Did, "set kalypso/checks to success in the merge queue") {
		t.Errorf("did %v", p.Did)
	}
}

// What the queue tests with changes of others was not checked. The queue waits, and is told once.
func TestMergeQueueWithOtherChanges(t *testing.T) {
	m, repo := queued(t)
	m.World.Do(func() {
		repo.Commit("other")
		other, err := repo.OpenPullRequest("ann", forge.NewPullRequest{Head: "other", Base: "dev", Title: "Other"})
		if err == nil {
			err = repo.SetStatus("ann", other.Head.Commit, forge.Status{Context: "kalypso/checks", State: forge.Success})
		}
		if err == nil {
			err = repo.Enqueue("ann", other, "")
		}
		if err != nil {
			t.Error(err)
		}
	})
	const waits = "the merge queue tests it together with other changes, which Kalypso has not checked"
	m.wantOpen(m.round(), waits)
	before := m.World.Repo("acme/gitops").Statuses[repo.PullRequest(1).Group.Commit]
	m.wantOpen(m.round(), waits)
	after := repo.Statuses[repo.PullRequest(1).Group.Commit]
	if len(after) != 1 || len(before) != 1 || after[0].State != forge.Pending || after[0].Description != waits {
		t.Errorf("got %+v, then %+v, want one pending status", before, after)
	}
}

// A user may add a pull request to the queue that is not merged automatically.
func TestMergeQueueOfAUser(t *testing.T) {
	m, repo := queued(t)
	m.manual = true
	m.wantOpen(m.round(), "")
	m.World.Do(func() {
		if err := repo.Enqueue("ann", repo.PullRequest(1), ""); err != nil {
			t.Error(err)
		}
	})
	m.round()
	if pull := repo.PullRequest(1); pull.State != forge.Merged || pull.EndedBy != "ann" {
		t.Errorf("the pull request is %s by %q", pull.State, pull.EndedBy)
	}
}
