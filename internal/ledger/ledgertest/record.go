package ledgertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/text/natural"
)

func heartbeats(t *testing.T, l ledger.Ledger) {
	must(t, l.Heard(t.Context(), "large-01", at(5)))
	must(t, l.Heard(t.Context(), "large-01", at(3)))
	all, err := l.Clusters(t.Context(), ledger.ClusterQuery{Name: "large-01"})
	must(t, err)
	equal(t, "clusters", all, []ledger.Cluster{{Name: "large-01", LastHeard: at(5)}})
}

func member(environment string) []ledger.Membership {
	return []ledger.Membership{{Environment: environment, ClusterType: "large"}}
}

// naturalOrder: pages in natural order add up to all clusters, of the ledger, an environment or a cluster type.
func naturalOrder(t *testing.T, l ledger.Ledger) {
	// More names than are searched at once. Only every eighth cluster is registered, because each registration is a transaction.
	var reports []ledger.Report
	for n := range 1100 {
		reports = append(reports, report(fmt.Sprintf("c%d", n*7%1100), 3, 1, ledger.StateReady))
	}
	take(t, l, reports...)
	for n := 0; n < 1100; n += 8 {
		memberships := []ledger.Membership{{Environment: "prod", ClusterType: []string{"large", "small"}[n/8%2]}}
		if n%5 == 0 {
			memberships = append(memberships, ledger.Membership{Environment: "dev", ClusterType: "small"})
		}
		must(t, l.Register(t.Context(), ledger.Registration{Cluster: fmt.Sprintf("c%d", n*7%1100), Memberships: memberships, At: at(1)}))
	}
	must(t, l.Register(t.Context(), ledger.Registration{Cluster: "c7", Revoked: true, At: at(2)}))
	take(t, l, report("c007", 3, 1, ledger.StateReady), report("b", 3, 1, ledger.StateReady))
	for _, q := range []ledger.ClusterQuery{
		{}, {Environment: "dev"}, {Environment: "prod"}, {Environment: "prod", ClusterType: "small"}, {ClusterType: "small"}, {Name: "c12"}, {Environment: "prod", AsOf: at(1)}, {Environment: "prod", AsOf: at(0)},
	} {
		want, err := l.Clusters(t.Context(), q)
		must(t, err)
		slices.SortFunc(want, func(a, b ledger.Cluster) int { return natural.Compare(a.Name, b.Name) })
		q.Natural = true
		for _, q.Limit = range []int{0, 17, 100} {
			var got []ledger.Cluster
			for q.After = ""; ; {
				page, err := l.Clusters(t.Context(), q)
				must(t, err)
				got = append(got, page...)
				if q.Limit == 0 || len(page) < q.Limit {
					break
				}
				q.After = natural.Key(page[len(page)-1].Name)
			}
			equal(t, fmt.Sprintf("%+v", q), got, want)
		}
	}
	must(t, l.Register(t.Context(), ledger.Registration{Cluster: "a", At: at(4)}))
	first, err := l.Clusters(t.Context(), ledger.ClusterQuery{Natural: true, Limit: 1})
	must(t, err)
	equal(t, "a new cluster", first[0].Name, "a")
}

func registrations(t *testing.T, l ledger.Ledger) {
	both := append(member("dev"), member("stage")...)
	second := ledger.Registration{Cluster: "large-01", Memberships: member("prod"), At: at(20), By: "ann"}
	first := ledger.Registration{Cluster: "large-01", Memberships: both, Labels: map[string]string{"region": "west"}, At: at(10)}
	// The later one arrives first, and twice. Only times matter.
	for _, r := range []ledger.Registration{second, first, second} {
		must(t, l.Register(t.Context(), r))
	}
	must(t, l.Register(t.Context(), ledger.Registration{Cluster: "small-01", Memberships: []ledger.Membership{{Environment: "prod", ClusterType: "small"}}, At: at(10)}))
	all, err := l.Registrations(t.Context(), "large-01")
	must(t, err)
	equal(t, "registrations", all, []ledger.Registration{first, second})

	for _, tc := range []struct {
		q    ledger.ClusterQuery
		want []string
	}{
		{ledger.ClusterQuery{}, []string{"large-01", "small-01"}},
		{ledger.ClusterQuery{After: "large-01"}, []string{"small-01"}},
		{ledger.ClusterQuery{Limit: 1}, []string{"large-01"}},
		{ledger.ClusterQuery{Environment: "prod"}, []string{"large-01", "small-01"}},
		{ledger.ClusterQuery{Environment: "prod", ClusterType: "small"}, []string{"small-01"}},
		{ledger.ClusterQuery{Environment: "dev"}, nil},
		{ledger.ClusterQuery{Environment: "dev", AsOf: at(15)}, []string{"large-01"}},
		{ledger.ClusterQuery{Environment: "dev", AsOf: at(5)}, nil},
	} {
		clusters, err := l.Clusters(t.Context(), tc.q)
		must(t, err)
		var got []string
		for _, c := range clusters {
			got = append(got, c.Name)
		}
		equal(t, "clusters", got, tc.want)
	}

	must(t, l.Register(t.Context(), ledger.Registration{Cluster: "large-01", Memberships: member("prod"), At: at(30), Revoked: true}))
	clusters, err := l.Clusters(t.Context(), ledger.ClusterQuery{Environment: "prod"})
	must(t, err)
	equal(t, "members after revocation", len(clusters), 1)
	clusters, err = l.Clusters(t.Context(), ledger.ClusterQuery{Name: "large-01"})
	must(t, err)
	equal(t, "registered", clusters[0].Registered, false)
	equal(t, "revoked", clusters[0].Registration.Revoked, true)
}

