package scanner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/check/scan"
	"github.com/kalypso-io/kalypso/internal/check/scan/folder"
	"github.com/kalypso-io/kalypso/internal/check/scanner"
	"github.com/kalypso-io/kalypso/internal/promote/verify"
)

// world has a folder of records, a registry, a clock, and programs that record their runs.
type world struct {
	*testing.T
	records string
	// runs is the file in which programs record their runs.
	runs string

	mu   sync.Mutex
	now  time.Time
	tags map[string]string
	down bool
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, records: t.TempDir(), runs: filepath.Join(t.TempDir(), "runs"), now: time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)}
	w.tags = map[string]string{"registry.example/shop:1.4.0": digest("a"), "registry.example/shop:1.4": digest("a"), "registry.example/worker:1.4.0": digest("b")}
	return w
}

func digest(of string) string { return "sha256:" + strings.Repeat(of, 64) }

// Digest implements [scanner.Images].
func (w *world) Digest(_ context.Context, image chart.Image) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down || w.tags[image.String()] == "" {
		return "", errors.New("no such image at https://user:hunter2@registry.example")
	}
	return w.tags[image.String()], nil
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// process returns the scanner of one process.
func (w *world) process() *scanner.Scanner {
	w.Helper()
	store, err := folder.New(w.records)
	if err != nil {
		w.Fatal(err)
	}
	s := &scanner.Scanner{
		Store: store, Images: w, Programs: &verify.Runner{Programs: []string{"/bin/sh"}, Temp: w.TempDir()},
		Now: func() time.Time {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.now
		},
	}
	w.Cleanup(s.Close)
	return s
}

// scan returns a scan that runs a script. It gets the reference as $1, the digest as $2, the folder as $3, and the
// file for its runs as $0.
func (w *world) scan(what check.Subject, script string) []check.Scan {
	args := []string{"sh", "-c", "echo $2 >> $0; " + script, w.runs, "{reference}", "{digest}"}
	if what == check.Charts {
		args = append(args, "{path}")
	}
	return []check.Scan{{Name: "counting", What: what, Args: args, Timeout: 100 * time.Second, Level: check.Refuse}}
}

// counted returns how often programs ran.
func (w *world) counted() int {
	text, _ := os.ReadFile(w.runs)
	return strings.Count(string(text), "\n")
}

func images(references ...string) []scan.Artifact {
	var all []scan.Artifact
	for _, r := range references {
		all = append(all, scan.Artifact{What: check.Images, Reference: r})
	}
	return all
}

func waitFor(s *scanner.Scanner, scans []check.Scan, artifacts []scan.Artifact) []scan.Result {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	return scanner.Waiting{Scanner: s}.Results(ctx, scans, artifacts)
}

func states(results []scan.Result) string {
	var all []string
	for _, r := range results {
		all = append(all, string(r.State))
	}
	return strings.Join(all, " ")
}

// TestEachDigestIsScannedOnce covers several tags, rounds, concurrent processes and restarts.
func TestEachDigestIsScannedOnce(t *testing.T) {
	w := newWorld(t)
	scans := w.scan(check.Images, "sleep 0.2")
	all := images("registry.example/shop:1.4.0", "registry.example/shop:1.4", "registry.example/worker:1.4.0", "registry.example/other@"+digest("a"))
	processes := []*scanner.Scanner{w.process()}
	if got := states(processes[0].Results(t.Context(), scans, all)); got != "running running running running" {
		t.Errorf("a lookup without a waiting client returned %s", got)
	}
	var wait sync.WaitGroup
	for range 3 {
		s := w.process()
		processes = append(processes, s)
		for range 3 {
			wait.Go(func() {
				if got := states(waitFor(s, scans, all)); got != "passed passed passed passed" {
					t.Errorf("got %s", got)
				}
			})
		}
	}
	wait.Wait()
	for _, s := range processes {
		s.Close() // a record may still be in use for a moment
	}
	for range 3 {
		s := w.process()
		if got := states(waitFor(s, scans, all)); got != "passed passed passed passed" {
			t.Errorf("after a restart: %s", got)
		}
		s.Close()
		w.pass(time.Hour)
	}
	if w.counted() != 2 {
		t.Errorf("the program ran %d times for 2 digests", w.counted())
	}
	files, err := os.ReadDir(w.records)
	if err != nil || len(files) != 2 {
		t.Errorf("left %v, %v", files, err)
	}
}

