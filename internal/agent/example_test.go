package agent_test

import (
	"fmt"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/agent"
)

// What was superseded before it could be sent is sent as well, in order.
func ExampleQueue() {
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	see := func(q *agent.Queue, state hub.State) {
		r := hub.Report{Kind: "Kustomization", Namespace: "flux-system", Name: "platform-dev", State: state}
		q.Observe(agent.Snapshot{Reports: []hub.Report{r}, Complete: true, Alive: true}, at)
		at = at.Add(time.Minute)
	}
	var q agent.Queue
	see(&q, hub.StateProgressing)
	see(&q, hub.StateFailed)
	see(&q, hub.StateFailed)
	for _, r := range q.Next(10) {
		fmt.Println(r.Observed.Format("15:04"), r.State)
	}
	q.Accepted(&hub.ReportBatch{Reports: q.Next(10)}, hub.ReportReceipt{})
	fmt.Println(q.Waiting(), "wait")
	// Output:
	// 10:00 progressing
	// 10:01 failed
	// 0 wait
}
