package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

// TestLiveUpdate: a cluster reports, and whoever looks sees it without loading the page again, at the place where they are.
func TestLiveUpdate(t *testing.T) {
	s := showLarge(t)
	tab := s.open(t, newBrowser(t), views[0])
	must(t, tab.Visit(s.url+"/clusters/type-000-00"))
	_, err := harness.Eval[bool](tab, `window.loadedOnce = true`)
	must(t, err)
	const message = "the disk <i>of this node</i> is full"
	s.report(t, "workload-042", "failed", message)
	eventually(t, "the page says what the cluster reports", func(context.Context) error {
		text, err := tab.Text("main")
		if err == nil && !strings.Contains(text, message) {
			err = fmt.Errorf("it says %.300q", text)
		}
		return err
	})
	if once, err := harness.Eval[bool](tab, `window.loadedOnce === true`); err != nil || !once {
		t.Errorf("the page was loaded again (%v)", err)
	}
	if complaints := tab.Complaints(); len(complaints) > 0 {
		t.Errorf("the browser complains: %q", complaints)
	}
}

// report says as cluster type-000-00 what a reconciler became.
func (s *shown) report(t *testing.T, name, state, message string) {
	t.Helper()
	must(t, s.tryReport(t.Context(), name, state, message))
}

func (s *shown) tryReport(ctx context.Context, name, state, message string) error {
	now := time.Now().UTC()
	batch, err := json.Marshal(map[string]any{
		"apiVersion": "hub.kalypso.io/v1alpha1", "kind": "ReportBatch", "id": fmt.Sprint(name, now.UnixNano()), "sent": now,
		"reports": []map[string]any{{
			"kind": "Kustomization", "namespace": "flux-system", "name": name, "repository": largeApps, "ref": "prod", "path": name,
			"revision": largeNow, "state": state, "message": message, "observed": now,
		}},
	})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/api/v1/reports", bytes.NewReader(batch))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+s.credential.Reveal())
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err == nil && a.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("report: got %s: %s", a.Status, text)
	}
	return err
}

// TestCrowd: 200 people who look at an environment do not slow it for another one. Each of them listens, and fetches the
// main part of the page again with every event, as the script of the pages does.
func TestCrowd(t *testing.T) {
	s := showLarge(t)
	const page = "/environments/prod"
	alone := s.median(t, page)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	listening, heard := make(chan struct{}, 200), make(chan struct{}, 1<<16)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 400}}
	for range cap(listening) {
		go s.watch(ctx, client, page, listening, heard)
	}
	for range cap(listening) {
		select {
		case <-listening:
		case <-time.After(time.Minute):
			t.Fatal("not everybody listens within a minute")
		}
	}
	reported := make(chan error, 1)
	go func() { reported <- s.reportOften(ctx) }()
	crowded := s.median(t, page)
	select {
	case one := <-heard:
		heard <- one // it is counted
	case <-time.After(time.Minute):
		t.Error("nobody heard anything within a minute")
	}
	leave()
	if err := <-reported; err != nil {
		t.Error(err)
	}
	t.Logf("the page takes %s alone, and %s while 200 look at it, who fetched it %d times (%.1f times as long)",
		alone.Round(time.Millisecond), crowded.Round(time.Millisecond), len(heard), float64(crowded)/float64(alone))
	// The rest is for a machine that does other things meanwhile.
	if crowded > 20*alone+5*time.Second {
		t.Errorf("it takes %s in place of %s", crowded, alone)
	}
}

// reportOften reports four times a second, until the context ends or a report fails.
func (s *shown) reportOften(ctx context.Context) error {
	often := time.NewTicker(250 * time.Millisecond)
	defer often.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-often.C:
		}
		err := s.tryReport(ctx, fmt.Sprintf("workload-%03d", n%manyWorkloads), []string{"failed", "ready"}[n%2], fmt.Sprint("report ", n))
		if ctx.Err() != nil {
			return nil // nobody looks any more
		}
		if err != nil {
			return err
		}
	}
}

// median is how long a page takes to be answered.
func (s *shown) median(t *testing.T, page string) time.Duration {
	t.Helper()
	var all []time.Duration
	for range 11 {
		began := time.Now()
		s.ask(t, page, "text/html")
		all = append(all, time.Since(began))
		time.Sleep(200 * time.Millisecond) // one person does not load it more often
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// watch is one of many who look at a page.
func (s *shown) watch(ctx context.Context, client *http.Client, page string, listening, heard chan<- struct{}) {
	get := func(path, accept, fragment string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Accept", accept)
		r.Header.Set("Kalypso-Fragment", fragment)
		r.Header.Set("Authorization", "Bearer "+s.token)
		return client.Do(r)
	}
	events, err := get("/api/v1/events", "text/event-stream", "")
	if err != nil {
		return
	}
	defer events.Body.Close()
	listening <- struct{}{}
	piece := make([]byte, 4096)
	var last time.Time
	for {
		n, err := events.Body.Read(piece)
		if err != nil {
			return
		}
		if !bytes.Contains(piece[:n], []byte("event:")) || time.Since(last) < 2*time.Second {
			continue
		}
		last = time.Now()
		a, err := get(page, "text/html", "main")
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, a.Body)
		_ = a.Body.Close()
		heard <- struct{}{}
	}
}
