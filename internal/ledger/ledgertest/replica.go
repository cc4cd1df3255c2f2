package ledgertest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

const (
	// living is a lease that does not expire during a test, expired one that has expired when the next statement runs.
	living  = time.Hour
	expired = time.Duration(0)
)

func joinReplicas(t *testing.T, l ledger.Ledger, lease time.Duration, ids ...string) {
	t.Helper()
	for _, id := range ids {
		must(t, l.Join(t.Context(), ledger.Replica{ID: id, Name: "server " + id}, lease, false))
	}
}

func claim(t *testing.T, l ledger.Ledger, id, unit string) ledger.Hold {
	t.Helper()
	h, err := l.ClaimUnit(t.Context(), id, unit)
	must(t, err)
	return h
}

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got %v, want %v", what, err, want)
	}
}

// holds returns what living replicas hold, such as "dev a 1".
func holds(t *testing.T, l ledger.Ledger) []string {
	t.Helper()
	all, err := l.Holds(t.Context())
	must(t, err)
	var out []string
	for _, h := range all {
		out = append(out, fmt.Sprintf("%s %s %d", h.Unit, h.Replica, h.Number))
	}
	return out
}

// replicas: a unit has one holder, and its number grows when it goes to another one.
func replicas(t *testing.T, l ledger.Ledger) {
	joinReplicas(t, l, living, "a", "b")
	all, err := l.Renew(t.Context(), "a", living)
	must(t, err)
	if len(all) != 2 || all[0].ID != "a" || all[0].Name != "server a" || all[1].ID != "b" || all[0].Joined.IsZero() {
		t.Errorf("living replicas: %+v", all)
	}
	dev := claim(t, l, "a", "dev")
	equal(t, "hold", dev, ledger.Hold{Unit: "dev", Replica: "a", Number: 1})
	equal(t, "claimed again", claim(t, l, "a", "dev"), dev)
	_, err = l.ClaimUnit(t.Context(), "b", "dev")
	wantError(t, "claim of what another one has", err, ledger.ErrHeld)
	claim(t, l, "b", "prod")
	equal(t, "holds", holds(t, l), []string{"dev a 1", "prod b 1"})

	must(t, l.YieldUnit(t.Context(), dev))
	equal(t, "after yielding", holds(t, l), []string{"prod b 1"})
	equal(t, "claimed by the other", claim(t, l, "b", "dev").Number, int64(2))
	must(t, l.YieldUnit(t.Context(), dev)) // late: it changes nothing
	equal(t, "holds", holds(t, l), []string{"dev b 2", "prod b 1"})

	must(t, l.Leave(t.Context(), "b"))
	equal(t, "after leaving", holds(t, l), []string(nil))
	equal(t, "claimed after leaving", claim(t, l, "a", "prod").Number, int64(2))
}

// expiredLeases: a replica whose lease expired has nothing, and cannot get its lease back.
func expiredLeases(t *testing.T, l ledger.Ledger) {
	joinReplicas(t, l, living, "a", "b")
	claim(t, l, "a", "dev")
	_, err := l.Renew(t.Context(), "a", expired)
	must(t, err)
	if _, err := l.Renew(t.Context(), "a", living); !errors.Is(err, ledger.ErrLeaseLost) {
		t.Fatalf("renewed an expired lease: %v", err)
	}
	_, err = l.ClaimUnit(t.Context(), "a", "dev")
	wantError(t, "claim without a lease", err, ledger.ErrLeaseLost)
	_, err = l.ClaimUnit(t.Context(), "unknown", "dev")
	wantError(t, "claim of a stranger", err, ledger.ErrLeaseLost)
	all, err := l.Renew(t.Context(), "b", living)
	must(t, err)
	equal(t, "living", len(all), 1)
	equal(t, "claimed by the other", claim(t, l, "b", "dev").Number, int64(2))
}