// reportedBy is the rule that the registration in force decides alone who reports for a cluster.
func reportedBy(t *testing.T, l ledger.Ledger) {
	must(t, l.Register(t.Context(), ledger.Registration{Cluster: "hub", CredentialHash: "h", At: at(0)}))
	for i, r := range []ledger.Registration{
		{Cluster: "spoke-01", ReportedBy: "hub"},
		{Cluster: "spoke-02", ReportedBy: "hub"},
		{Cluster: "spoke-03", ReportedBy: "other"},
		{Cluster: "spoke-01"},
		{Cluster: "spoke-04", ReportedBy: "hub"},
		{Cluster: "spoke-04", ReportedBy: "hub", Revoked: true},
	} {
		r.At = at(i)
		must(t, l.Register(t.Context(), r))
	}
	named := func(q ledger.ClusterQuery) (names []string) {
		clusters, err := l.Clusters(t.Context(), q)
		must(t, err)
		for _, c := range clusters {
			names = append(names, c.Name)
		}
		return names
	}
	equal(t, "reported by the hub", named(ledger.ClusterQuery{ReportedBy: "hub"}), []string{"spoke-02"})
	equal(t, "then", named(ledger.ClusterQuery{ReportedBy: "hub", AsOf: at(2)}), []string{"spoke-01", "spoke-02"})
	equal(t, "one of them", named(ledger.ClusterQuery{ReportedBy: "hub", Name: "spoke-03"}), []string(nil))
	all, err := l.Registrations(t.Context(), "spoke-01")
	must(t, err)
	equal(t, "registrations", []string{all[0].ReportedBy, all[1].ReportedBy}, []string{"hub", ""})
}

// reset is the rule that what was reported in the future can be cleared, so that the truth counts again.
func reset(t *testing.T, l ledger.Ledger) {
	recordShop(t, l, 1, shopVersion("1.0", 0))
	take(t, l, shopReport("large-01", 3, 1, ledger.StateReady), shopReport("large-02", 3, 1, ledger.StateReady))
	take(t, l, shopReport("large-01", 9000, 1, ledger.StateReady))
	must(t, l.NoteClock(t.Context(), ledger.Clock{Cluster: "large-01", From: at(0), Correction: time.Hour, Noted: at(1)}))
	take(t, l, shopReport("large-01", 5, 2, ledger.StateFailed))
	equal(t, "states before", len(states(t, l, ledger.StateQuery{Cluster: "large-01"})), 1)

	must(t, l.Reset(t.Context(), "large-01", at(6)))
	must(t, l.Reset(t.Context(), "unknown", at(6)))
	equal(t, "states", len(states(t, l, ledger.StateQuery{Cluster: "large-01"})), 0)
	equal(t, "states of the other", len(states(t, l, ledger.StateQuery{Cluster: "large-02"})), 1)
	equal(t, "history", story(t, l, "large-01"), []string{"shop failed 5", "shop ready 3-5"})
	clocks, err := l.Clocks(t.Context(), "large-01")
	must(t, err)
	equal(t, "clocks", len(clocks), 0)
	all, err := l.Versions(t.Context(), ledger.VersionQuery{Environment: "prod"})
	must(t, err)
	equal(t, "reconcilers that run the version", all[0].Reconcilers, 1)

	take(t, l, shopReport("large-01", 7, 2, ledger.StateFailed))
	equal(t, "state", states(t, l, ledger.StateQuery{Cluster: "large-01"})[0].State, ledger.StateFailed)
}

