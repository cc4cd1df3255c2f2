package promote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

const (
	// defaultJobTime is the default of [v1alpha1.JobVerification.Timeout].
	defaultJobTime = 10 * time.Minute
	// maxAnswers is how many answers of clusters one step has.
	maxAnswers = 500
	// namedClusters is how many clusters a reason names.
	namedClusters = 3
)

// runJobs requests the Jobs of one measurement of the clusters that run the commit, and records their answers, and the result when it
// is known. The clusters' agents have the requests with the answers to their reports.
func (r *round) runJobs(ctx context.Context, a decide.RunCheck) error {
	if a.Begun.IsZero() {
		return nil // the next round knows when it began, which is a part of the ID
	}
	request := r.jobRequest(a)
	answers, err := r.recordAnswers(ctx, a, request.ID)
	if err != nil {
		return err
	}
	poll := pollOf(r.environment(a.Environment).Verdict, answers)
	state, text := poll.result()
	d := Detail{Revision: a.Revision, Check: a.Check.Name, Result: state, Job: request.ID}
	switch state {
	case decide.CheckPassed:
		d.Value, text = text, ""
	case decide.CheckWaiting:
		request.open = poll.open
		r.requests = append(r.requests, request)
		last, ok := r.journal.page(a.Environment).lastResult(a)
		if ok && last.State == state && last.Reason == text {
			return nil
		}
		if soon := last.At.Add(countInterval); ok && last.State == state && r.at.Before(soon) && !r.at.Before(last.At) {
			r.outcome.wake(soon)
			return nil
		}
	default:
		d.Value = poll.count()
		d.Output = poll.failures()
	}
	if err := r.record(ctx, a.Environment, a.Commit, Verified, text, d); err != nil {
		return err
	}
	r.did(a.String() + ": " + string(state))
	return nil
}

// jobRequest returns the request of a measurement. Its ID differs from those of other measurements, rollouts and verifications, and is
// the same in every round and on every server.
func (r *round) jobRequest(a decide.RunCheck) *jobRequest {
	environment, _ := decide.SplitRing(a.Environment)
	_, workload := ledger.SplitSubject(r.reading.Subject)
	seconds := defaultJobTime
	if t := a.Check.Job.Timeout; t != nil {
		seconds = min(t.Duration, hub.MaxJobTime)
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{
		r.reading.Subject, a.Environment, a.Commit, a.Revision, a.Check.Name, a.Check.Job.Template, a.Begun.UTC().Format(time.RFC3339Nano), fmt.Sprint(a.Measured),
	}, "\x00")))
	return &jobRequest{
		JobRequest: hub.JobRequest{
			ID: hex.EncodeToString(sum[:16]), Template: a.Check.Job.Template, Environment: environment, Workspace: r.reading.Workspace, Workload: workload,
			Revision: a.Revision, Seconds: int64(seconds.Seconds()),
		},
		heard: jobAnswers{},
	}
}

// recordAnswers records what is new in the answers of clusters, and returns all of them.
func (r *round) recordAnswers(ctx context.Context, a decide.RunCheck, id string) (jobAnswers, error) {
	heard, known := r.jobs.heard(r.reading.Subject, id), r.journal.page(a.Environment).jobs[id]
	var fresh, reworded []string
	var recorded time.Time
	for _, cluster := range slices.Sorted(maps.Keys(heard)) {
		last, ok := known[cluster]
		switch now := heard[cluster]; {
		case now.state == decide.CheckRunning || last.final():
		case !ok || last.state != now.state:
			fresh = append(fresh, cluster)
		case last.message != now.message:
			reworded = append(reworded, cluster)
		}
		if last.at.After(recorded) {
			recorded = last.at
		}
	}
	// A new state is recorded at once. A new text may come with each answer, so it waits: the history would grow without end.
	if soon := recorded.Add(countInterval); len(reworded) > 0 && len(fresh) == 0 && r.at.Before(soon) && !r.at.Before(recorded) {
		r.outcome.wake(soon)
		reworded = nil
	}
	fresh = append(fresh, reworded...)
	slices.Sort(fresh)
	for part := range slices.Chunk(fresh, maxAnswers) {
		d := Detail{Revision: a.Revision, Check: a.Check.Name, Job: id}
		for _, cluster := range part {
			answer := heard[cluster]
			if answer.state == decide.CheckPassed {
				d.Succeeded = append(d.Succeeded, cluster)
				continue
			}
			d.Answers = append(d.Answers, JobAnswer{Cluster: cluster, Result: answer.state, Message: answer.message})
		}
		if err := r.record(ctx, a.Environment, a.Commit, Ran, d.answers(), d); err != nil {
			return nil, err
		}
	}
	return r.journal.page(a.Environment).jobs[id], nil
}

