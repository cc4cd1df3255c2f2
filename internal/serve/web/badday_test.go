package web_test

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

func TestUnknownNamesSuggestSimilarOnes(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	for path, near := range map[string]string{
		"/environments/stag": "/environments/stage", "/clusters/large-04": "/clusters/large-01", "/workloads/helo": "/workloads/hello",
	} {
		a := w.ask(path)
		if a.Code != http.StatusNotFound {
			t.Errorf("%s: got %d", path, a.Code)
		}
		if p := parse(t, a.Body); len(p.all("main li a[href="+near+"]")) != 1 {
			t.Errorf("%s does not lead to %s", path, near)
		}
	}
	for path, want := range map[string]int{
		"/promotions/abcdef1": 404, "/promotions/abc": 400, "/environments/dev?asOf=tomorrow": 400, "/clusters?after=nonsense!": 400,
		"/clusters/%3Cscript%3E": 404, "/clusters/a%2Fb": 404, "/environments/" + strings.Repeat("x", 3000): 404, "/search?q=%00%ff": 200,
	} {
		a := w.ask(path)
		if a.Code != want {
			t.Errorf("%.60s: got %d, want %d", path, a.Code, want)
		}
		if strings.Contains(a.Body.String(), "<script>") {
			t.Errorf("%.60s: a script is on the page", path)
		}
	}
}

func TestAmbiguousEnvironmentOffersControlPlanes(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	second := w.standings()
	second.URL += "-2"
	w.fleet = append(w.fleet, second)
	a := w.ask("/environments/dev")
	if a.Code != http.StatusConflict {
		t.Fatalf("got %d", a.Code)
	}
	links := parse(t, a.Body).all("main li a")
	if len(links) != 2 {
		t.Fatalf("got %d choices", len(links))
	}
	w.see(attribute(links[1], "href")).wants("h1", "dev")
	if fleet := w.see("/"); len(fleet.all("thead a[href="+attribute(links[1], "href")+"]")) != 1 {
		t.Error("the fleet does not say whose environment it leads to")
	}
}

// TestUnreadableLedger checks that the page reports the error, and that the cause is only in the log.
func TestUnreadableLedger(t *testing.T) {
	w := newWorld(t)
	w.must(w.ledger.Close())
	for _, path := range []string{"/", "/clusters", "/environments/dev", "/search?q=a", "/figures"} {
		a := w.ask(path)
		if a.Code != http.StatusServiceUnavailable || a.Header().Get("Retry-After") == "" {
			t.Errorf("%s: got %d", path, a.Code)
		}
		text := a.Body.String()
		if !strings.Contains(text, "The ledger cannot be read at the moment") || strings.Contains(text, "closed") {
			t.Errorf("%s: got %s", path, text)
		}
	}
	if !strings.Contains(w.log.String(), "database is closed") {
		t.Errorf("the log does not say why: %s", w.log.String())
	}
}

// counting is a ledger that counts queries, and blocks until the test lets it answer.
type counting struct {
	query.Ledger
	asked atomic.Int64
	let   chan struct{}
}

func (c *counting) Clusters(ctx context.Context, q ledger.ClusterQuery) ([]ledger.Cluster, error) {
	c.asked.Add(1)
	<-c.let
	return c.Ledger.Clusters(ctx, q)
}

// TestConcurrentViewersShareOneQuery checks that two hundred viewers of a page cost little more than one.
func TestConcurrentViewersShareOneQuery(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	c := &counting{Ledger: w.ledger, let: make(chan struct{})}
	w.pages.Observer.Ledger = c
	w.ask("/search") // registers
	var viewers, begun sync.WaitGroup
	codes := make([]int, 200)
	for i := range codes {
		begun.Add(1)
		viewers.Go(func() {
			begun.Done()
			codes[i] = w.ask("/clusters", "Kalypso-Fragment", "main").Code
		})
	}
	begun.Wait()
	close(c.let)
	viewers.Wait()
	for _, code := range codes {
		if code != http.StatusOK {
			t.Fatalf("a viewer got %d", code)
		}
	}
	if n := c.asked.Load(); n != 1 {
		t.Errorf("the ledger was asked %d times, want once", n)
	}
}

// TestFragments checks that scripts fetch only the main part, and nothing if it is unchanged.
func TestFragments(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	a := w.ask("/", "Kalypso-Fragment", "main", "Accept-Encoding", "gzip")
	z, err := gzip.NewReader(a.Body)
	w.must(err)
	text, err := io.ReadAll(z)
	w.must(err)
	if !strings.HasPrefix(string(text), "<main") || strings.Contains(string(text), "<header class=\"top\"") {
		t.Errorf("got %.200s", text)
	}
	if b := w.ask("/", "Kalypso-Fragment", "main", "If-None-Match", a.Header().Get("ETag")); b.Code != http.StatusNotModified || b.Body.Len() > 0 {
		t.Errorf("got %d with %d bytes", b.Code, b.Body.Len())
	}
}

// TestAllViewersGetAPanic checks that no request waits forever, and that the page does not show the cause.
func TestAllViewersGetAPanic(t *testing.T) {
	w := newWorld(t)
	w.pages.Observer.Fleet = panicking{}
	a := w.ask("/")
	if a.Code != http.StatusInternalServerError || strings.Contains(a.Body.String(), "burst") || !strings.Contains(w.log.String(), "a pipe burst") {
		t.Errorf("got %d\n%s", a.Code, w.log.String())
	}
}

type panicking struct{}

func (panicking) ControlPlanes() []query.ControlPlane { panic("a pipe burst") }
