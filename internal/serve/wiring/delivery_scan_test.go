package wiring

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/check/scanner"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
)

// scannedShop is a shop whose platform team requires scans of images, by a script that counts its runs.
type scannedShop struct {
	*shop
	scans   []check.Scan
	digests map[string]string // by tag
	runs    string
	scanner *scanner.Scanner
	data    string
}

// Policy implements [deliver.Policies].
func (s *scannedShop) Rings(context.Context, string) ([]fleet.Stage, error) { return nil, nil }

func (s *scannedShop) Rights(context.Context, string, string) (map[string]check.Rights, error) {
	return nil, nil
}

func (s *scannedShop) Policy(_ context.Context, environment string) (check.Policy, []fleet.Problem, error) {
	return check.Policy{Environment: environment, Scans: s.scans}, nil, nil
}

// Digest implements [scanner.Images].
func (s *scannedShop) Digest(_ context.Context, image chart.Image) (string, error) {
	if d := s.digests[image.Tag]; d != "" {
		return d, nil
	}
	return "", errors.New("the registry does not have it")
}

func newScannedShop(t *testing.T, script string, digests map[string]string) *scannedShop {
	t.Helper()
	s := &scannedShop{shop: newShop(t), digests: digests, runs: filepath.Join(t.TempDir(), "runs"), data: t.TempDir()}
	s.scans = []check.Scan{{
		Name: "vulnerabilities", What: check.Images, Args: []string{"/bin/sh", "-c", "echo $1 >> $0; " + script, s.runs, "{reference}"}, Level: check.Refuse,
	}}
	s.restart()
	return s
}

// restart starts a new server. Only the results of scans in its data folder are kept.
func (s *scannedShop) restart() {
	s.Helper()
	if s.scanner != nil {
		s.scanner.Close()
	}
	scanner, err := newScanner(s.data, []string{"/bin/sh"}, s, nil, nil)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(scanner.Close)
	s.scanner = scanner
	s.reboot()
	s.chain.Deliverer.Policies, s.chain.Deliverer.Scanner = s, scanner
}

// until runs rounds, a minute apart, until a condition holds.
func (s *scannedShop) until(what string, so func() bool) {
	s.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		d, err := s.minute()
		if err != nil {
			s.Fatal(err)
		}
		for name, err := range d.Errors {
			s.Fatalf("%s: %v", name, err)
		}
		if so() {
			return
		}
		if time.Now().After(deadline) {
			s.Fatalf("%s: it does not come to that\n%s", what, s.story(d))
		}
	}
}

// change returns the newest pull request of an environment, and its status.
func (s *scannedShop) change(environment string) (c forge.PullRequest, status string) {
	s.Helper()
	changes, err := s.Repo(shopGitOps).FindPullRequests(s.Context(), forge.PullRequestFilter{Base: environment})
	if err != nil {
		s.Fatal(err)
	}
	if len(changes) == 0 {
		return forge.PullRequest{}, ""
	}
	return changes[0], s.status(shopGitOps, changes[0].Head.Commit, deliver.StatusScan)
}

func TestChangesWaitForScans(t *testing.T) {
	t.Parallel()
	go1 := filepath.Join(t.TempDir(), "go")
	digest := "sha256:" + strings.Repeat("1", 64)
	s := newScannedShop(t, "while [ ! -e "+go1+" ]; do sleep 0.05; done", map[string]string{"1.4.0": digest})
	s.built("1.4.0")
	s.until("a change that waits", func() bool {
		_, status := s.change("dev")
		return strings.HasPrefix(status, "pending 1 is running")
	})
	for range 3 {
		if _, err := s.minute(); err != nil {
			t.Fatal(err)
		}
		if c, _ := s.change("dev"); c.State != forge.Open {
			t.Fatalf("the change is %s though nothing was scanned", c.State)
		}
	}
	s.restart() // the interrupted scan runs again
	if err := os.WriteFile(go1, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.until("merged by itself", func() bool {
		c, status := s.change("dev")
		return c.State == forge.Merged && status == "success 1 passed"
	})
	before := strings.Count(readText(t, s.runs), "\n")
	s.restart()
	s.until("the next environment", func() bool {
		_, status := s.change("stage")
		return status == "success 1 passed"
	})
	if got := readText(t, s.runs); strings.Count(got, "\n") != before || !strings.HasPrefix(got, "registry.example/shop@"+digest+"\n") {
		t.Errorf("%d runs before, and then\n%s", before, got)
	}
}

func TestScansRefuseAChange(t *testing.T) {
	t.Parallel()
	s := newScannedShop(t, "echo 'CVE-2026-1 <b>@everyone</b>'; exit 1", map[string]string{"1.4.0": "sha256:" + strings.Repeat("1", 64)})
	commit := s.built("1.4.0")
	s.until("refused", func() bool {
		c, status := s.change("dev")
		return c.State == forge.Open && status == "failure 1 refusal" && strings.Contains(s.status(shopSource, commit, "dev"), "the scans refuse it: 1 refusal")
	})
	c, _ := s.change("dev")
	if !strings.Contains(c.Body, "Scans: 1 refusal") || !strings.Contains(c.Body, "  CVE-2026-1 <b>@everyone</b>\n  ```") {
		t.Errorf("the text says\n%s", c.Body)
	}
	// Without scans, nothing blocks it.
	s.scans = nil
	s.until("merged", func() bool {
		c, status := s.change("dev")
		return c.State == forge.Merged && status == "success nothing to scan"
	})
}

func TestImagesThatNobodyFindsAreNotScanned(t *testing.T) {
	t.Parallel()
	s := newScannedShop(t, "true", map[string]string{})
	s.built("1.4.0")
	s.until("waiting", func() bool {
		c, status := s.change("dev")
		return c.State == forge.Open && strings.HasPrefix(status, "pending 1 is ")
	})
	s.until("the text says why", func() bool {
		c, _ := s.change("dev")
		return strings.Contains(c.Body, "its digest cannot be looked up")
	})
	if c, _ := s.change("dev"); c.State != forge.Open {
		t.Errorf("the change is %s", c.State)
	}
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