func credentials(t *testing.T, l ledger.Ledger) {
	register := func(hash string, minute int, revoked bool) {
		must(t, l.Register(t.Context(), ledger.Registration{Cluster: "large-01", CredentialHash: hash, At: at(minute), Revoked: revoked}))
	}
	known := func(hash string, want bool) {
		t.Helper()
		c, err := l.ClusterByCredential(t.Context(), hash)
		if want && (err != nil || c.Name != "large-01") || !want && !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("%q: got %q, %v, want known=%v", hash, c.Name, err, want)
		}
	}
	register("one", 1, false)
	known("one", true)
	known("", false)
	register("two", 2, false)
	known("one", false)
	known("two", true)
	register("two", 3, true)
	known("two", false)
}

func clocks(t *testing.T, l ledger.Ledger) {
	note := func(minute int) ledger.Clock {
		c := ledger.Clock{Cluster: "large-01", From: at(minute), Correction: time.Duration(minute) * time.Minute, Noted: at(minute)}
		must(t, l.NoteClock(t.Context(), c))
		return c
	}
	got, err := l.Clocks(t.Context(), "large-01")
	must(t, err)
	equal(t, "never wrong", len(got), 0)
	first, second := note(-5), note(7)
	must(t, l.NoteClock(t.Context(), ledger.Clock{Cluster: "large-01", From: at(1), Noted: second.Noted}))
	must(t, l.NoteClock(t.Context(), ledger.Clock{Cluster: "other", Noted: at(9)}))
	got, err = l.Clocks(t.Context(), "large-01")
	must(t, err)
	equal(t, "clocks", got, []ledger.Clock{second, first})
	for minute := range 2 * ledger.KeptClocks {
		note(minute + 10)
	}
	got, err = l.Clocks(t.Context(), "large-01")
	must(t, err)
	equal(t, "kept", len(got), ledger.KeptClocks)
	equal(t, "last", got[0].Noted, at(2*ledger.KeptClocks+9))
}

func sessions(t *testing.T, l ledger.Ledger) {
	for _, until := range []int{20, 30} { // the second call changes nothing
		must(t, l.EndSession(t.Context(), "one", at(until)))
	}
	must(t, l.EndSession(t.Context(), "two", at(40)))
	ended := func(when string, want string) {
		t.Helper()
		got := ""
		for _, name := range []string{"one", "two", "three"} {
			over, err := l.SessionEnded(t.Context(), name)
			must(t, err)
			if over {
				got += name + " "
			}
		}
		equal(t, when, got, want)
	}
	ended("ended", "one two ")
	_, err := l.Compact(t.Context(), ledger.Compaction{Before: at(21)})
	must(t, err)
	ended("after one would have ended by itself", "two ")
}

func tokens(t *testing.T, l ledger.Ledger) {
	token := ledger.Token{ID: "b", Hash: "h1", Role: "join", Scope: "prod", Created: at(1), Expires: at(90)}
	must(t, l.PutToken(t.Context(), token))
	must(t, l.PutToken(t.Context(), ledger.Token{ID: "a", Hash: "h2", Role: "reader", Created: at(1)}))
	token.Hash, token.Revoked = "h3", at(5)
	must(t, l.PutToken(t.Context(), token))
	all, err := l.Tokens(t.Context())
	must(t, err)
	equal(t, "tokens", len(all), 2)
	equal(t, "second", all[1], token)
	got, err := l.TokenByHash(t.Context(), "h3")
	must(t, err)
	equal(t, "by hash", got, token)
	if _, err := l.TokenByHash(t.Context(), "h1"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("rotated: got %v, want not found", err)
	}
}

func commitContent(t *testing.T, l ledger.Ledger) {
	a := ledger.Assignment{ClusterType: "large", Target: "shop-east", Workload: "shop", Workspace: "sales"}
	b := ledger.Assignment{ClusterType: "small", Target: "shop-east", Workload: "shop", Workspace: "sales"}
	record(t, l, 1, a)
	record(t, l, 2, a, b)
	record(t, l, 3, b)
	record(t, l, 4, b, a)
	record(t, l, 2) // already known: the content stays
	for commit, want := range map[int][]ledger.Assignment{1: {a}, 2: {a, b}, 3: {b}, 4: {a, b}} {
		c, err := l.Commit(t.Context(), platform, "prod", sha(commit))
		must(t, err)
		equal(t, "assignments", c.Assignments, want)
		equal(t, "source", c.SourceCommit, sha(commit+1000))
		equal(t, "committed", c.Committed, at(commit))
	}
	if _, err := l.Commit(t.Context(), platform, "prod", sha(9)); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("unknown commit: got %v, want not found", err)
	}
	recordShop(t, l, 1, shopVersion("1.0", 0))
	c, err := l.Commit(t.Context(), shop, "prod", "")
	must(t, err)
	want := shopVersion("1.0", 0)
	want.Path = "east"
	equal(t, "versions", c.Versions, []ledger.Version{want})
	all, err := l.Commits(t.Context(), ledger.CommitQuery{Environment: "prod", Kind: ledger.BranchPlatform, Limit: 2})
	must(t, err)
	equal(t, "commits", []string{all[0].SHA, all[1].SHA}, []string{sha(4), sha(3)})
}

