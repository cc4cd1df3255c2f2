package agent

import (
	"context"
	"slices"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// jobs runs the Jobs of the server's last answer. It remembers nothing: the server repeats its requests, and the cluster has the Jobs.
// Except for advance, only the loop of the agent uses it.
type jobs struct {
	run Jobs // nil runs none
	// requests are those of the last answer, and states what is known of them.
	requests []hub.JobRequest
	states   []hub.JobResult
	// unsent is set when the server should know the states at once.
	unsent bool
	// due fires when the Jobs should be looked at.
	due     *time.Timer
	busy    bool
	results chan []hub.JobResult
}

// jobInterval is the time between looks at Jobs that run.
const jobInterval = 5 * time.Second

func newJobs(run Jobs) *jobs {
	// Buffered: the results may come after the loop has ended.
	j := &jobs{run: run, due: time.NewTimer(0), results: make(chan []hub.JobResult, 1)}
	j.due.Stop()
	return j
}

// request replaces the requests by those of an answer.
func (j *jobs) request(requests []hub.JobRequest) {
	if j.run == nil {
		return
	}
	j.requests = requests[:min(len(requests), hub.MaxJobs)]
	j.states = slices.DeleteFunc(j.states, func(s hub.JobResult) bool { return !j.requested(s.ID) })
	if len(j.requests) > 0 && !j.busy {
		j.due.Reset(0)
	}
}

func (j *jobs) requested(id string) bool {
	return slices.ContainsFunc(j.requests, func(r hub.JobRequest) bool { return r.ID == id })
}

// advance looks at the Jobs, and starts those that are missing, in the background.
func (j *jobs) advance(ctx context.Context) {
	if j.busy || len(j.requests) == 0 {
		return
	}
	j.busy = true
	requests := slices.Clone(j.requests)
	go func() {
		var all []hub.JobResult
		for _, request := range requests {
			all = append(all, j.run.Run(ctx, request))
		}
		j.results <- all
	}()
}

// keep keeps the results of Jobs that are still requested. The server should know at once of each that does not run any more. A new text
// of the same state goes with the next batch: the answer to a batch runs the Jobs again, and the text may differ each time.
func (j *jobs) keep(results []hub.JobResult) {
	j.busy = false
	before := j.states
	j.states = slices.DeleteFunc(results, func(s hub.JobResult) bool { return !j.requested(s.ID) })
	waits := len(j.states) < len(j.requests)
	for _, s := range j.states {
		told := slices.ContainsFunc(before, func(b hub.JobResult) bool { return b.ID == s.ID && b.State == s.State })
		j.unsent = j.unsent || s.State != hub.JobRunning && !told
		waits = waits || s.State == hub.JobRunning
	}
	if waits {
		j.due.Reset(jobInterval)
	}
}

// report returns what a batch says about Jobs.
func (j *jobs) report() (runs bool, states []hub.JobResult) {
	j.unsent = false
	return j.run != nil, slices.Clone(j.states)
}