func TestWhatScansFind(t *testing.T) {
	// Made up, and split so that secret scanners do not report this file.
	const token = "ghp_" + "q7Zt3LmX9vBc2NkR8sWyD4fGh6JpE1uA0iTo"
	for name, tc := range map[string]struct {
		script string
		state  scan.State
		output string
		reason string
	}{
		"nothing":            {"echo fine", scan.Passed, "", ""},
		"something":          {"echo CVE-2026-1 in $1; exit 1", scan.Found, "CVE-2026-1 in registry.example/shop@" + digest("a"), ""},
		"an odd exit code":   {"echo no database; exit 2", scan.Waiting, "no database", "exit code 2"},
		"a crash":            {"kill -SEGV $$", scan.Waiting, "", "sh ended with signal: segmentation fault"},
		"control characters": {`printf 'a\033[31mb\0c\rd\n'; exit 1`, scan.Found, "a [31mb c d", ""},
		"a token":            {"echo token=" + token + "; echo https://me:hunter2@registry.example/v2; exit 1", scan.Found, "", ""},
		"a header":           {"echo 'Authorization: Bearer c2VjcmV0c2VjcmV0c2VjcmV0'; exit 1", scan.Found, "Authorization: Bearer ***", ""},
		"what it gets":       {"env | grep -i -c 'token\\|secret'; exit 1", scan.Found, "0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KALYPSO_TOKEN", token)
			w := newWorld(t)
			r := waitFor(w.process(), w.scan(check.Images, tc.script), images("registry.example/shop:1.4.0"))[0]
			if r.State != tc.state || tc.output != "" && r.Output != tc.output || !strings.Contains(r.Reason, tc.reason) {
				t.Errorf("got %+v", r)
			}
			record, _ := filepath.Glob(filepath.Join(w.records, "*.json"))
			kept, _ := os.ReadFile(slices.Concat(record, []string{"none"})[0])
			for _, text := range []string{fmt.Sprint(r), string(kept)} {
				if strings.Contains(text, token) || strings.Contains(text, "hunter2") || strings.Contains(text, "c2VjcmV0") {
					t.Errorf("it tells a secret: %s", text)
				}
			}
		})
	}
}

