package web

import (
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// TestAStepAndItsStatusAreOneEvent: the status has the reason, and the step says the same without it.
func TestAStepAndItsStatusAreOneEvent(t *testing.T) {
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	event := func(after time.Duration, step string, phase decide.State, commit string) query.Event {
		return query.Event{At: at.Add(after), Kind: query.EventPromotion, Step: step, Phase: phase, Environment: "dev", Commit: commit}
	}
	views := timelineOf([]query.Event{
		event(time.Hour, "stateChanged", decide.Failed, "2222222"),
		event(time.Millisecond, "stateChanged", decide.Good, "1111111"),
		event(0, "deployed", "", "1111111"),
		event(0, "deployed", "", "3333333"),
		event(-time.Minute, "failed", "", "2222222"),
	}, "")
	var got []string
	for _, v := range views {
		got = append(got, v.Commit+" "+label(v.State))
	}
	want := []string{"2222222 failed", "1111111 good", "3333333 deployed", "2222222 failed"}
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
}
