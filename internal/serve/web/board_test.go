package web

import (
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

const boardPlane = "https://git.example.com/acme/control-plane"

// boardOf returns the board of so many applications and environments, of which every seventh application fails somewhere.
func boardOf(applications, environments int) fleetPage {
	var all []query.Environment
	good := comply.Counts{Counted: 800, Reached: 800}
	commit := strings.Repeat("1", 40)
	for e := range environments {
		all = append(all, query.Environment{
			Name: fmt.Sprintf("env-%02d", e), ControlPlane: boardPlane, Commit: commit, Title: "Move the west database", Phase: decide.Good,
			Gate: &query.Gate{Commit: commit, SourceCommit: commit, Counts: good}, Counts: query.EnvironmentCounts{Clusters: 800},
		})
	}
	var apps []query.Application
	for i := range applications {
		a := query.Application{Name: fmt.Sprintf("app-%03d", i), Workspace: "team", Subject: "https://git.example.com/acme/app", ControlPlane: boardPlane}
		for e := range environments {
			one := query.ApplicationEnvironment{
				Environment: all[e].Name, Build: &deliver.Build{Commit: commit, Version: "1.4.2"}, Phase: decide.Good,
				Gate: &query.Gate{Commit: commit, SourceCommit: commit, Counts: good},
			}
			if i%7 == 3 && e == 1 {
				one.Phase = decide.Failed
				one.Gate = &query.Gate{Commit: commit, SourceCommit: commit, Counts: comply.Counts{Counted: 800, Reached: 799, Failed: 1}, Causes: []comply.Cause{
					{State: comply.Broken, Count: 1, Clusters: []string{"edge-7"}, Reason: `ImagePullBackOff: shop/checkout:2.15.0 not found`},
				}}
			}
			a.Environments = append(a.Environments, one)
		}
		apps = append(apps, a)
	}
	s := &site{Pages: &Pages{}}
	q := &pageRequest{Request: httptest.NewRequest("GET", "/", nil), observer: &query.Observer{}}
	return fleetPage{Boards: s.boardsOf(q, all, apps, nil)}
}

func TestBoardFoldsWhatIsQuiet(t *testing.T) {
	b := boardOf(30, 3).Boards[0]
	if b.Failed != 4 || len(b.Rows) != 5 || len(b.Quiet) != 26 || b.Total != 31 {
		t.Fatalf("%d failed, %d rows, %d quiet of %d", b.Failed, len(b.Rows), len(b.Quiet), b.Total)
	}
	if b.Rows[0].Name != "Platform" || b.Rows[1].Name != "app-003" {
		t.Errorf("the first rows are %s and %s", b.Rows[0].Name, b.Rows[1].Name)
	}
	if c := b.Rows[1].Cells[1]; c.Tone != bad || c.Why != "image not found" {
		t.Errorf("the cell is %s: %s", c.Tone, c.Why)
	}
	if all := boardOf(3, 2).Boards[0]; len(all.Quiet) > 0 {
		t.Error("a few quiet rows are folded")
	}
}

// TestBriefReasons: what tools say at length becomes a few words; what is short stays.
func TestBriefReasons(t *testing.T) {
	for reason, want := range map[string]string{
		`one or more objects failed to apply (dry run), reason: admission webhook "simulated.kalypso.io" denied the request: no`:  "simulated.kalypso.io denied the request",
		"Deployment/shop: Back-off pulling image: ErrImagePull":                                                                   "image not found",
		"dial tcp: lookup git.example.com: no such host":                                                                          "a server cannot be reached",
		"1830496 waits for its pull request to be merged (https://git.example.com/1)":                                             "waits for its pull request to be merged",
		"1830496 waits for its pull request to be merged (https://git.example.com/1); 34a62ed waits: 1830496 is being rolled out": "waits for its pull request to be merged",

		"it has to run in dev first": "it has to run in dev first",
		strings.Repeat("long ", 40):  strings.Repeat("long ", 12) + "lon…",
		"":                           "",
	} {
		if got := brief(reason); got != want {
			t.Errorf("%.60q: got %q, want %q", reason, got, want)
		}
	}
}

// BenchmarkBoard renders the first page with 200 applications in 12 environments, and measures the size of the response.
func BenchmarkBoard(b *testing.B) {
	all := parse(&Pages{Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: func() time.Time { return time.Unix(0, 0) }})
	size := 0
	for b.Loop() {
		main, err := all.main("fleet", body{Page: boardOf(200, 12)})
		if err != nil {
			b.Fatal(err)
		}
		size = len(zipped(main))
	}
	b.ReportMetric(float64(size), "bytes-sent")
}
