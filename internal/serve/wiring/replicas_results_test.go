package wiring

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/replica"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// stored returns a value as another replica reads it.
func stored[T any](t *testing.T, v T) T {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var got T
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// A replica shows a chain as the one that works on it does: nothing is lost on the way through the ledger, authors included.
func TestChainResult(t *testing.T) {
	t.Parallel()
	w := newPromotionWorld(t, chainOfThree)
	w.quiet()
	w.Push("platform/control-plane", "main", map[string]string{"README.md": "second\n"})
	for range 8 {
		o, err := w.minute()
		if err != nil {
			t.Fatal(err)
		}
		if len(o.Line) == 0 || len(o.Line[0].Authors) == 0 {
			t.Fatalf("no authors to lose: %+v", o.Line)
		}
		got := stored(t, newChainResult(o, nil)).outcome()
		if diff := cmp.Diff(o, got, cmpopts.IgnoreFields(promote.Outcome{}, "Read"), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("-worked on +viewed:\n%s", diff)
		}
	}
}

// A replica that gets a unit back stores its result again: another one has stored a different one in between.
func TestResultAfterAnotherReplica(t *testing.T) {
	t.Parallel()
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // nothing is kept
	unit := serve.UnitOf("cp", "dev", "")
	servers := map[string]*results{}
	round := func(server string, failure error) (stored string) {
		t.Helper()
		if servers[server] == nil {
			servers[server] = &results{ledger: l, stored: func(string, string, string) {}}
		}
		if err := l.Join(t.Context(), ledger.Replica{ID: server, Name: server}, time.Minute, true); err != nil {
			t.Fatal(err)
		}
		h, err := l.ClaimUnit(t.Context(), server, unit)
		if err != nil {
			t.Fatal(err)
		}
		if err := servers[server].putRound(ledger.Under(t.Context(), h), "cp", "dev", nil, failure, time.Now()); err != nil {
			t.Fatal(err)
		}
		if err := l.Leave(t.Context(), server); err != nil {
			t.Fatal(err)
		}
		var got roundResult
		if _, _, err := (&results{ledger: l}).get(t.Context(), "cp", "dev", "", &got); err != nil {
			t.Fatal(err)
		}
		return got.Error
	}
	broken := errors.New("the forge is down")
	for i, step := range []struct {
		server  string
		failure error
		want    string
	}{{"a", nil, ""}, {"b", broken, broken.Error()}, {"a", nil, ""}} {
		if got := round(step.server, step.failure); got != step.want {
			t.Errorf("round %d: viewers see %q, want %q", i, got, step.want)
		}
	}
}

// A second server on a ledger in a file does not start, until the first one has ended.
func TestLedgerFileIsForOneServer(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger.db.lock")
	unlock, err := lockFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockFile(file); !errors.Is(err, errLocked) {
		t.Errorf("locked twice: %v", err)
	}
	if _, err := lockFile(filepath.Join(file, "nowhere")); err == nil || errors.Is(err, errLocked) {
		t.Errorf("a folder that does not exist: %v", err)
	}
	unlock()
	unlock, err = lockFile(file)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

// refusing is a transport that answers nothing.
type refusing struct{}

var errSent = errors.New("sent")

func (refusing) RoundTrip(*http.Request) (*http.Response, error) { return nil, errSent }

// After the lease of work has ended, it writes nothing to forges and repositories.
func TestHeldRequests(t *testing.T) {
	t.Parallel()
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // nothing is kept
	member := replica.New(replica.Options{Ledger: l, Name: "a", Log: slog.New(slog.DiscardHandler)})
	if err := member.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	held, end, err := member.Begin(context.WithoutCancel(t.Context()), "dev")
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	send := func(ctx context.Context, method string) error {
		r, err := http.NewRequestWithContext(context.WithoutCancel(ctx), method, "https://forge.example.com/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		_, err = whileHeld(refusing{}).RoundTrip(r)
		return err
	}
	push := func(ctx context.Context) error {
		client := &git.Client{Env: func(string) string { return "" }}
		defer client.Close() //nolint:errcheck // nothing is read
		empty := t.TempDir()
		if out, err := fleettest.Git("init", "-q", "--bare", empty).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return repository.Committer{Client: client, Permit: replica.Check}.Push(context.WithoutCancel(ctx), empty, "main", "", strings.Repeat("1", 40))
	}
	if err := send(held, http.MethodPost); !errors.Is(err, errSent) {
		t.Errorf("under a lease: %v", err)
	}
	if err := push(held); errors.Is(err, replica.ErrLost) {
		t.Errorf("under a lease: %v", err)
	}
	over, stop := context.WithCancel(t.Context())
	stop()
	member.Run(over) // it gives its lease back
	if err := send(held, http.MethodPost); !errors.Is(err, replica.ErrLost) {
		t.Errorf("after the lease: %v", err)
	}
	if err := push(held); !errors.Is(err, replica.ErrLost) {
		t.Errorf("after the lease: %v", err)
	}
	for ctx, method := range map[context.Context]string{held: http.MethodGet, t.Context(): http.MethodPost} {
		if err := send(ctx, method); !errors.Is(err, errSent) {
			t.Errorf("%s: %v", method, err)
		}
	}
}
