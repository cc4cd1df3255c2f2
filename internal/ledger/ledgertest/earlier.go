package ledgertest

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Earlier checks a ledger that commit 33f1b606 wrote and that this version opened: everything is there, with the words of this version.
// Steps had other words then: entered, arrived, decided, shown, ordered and fulfilled; states of commits had other words, too, of which
// [EarlierStates] adds all, and steps without details had ” instead of JSON. phase is a query for the phases in the details of all steps, and empty an empty ledger of any kind.
func Earlier(t *testing.T, l, empty ledger.Ledger, db *sql.DB, phase string) {
	t.Helper()
	earlierSteps(t, l)
	earlierViews(t, db, phase)
	earlierStates(t, l)
	var lines, again bytes.Buffer
	must(t, ledger.Export(t.Context(), l, &lines))
	must(t, ledger.Import(t.Context(), empty, bytes.NewReader(lines.Bytes())))
	must(t, ledger.Export(t.Context(), empty, &again))
	equal(t, "export of what was imported", again.String(), lines.String())
}

// EarlierStates returns the statement that adds steps with all states of commits to that ledger, as that version stored them.
func EarlierStates() string {
	var rows []string
	for i, phase := range []string{"unknown", "empty", "promoted", "refused", "proposed", "deploying", "nobody", "verifying", "deployed", "failed", "aborted"} {
		rows = append(rows, fmt.Sprintf(`(%d, '{"phase": "%s","failure":"\"phase\":\"empty\""}')`, at(41+i).UnixMicro(), phase))
	}
	return `INSERT INTO promotion_step (promotion_id, at, kind, reason, by_whom, detail)
		SELECT p.id, ` + fmt.Sprint(at(52).UnixMicro()) + `, 'entered', 'its clusters are in other batches now', '', '' FROM promotion p
		WHERE p.environment = 'dev/canary' AND p.commit_sha = '` + sha(102) + `';
		INSERT INTO promotion_step (promotion_id, at, kind, reason, by_whom, detail)
		SELECT p.id, w.column1, 'decided', '', '', w.column2 FROM promotion p, (VALUES ` + strings.Join(rows, ", ") + `) AS w
		WHERE p.environment = 'dev' AND p.commit_sha = '` + sha(2) + `'`
}

func earlierSteps(t *testing.T, l ledger.Ledger) {
	t.Helper()
	steps, err := l.Steps(t.Context(), ledger.StepQuery{})
	must(t, err)
	var got []string
	for _, s := range steps {
		got = append(got, fmt.Sprintf("%d %s %s %s %s %s", minute(s.At), s.Environment, s.Commit[max(0, len(s.Commit)-3):], s.Kind, s.By, s.Detail))
	}
	one, two, first, second := sha(1), sha(2), sha(101), sha(102)
	states := []string{`52 dev/canary 066 emptied  `}
	for _, state := range []string{"takenBack", "failed", "good", "checking", "noClusters", "applying", "proposed", "rejected", "proposed", "outside", "unknown"} {
		states = append(states, fmt.Sprintf(`%d dev 002 stateChanged  {"phase":"%s","failure":"\"phase\":\"empty\""}`, 52-len(states), state))
	}
	equal(t, "steps", got, append(states, []string{
		`31 dev 007 stateChanged  {"phase":"noClusters","workspace":"team"}`,
		`30 dev 007 started  {"version":"1.4.0","workspace":"team"}`,
		`30 dev/canary 066 deployed  {"revision":"` + second + `"}`,
		`29 dev/canary 065 skipped ann `,
		`28 dev 002 aborted ann `,
		`27 dev * resumed ann `,
		`26 dev * paused ann `,
		`25 dev 002 withdrawn  `,
		`24 dev 002 stateChanged  {"failure":"large-02 fails","phase":"failed","since":"2026-03-02T10:23:00Z"}`,
		`23 dev 002 failed  {"failure":"large-02 fails","revision":"` + second + `"}`,
		`20 dev 002 published  {"revision":"` + second + `"}`,
		`20 dev 002 done  {"request":"1772446680000000"}`,
		`20 dev 002 started ann `,
		`18 dev 002 requested ann `,
		`17 dev 001 statusPosted  {"on":"` + one + `","status":"success"}`,
		`16 dev 001 deployed  {"revision":"` + first + `"}`,
		`15 dev 001 reviewed eve {"forge":"gitea","login":"eve","review":"approved"}`,
		`15 dev 001 bypassed ben {"check":"load"}`,
		`15 dev 001 approved ann {"check":"release"}`,
		`14 dev 001 ran  {"check":"load","job":"j1","succeeded":["large-01"]}`,
		`14 dev 001 verified  {"check":"smoke","result":"passed","revision":"` + first + `","value":"200"}`,
		`13 dev 001 verifying  {"check":"smoke","revision":"` + first + `"}`,
		`12 dev 001 stateChanged  {"phase":"applying","revision":"` + first + `","since":"2026-03-02T10:11:00Z"}`,
		`11 dev 001 statusPosted  {"on":"` + one + `","status":"pending"}`,
		`11 dev 001 published  {"revision":"` + first + `"}`,
		`10 dev 001 proposed  {"url":"https://git.example.com/control-plane/pulls/1"}`,
		`10 dev 001 started  `,
		`9 dev 001 stateChanged  {"candidate":"` + one + `","phase":"noClusters","since":"2026-03-02T10:09:00Z"}`,
	}...))
	last, err := l.Promotions(t.Context(), ledger.StepQuery{Commit: two})
	must(t, err)
	equal(t, "last step", last[0].Kind, "stateChanged")
}

func earlierViews(t *testing.T, db *sql.DB, phase string) {
	t.Helper()
	for query, want := range map[string]string{
		phase: "applying,applying,checking,failed,failed,good,noClusters,noClusters,noClusters,outside,proposed,proposed,rejected,takenBack,unknown,",
		`SELECT commit_sha || ' ' || built || ' ' || deployed FROM deployment WHERE control_plane <> '' AND deployed > 0`: fmt.Sprintf(
			"%s %d %d,", sha(1), at(10).UnixMicro(), at(16).UnixMicro()),
		`SELECT event FROM environment_history WHERE what = 'promotion' AND event IN ('started', 'entered') ORDER BY at`: "started,started,started,",
		`SELECT kind FROM current_promotion WHERE environment = 'dev/canary' ORDER BY kind`:                              "emptied,skipped,",
	} {
		rows, err := db.QueryContext(t.Context(), query)
		must(t, err)
		got := ""
		for rows.Next() {
			var text string
			must(t, rows.Scan(&text))
			got += text + ","
		}
		must(t, errors.Join(rows.Err(), rows.Close()))
		equal(t, query, got, want)
	}
}

func earlierStates(t *testing.T, l ledger.Ledger) {
	t.Helper()
	equal(t, "story of large-01", story(t, l, "large-01"), []string{"platform ready 21", "platform ready 11-21"})
	equal(t, "story of large-02", story(t, l, "large-02"), []string{"platform failed 22", "platform ready 12-22"})
	clusters, err := l.Clusters(t.Context(), ledger.ClusterQuery{Environment: "dev"})
	must(t, err)
	equal(t, "clusters", len(clusters), 2)
	equal(t, "last heard", minute(clusters[0].LastHeard), 40)
	head, err := l.Commit(t.Context(), platform, "dev", "")
	must(t, err)
	equal(t, "head", head.SHA, sha(102))
	if result, err := l.Result(t.Context(), "chain"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("result of a round: %s, %v; it has the phases of earlier versions", result, err)
	}
}
