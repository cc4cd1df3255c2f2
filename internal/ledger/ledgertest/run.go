package ledgertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Run runs the suite. open returns an empty ledger, which must stay open until its test ends.
func Run(t *testing.T, open func(t *testing.T) ledger.Ledger) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(t *testing.T, l ledger.Ledger)
	}{
		{"newest observation wins", newestObservationWins},
		{"at one instant the less favourable wins", lessFavourableWins},
		{"a repetition confirms", repetitionConfirms},
		{"late report splits what was confirmed", lateReportSplits},
		{"order of reports does not matter", orderDoesNotMatter},
		{"any order leads to the same state", anyOrderSameState},
		{"what is applied and its health are kept", healthIsKept},
		{"a million duplicates are one fact", duplicates},
		{"concurrent reports", concurrentReports},
		{"reports that cannot be stored", invalidReports},
		{"unknown cluster, repository and commit", unknownIsCorrelatedLater},
		{"pages of states", pages},
		{"all states are those of the pages", allStates},
		{"what is reported together is read together", readTogether},
		{"states by cluster, workload and state", filters},
		{"as of", asOf},
		{"transitions", transitions},
		{"heartbeats", heartbeats},
		{"silences", silences},
		{"late heartbeats", lateHeartbeats},
		{"silences of clusters that report to a service", silencesOfServices},
		{"silence after a reset", silenceAfterReset},
		{"silences by cluster, environment and time", silenceQueries},
		{"silences do not overlap", concurrentSilences},
		{"restoring", restoring},
		{"history of a source", stateHistory},
		{"registrations", registrations},
		{"clusters in natural order", naturalOrder},
		{"clusters that another one reports for", reportedBy},
		{"reset", reset},
		{"credentials", credentials},
		{"clocks", clocks},
		{"tokens", tokens},
		{"sessions", sessions},
		{"commits keep their content", commitContent},
		{"a commit wants much, and the next one little", largeCommits},
		{"the head moves back", headMovesBack},
		{"versions", versions},
		{"discrepancies", discrepancies},
		{"rings", rings},
		{"deployments and incidents", deployments},
		{"names", names},
		{"wanted", wanted},
		{"environments share a branch", sharedBranch},
		{"appearances", appearances},
		{"members", members},
		{"states of members", memberStates},
		{"registered", registered},
		{"commits of a time and steps of a kind", recordedBetween},
		{"promotions", promotions},
		{"spellings", spellings},
		{"changes", changes},
		{"audit", audit},
		{"messages", messages},
		{"claims of messages expire", claimsExpire},
		{"many messages wait", boundedOutbox},
		{"receivers come and go", subscriptions},
		{"concurrent claims", concurrentClaims},
		{"replicas share units", replicas},
		{"expired leases", expiredLeases},
		{"late writes are refused", lateWrites},
		{"a replica that works alone", aloneReplica},
		{"notes between replicas", notes},
		{"results and secrets", resultsAndSecrets},
		{"numbers grow", numbers},
		{"concurrent claims of units", concurrentUnits},
		{"the first token", firstToken},
		{"compaction keeps transitions", compaction},
		{"dropping keeps what was", dropping},
		{"the last revisions are kept", keeping},
		{"export and import", func(t *testing.T, l ledger.Ledger) { roundTrip(t, l, open(t)) }},
		{"cut exports are refused", func(t *testing.T, l ledger.Ledger) { cutExports(t, l, open(t)) }},
		{"identity", func(t *testing.T, l ledger.Ledger) { identity(t, l, open(t)) }},
		{"import refuses what it does not know", importRefuses},
		{"import reads the format before", importEarlier},
		{"names that are missing", missingNames},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

// start is the time at which all stories start.
var start = time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)

// at returns the time some minutes after the start.
func at(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }

// sha returns a commit hash.
func sha(n int) string { return fmt.Sprintf("%040x", n) }

const (
	platform = "https://git.example.com/platform-gitops"
	shop     = "https://git.example.com/shop-gitops"
)

// report returns the report of a cluster's reconciler that follows a folder of the platform branch prod.
func report(cluster string, minute, commit int, state ledger.State) ledger.Report {
	return ledger.Report{
		Reconciler: ledger.ReconcilerID{Cluster: cluster, Kind: "Kustomization", Namespace: "flux-system", Name: "platform"},
		Outcome: ledger.Outcome{
			Source:   ledger.Source{Repository: platform, Ref: "prod", Path: "large"},
			Revision: sha(commit), State: state, Message: fmt.Sprintf("%s at %d", state, commit),
		},
		Observed: at(minute), Received: at(minute + 1),
	}
}

// shopReport returns the report of a reconciler that follows a folder of the shop's branch prod.
func shopReport(cluster string, minute, commit int, state ledger.State) ledger.Report {
	r := report(cluster, minute, commit, state)
	r.Reconciler.Name = "shop"
	r.Source = ledger.Source{Repository: shop, Ref: "prod", Path: "east"}
	return r
}

func take(t *testing.T, l ledger.Ledger, reports ...ledger.Report) {
	t.Helper()
	if err := l.Report(t.Context(), reports...); err != nil {
		t.Fatal(err)
	}
}

// takeEach records reports one by one.
func takeEach(t *testing.T, l ledger.Ledger, reports ...ledger.Report) {
	t.Helper()
	for _, r := range reports {
		take(t, l, r)
	}
}

func states(t *testing.T, l ledger.Ledger, q ledger.StateQuery) []ledger.ReconcilerState {
	t.Helper()
	page, err := l.States(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return page.States
}

// story formats the history of a cluster's reconciler.
func story(t *testing.T, l ledger.Ledger, cluster string) []string {
	t.Helper()
	all, err := l.Transitions(t.Context(), ledger.TransitionQuery{Cluster: cluster})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, tr := range all {
		line := fmt.Sprintf("%s %s %d", tr.Reconciler.Name, tr.State, minute(tr.At))
		if !tr.Until.IsZero() {
			line += fmt.Sprintf("-%d", minute(tr.Until))
		}
		out = append(out, line)
	}
	return out
}

func minute(t time.Time) int { return int(t.Sub(start) / time.Minute) }

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
