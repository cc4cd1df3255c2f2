package sandbox

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/kalypso-io/kalypso/internal/chart"
)

// holder starts processes of an owner, and notes in which order they begin.
type holder struct {
	t     *testing.T
	pool  *Pool
	begun []string
	ends  map[string][]func()
}

// start waits for a process in the background.
func (h *holder) start(ctx context.Context, owner string) {
	h.t.Helper()
	go func() {
		release, err := h.pool.acquire(For(ctx, owner))
		if err != nil {
			return
		}
		h.pool.mu.Lock()
		defer h.pool.mu.Unlock()
		h.begun = append(h.begun, owner)
		h.ends[owner] = append(h.ends[owner], release)
	}()
	synctest.Wait()
}

// end ends one process of an owner.
func (h *holder) end(owner string) {
	h.t.Helper()
	end := h.ends[owner][0]
	h.ends[owner] = h.ends[owner][1:]
	end()
	synctest.Wait()
}

// A slow owner has its share, and others go on.
func TestPoolIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &holder{t: t, pool: &Pool{}, ends: map[string][]func(){}}
		for range 6 {
			h.start(t.Context(), "slow")
		}
		if want := []string{"slow", "slow"}; !slices.Equal(h.begun, want) {
			t.Fatalf("began %q, want %q: the share of one owner", h.begun, want)
		}
		for _, owner := range []string{"a", "b", "c"} {
			h.start(t.Context(), owner)
		}
		if want := []string{"slow", "slow", "a", "b"}; !slices.Equal(h.begun, want) {
			t.Fatalf("began %q, want %q", h.begun, want)
		}
		h.end("a")
		h.end("slow")
		h.end("b")
		// c waited for less time than slow, but slow had processes.
		if want := []string{"slow", "slow", "a", "b", "c", "slow"}; !slices.Equal(h.begun, want) {
			t.Errorf("began %q, want %q", h.begun, want)
		}
		for len(h.begun) < 9 {
			h.end("slow")
		}
	})
}

// Who gives up waiting takes no place.
func TestPoolWithoutPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &holder{t: t, pool: &Pool{Size: 1}, ends: map[string][]func(){}}
		h.start(t.Context(), "a")
		ctx, cancel := context.WithCancel(t.Context())
		h.start(ctx, "b")
		cancel()
		synctest.Wait()
		h.start(t.Context(), "c")
		h.end("a")
		if want := []string{"a", "c"}; !slices.Equal(h.begun, want) {
			t.Errorf("began %q, want %q", h.begun, want)
		}
		if h.pool.total != 1 || len(h.pool.waiting) > 0 {
			t.Errorf("%d run and %d wait", h.pool.total, len(h.pool.waiting))
		}
	})
}

// A runner starts no process without a place in its pool.
func TestRunnerWaitsForItsPool(t *testing.T) {
	pool := &Pool{Size: 1}
	release, err := pool.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := &Runner{Program: "/nowhere", Pool: pool}
	job := &chart.Job{Targets: []chart.Target{{Name: "a"}}}
	if _, err := r.Render(ctx, job, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
