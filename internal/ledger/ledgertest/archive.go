package ledgertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// manyFacts records runs with confirmations that are kept as facts, because other states came after or between.
func manyFacts(t *testing.T, l ledger.Ledger) {
	t.Helper()
	for _, name := range []string{"large-02", "large-01"} {
		takeEach(t, l, report(name, 10, 1, ledger.StateReady), report(name, 15, 1, ledger.StateReady), report(name, 20, 2, ledger.StateFailed),
			report(name, 30, 2, ledger.StateReady), report(name, 40, 2, ledger.StateReady), report(name, 35, 2, ledger.StateFailed),
			shopReport(name, 12, 1, ledger.StateReady), shopReport(name, 50, 1, ledger.StateReady), shopReport(name, 9, 1, ledger.StateReady))
	}
}

func compaction(t *testing.T, l ledger.Ledger) {
	manyFacts(t, l)
	before, states0 := story(t, l, "large-01"), states(t, l, ledger.StateQuery{})
	for _, want := range []int64{2, 0} { // the shop at minute 12 on each cluster, between 9 and 50
		removed, err := l.Compact(t.Context(), ledger.Compaction{Before: at(100)})
		must(t, err)
		equal(t, "removed", removed, want)
	}
	equal(t, "story", story(t, l, "large-01"), before)
	equal(t, "states", states(t, l, ledger.StateQuery{}), states0)
}

func dropping(t *testing.T, l ledger.Ledger) {
	manyFacts(t, l)
	states0 := states(t, l, ledger.StateQuery{})
	_, err := l.Compact(t.Context(), ledger.Compaction{Before: at(25), Drop: true})
	must(t, err)
	equal(t, "states", states(t, l, ledger.StateQuery{}), states0)
	equal(t, "story", story(t, l, "large-01"), []string{
		"platform ready 40", "platform failed 35-40", "platform ready 30-35", "platform failed 20-30", "platform ready 10-20", "shop ready 9",
	})
	was := states(t, l, ledger.StateQuery{Cluster: "large-01", Repository: platform, AsOf: at(26)})
	equal(t, "as of", was[0].State, ledger.StateFailed)
	// Deleted facts can be recorded again.
	take(t, l, report("large-01", 9, 1, ledger.StateReady), report("large-01", 60, 1, ledger.StateReady))
	equal(t, "state", states(t, l, ledger.StateQuery{Cluster: "large-01", Repository: platform})[0].Revision, sha(1))
}

// keeping is the rule that the last revisions of a reconciler are kept with all that happened to them, and the silences since then.
func keeping(t *testing.T, l ledger.Ledger) {
	const revisions = ledger.KeptRevisions + 5
	for n := range revisions {
		takeEach(t, l, report("large-01", 10*n, n+1, ledger.StateProgressing), report("large-01", 10*n+3, n+1, ledger.StateReady))
	}
	take(t, l, report("other", 1, 1, ledger.StateReady))
	heardAt(t, l, "other", 50)
	drop := func(before, transitions, silences int) {
		t.Helper()
		_, err := l.Compact(t.Context(), ledger.Compaction{Before: at(before), Drop: true})
		must(t, err)
		equal(t, "transitions", len(story(t, l, "large-01")), transitions)
		equal(t, "silences", len(silent(t, l, ledger.SilenceQuery{Cluster: "large-01"})), silences)
	}
	drop(23, 2*revisions-5, 2*revisions-1-4)                   // in force then: ready at the third revision
	drop(1000, 2*ledger.KeptRevisions, 2*ledger.KeptRevisions) // the first of these silences ends when that history begins
	drop(1000, 2*ledger.KeptRevisions, 2*ledger.KeptRevisions)
	equal(t, "silences of a cluster without a change", silent(t, l, ledger.SilenceQuery{Cluster: "other"}), []string{"other 2-50"})
}