// TestProgramsWithoutEnd checks that programs that hang or write endlessly
// are stopped at the timeout, with all child processes.
func TestProgramsWithoutEnd(t *testing.T) {
	for name, script := range map[string]string{"it hangs": "sleep 300 & sleep 300", "it writes": "yes 'all work and no play' & yes"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			scans := w.scan(check.Images, script)
			scans[0].Timeout = 500 * time.Millisecond
			begun := time.Now()
			r := waitFor(w.process(), scans, images("registry.example/shop:1.4.0"))[0]
			if r.State != scan.Waiting || !strings.Contains(r.Reason, "sh did not end in time") || len(r.Output) > 5000 {
				t.Errorf("got %+.300v", r)
			}
			if took := time.Since(begun); took > 2*time.Minute {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// TestFailedRunsAreTriedAgain checks that failed runs are retried after a pause, by any process.
func TestFailedRunsAreTriedAgain(t *testing.T) {
	w := newWorld(t)
	scans, shop := w.scan(check.Images, "[ $(wc -l < $0) -ge 3 ] || exit 7"), images("registry.example/shop:1.4.0")
	var story []string
	for range 8 {
		s := w.process()
		r := waitFor(s, scans, shop)[0]
		again := waitFor(s, scans, shop)[0]
		if r.State != again.State || r.Reason != again.Reason {
			t.Errorf("%+v and then %+v", r, again)
		}
		story = append(story, fmt.Sprintf("%d %s", w.counted(), r.State))
		s.Close()
		w.pass(3 * time.Minute)
	}
	want := "1 waiting, 2 waiting, 2 waiting, 3 passed, 3 passed, 3 passed, 3 passed, 3 passed"
	if got := strings.Join(story, ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestInterruptedScansRunAgain checks that a process that is killed during a run leaves neither record nor claim.
func TestInterruptedScansRunAgain(t *testing.T) {
	w := newWorld(t)
	scans, shop := w.scan(check.Images, "[ $(wc -l < $0) -ge 2 ] || sleep 300"), images("registry.example/shop@"+digest("a"))
	s := w.process()
	s.Results(t.Context(), scans, shop)
	for deadline := time.Now().Add(2 * time.Minute); w.counted() == 0 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	s.Close()
	if got := states(s.Results(t.Context(), scans, shop)); got != "waiting" {
		t.Errorf("a scanner that is closed says %s", got)
	}
	if r := waitFor(w.process(), scans, shop)[0]; r.State != scan.Passed || w.counted() != 2 {
		t.Errorf("got %+v after %d runs", r, w.counted())
	}
}

// TestTagsThatLeadNowhere checks that unknown tags wait and are looked up again,
// and that an image whose tag moves is scanned again.
func TestTagsThatLeadNowhere(t *testing.T) {
	w := newWorld(t)
	s := w.process()
	scans := w.scan(check.Images, "true")
	for _, reference := range []string{"registry.example/nothing:1", "--all", "registry.example/shop@sha256:1"} {
		r := waitFor(s, scans, images(reference))[0]
		if r.State != scan.Waiting || r.Reason == "" || r.Digest != "" || strings.Contains(r.Reason, "hunter2") {
			t.Errorf("%s: %+v", reference, r)
		}
	}
	if w.counted() != 0 {
		t.Error("something was run")
	}
	w.mu.Lock()
	w.tags["registry.example/nothing:1"] = digest("c")
	w.mu.Unlock()
	if got := states(waitFor(s, scans, images("registry.example/nothing:1"))); got != "waiting" {
		t.Errorf("asked again at once: %s", got)
	}
	w.pass(time.Minute)
	until(t, func() bool {
		return states(s.Results(t.Context(), scans, images("registry.example/nothing:1"))) == "passed"
	})
	w.mu.Lock()
	w.tags["registry.example/nothing:1"] = digest("d")
	w.mu.Unlock()
	w.pass(time.Hour)
	until(t, func() bool {
		r := s.Results(t.Context(), scans, images("registry.example/nothing:1"))[0]
		return r.State == scan.Passed && r.Digest == digest("d")
	})
	// If the registry stops answering, the results stay.
	w.mu.Lock()
	w.down = true
	w.mu.Unlock()
	w.pass(time.Hour)
	for range 3 {
		if got := states(waitFor(s, scans, images("registry.example/nothing:1"))); got != "passed" {
			t.Errorf("got %s", got)
		}
	}
	if w.counted() != 2 {
		t.Errorf("%d runs", w.counted())
	}
}

func until(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not come")
		}
	}
}

// TestCharts checks that the program gets the chart's files, and that no path leaves their folder.
func TestCharts(t *testing.T) {
	w := newWorld(t)
	good := scan.Chart("shop", "0.1.0", digest("a"), []chart.File{{Path: "Chart.yaml", Content: []byte("name: shop\n")}, {Path: "templates/a.yaml", Content: []byte("b")}})
	r := waitFor(w.process(), w.scan(check.Charts, "cd \"$3\"; cat Chart.yaml; find . -type f | sort; exit 1"), []scan.Artifact{good, images("nginx")[0]})
	if len(r) != 1 || r[0].State != scan.Found || r[0].Output != "name: shop\n./Chart.yaml\n./templates/a.yaml" {
		t.Errorf("got %+v", r)
	}
	bad := scan.Chart("shop", "0.1.0", digest("b"), []chart.File{{Path: "../../out", Content: []byte("b")}})
	if r := waitFor(w.process(), w.scan(check.Charts, "true"), []scan.Artifact{bad})[0]; r.State != scan.Waiting {
		t.Errorf("got %+v", r)
	}
}

// TestProgramsThatAreNotAllowed checks that programs run only once the operator allows them.
func TestProgramsThatAreNotAllowed(t *testing.T) {
	w := newWorld(t)
	s := w.process()
	for _, program := range []string{"/bin/cat", "cat", "../bin/sh", "bin/sh"} {
		scans := w.scan(check.Images, "true")
		scans[0].Args[0] = program
		r := waitFor(s, scans, images("registry.example/shop:1.4.0"))[0]
		if r.State != scan.Waiting || !strings.Contains(r.Reason, "not allowed") {
			t.Errorf("%s: %+v", program, r)
		}
	}
	if records, _ := os.ReadDir(w.records); w.counted() != 0 || len(records) != 0 {
		t.Errorf("%d runs, records %v", w.counted(), records)
	}
	// If another process can run the program, its result is used here, too, on the next call.
	scans, shop := w.scan(check.Images, "true"), images("registry.example/shop:1.4.0")
	s.Programs = &verify.Runner{}
	if got := states(waitFor(s, scans, shop)); got != "waiting" {
		t.Errorf("got %s", got)
	}
	if got := states(waitFor(w.process(), scans, shop)); got != "passed" {
		t.Errorf("where it is allowed: %s", got)
	}
	w.pass(2 * time.Minute)
	if got := states(waitFor(s, scans, shop)); got != "passed" || w.counted() != 1 {
		t.Errorf("got %s after %d runs", got, w.counted())
	}
}

// TestTooManyImages checks that images over the limit do not pass.
func TestTooManyImages(t *testing.T) {
	w := newWorld(t)
	var all []scan.Artifact
	for i := range 300 {
		all = append(all, scan.Artifact{What: check.Images, Reference: fmt.Sprintf("registry.example/shop@sha256:%064x", i)})
	}
	s := w.process()
	counts := map[scan.State]int{}
	for _, r := range s.Results(t.Context(), w.scan(check.Images, "sleep 300"), all) {
		counts[r.State]++
	}
	if counts[scan.Running] != 200 || counts[scan.Waiting] != 100 {
		t.Errorf("got %v", counts)
	}
}

// TestChangedIsTold checks that Changed is called when results have changed.
func TestChangedIsTold(t *testing.T) {
	w := newWorld(t)
	s := w.process()
	told := make(chan struct{}, 100)
	s.Changed = func() { told <- struct{}{} }
	scans, shop := w.scan(check.Images, "true"), images("registry.example/shop:1.4.0")
	for rounds := 0; states(s.Results(t.Context(), scans, shop)) != "passed"; rounds++ {
		select {
		case <-told:
		case <-time.After(2 * time.Minute):
			t.Fatal("there was no notification about new results")
		}
		if rounds == 3 {
			t.Fatal("told too often")
		}
	}
}
