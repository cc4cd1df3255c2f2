package promote

import (
	"fmt"
	"testing"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// TestEachRequestHasItsTurn: requests that a cluster cannot run do not keep others from it, and it is not asked without a pause.
func TestEachRequestHasItsTurn(t *testing.T) {
	b, now := &jobBoard{}, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i := range 3*hub.MaxJobs - 1 {
		subject := fmt.Sprintf("app-%03d", i)
		request := &jobRequest{JobRequest: hub.JobRequest{ID: subject}, open: map[string]bool{"a": true}, heard: jobAnswers{}}
		b.replace(subject, []*jobRequest{request})
	}
	const running = "app-040"
	asked := map[string]int{}
	wanted, _ := b.answer("a", &hub.ReportBatch{RunsJobs: true}, now)
	for i := range 3 {
		batches := 0
		for ; len(wanted) > 1 || batches == 0; batches++ {
			if len(wanted) > hub.MaxJobs || batches > 3 {
				t.Fatalf("minute %d: %d requests after %d batches", i, len(wanted), batches)
			}
			batch := &hub.ReportBatch{RunsJobs: true}
			for _, request := range wanted {
				asked[request.ID]++
				state := hub.JobImpossible
				if request.ID == running {
					state = hub.JobRunning
				}
				batch.Jobs = append(batch.Jobs, hub.JobResult{ID: request.ID, State: state})
			}
			wanted, _ = b.answer("a", batch, now)
		}
		if len(wanted) != 1 || wanted[0].ID != running {
			t.Errorf("minute %d: %+v, want the one that runs", i, wanted)
		}
		now = now.Add(time.Minute)
		wanted, _ = b.answer("a", &hub.ReportBatch{RunsJobs: true}, now)
	}
	for i := range 3*hub.MaxJobs - 1 {
		if id := fmt.Sprintf("app-%03d", i); asked[id] < 3 {
			t.Errorf("%s was asked for %d times in three minutes", id, asked[id])
		}
	}
}