// lateWrites: what is recorded under a hold is stored as long as no other replica has taken the unit.
func lateWrites(t *testing.T, l ledger.Ledger) {
	joinReplicas(t, l, living, "a", "b")
	old := claim(t, l, "a", "dev")
	record := func(h ledger.Hold, n int) []error {
		ctx := ledger.Under(t.Context(), h)
		return []error{
			l.RecordStep(ctx, ledger.Step{PromotionID: ledger.PromotionID{Subject: "cp", Commit: sha(n), Environment: "dev"}, Kind: "promoted", At: at(n)}),
			l.RecordCommit(ctx, ledger.Commit{Repository: platform, Branch: "dev", Kind: ledger.BranchPlatform, Environment: "dev", SHA: sha(n)}),
			l.RecordChange(ctx, ledger.ChangeEvent{Repository: platform, Number: n, Kind: "opened", At: at(n)}),
			l.PutResult(ctx, h, fmt.Appendf(nil, `{"round":%d}`, n)),
		}
	}
	for _, err := range record(old, 1) {
		must(t, err)
	}
	_, err := l.Renew(t.Context(), "a", expired) // a pause
	must(t, err)
	for _, err := range record(old, 2) { // none has taken the unit: what is late harms no one
		must(t, err)
	}
	now := claim(t, l, "b", "dev")
	for _, err := range record(old, 3) {
		wantError(t, "late write", err, ledger.ErrFenced)
	}
	for _, err := range record(ledger.Hold{Unit: "unknown", Replica: "a", Number: 1}, 4) {
		wantError(t, "write without a claim", err, ledger.ErrFenced)
	}
	for _, err := range record(ledger.Hold{Unit: "dev", Replica: "c", Number: now.Number}, 4) { // a claim that a failover lost
		wantError(t, "write under the number of another replica", err, ledger.ErrFenced)
	}
	for _, err := range record(now, 5) {
		must(t, err)
	}
	steps, err := l.Steps(t.Context(), ledger.StepQuery{})
	must(t, err)
	equal(t, "steps", len(steps), 3)
	commits, err := l.Commits(t.Context(), ledger.CommitQuery{})
	must(t, err)
	equal(t, "commits", len(commits), 3)
	events, err := l.ChangeEvents(t.Context(), ledger.ChangeQuery{})
	must(t, err)
	equal(t, "changes", len(events), 3)
	result, err := l.Result(t.Context(), "dev")
	must(t, err)
	equal(t, "result", string(result), `{"round":5}`)
}

// aloneReplica: a replica with data of its own does not start beside others, and no two have the same name.
func aloneReplica(t *testing.T, l ledger.Ledger) {
	alone := ledger.Replica{ID: "1", Name: "alone", Alone: true}
	must(t, l.Join(t.Context(), alone, living, true))
	wantError(t, "beside one that is alone", l.Join(t.Context(), ledger.Replica{ID: "2", Name: "other"}, living, true), ledger.ErrOccupied)
	alone.ID = "3"
	wantError(t, "the same name", l.Join(t.Context(), alone, living, false), ledger.ErrOccupied)
	must(t, l.Join(t.Context(), alone, living, true))
	_, err := l.Renew(t.Context(), "1", living)
	wantError(t, "replaced", err, ledger.ErrLeaseLost)
	must(t, l.Leave(t.Context(), "3"))

	joinReplicas(t, l, living, "a")
	wantError(t, "alone beside others", l.Join(t.Context(), alone, living, true), ledger.ErrOccupied)
	wantError(t, "without a name", l.Join(t.Context(), ledger.Replica{ID: "x"}, living, true), ledger.ErrInvalid)
}

