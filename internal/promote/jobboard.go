package promote

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// jobBoard holds the Jobs that clusters should run, and their answers until a round records them. A server that is restarted knows
// nothing, until its next round requests the same Jobs again, and the clusters repeat their answers.
type jobBoard struct {
	mu sync.Mutex
	// requests are those of the last round of each subject.
	requests map[string][]*jobRequest
}

// jobRequest is one run of Jobs on several clusters.
type jobRequest struct {
	hub.JobRequest
	// open are the clusters that should run it.
	open map[string]bool
	// heard is what they answered.
	heard jobAnswers
}

// jobAnswers are the answers of clusters about a run.
type jobAnswers map[string]jobAnswer

// jobAnswer is the answer of a cluster: passed, failed, waiting if it could not run a Job, or running.
type jobAnswer struct {
	state   decide.CheckState
	message string
	at      time.Time
}

func (a jobAnswer) final() bool {
	return a.state == decide.CheckPassed || a.state == decide.CheckFailed
}

// add adds an answer, unless there is a final one.
func (all jobAnswers) add(cluster string, a jobAnswer) {
	if last, ok := all[cluster]; !ok || !last.final() && !a.at.Before(last.at) {
		all[cluster] = a
	}
}

// noAgent is the answer of a cluster whose agent runs no Jobs, because it is too old or not allowed to.
const noAgent = "its agent does not run jobs"

// Jobs takes what a batch says about Jobs of a cluster, and returns those that the cluster should run.
func (p *Promoter) Jobs(cluster string, batch *hub.ReportBatch) []hub.JobRequest {
	wanted, subjects := p.jobs.answer(cluster, batch, p.now())
	for _, subject := range subjects {
		if p.Checked != nil {
			p.Checked(subject)
		}
	}
	return wanted
}

// answer returns the Jobs that a cluster should run, and the subjects about which something new is known.
func (b *jobBoard) answer(cluster string, batch *hub.ReportBatch, now time.Time) (wanted []hub.JobRequest, subjects []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var open []*jobRequest
	for _, subject := range slices.Sorted(maps.Keys(b.requests)) {
		for _, request := range b.requests[subject] {
			if !request.open[cluster] {
				continue
			}
			next, said := answerOf(request.ID, batch, now)
			last := request.heard[cluster]
			if said {
				request.heard.add(cluster, next)
			}
			if said && next.state != decide.CheckRunning && (last.state != next.state || last.message != next.message) {
				subjects = append(subjects, subject)
			}
			if batch.RunsJobs && !request.heard[cluster].final() {
				open = append(open, request)
			}
		}
	}
	for _, request := range turn(open, cluster, now) {
		wanted = append(wanted, request.JobRequest)
	}
	return wanted, slices.Compact(subjects)
}

// retryAfter is how long a cluster is not asked again for a Job that it could not run, while others wait for their turn: an agent sends
// each new state at once, and the answer would ask it at once for the next ones.
const retryAfter = 30 * time.Second

// turn returns the requests that a cluster should run now, if there are more than it takes: those that run, and then those about which it
// said nothing for the longest time.
func turn(open []*jobRequest, cluster string, now time.Time) []*jobRequest {
	if len(open) <= hub.MaxJobs {
		return open
	}
	runs := func(r *jobRequest) int {
		if r.heard[cluster].state == decide.CheckRunning {
			return 0
		}
		return 1
	}
	open = slices.DeleteFunc(open, func(r *jobRequest) bool { return runs(r) != 0 && now.Sub(r.heard[cluster].at) < retryAfter })
	slices.SortStableFunc(open, func(a, b *jobRequest) int {
		return cmp.Or(cmp.Compare(runs(a), runs(b)), a.heard[cluster].at.Compare(b.heard[cluster].at))
	})
	return open[:min(len(open), hub.MaxJobs)]
}

// answerOf returns what a batch says about a run.
func answerOf(id string, batch *hub.ReportBatch, now time.Time) (jobAnswer, bool) {
	if !batch.RunsJobs {
		return jobAnswer{decide.CheckWaiting, noAgent, now}, true
	}
	for _, result := range batch.Jobs {
		if result.ID != id {
			continue
		}
		states := map[hub.JobState]decide.CheckState{
			hub.JobRunning: decide.CheckRunning, hub.JobSucceeded: decide.CheckPassed, hub.JobFailed: decide.CheckFailed, hub.JobImpossible: decide.CheckWaiting,
		}
		// The text is that which a round records, so that it compares equal to it.
		return jobAnswer{states[result.State], forge.OneLine(secret.Scrub(result.Message), maxValue), now}, true
	}
	return jobAnswer{}, false
}

// heard returns a copy of what clusters answered about a run.
func (b *jobBoard) heard(subject, id string) jobAnswers {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, request := range b.requests[subject] {
		if request.ID == id {
			return maps.Clone(request.heard)
		}
	}
	return jobAnswers{}
}

// replace sets the runs of a subject. Answers to those that go on are kept.
func (b *jobBoard) replace(subject string, requests []*jobRequest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, request := range requests {
		for _, last := range b.requests[subject] {
			if last.ID == request.ID {
				request.heard = last.heard
			}
		}
	}
	if b.requests == nil {
		b.requests = map[string][]*jobRequest{}
	}
	slices.SortFunc(requests, func(a, b *jobRequest) int { return strings.Compare(a.ID, b.ID) })
	b.requests[subject] = requests
	if len(requests) == 0 {
		delete(b.requests, subject)
	}
}

// OpenJobs is one run of Jobs and the clusters that should run it.
type OpenJobs struct {
	hub.JobRequest
	Clusters []string `json:"clusters"`
}

// OpenJobs returns the Jobs that clusters should run for a subject.
func (p *Promoter) OpenJobs(subject string) []OpenJobs {
	p.jobs.mu.Lock()
	defer p.jobs.mu.Unlock()
	var all []OpenJobs
	for _, request := range p.jobs.requests[subject] {
		all = append(all, OpenJobs{request.JobRequest, slices.Sorted(maps.Keys(request.open))})
	}
	return all
}

// SetJobs sets the Jobs that clusters should run for a subject that another server works on.
func (p *Promoter) SetJobs(subject string, all []OpenJobs) {
	var requests []*jobRequest
	for _, open := range all {
		request := &jobRequest{JobRequest: open.JobRequest, open: map[string]bool{}, heard: jobAnswers{}}
		for _, cluster := range open.Clusters {
			request.open[cluster] = true
		}
		requests = append(requests, request)
	}
	p.jobs.replace(subject, requests)
}

// AsksJobs reports whether a cluster should run Jobs.
func (p *Promoter) AsksJobs(cluster string) bool {
	p.jobs.mu.Lock()
	defer p.jobs.mu.Unlock()
	for _, requests := range p.jobs.requests {
		if slices.ContainsFunc(requests, func(r *jobRequest) bool { return r.open[cluster] }) {
			return true
		}
	}
	return false
}
