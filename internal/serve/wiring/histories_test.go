package wiring

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/repository"
)

func (s *shop) past() *deliver.Past {
	return &deliver.Past{Loader: s.loader(), Histories: repository.NewDeliveryReader(s.flows.Client)}
}

// revisions returns the revisions of a target with what the ledger knows.
func (s *shop) revisions(environment, target string) query.TargetRevisions {
	s.Helper()
	past, err := s.past().Revisions(s.Context(), deliver.PastRequest{Request: s.request(), Environment: environment, Target: target})
	if err != nil {
		s.Fatal(err)
	}
	r, err := query.Reported(s.Context(), s.ledger, past)
	if err != nil {
		s.Fatal(err)
	}
	return r
}

func TestRevisionsSayWhatWasDeployed(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	if r := s.revisions("dev", "functional-test"); len(r.Revisions) != 0 || r.More {
		t.Errorf("before anything is merged: %+v", r)
	}
	first := s.built("1.4.0")
	s.quiet()
	config := s.Push(shopConfigs, "dev", map[string]string{"functional-test/values.yaml": "replicas: 4\n"})
	s.fails["dev-1"] = "no space left"
	s.quiet()
	s.fails = map[string]string{}
	s.Push(shopGitOps, "dev", map[string]string{"notes.txt": "by another author\n"}) // changes no target
	s.quiet()
	second := s.Push(shopSource, "main", map[string]string{"main.go": "package wiring // better\n"})
	s.built("1.5.0")
	s.quiet()

	r := s.revisions("", "shop-functional-test")
	if r.Environment != "dev" || r.Target != "functional-test" || r.Folder != "functional-test" || r.Branch != "dev" || !r.Reports {
		t.Errorf("got %+v", r.TargetPlace)
	}
	if len(r.Revisions) != 3 {
		t.Fatalf("got %d revisions, want 3: %+v", len(r.Revisions), r.Revisions)
	}
	for i, want := range []struct{ version, commit, config string }{{"1.5.0", second, config}, {"1.4.0", first, config}, {"1.4.0", first, ""}} {
		got := r.Revisions[i]
		if got.Build.Version != want.version || got.Build.Commit != want.commit || want.config != "" && got.Configuration != want.config || got.Files == "" || got.By == "" || got.Merged.IsZero() {
			t.Errorf("revision %d: got %+v, want %+v", i, got, want)
		}
		if got.Current != (i == 0) {
			t.Errorf("revision %d: current is %t", i, got.Current)
		}
	}
	if r.Revisions[0].Commit != s.Head(shopGitOps, "dev") {
		t.Errorf("the newest is %s, not the head of the branch", r.Revisions[0].Commit)
	}
	if diff := cmp.Diff(map[ledger.State]int{ledger.StateReady: 1}, r.Revisions[0].Reconcilers); diff != "" || r.Revisions[0].Deployed.IsZero() {
		t.Errorf("what runs now: %s", diff)
	}
	// The other author's commit changed no files of the target. It belongs to the second revision, which was deployed in the end.
	if middle := r.Revisions[1]; middle.Failed.IsZero() || !middle.Failed.Before(middle.Deployed) || len(middle.Reconcilers) > 0 {
		t.Errorf("the revision that failed at first: %+v", middle)
	}

	limited, err := s.past().Revisions(t.Context(), deliver.PastRequest{Request: s.request(), Target: "functional-test", Limit: 1})
	if err != nil || len(limited.Revisions) != 1 || !limited.More {
		t.Errorf("with a limit: got %+v, %v", limited, err)
	}
	var unknown *deliver.UnknownTargetError
	if _, err := s.past().Revisions(t.Context(), deliver.PastRequest{Request: s.request(), Target: "functional"}); !errors.As(err, &unknown) || !strings.Contains(err.Error(), `did you mean "functional-test"`) {
		t.Errorf("an unknown target: got %v", err)
	}

	// What restores older files by hand is a revision with the same files.
	old := s.filesAt(shopGitOps, r.Revisions[2].Commit)
	restored := map[string]string{}
	for path, content := range old {
		if strings.HasPrefix(path, "functional-test/") || strings.HasPrefix(path, ".kalypso/functional-test/") {
			restored[path] = content
		}
	}
	s.Push(shopGitOps, "dev", restored)
	if again := s.revisions("dev", "functional-test"); again.Revisions[0].Same != r.Revisions[2].Commit || again.Revisions[0].Files != r.Revisions[2].Files {
		t.Errorf("got %+v, want the files of %s", again.Revisions[0], r.Revisions[2].Commit)
	}
}

