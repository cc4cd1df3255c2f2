package agent

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// fakeJobs runs Jobs that end after a time, in a cluster that outlives the agent.
type fakeJobs struct {
	begun map[string]time.Time
	takes time.Duration
	ends  hub.JobState
	looks int
}

func (f *fakeJobs) Run(_ context.Context, request hub.JobRequest) hub.JobResult {
	f.looks++
	if _, ok := f.begun[request.ID]; !ok {
		f.begun[request.ID] = time.Now()
	}
	if time.Since(f.begun[request.ID]) < f.takes {
		return hub.JobResult{ID: request.ID, State: hub.JobRunning}
	}
	return hub.JobResult{ID: request.ID, State: f.ends, Message: "as told"}
}

// jobServer requests a run until it has the result.
type jobServer struct {
	request hub.JobRequest
	done    bool
	got     []string
}

func (s *jobServer) answer(begun time.Time) func(hub.ReportBatch) (hub.ReportReceipt, error) {
	return func(b hub.ReportBatch) (hub.ReportReceipt, error) {
		said := fmt.Sprint(b.RunsJobs)
		for _, r := range b.Jobs {
			said = string(r.State)
		}
		s.got = append(s.got, fmt.Sprintf("%s %s", time.Since(begun).Round(time.Second), said))
		s.done = s.done || slices.ContainsFunc(b.Jobs, func(r hub.JobResult) bool { return r.ID == s.request.ID && r.State == hub.JobSucceeded })
		if s.done {
			return hub.ReportReceipt{}, nil
		}
		return hub.ReportReceipt{Jobs: []hub.JobRequest{s.request}}, nil
	}
}

// TestAgentRunsJobs: the result is sent when it is known, and not only with the next heartbeat.
func TestAgentRunsJobs(t *testing.T) {
	t.Parallel()
	simulate(t, Store{}, func(w *world) {
		w.stop()
		server, jobs := &jobServer{request: hub.JobRequest{ID: "1"}}, &fakeJobs{begun: map[string]time.Time{}, takes: 12 * time.Second, ends: hub.JobSucceeded}
		w.answer, w.agent.Jobs = server.answer(w.begun), jobs
		w.start()
		w.cluster.set(snapshot(report("a", "1", "ready")))
		w.pass(3 * time.Minute)
		want := []string{"1s true", "16s succeeded", "1m16s true", "2m16s true"}
		if !slices.Equal(server.got, want) || jobs.looks != 4 {
			t.Errorf("got %q, looked %d times; want %q", server.got, jobs.looks, want)
		}
	})
}

// TestAgentWithChangingTexts: only a new state is sent before the next heartbeat.
func TestAgentWithChangingTexts(t *testing.T) {
	t.Parallel()
	simulate(t, Store{}, func(w *world) {
		w.stop()
		server := &jobServer{request: hub.JobRequest{ID: "1"}}
		w.answer, w.agent.Jobs = server.answer(w.begun), &impossible{}
		w.start()
		w.cluster.set(snapshot(report("a", "1", "ready")))
		w.pass(3 * time.Minute)
		want := []string{"1s true", "2s impossible", "1m2s impossible", "2m2s impossible"}
		if !slices.Equal(server.got, want) {
			t.Errorf("%d batches: %q; want %q", len(server.got), server.got[:min(len(server.got), 10)], want)
		}
	})
}

// impossible can run nothing, and each time says something else.
type impossible struct{ looks int }

func (f *impossible) Run(_ context.Context, request hub.JobRequest) hub.JobResult {
	time.Sleep(time.Second) // which takes none in the bubble
	f.looks++
	return hub.JobResult{ID: request.ID, State: hub.JobImpossible, Message: fmt.Sprintf("attempt %d", f.looks)}
}

// TestAgentContinuesJobs: an agent that was killed has no memory of what it started, and starts nothing twice.
func TestAgentContinuesJobs(t *testing.T) {
	t.Parallel()
	simulate(t, Store{}, func(w *world) {
		w.stop()
		server, jobs := &jobServer{request: hub.JobRequest{ID: "1"}}, &fakeJobs{begun: map[string]time.Time{}, takes: time.Minute, ends: hub.JobSucceeded}
		w.answer, w.agent.Jobs = server.answer(w.begun), jobs
		w.start()
		w.cluster.set(snapshot(report("a", "1", "ready")))
		w.pass(30 * time.Second)
		w.stop()
		w.cluster = newFakeCluster()
		w.agent.Cluster = w.cluster
		w.start()
		w.cluster.set(snapshot(report("a", "1", "ready")))
		w.pass(time.Minute)
		want := []string{"1s true", "31s true", "1m1s succeeded"}
		if !slices.Equal(server.got, want) || len(jobs.begun) != 1 {
			t.Errorf("got %q, started %d; want %q", server.got, len(jobs.begun), want)
		}
	})
}

// TestJobsOfAnotherCluster: an agent that reports for another cluster cannot run Jobs there, and says so.
func TestJobsOfAnotherCluster(t *testing.T) {
	t.Parallel()
	simulate(t, Store{}, func(w *world) {
		w.stop()
		var got []string
		w.answer = func(b hub.ReportBatch) (hub.ReportReceipt, error) {
			got = append(got, fmt.Sprintf("%s %v", b.Cluster, b.RunsJobs))
			return hub.ReportReceipt{Jobs: []hub.JobRequest{{ID: "1"}}}, nil
		}
		jobs := &fakeJobs{begun: map[string]time.Time{}, ends: hub.JobImpossible}
		w.agent.Jobs, w.agent.Others = jobs, []string{"spoke"}
		w.start()
		s := snapshot(report("a", "1", "ready"))
		s.Others = map[string][]hub.Report{"spoke": {report("b", "1", "ready")}}
		w.cluster.set(s)
		w.pass(30 * time.Second)
		slices.Sort(got)
		if want := []string{"large-07 true", "large-07 true", "spoke false"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
