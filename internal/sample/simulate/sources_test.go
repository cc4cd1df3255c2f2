package simulate

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/git"
)

// A server that cannot be reached delays all clusters, so it is polled less and less often.
func TestUnreachableServerIsRetriedWithPauses(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(web.Close)
	client := &git.Client{CacheDir: t.TempDir(), Env: func(string) string { return "" }}
	t.Cleanup(func() { _ = client.Close() })
	s := &Sources{Client: client}
	look := func(at time.Duration) int32 {
		before := asked.Load()
		if _, err := s.head(t.Context(), remote{url: web.URL + "/shop", branch: "dev"}, noon.Add(at), time.Second); err == nil {
			t.Fatal("got no error")
		}
		return min(1, asked.Load()-before)
	}
	for _, step := range []struct {
		at   time.Duration
		want int32
	}{{0, 1}, {29 * time.Second, 0}, {31 * time.Second, 1}, {90 * time.Second, 0}, {92 * time.Second, 1}} {
		if got := look(step.at); got != step.want {
			t.Errorf("after %v: got %d looks, want %d", step.at, got, step.want)
		}
	}
	s.forget()
	if look(93*time.Second) != 1 {
		t.Error("after a refresh: got no look")
	}
}

func TestGenerationsKeepUsedEntries(t *testing.T) {
	t.Parallel()
	var g generations[int, string]
	g.put(0, "used", 1)
	for i := 1; i < 5*maxWeight; i++ {
		g.put(i, "once", 1)
		if i%100 == 0 && g.get(0) != "used" {
			t.Fatalf("after %d others: it is forgotten", i)
		}
	}
	if n := len(g.young) + len(g.old); n > 2*maxWeight+2 || g.get(1) != "" {
		t.Errorf("got %d values and %q, want what was used once to be forgotten", n, g.get(1))
	}
}

// Tags, commits and the names of Argo CD lead to the same commits as branches do.
func TestHeadsOfTagsAndCommits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Config{})
	first := w.push("shop", "dev", map[string]string{"a": "1"})
	second := w.push("shop", "dev", map[string]string{"a": "2"})
	w.must(os.WriteFile(filepath.Join(w.dir, "shop", "refs", "tags", "v1"), []byte(first+"\n"), 0o600))
	for want, r := range map[remote]string{
		{branch: "dev"}:                  second,
		{branch: "dev", revision: first}: first,
		{branch: first}:                  first,
		{}:                               second,
		{revision: "refs/heads/dev"}:     second,
		{revision: "refs/tags/v1"}:       first,
		{branch: "v1"}:                   first,
	} {
		want.url = host + "/shop"
		if got, err := w.config.Sources.head(t.Context(), want, noon, 0); err != nil || got.Hash != r {
			t.Errorf("%+v: got %s, %v, want %s", want, got.Hash, err, r)
		}
	}
}
