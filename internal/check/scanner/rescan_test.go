package scanner_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/check/scan"
	"github.com/kalypso-io/kalypso/internal/promote/verify"
)

// TestOldResultsAreRenewed checks that results expire as the scan requires, also after a restart, and that the
// previous result is shown while the scan runs again.
func TestOldResultsAreRenewed(t *testing.T) {
	w := newWorld(t)
	// From the second run on, the program finds a vulnerability.
	once, shop := w.scan(check.Images, "[ $(wc -l < $0) -lt 2 ] || { echo CVE-2026-1; exit 1; }"), images("registry.example/shop@"+digest("a"))
	daily := []check.Scan{once[0]}
	daily[0].RescanAfter = 24 * time.Hour
	s := w.process()
	for range 3 {
		if got := states(waitFor(s, daily, shop)); got != "passed" || w.counted() != 1 {
			t.Errorf("at first it says %s after %d runs", got, w.counted())
		}
		w.pass(7 * time.Hour)
	}
	s.Close()
	w.pass(4 * time.Hour)
	s = w.process()
	if got := states(s.Results(t.Context(), once, shop)); got != "passed" {
		t.Errorf("for a scan that is run once it says %s", got)
	}
	r := s.Results(t.Context(), daily, shop)[0]
	if r.State != scan.Passed || !r.Again || r.Reason != "scanned at 2026-05-04 12:00 UTC, and it is being scanned again" || scan.Combine([]scan.Result{r}) != scan.Running {
		t.Errorf("while it is scanned again: %+v", r)
	}
	if r = waitFor(s, daily, shop)[0]; r.State != scan.Found || r.Again || r.Output != "CVE-2026-1" {
		t.Errorf("in the end: %+v", r)
	}
	if got := states(s.Results(t.Context(), once, shop)); got != "found" || w.counted() != 2 {
		t.Errorf("for a scan that is run once it says %s after %d runs", got, w.counted())
	}
}

// TestRenewalsThatComeToNoEnd checks that a failed rescan keeps the previous
// result with its age, and is retried after a pause.
func TestRenewalsThatComeToNoEnd(t *testing.T) {
	w := newWorld(t)
	scans, shop := w.scan(check.Images, "[ $(wc -l < $0) -ne 2 ] || exit 7"), images("registry.example/shop@"+digest("a"))
	scans[0].RescanAfter = 24 * time.Hour
	s := w.process()
	waitFor(s, scans, shop)
	w.pass(25 * time.Hour)
	for range 2 {
		r := waitFor(s, scans, shop)[0]
		if r.State != scan.Passed || r.Again || !strings.HasPrefix(r.Reason, "scanned at 2026-05-04 12:00 UTC: unexpected exit code 7") ||
			!strings.HasSuffix(r.Reason, "it is run again from 2026-05-05 13:01 UTC") || scan.Combine([]scan.Result{r}) != scan.Passed {
			t.Errorf("got %+v", r)
		}
	}
	w.pass(time.Minute)
	if r := waitFor(s, scans, shop)[0]; r.State != scan.Passed || r.Reason != "" || w.counted() != 3 {
		t.Errorf("got %+v after %d runs", r, w.counted())
	}
}

// TestRenewalsThatCannotBegin checks that results stay if the program is
// no longer allowed, or records cannot be stored.
func TestRenewalsThatCannotBegin(t *testing.T) {
	for name, prevent := range map[string]func(w *world) *verify.Runner{
		"the program": func(w *world) *verify.Runner { return &verify.Runner{} },
		"the folder": func(w *world) *verify.Runner {
			if err := os.Mkdir(filepath.Join(w.records, lockOf(w)), 0o700); err != nil {
				w.Fatal(err)
			}
			return &verify.Runner{Programs: []string{"/bin/sh"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			scans, shop := w.scan(check.Images, "exit 1"), images("registry.example/shop@"+digest("a"))
			scans[0].RescanAfter = 24 * time.Hour
			waitFor(w.process(), scans, shop)
			w.pass(25 * time.Hour)
			s := w.process()
			s.Programs = prevent(w)
			for range 3 {
				if r := waitFor(s, scans, shop)[0]; r.State != scan.Found || !strings.HasPrefix(r.Reason, "scanned at 2026-05-04 12:00 UTC: ") {
					t.Errorf("got %+v", r)
				}
				w.pass(2 * time.Hour)
			}
			if w.counted() != 1 {
				t.Errorf("the program ran %d times", w.counted())
			}
		})
	}
}

// lockOf returns the name of the lock file of the only recorded scan.
func lockOf(w *world) string {
	records, err := filepath.Glob(filepath.Join(w.records, "*.json"))
	if err != nil || len(records) != 1 {
		w.Fatalf("records %v, %v", records, err)
	}
	return strings.TrimSuffix(filepath.Base(records[0]), ".json") + ".lock"
}
