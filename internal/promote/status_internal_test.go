package promote

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// TestStatusesOfACommitAreBounded checks that a commit never gets more statuses than a forge stores, however often
// counts change and clusters fail and recover, and that how it ends is posted all the same.
func TestStatusesOfACommitAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var last postedStatus
		now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
		post := func(a decide.SetStatus) {
			if a.Status == last.Status {
				return
			}
			if ok, _ := last.allows(a, now); ok {
				last = postedStatus{Status: a.Status, at: now, percent: percent(a), posted: last.posted + 1}
			}
		}
		every := time.Duration(rapid.IntRange(1, 30).Draw(t, "minutes")) * time.Minute
		fails := rapid.IntRange(1, 50).Draw(t, "fails")
		for i := range 20_000 {
			now = now.Add(every)
			done := i * 7919 % 10_000
			a := decide.SetStatus{Status: decide.Status{State: decide.Pending, Description: fmt.Sprintf("Applying %d/10000", done)}, Done: done, Of: 10_000}
			if i%fails == 0 {
				a = decide.SetStatus{Status: decide.Status{State: decide.Failure, Description: fmt.Sprintf("Failed: error %d", i)}}
			}
			post(a)
		}
		if last.posted > maxStatuses {
			t.Fatalf("%d statuses", last.posted)
		}
		now = now.Add(lastInterval)
		end := decide.SetStatus{Status: decide.Status{State: decide.Success, Description: "Deployed"}}
		if post(end); last.Status != end.Status {
			t.Fatalf("after %d statuses, the last one is %+v", last.posted, last.Status)
		}
	})
}

// TestCountsArePostedInSteps checks that a rollout to many clusters needs few statuses, and says when all have it.
func TestCountsArePostedInSteps(t *testing.T) {
	var last postedStatus
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for done := range 10_001 {
		now = now.Add(time.Minute)
		a := decide.SetStatus{Status: decide.Status{State: decide.Pending, Description: fmt.Sprintf("Applying %d/10000", done)}, Done: done, Of: 10_000}
		if ok, _ := last.allows(a, now); ok {
			last = postedStatus{Status: a.Status, at: now, percent: percent(a), posted: last.posted + 1}
		}
	}
	if last.posted > 102 || last.Description != "Applying 10000/10000" {
		t.Errorf("%d statuses, the last one %q", last.posted, last.Description)
	}
}