// fill records facts of every kind.
func fill(t *testing.T, l ledger.Ledger) {
	t.Helper()
	record(t, l, 1, ledger.Assignment{ClusterType: "large", Target: "shop-east"})
	record(t, l, 2, ledger.Assignment{ClusterType: "small", Target: "shop-east"})
	record(t, l, 1)
	recordShop(t, l, 1, shopVersion("1.0", 0))
	manyFacts(t, l)
	heardAt(t, l, "silent", 70, 77)
	must(t, l.Register(t.Context(), ledger.Registration{
		Cluster: "large-01", Memberships: member("prod"), Labels: map[string]string{"a": "<b>"}, CredentialHash: "h", PublicKey: "k", At: at(1), By: "ann",
	}))
	must(t, l.Register(t.Context(), ledger.Registration{Cluster: "large-02", Memberships: member("prod"), ReportedBy: "large-01", At: at(2)}))
	must(t, l.NoteClock(t.Context(), ledger.Clock{Cluster: "large-01", From: at(60), Correction: -time.Hour, Noted: at(1)}))
	must(t, l.PutToken(t.Context(), ledger.Token{ID: "a", Hash: "h2", Role: "reader", Created: at(1)}))
	must(t, l.RecordStep(t.Context(), ledger.Step{PromotionID: ledger.PromotionID{Subject: "cp", Commit: "c", Environment: "dev"}, Kind: "promoted", At: at(3)}))
	must(t, l.RecordChange(t.Context(), ledger.ChangeEvent{Repository: platform, Number: 7, Kind: "opened", At: at(1)}))
	must(t, l.RecordAudit(t.Context(), ledger.AuditEntry{At: at(1), By: "ann", Action: "promote"}))
}

func roundTrip(t *testing.T, from, to ledger.Ledger) {
	fill(t, from)
	var lines, again bytes.Buffer
	must(t, ledger.Export(t.Context(), from, &lines))
	for range 2 { // the second time adds nothing
		must(t, ledger.Import(t.Context(), to, bytes.NewReader(lines.Bytes())))
	}
	must(t, ledger.Export(t.Context(), to, &again))
	equal(t, "export", strings.Split(again.String(), "\n"), strings.Split(lines.String(), "\n"))
	equal(t, "states", states(t, to, ledger.StateQuery{Cluster: "large-01"}), states(t, from, ledger.StateQuery{Cluster: "large-01"}))
	head, err := to.Commit(t.Context(), platform, "prod", "")
	must(t, err)
	equal(t, "head", head.SHA, sha(1))

	stop := errors.New("stop")
	if err := from.Entries(t.Context(), func(ledger.Entry) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v, want the error of yield", err)
	}
}

func importRefuses(t *testing.T, l ledger.Ledger) {
	const begin = "{\"export\":{\"format\":3}}\n"
	for name, text := range map[string]string{
		"no JSON":           begin + "hello",
		"unknown entry":     begin + `{"weather": {}}`,
		"nothing":           begin + `{}`,
		"invalid report":    begin + `{"report": {"state": "great"}}`,
		"an earlier format": `{"heartbeat":{"cluster":"early","at":"2026-11-02T11:00:00Z"}}`,
		"a newer format":    `{"export":{"format":4}}`,
	} {
		if err := ledger.Import(t.Context(), l, strings.NewReader(text)); !errors.Is(err, ledger.ErrInvalid) || !strings.Contains(err.Error(), "line") {
			t.Errorf("%s: got %v, want invalid, with the line", name, err)
		}
	}
}