// answers describes the answers of a step: "12 clusters succeeded; large-01 failed: BackoffLimitExceeded".
func (d *Detail) answers() string {
	var all []string
	switch n := len(d.Succeeded); {
	case n == 1:
		all = append(all, d.Succeeded[0]+" succeeded")
	case n > 1:
		all = append(all, fmt.Sprintf("%d clusters succeeded", n))
	}
	var others []string
	for _, a := range d.Answers {
		verb := "failed"
		if a.Result != decide.CheckFailed {
			verb = "cannot run it"
		}
		others = append(others, described(a.Cluster+" "+verb, a.Message))
	}
	if len(others) > 0 {
		all = append(all, named(others))
	}
	return strings.Join(all, "; ")
}

// addAnswers adds the answers of a step.
func (p *page) addAnswers(d Detail, at time.Time) {
	all := p.jobs[d.Job]
	if all == nil {
		all = jobAnswers{}
		p.jobs[d.Job] = all
	}
	for _, cluster := range d.Succeeded {
		all.add(cluster, jobAnswer{state: decide.CheckPassed, at: at})
	}
	for _, answer := range d.Answers {
		all.add(answer.Cluster, jobAnswer{answer.Result, answer.Message, at})
	}
}

// poll counts the answers about a run.
type poll struct {
	// clusters is how many clusters the gate counts, need how many of them must succeed.
	clusters, need, succeeded int
	// open are the clusters that run the commit and have no final answer.
	open map[string]bool
	// failed and impossible describe the answers of clusters, sorted.
	failed, impossible []string
}

// pollOf counts answers of the clusters of a verdict. Of those that the gate counts, the share that the gate requires must succeed.
func pollOf(v comply.Verdict, answers jobAnswers) poll {
	p := poll{open: map[string]bool{}}
	runs := map[string]bool{}
	for _, r := range v.Reconcilers {
		if r.Uncounted {
			continue
		}
		before, seen := runs[r.Cluster]
		runs[r.Cluster] = r.State == comply.Reached && (before || !seen)
	}
	p.clusters = len(runs)
	if v.Counts.Counted > 0 {
		p.need = (p.clusters*v.Counts.Required + v.Counts.Counted - 1) / v.Counts.Counted
	}
	p.need = max(p.need, 1)
	for _, cluster := range slices.Sorted(maps.Keys(runs)) {
		switch answer := answers[cluster]; answer.state {
		case decide.CheckPassed:
			p.succeeded++
			continue
		case decide.CheckFailed:
			p.failed = append(p.failed, described(cluster, answer.message))
			continue
		case decide.CheckWaiting:
			p.impossible = append(p.impossible, described(cluster, answer.message))
		}
		p.open[cluster] = runs[cluster]
	}
	return p
}

func described(cluster, message string) string {
	if message == "" {
		return cluster
	}
	return cluster + ": " + message
}

// count returns, for example, "3 of 4 clusters succeeded".
func (p *poll) count() string {
	return fmt.Sprintf("%d of %d clusters succeeded", p.succeeded, p.clusters)
}

// result returns the result, and what it is.
func (p *poll) result() (decide.CheckState, string) {
	switch {
	case p.succeeded >= p.need:
		return decide.CheckPassed, p.count()
	case len(p.failed) > max(p.clusters-p.need, 0):
		return decide.CheckFailed, fmt.Sprintf("%d of %d clusters failed: %s", len(p.failed), p.clusters, named(p.failed))
	case p.clusters == 0:
		return decide.CheckWaiting, "no cluster counts that could run a job"
	}
	text := p.count()
	if p.need != p.clusters {
		text += fmt.Sprintf(", %d required", p.need)
	}
	if len(p.failed) > 0 {
		text += "; failed: " + named(p.failed)
	}
	if len(p.impossible) > 0 {
		text += "; not known: " + named(p.impossible)
	}
	return decide.CheckWaiting, text
}

// named returns the first of a list.
func named(all []string) string {
	text := strings.Join(all[:min(len(all), namedClusters)], ", ")
	if n := len(all) - namedClusters; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// maxFailures limits the clusters that evidence lists.
const maxFailures = 20

// failures lists the clusters that failed, one a line.
func (p *poll) failures() string {
	lines := slices.Clone(p.failed[:min(len(p.failed), maxFailures)])
	if n := len(p.failed) - maxFailures; n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(lines, "\n")
}