// largeCommits adds and removes more assignments than fit into one statement of any database.
func largeCommits(t *testing.T, l ledger.Ledger) {
	var many []ledger.Assignment
	for i := range 1700 {
		many = append(many, ledger.Assignment{ClusterType: "large", Target: fmt.Sprintf("shop-%04d", i), Workload: "shop"})
	}
	record(t, l, 1, many...)
	record(t, l, 2, many[1500:]...)
	record(t, l, 3)
	for commit, want := range map[int][]ledger.Assignment{1: many, 2: many[1500:], 3: nil} {
		c, err := l.Commit(t.Context(), platform, "prod", sha(commit))
		must(t, err)
		equal(t, "assignments", c.Assignments, want)
	}
}

func headMovesBack(t *testing.T, l ledger.Ledger) {
	for _, commit := range []int{1, 2, 1} {
		record(t, l, commit)
	}
	c, err := l.Commit(t.Context(), platform, "prod", "")
	must(t, err)
	equal(t, "head", c.SHA, sha(1))
}

func promotions(t *testing.T, l ledger.Ledger) {
	step := func(commit int, environment, kind string, minute int) ledger.Step {
		return ledger.Step{
			PromotionID: ledger.PromotionID{Subject: "cp", Commit: sha(commit), Environment: environment},
			Kind:        kind, Reason: "because", By: "ann", At: at(minute), Detail: json.RawMessage(`{"clusters": 3}`),
		}
	}
	first, second, other := step(1, "dev", "promoted", 1), step(1, "dev", "deployed", 2), step(2, "stage", "promoted", 3)
	for _, s := range []ledger.Step{first, other, second, first} {
		must(t, l.RecordStep(t.Context(), s))
	}
	all, err := l.Steps(t.Context(), ledger.StepQuery{Subject: "cp", From: at(1), To: at(9)})
	must(t, err)
	equal(t, "steps", all, []ledger.Step{other, second, first})
	all, err = l.Steps(t.Context(), ledger.StepQuery{From: at(2), To: at(3)})
	must(t, err)
	equal(t, "steps of a time", all, []ledger.Step{second})
	all, err = l.Steps(t.Context(), ledger.StepQuery{Commit: sha(1), Limit: 1})
	must(t, err)
	equal(t, "the last step of a commit", all, []ledger.Step{second})
	all, err = l.Promotions(t.Context(), ledger.StepQuery{Environment: "dev"})
	must(t, err)
	equal(t, "promotions", all, []ledger.Step{second})

	ring, batch, later := step(3, "dev/early", "started", 4), step(3, "dev/early.01", "started", 5), step(3, "dev/early-2", "started", 6)
	for _, s := range []ledger.Step{ring, batch, later, step(3, "dev-2", "started", 7)} {
		must(t, l.RecordStep(t.Context(), s))
	}
	for environment, want := range map[string][]ledger.Step{
		"dev": {later, batch, ring, second, first}, "dev/early": {batch, ring}, "dev/early-2": {later}, "dev/early.01": {batch},
	} {
		all, err = l.Steps(t.Context(), ledger.StepQuery{Environment: environment, Parts: true})
		must(t, err)
		equal(t, "steps with those of the parts of "+environment, all, want)
	}
}