// notes: each replica reads all notes after those that it knows, in one order.
func notes(t *testing.T, l ledger.Ledger) {
	_, last, err := l.Notes(t.Context(), -1)
	must(t, err)
	equal(t, "none", last, int64(0))
	must(t, l.Post(t.Context(), "a"))
	must(t, l.Post(t.Context(), "a", "one", "two"))
	must(t, l.Post(t.Context(), "b", "three"))
	got, last, err := l.Notes(t.Context(), 1)
	must(t, err)
	equal(t, "notes", got, []ledger.Note{{From: "a", Text: "two"}, {From: "b", Text: "three"}})
	equal(t, "last", last, int64(3))
	got, last, err = l.Notes(t.Context(), last)
	must(t, err)
	equal(t, "no more", got, []ledger.Note(nil))
	_, newest, err := l.Notes(t.Context(), -1)
	must(t, err)
	equal(t, "last", []int64{last, newest}, []int64{3, 3})

	var wait sync.WaitGroup
	for i := range 4 {
		wait.Go(func() {
			for n := range 10 {
				if err := l.Post(t.Context(), "many", fmt.Sprintf("%d/%d", i, n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	got, last, err = l.Notes(t.Context(), last)
	must(t, err)
	equal(t, "notes of concurrent replicas", []int64{int64(len(got)), last}, []int64{40, 43})
}

func resultsAndSecrets(t *testing.T, l ledger.Ledger) {
	joinReplicas(t, l, living, "a")
	h := claim(t, l, "a", "dev")
	_, err := l.Result(t.Context(), "dev")
	wantError(t, "before the first result", err, ledger.ErrNotFound)
	must(t, l.PutResult(t.Context(), h, []byte(`"first"`)))
	must(t, l.YieldUnit(t.Context(), h))
	result, err := l.Result(t.Context(), "dev")
	must(t, err)
	equal(t, "result", string(result), `"first"`)

	for _, value := range []string{"first", "second"} {
		kept, err := l.Keep(t.Context(), "key", value)
		must(t, err)
		equal(t, "kept", kept, "first")
	}
	_, err = l.Keep(t.Context(), "key", "")
	wantError(t, "an empty secret", err, ledger.ErrInvalid)
}

// numbers: each is larger than the one before, whatever the clocks of servers are.
func numbers(t *testing.T, l ledger.Ledger) {
	for _, test := range []struct {
		name        string
		least, want int64
	}{{"deliveries", 100, 100}, {"deliveries", 100, 101}, {"deliveries", 7, 102}, {"deliveries", 500, 500}, {"deliveries", 101, 501}, {"other", 3, 3}} {
		got, err := l.NextNumber(t.Context(), test.name, test.least)
		must(t, err)
		equal(t, fmt.Sprint("number of ", test.name, " from ", test.least), got, test.want)
	}
	var wait sync.WaitGroup
	var mu sync.Mutex
	seen := map[int64]bool{}
	for range 8 {
		wait.Go(func() {
			for range 20 {
				n, err := l.NextNumber(t.Context(), "deliveries", 1)
				mu.Lock()
				if err != nil || n <= 501 || seen[n] {
					t.Errorf("got number %d, %v", n, err)
				}
				seen[n] = true
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	_, err := l.NextNumber(t.Context(), "", 1)
	wantError(t, "a number without a name", err, ledger.ErrInvalid)
}

// concurrentUnits: of many replicas, one gets each unit.
func concurrentUnits(t *testing.T, l ledger.Ledger) {
	ids := []string{"a", "b", "c", "d"}
	joinReplicas(t, l, living, ids...)
	var mu sync.Mutex
	var got []string
	var wait sync.WaitGroup
	for _, id := range ids {
		wait.Go(func() {
			for n := range 20 {
				h, err := l.ClaimUnit(t.Context(), id, fmt.Sprintf("%02d", n))
				switch {
				case errors.Is(err, ledger.ErrHeld):
				case err != nil:
					t.Error(err)
				default:
					mu.Lock()
					got = append(got, fmt.Sprintf("%s %s %d", h.Unit, h.Replica, h.Number))
					mu.Unlock()
				}
			}
		})
	}
	wait.Wait()
	slices.Sort(got)
	equal(t, "holds", got, holds(t, l))
	equal(t, "units", len(got), 20)
}

// firstToken: of many servers that start at the same time, one creates the first token.
func firstToken(t *testing.T, l ledger.Ledger) {
	var mu sync.Mutex
	first := 0
	var wait sync.WaitGroup
	for n := range 4 {
		wait.Go(func() {
			stored, err := l.PutFirstToken(t.Context(), ledger.Token{ID: fmt.Sprint(n), Hash: sha(n), Role: "admin", Created: at(0)})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if stored {
				first++
			}
		})
	}
	wait.Wait()
	all, err := l.Tokens(t.Context())
	must(t, err)
	equal(t, "tokens", []int{first, len(all)}, []int{1, 1})
}