// importEarlier is the rule that exports of the format before can be imported, with the states of this one, after the ledger they were made from
// was converted, too.
func importEarlier(t *testing.T, l ledger.Ledger) {
	export := func(format int, phases ...string) string {
		lines := []string{fmt.Sprintf(`{"export":{"format":%d}}`, format)}
		for i, phase := range phases {
			lines = append(lines, fmt.Sprintf(`{"step":{"subject":"cp","commit":"c","environment":"dev","kind":"stateChanged","at":%q,"detail":{"failure":"\"phase\":\"empty\"",%s}}}`,
				at(i).Format(time.RFC3339), phase))
		}
		lines = append(lines, fmt.Sprintf(`{"step":{"subject":"cp","commit":"c","environment":"dev","kind":"deployed","at":%q}}`, at(90).Format(time.RFC3339)))
		emptied := map[int]string{2: "started", 3: "emptied"}[format]
		lines = append(lines, fmt.Sprintf(`{"step":{"subject":"cp","commit":"c","environment":"dev/a.0","kind":%q,"reason":"its clusters are in other batches now","at":%q}}`,
			emptied, at(91).Format(time.RFC3339)))
		return strings.Join(append(lines, fmt.Sprintf(`{"end":{"facts":%d}}`, len(phases)+2)), "\n")
	}
	earlier := export(2, `"phase":"empty"`, `"phase": "refused"`, `"phase":"deploying"`, `"phase":"verifying"`, `"phase":"deployed"`, `"phase":"aborted"`, `"phase":"failed"`)
	now := export(3, `"phase":"outside"`, `"phase": "rejected"`, `"phase":"applying"`, `"phase":"checking"`, `"phase":"good"`, `"phase":"takenBack"`, `"phase":"failed"`)
	must(t, ledger.Import(t.Context(), l, strings.NewReader(earlier)))
	first := phases(t, l)
	equal(t, "phases", first, []string{"outside", "rejected", "applying", "checking", "good", "takenBack", "failed", "", ""})
	emptied, err := l.Steps(t.Context(), ledger.StepQuery{Kind: "emptied"})
	must(t, err)
	equal(t, "batches without clusters", len(emptied), 1)
	must(t, ledger.Import(t.Context(), l, strings.NewReader(now+"\n"+earlier)))
	equal(t, "phases", phases(t, l), first)
}

// phases returns the phase of each step, oldest first.
func phases(t *testing.T, l ledger.Ledger) (all []string) {
	t.Helper()
	steps, err := l.Steps(t.Context(), ledger.StepQuery{})
	must(t, err)
	for _, s := range slices.Backward(steps) {
		var d struct{ Phase string }
		if len(s.Detail) > 0 {
			must(t, json.Unmarshal(s.Detail, &d))
		}
		all = append(all, d.Phase)
	}
	return all
}

// cutExports is the rule that an export without one of its lines is refused: after any line, and in any line.
func cutExports(t *testing.T, l, to ledger.Ledger) {
	fill(t, l)
	var whole bytes.Buffer
	must(t, ledger.Export(t.Context(), l, &whole))
	must(t, ledger.CheckExport(bytes.NewReader(whole.Bytes())))
	must(t, ledger.CheckExport(bytes.NewReader(slices.Concat(whole.Bytes(), whole.Bytes()))))
	lines := strings.SplitAfter(strings.TrimSuffix(whole.String(), "\n"), "\n")
	for n := range lines {
		for what, text := range map[string]string{
			"until line":   strings.Join(lines[:n], ""),
			"without line": strings.Join(slices.Delete(slices.Clone(lines), n, n+1), ""),
		} {
			if err := ledger.CheckExport(strings.NewReader(text)); !errors.Is(err, ledger.ErrCut) && !errors.Is(err, ledger.ErrEarlierFormat) {
				t.Errorf("%s %d: got %v, want an error", what, n, err)
			}
		}
	}
	for n := range len(lines) - 1 {
		err := ledger.Import(t.Context(), to, strings.NewReader(strings.Join(lines[:n+1], "")))
		if !errors.Is(err, ledger.ErrCut) || !strings.HasSuffix(err.Error(), fmt.Sprintf("(added before: %d)", n)) {
			t.Errorf("import of %d facts: got %v, want that it is cut, and how many were added", n, err)
		}
	}
	if err := ledger.Export(t.Context(), l, fullDisk{}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("export to a full disk: got %v", err)
	}
}

// fullDisk is a file on a full disk.
type fullDisk struct{}

// Write returns the error of a full disk.
func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// identity is the rule that a ledger is told from others.
func identity(t *testing.T, l, other ledger.Ledger) {
	one, err := l.Identity(t.Context())
	must(t, err)
	again, err := l.Identity(t.Context())
	must(t, err)
	another, err := other.Identity(t.Context())
	must(t, err)
	if one == "" || one != again || one == another {
		t.Errorf("%q, then %q, and another ledger %q", one, again, another)
	}
}