func TestVersionsSayWhatMergedCommitsRendered(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.built("1.4.0")
	s.quiet()
	config := s.Push(shopConfigs, "dev", map[string]string{"functional-test/values.yaml": "replicas: 4\n"})
	s.quiet()
	past, err := s.past().Versions(t.Context(), deliver.PastRequest{Request: s.request(), Environment: "dev"})
	if err != nil || len(past.Versions) != 2 || past.More {
		t.Fatalf("got %+v, %v", past, err)
	}
	newest := past.Versions[0]
	if !newest.Current || newest.Configuration != config || newest.Targets != 1 || newest.Build.Version != "1.4.0" || newest.Commit != s.Head(shopGitOps, "dev") {
		t.Errorf("got %+v", newest)
	}
	for _, v := range past.Versions {
		if diff := cmp.Diff([]string{"functional-test"}, v.Changed); diff != "" {
			t.Errorf("%s: %s", v.Commit, diff)
		}
	}
	if _, err := s.past().Versions(t.Context(), deliver.PastRequest{Request: s.request(), Environment: "prod"}); err == nil || !strings.Contains(err.Error(), "not delivered there") {
		t.Errorf("an unknown environment: got %v", err)
	}
}

func TestServerAnswersHistories(t *testing.T) {
	t.Parallel()
	s, d := registeredShop(t)
	s.built("1.4.0")
	s.deliver(t, d)
	s.deliver(t, d)
	o := &query.Observer{Ledger: s.ledger, Fleet: d.flows.board, Histories: newHistories(d.flows), Now: func() time.Time { return s.now }}
	q := query.RevisionsQuery{ApplicationQuery: query.ApplicationQuery{Name: "shop"}, Environment: "dev", Target: "functional-test"}
	for range 2 { // the second answer is cached
		r, err := o.Revisions(t.Context(), q)
		if err != nil || len(r.Revisions) != 1 || r.Revisions[0].Build.Version != "1.4.0" || !r.Reports {
			t.Fatalf("got %+v, %v", r, err)
		}
	}
	versions, err := o.SolutionVersions(t.Context(), query.SolutionVersionsQuery{ApplicationQuery: q.ApplicationQuery, Environment: "dev"})
	if err != nil || len(versions.Versions) != 1 {
		t.Errorf("got %+v, %v", versions, err)
	}
	repository := ledger.CleanRepository(s.URL + "/" + shopGitOps)
	if err := s.ledger.RecordCommit(t.Context(), ledger.Commit{
		Repository: repository, Branch: "dev", SHA: s.Head(shopGitOps, "dev"), Kind: ledger.BranchApplication, Environment: "dev", Committed: s.now, Recorded: s.now,
		Versions: []ledger.Version{{Workload: "shop", Target: "functional-test", Environment: "dev", Path: "functional-test", Version: "1.4.0"}},
	}); err != nil {
		t.Fatal(err)
	}
	s.report()
	detail, err := o.TargetDetail(t.Context(), query.TargetQuery{Environment: "dev", Target: "shop-functional-test"})
	if err != nil || detail.Unread != "" || len(detail.Revisions.Revisions) != 1 || detail.Delivery == nil || detail.Delivery.Pin != nil {
		t.Fatalf("got %+v, %v", detail, err)
	}
	if r := detail.Reconcilers; len(r) != 1 || r[0].TargetRevision != detail.Revisions.Revisions[0].Commit {
		t.Errorf("the reconcilers are at %+v", r)
	}
	if past, err := o.TargetDetail(t.Context(), query.TargetQuery{Environment: "dev", Target: "shop-functional-test", AsOf: s.now.Add(-24 * time.Hour)}); err == nil {
		t.Errorf("before there was anything: got %+v", past)
	}
	for _, change := range []func(q *query.RevisionsQuery){
		func(q *query.RevisionsQuery) { q.Name = "other" }, func(q *query.RevisionsQuery) { q.Environment = "other" }, func(q *query.RevisionsQuery) { q.Target = "other" },
	} {
		wrong := q
		change(&wrong)
		if _, err := o.Revisions(t.Context(), wrong); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("%+v: got %v", wrong, err)
		}
	}
	o.Histories = nil
	if _, err := o.Revisions(t.Context(), q); !errors.Is(err, ledger.ErrInvalid) {
		t.Errorf("without Git: got %v", err)
	}
}

// filesAt returns the files of a commit.
func (s *shop) filesAt(repo, commit string) map[string]string {
	s.Helper()
	r, err := s.Client.Open(s.Context(), s.URL+"/"+repo)
	if err != nil {
		s.Fatal(err)
	}
	at, err := r.Resolve(s.Context(), "dev", commit)
	if err != nil {
		s.Fatal(err)
	}
	tree := r.Tree(at)
	entries, err := tree.Files(s.Context(), "")
	files := map[string]string{}
	for _, e := range entries {
		content, failed := tree.Read(s.Context(), e, 1<<20)
		err = errors.Join(err, failed)
		files[e.Path] = string(content)
	}
	if err != nil {
		s.Fatal(err)
	}
	return files
}