// spellings is the rule that a repository is the same however its URL is written.
func spellings(t *testing.T, l ledger.Ledger) {
	const stored = "https://git.example.com/team/fleet"
	step := ledger.Step{PromotionID: ledger.PromotionID{Subject: stored + ".git#shop", Commit: sha(1), Environment: "dev"}, Kind: "deployed", At: at(1)}
	must(t, l.RecordStep(t.Context(), step))
	step.Subject = stored + "#shop"
	must(t, l.RecordCommit(t.Context(), ledger.Commit{
		Repository: "git@git.example.com:team/fleet.git", Branch: "dev", Kind: ledger.BranchPlatform, Environment: "dev", SHA: sha(1), Recorded: at(1),
	}))
	change := ledger.ChangeEvent{Repository: "http://user:secret@git.example.com/team/fleet/", Number: 1, Kind: "opened", At: at(1)}
	must(t, l.RecordChange(t.Context(), change))
	change.Repository = stored
	for _, url := range []string{stored, "http://git.example.com/team/fleet.git", "ssh://git@GIT.example.com:22/team/fleet/"} {
		steps, err := l.Steps(t.Context(), ledger.StepQuery{Subject: url + "#shop"})
		must(t, err)
		equal(t, "steps of "+url, steps, []ledger.Step{step})
		steps, err = l.Promotions(t.Context(), ledger.StepQuery{Subject: url + "#shop"})
		must(t, err)
		equal(t, "promotions of "+url, steps, []ledger.Step{step})
		head, err := l.Commit(t.Context(), url, "dev", "")
		must(t, err)
		equal(t, "repository of the head of "+url, head.Repository, stored)
		commits, err := l.Commits(t.Context(), ledger.CommitQuery{Repository: url})
		must(t, err)
		equal(t, "commits of "+url, len(commits), 1)
		changes, err := l.ChangeEvents(t.Context(), ledger.ChangeQuery{Repository: url})
		must(t, err)
		equal(t, "changes of "+url, changes, []ledger.ChangeEvent{change})
	}
}

func changes(t *testing.T, l ledger.Ledger) {
	opened := ledger.ChangeEvent{Repository: platform, Number: 7, Kind: "opened", Branch: "prod", Title: "Deploy", URL: "u", By: "bot", At: at(1)}
	merged := opened
	merged.Kind, merged.At, merged.Commit = "merged", at(5), sha(1)
	for _, e := range []ledger.ChangeEvent{merged, opened, merged} {
		must(t, l.RecordChange(t.Context(), e))
	}
	all, err := l.ChangeEvents(t.Context(), ledger.ChangeQuery{Repository: platform, Number: 7, Branch: "prod"})
	must(t, err)
	equal(t, "events", all, []ledger.ChangeEvent{merged, opened})
	all, err = l.ChangeEvents(t.Context(), ledger.ChangeQuery{From: at(1), To: at(5)})
	must(t, err)
	equal(t, "events of a time", all, []ledger.ChangeEvent{opened})
	all, err = l.ChangeEvents(t.Context(), ledger.ChangeQuery{Branch: "dev"})
	must(t, err)
	equal(t, "events of another branch", all, []ledger.ChangeEvent(nil))
}

func audit(t *testing.T, l ledger.Ledger) {
	e := ledger.AuditEntry{At: at(1), By: "ann", Action: "promote", Subject: "prod", Detail: "commit", Address: "127.0.0.1"}
	other := ledger.AuditEntry{At: at(2), By: "bob", Action: "pause"}
	for _, entry := range []ledger.AuditEntry{e, other, e} {
		must(t, l.RecordAudit(t.Context(), entry))
	}
	all, err := l.AuditEntries(t.Context(), ledger.AuditQuery{})
	must(t, err)
	equal(t, "entries", all, []ledger.AuditEntry{other, e})
	all, err = l.AuditEntries(t.Context(), ledger.AuditQuery{By: "ann", From: at(1), To: at(2)})
	must(t, err)
	equal(t, "ann's", all, []ledger.AuditEntry{e})
}

func missingNames(t *testing.T, l ledger.Ledger) {
	for name, err := range map[string]error{
		"registration": l.Register(t.Context(), ledger.Registration{}),
		"membership":   l.Register(t.Context(), ledger.Registration{Cluster: "c", Memberships: []ledger.Membership{{}}}),
		"heartbeat":    l.Heard(t.Context(), "", at(1)),
		"commit":       l.RecordCommit(t.Context(), ledger.Commit{}),
		"kind":         l.RecordCommit(t.Context(), ledger.Commit{Repository: "r", Branch: "b", SHA: "s"}),
		"step":         l.RecordStep(t.Context(), ledger.Step{}),
		"change":       l.RecordChange(t.Context(), ledger.ChangeEvent{}),
		"audit":        l.RecordAudit(t.Context(), ledger.AuditEntry{}),
		"token":        l.PutToken(t.Context(), ledger.Token{}),
		"session":      l.EndSession(t.Context(), "", at(1)),
		"text":         l.RecordAudit(t.Context(), ledger.AuditEntry{Action: "x", Detail: "\x00"}),
	} {
		if !errors.Is(err, ledger.ErrInvalid) {
			t.Errorf("%s: got %v, want invalid", name, err)
		}
	}
}
