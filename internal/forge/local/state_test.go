package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// open commits to a branch and opens a pull request from it to main.
func open(t testing.TB, r *Repository, head string, files map[string]string) forge.PullRequest {
	t.Helper()
	commit(t, r, head, files)
	c, err := r.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: head, Base: "main", Title: "Change " + head})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// point sets a branch to a commit, as a forced push would. An empty commit deletes it.
func point(t testing.TB, r *Repository, branch, to string) {
	t.Helper()
	err := r.write(t.Context(), Write, func(e entry) error {
		objects := r.forge.open(e)
		now, err := objects.branch(branch)
		if err != nil {
			return err
		}
		if to == "" {
			err = objects.remove(branchRef(branch), now)
		} else {
			err = objects.move(branchRef(branch), now, plumbing.NewHash(to))
		}
		if err != nil {
			return err
		}
		return r.forge.pushed(t.Context(), e, "carol", []moved{{branch, to}})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func head(t testing.TB, r *Repository, branch string) string {
	t.Helper()
	e, err := r.enter(t.Context(), Read)
	if err != nil {
		t.Fatal(err)
	}
	hash, err := r.forge.open(e).branch(branch)
	if err != nil {
		t.Fatal(err)
	}
	return hash.String()
}

// When its branches move, a pull request's state follows.
func TestBranchesDecide(t *testing.T) {
	for name, tc := range map[string]struct {
		happens   func(t *testing.T, r *Repository, c forge.PullRequest)
		state     forge.State
		mergeable forge.Mergeable
		// moved means that the head is a different commit than before.
		moved bool
	}{
		"nothing":        {func(*testing.T, *Repository, forge.PullRequest) {}, forge.Open, forge.MergeableYes, false},
		"the head moves": {func(t *testing.T, r *Repository, _ forge.PullRequest) { commit(t, r, "feature", nil) }, forge.Open, forge.MergeableYes, true},
		"the head is rewritten": {func(t *testing.T, r *Repository, _ forge.PullRequest) {
			point(t, r, "feature", commit(t, r, "other", nil))
		}, forge.Open, forge.MergeableYes, true},
		"the head is deleted":    {func(t *testing.T, r *Repository, _ forge.PullRequest) { point(t, r, "feature", "") }, forge.Open, forge.MergeableYes, false},
		"the head is merged":     {func(t *testing.T, r *Repository, c forge.PullRequest) { point(t, r, "main", c.Head.Commit) }, forge.Merged, "", false},
		"more than it is merged": {func(t *testing.T, r *Repository, _ forge.PullRequest) { point(t, r, "main", nextOf(t, r)) }, forge.Merged, "", false},
		"the head is emptied":    {func(t *testing.T, r *Repository, _ forge.PullRequest) { point(t, r, "feature", head(t, r, "main")) }, forge.Closed, "", true},
		"the base moves":         {func(t *testing.T, r *Repository, _ forge.PullRequest) { commit(t, r, "main", nil) }, forge.Open, forge.MergeableYes, false},
		"the base conflicts": {func(t *testing.T, r *Repository, _ forge.PullRequest) {
			commit(t, r, "main", map[string]string{"shop": "x\n"})
		}, forge.Open, forge.MergeableNo, false},
		"the base is deleted":     {func(t *testing.T, r *Repository, _ forge.PullRequest) { point(t, r, "main", "") }, forge.Open, forge.MergeableNo, false},
		"the base is not related": {func(t *testing.T, r *Repository, _ forge.PullRequest) { point(t, r, "main", orphan(t, r)) }, forge.Open, forge.MergeableYes, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newForge(t, Options{})
			r := newRepository(t, f)
			before := open(t, r, "feature", map[string]string{"shop": "open\n"})
			tc.happens(t, r, before)
			for range 2 { // the second time after a start
				got := read(t, r, before.Number)
				if got.State != tc.state || got.Mergeable != tc.mergeable || (got.Head.Commit != before.Head.Commit) != tc.moved {
					t.Errorf("got %s, mergeable %q, head %s; before %s", got.State, got.Mergeable, got.Head.Commit, before.Head.Commit)
				}
				e := must(r.enter(t.Context(), Read))
				if kept := must(f.open(e).commit(before.Fetch)).String(); tc.state == forge.Open && kept != got.Head.Commit {
					t.Errorf("kept is %s, the head %s", kept, got.Head.Commit)
				}
				if err := f.recover(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// nextOf returns a commit on top of the feature's, on another branch.
func nextOf(t *testing.T, r *Repository) string {
	t.Helper()
	if err := r.CreateBranch(t.Context(), "next", head(t, r, "feature")); err != nil {
		t.Fatal(err)
	}
	return commit(t, r, "next", nil)
}

func orphan(t *testing.T, r *Repository) string {
	t.Helper()
	e := must(r.enter(t.Context(), Read))
	return writeCommit(t, r.forge.open(e), plumbing.ZeroHash, map[string]string{"other": "x\n"}).String()
}

// The process can die between any two steps; the next start recovers.
func TestSuddenEnds(t *testing.T) {
	merge := func(t *testing.T, r *Repository, c forge.PullRequest) (entry, bare, plumbing.Hash, plumbing.Hash) {
		e := must(r.enter(t.Context(), Read))
		objects := r.forge.open(e)
		base := must(objects.branch("main"))
		made := must(r.forge.mergeCommit(t.Context(), objects, pullRequest{PullRequest: c}, forge.Merge{Head: c.Head.Commit, Method: forge.MergeSquash}, base, "ada"))
		must(r.forge.db.Exec(queries.Get("startMerge"), made.String(), "ada", e.id, c.Number))
		return e, objects, base, made
	}
	for name, tc := range map[string]struct {
		until func(t *testing.T, r *Repository, c forge.PullRequest)
		want  func(t *testing.T, r *Repository, c forge.PullRequest)
	}{
		"before a merge moves the branch": {
			func(t *testing.T, r *Repository, c forge.PullRequest) { merge(t, r, c) },
			func(t *testing.T, r *Repository, c forge.PullRequest) {
				got := read(t, r, c.Number)
				if _, err := r.MergePullRequest(t.Context(), c.Number, forge.Merge{Head: c.Head.Commit}); got.State != forge.Open || err != nil {
					t.Errorf("got %+v, then %v", got, err)
				}
			},
		},
		"after a merge moved the branch": {
			func(t *testing.T, r *Repository, c forge.PullRequest) {
				_, objects, base, made := merge(t, r, c)
				must(0, objects.move("refs/heads/main", base, made))
			},
			func(t *testing.T, r *Repository, c forge.PullRequest) {
				if got := read(t, r, c.Number); got.State != forge.Merged || got.EndedBy != "ada" || got.MergeCommit != head(t, r, "main") {
					t.Errorf("got %+v", got)
				}
			},
		},
		"after a push moved a branch": {
			func(t *testing.T, r *Repository, c forge.PullRequest) {
				e := must(r.enter(t.Context(), Read))
				objects := r.forge.open(e)
				old := plumbing.NewHash(c.Head.Commit)
				must(0, objects.move("refs/heads/feature", old, writeCommit(t, objects, old, map[string]string{"x": "x"})))
			},
			func(t *testing.T, r *Repository, c forge.PullRequest) {
				got := read(t, r, c.Number)
				kept := must(r.forge.open(must(r.enter(t.Context(), Read))).commit(c.Fetch))
				if got.Head.Commit != head(t, r, "feature") || got.Head.Commit == c.Head.Commit || kept.String() != got.Head.Commit {
					t.Errorf("got %+v, kept %s", got, kept)
				}
			},
		},
		"before the head of a new change was kept": {
			func(t *testing.T, r *Repository, c forge.PullRequest) {
				e := must(r.enter(t.Context(), Read))
				must(0, r.forge.open(e).remove(c.Fetch, plumbing.NewHash(c.Head.Commit)))
			},
			func(t *testing.T, r *Repository, c forge.PullRequest) {
				if kept := must(r.forge.open(must(r.enter(t.Context(), Read))).commit(c.Fetch)); kept.String() != c.Head.Commit {
					t.Errorf("kept %s", kept)
				}
			},
		},
		"before a new repository was registered": {
			func(t *testing.T, r *Repository, _ forge.PullRequest) {
				must(0, r.forge.initialize(forge.NewRepository{Owner: "team", Name: "half"}))
			},
			func(t *testing.T, r *Repository, _ forge.PullRequest) {
				if _, err := r.forge.at("team/half").FindPullRequests(t.Context(), forge.PullRequestFilter{}); err != nil {
					t.Error(err)
				}
			},
		},
		"while receiving": {
			func(t *testing.T, r *Repository, _ forge.PullRequest) {
				must(0, os.WriteFile(filepath.Join(r.forge.temporary(), "request-1"), []byte("half"), 0o600))
			},
			func(t *testing.T, r *Repository, _ forge.PullRequest) {
				if left := must(os.ReadDir(r.forge.temporary())); len(left) != 0 {
					t.Errorf("left %v", left)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f := newForge(t, Options{Dir: dir})
			r := newRepository(t, f)
			c := open(t, r, "feature", nil)
			tc.until(t, r, c)
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			again := newForge(t, Options{Dir: dir})
			tc.want(t, again.at(r.id.Path), c)
			if found := must(again.at(r.id.Path).FindPullRequests(t.Context(), forge.PullRequestFilter{})); len(found) != 1 {
				t.Errorf("%d changes", len(found))
			}
		})
	}
}

// Of many concurrent merges into one branch, each happens once and none is lost, even during pushes.
func TestMergesAtOnce(t *testing.T) {
	f := newForge(t, Options{})
	r := newRepository(t, f)
	var changes []forge.PullRequest
	for i := range 8 {
		changes = append(changes, open(t, r, fmt.Sprint("feature-", i), map[string]string{fmt.Sprint("file-", i): "x\n"}))
	}
	var together sync.WaitGroup
	commits := make([][2]string, len(changes))
	for i, c := range changes {
		for n := range 2 {
			together.Go(func() {
				var err error
				if commits[i][n], err = r.MergePullRequest(t.Context(), c.Number, forge.Merge{Head: c.Head.Commit}); err != nil {
					t.Error(err)
				}
			})
		}
		together.Go(func() { commit(t, r, "main", map[string]string{fmt.Sprint("pushed-", i): "x\n"}) })
	}
	together.Wait()
	e := must(r.enter(t.Context(), Read))
	tree := must(treeOf(f.open(e), plumbing.NewHash(head(t, r, "main"))))
	for i := range changes {
		if commits[i][0] != commits[i][1] || commits[i][0] == "" {
			t.Errorf("change %d was merged as %v", i, commits[i])
		}
		for _, file := range []string{fmt.Sprint("file-", i), fmt.Sprint("pushed-", i)} {
			if _, err := tree.File(file); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

func TestConflictingMerge(t *testing.T) {
	f := newForge(t, Options{})
	r := newRepository(t, f)
	c := open(t, r, "feature", map[string]string{"shop": "open\n"})
	commit(t, r, "main", map[string]string{"shop": "closed\n"})
	before := head(t, r, "main")
	_, err := r.MergePullRequest(t.Context(), c.Number, forge.Merge{Head: c.Head.Commit})
	if !errors.Is(err, forge.ErrConflict) || !strings.Contains(err.Error(), "shop") {
		t.Errorf("got %v", err)
	}
	if got := read(t, r, c.Number); got.State != forge.Open || got.Mergeable != forge.MergeableNo || head(t, r, "main") != before {
		t.Errorf("got %+v", got)
	}
}

func TestMergeRequirements(t *testing.T) {
	f := newForge(t, Options{})
	r := newRepository(t, f)
	commit(t, r, "main", map[string]string{"go.mod": "m\n"})
	e := must(r.enter(t.Context(), Read))
	objects := f.open(e)
	// CODEOWNERS is in a folder, so the commit's tree needs one.
	owned := codeOwnersCommit(t, objects, plumbing.NewHash(head(t, r, "main")), "* @dave\n*.md @ada @bob\n*.txt\n")
	point(t, r, "main", owned)
	if err := r.Protect(t.Context(), "main", forge.Protection{CodeOwners: true, Approvals: 1}); err != nil {
		t.Fatal(err)
	}
	c := open(t, r, "feature", map[string]string{"new.md": "x\n", "free.txt": "x\n"})
	missing := func() []string {
		return must(f.missing(t.Context(), e, must(r.pullRequest(t.Context(), f.db, e, c.Number))))
	}
	as := func(name string) *Repository { return f.As(Account{Name: name, Right: Write}).at(r.id.Path) }
	if got := missing(); !slices.Equal(got, []string{"approvals: 0 of 1", "approval of ada or bob"}) {
		t.Errorf("missing %q", got)
	}
	if err := r.Approve(t.Context(), c.Number, c.Head.Commit); !errors.Is(err, forge.ErrInvalid) {
		t.Errorf("approved by its author: %v", err)
	}
	for _, step := range []struct {
		who  string
		want []string
	}{{"carl", []string{"approval of ada or bob"}}, {"Bob", nil}} {
		if err := as(step.who).Approve(t.Context(), c.Number, c.Head.Commit); err != nil {
			t.Fatal(err)
		}
		if got := missing(); !slices.Equal(got, step.want) {
			t.Errorf("after %s missing %q, want %q", step.who, got, step.want)
		}
	}
	next := commit(t, r, "feature", map[string]string{"other.md": "x\n"})
	if got := missing(); len(got) != 2 {
		t.Errorf("approvals of the old head count: missing %q", got)
	}
	if err := r.AutoMerge(t.Context(), c.Number, forge.Merge{Head: next}); err != nil {
		t.Fatal(err)
	}
	if err := as("ada").Approve(t.Context(), c.Number, next); err != nil {
		t.Fatal(err)
	}
	if got := read(t, r, c.Number); got.State != forge.Merged {
		t.Errorf("the merge still waits: %+v", got)
	}
}

func TestAutoMergeMergesAtOnce(t *testing.T) {
	f := newForge(t, Options{})
	r := newRepository(t, f)
	if err := r.Protect(t.Context(), "main", forge.Protection{PullRequestsOnly: true, Checks: []string{"ci"}}); err != nil {
		t.Fatal(err)
	}
	c := open(t, r, "feature", map[string]string{"new.md": "x\n"})
	if err := r.SetStatus(t.Context(), c.Head.Commit, forge.Status{Context: "ci", State: forge.Success}); err != nil {
		t.Fatal(err)
	}
	if err := r.AutoMerge(t.Context(), c.Number, forge.Merge{Head: c.Head.Commit}); err != nil {
		t.Fatal(err)
	}
	if got := read(t, r, c.Number); got.State != forge.Merged {
		t.Errorf("nothing is missing, but %+v", got)
	}
}

func TestDraftsAreNotMerged(t *testing.T) {
	f := newForge(t, Options{})
	r := newRepository(t, f)
	made := commit(t, r, "feature", nil)
	c, err := r.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: "feature", Base: "main", Title: "T", Draft: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.MergePullRequest(t.Context(), c.Number, forge.Merge{Head: made}); !errors.Is(err, forge.ErrConflict) {
		t.Errorf("got %v", err)
	}
	if err := r.AutoMerge(t.Context(), c.Number, forge.Merge{Head: made}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.Ready(t.Context(), c.Number); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, r, c.Number); got.State != forge.Merged || got.Draft {
		t.Errorf("ready, but %+v", got)
	}
}

// A required status blocks every merge until it succeeds, even if the branch requires nothing.
func TestRequiredStatusesBlockMerges(t *testing.T) {
	f := newForge(t, Options{})
	r := newRepository(t, f)
	c := open(t, r, "feature", nil)
	say := func(s forge.Status) {
		t.Helper()
		if err := r.SetStatus(t.Context(), c.Head.Commit, s); err != nil {
			t.Fatal(err)
		}
	}
	say(forge.Status{Context: "style", State: forge.Failure})
	deletions := forge.Status{Context: "kalypso/deletions", State: forge.Failure, Description: "8 removals", Required: true}
	for _, deletions.State = range []forge.StatusState{forge.Pending, forge.Errored, forge.Failure} {
		say(deletions)
		_, err := r.MergePullRequest(t.Context(), c.Number, forge.Merge{Head: c.Head.Commit})
		if !errors.Is(err, forge.ErrConflict) {
			t.Errorf("%s: got %v", deletions.State, err)
		}
	}
	_, err := r.MergePullRequest(t.Context(), c.Number, forge.Merge{Head: c.Head.Commit})
	if want := "missing: check kalypso/deletions is failing: 8 removals"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	if all := must(r.Statuses(t.Context(), c.Head.Commit)); !all[0].Required || all[1].Required {
		t.Errorf("statuses %+v", all)
	}
	if err := r.AutoMerge(t.Context(), c.Number, forge.Merge{Head: c.Head.Commit}); err != nil {
		t.Fatal(err)
	}
	if got := read(t, r, c.Number); got.State != forge.Open {
		t.Errorf("the automatic merge does not wait: %+v", got)
	}
	deletions.State = forge.Success
	say(deletions)
	if got := read(t, r, c.Number); got.State != forge.Merged {
		t.Errorf("the automatic merge still waits: %+v", got)
	}
}

// TestStatusesBeforeThePush sets a required status for a commit before it becomes the head of an open pull request.
func TestStatusesBeforeThePush(t *testing.T) {
	f := newForge(t, Options{})
	r := newRepository(t, f)
	c := open(t, r, "feature", nil)
	next := commit(t, r, "elsewhere", nil)
	unknown := strings.Repeat("1", 40)
	if err := r.SetStatus(t.Context(), unknown, forge.Status{Context: "kalypso/deletions", State: forge.Failure, Required: true}); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("a status of an unknown commit: %v", err)
	}
	for _, commit := range []string{next, unknown} {
		if err := r.SetEarlyStatus(t.Context(), commit, forge.Status{Context: "kalypso/deletions", State: forge.Failure, Required: true}); err != nil {
			t.Fatal(err)
		}
	}
	point(t, r, "feature", next)
	if _, err := r.MergePullRequest(t.Context(), c.Number, forge.Merge{Head: next}); !errors.Is(err, forge.ErrConflict) {
		t.Errorf("merged over a required status: %v", err)
	}
}
