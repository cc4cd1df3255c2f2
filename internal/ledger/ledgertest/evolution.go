package ledgertest

import (
	"fmt"
	"testing"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// evolved formats what the reconcilers that follow the platform branch ran, as "large-01 ready 1 10-20".
func evolved(t *testing.T, l ledger.Ledger, q ledger.StateHistoryQuery) []string {
	t.Helper()
	q.Repository, q.Ref = platform, "prod"
	all, err := l.StateHistory(t.Context(), q)
	must(t, err)
	var out []string
	for _, tr := range all {
		line := fmt.Sprintf("%s %s %s %d-", tr.Reconciler.Cluster, tr.State, tr.Revision[len(tr.Revision)-1:], minute(tr.At))
		if !tr.Until.IsZero() {
			line += fmt.Sprint(minute(tr.Until))
		}
		out = append(out, line)
	}
	return out
}

// stateHistory is the rule for what was in force in a time.
func stateHistory(t *testing.T, l ledger.Ledger) {
	moved := report("b", 30, 4, ledger.StateReady)
	moved.Source = ledger.Source{Repository: shop, Ref: "prod", Path: "large"}
	back := report("b", 50, 5, ledger.StateReady)
	other := report("c", 10, 1, ledger.StateReady)
	other.Source.Ref = "dev"
	takeEach(t, l, report("a", 10, 1, ledger.StateReady), report("a", 12, 1, ledger.StateReady), report("a", 20, 2, ledger.StateFailed),
		report("a", 25, 2, ledger.StateFailed), report("a", 30, 2, ledger.StateReady), report("a", 40, 2, ledger.StateReady),
		report("b", 10, 1, ledger.StateReady), moved, back, other)
	for name, test := range map[string]struct {
		q    ledger.StateHistoryQuery
		want []string
	}{
		"all": {ledger.StateHistoryQuery{}, []string{
			"a ready 1 10-20", "a failed 2 20-30", "a ready 2 30-", "b ready 1 10-30", "b ready 5 50-",
		}},
		"in force at the beginning": {ledger.StateHistoryQuery{From: at(15)}, []string{
			"a ready 1 10-20", "a failed 2 20-30", "a ready 2 30-", "b ready 1 10-30", "b ready 5 50-",
		}},
		"at the time of a change":  {ledger.StateHistoryQuery{From: at(20)}, []string{"a failed 2 20-30", "a ready 2 30-", "b ready 1 10-30", "b ready 5 50-"}},
		"among confirmations":      {ledger.StateHistoryQuery{From: at(45)}, []string{"a ready 2 30-", "b ready 5 50-"}},
		"until when, beyond To":    {ledger.StateHistoryQuery{From: at(11), To: at(19)}, []string{"a ready 1 10-20", "b ready 1 10-30"}},
		"what begins at To is not": {ledger.StateHistoryQuery{From: at(11), To: at(20)}, []string{"a ready 1 10-20", "b ready 1 10-30"}},
		"while it was away":        {ledger.StateHistoryQuery{From: at(35), To: at(36)}, []string{"a ready 2 30-"}},
		"before everything":        {ledger.StateHistoryQuery{To: at(10)}, nil},
	} {
		equal(t, name, evolved(t, l, test.q), test.want)
	}
	gone := report("a", 60, 0, ledger.StateFailed)
	gone.Source, gone.Revision = ledger.Source{}, ""
	take(t, l, gone)
	equal(t, "a reconciler that was removed", evolved(t, l, ledger.StateHistoryQuery{From: at(45)}), []string{"a ready 2 30-60", "b ready 5 50-"})
	must(t, l.Reset(t.Context(), "b", at(70)))
	equal(t, "a cluster that was reset", evolved(t, l, ledger.StateHistoryQuery{From: at(55)}), []string{"a ready 2 30-60", "b ready 5 50-70"})
	if _, err := l.StateHistory(t.Context(), ledger.StateHistoryQuery{Repository: platform}); err == nil {
		t.Error("without a ref: got no error")
	}
}
