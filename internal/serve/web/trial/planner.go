package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/schedule"
)

// Limits of a planner.
const (
	// Fresh is how long an answer is cached.
	Fresh = 10 * time.Second
	// Longest is the timeout of planning.
	Longest = 5 * time.Minute
	// MaxWaiting is the capacity of a queue.
	MaxWaiting = 8
	// DefaultWait is how long a request waits for an answer before the client has to ask again.
	DefaultWait = 4 * time.Second
	// abandoned is when a queued question is dropped that no client repeats.
	abandoned = 30 * time.Second
)

// Planner plans questions, one at a time in each of two queues. It must not be copied after first use.
type Planner struct {
	// Plan answers a question. // required
	Plan func(ctx context.Context, t schedule.PlanRequest) (*schedule.Preview, error)
	// Now returns the time; nil means [time.Now].
	Now func() time.Time
	// Wait is how long Preview waits; 0 means [DefaultWait].
	Wait time.Duration

	mu     sync.Mutex
	jobs   map[schedule.PlanRequest]*job
	queues [2]queue
}

// Answer is the answer to a question.
type Answer struct {
	*schedule.Preview
	// Plans are the plans of the preview, as pages show them.
	Plans []Plan
	// At is when it was planned.
	At time.Time
}

// ErrBusy means that the queue is full.
var ErrBusy = errors.New("too many plans are requested at the moment; try again")

// Pending means that the answer is not there yet.
type Pending struct {
	// Since is when the question was first asked.
	Since time.Time
	// Queued is true until planning starts.
	Queued bool
}

// Error implements error.
func (p *Pending) Error() string { return "it is being planned" }

// job is a question, queued or being planned.
type job struct {
	question schedule.PlanRequest
	// done is closed when answer and err are set.
	done   chan struct{}
	answer Answer
	err    error
	// since is when it was first asked, asked when it was last asked.
	since, asked time.Time
	started      bool
}

// queue holds the jobs that are planned one after the other.
type queue struct {
	busy    bool
	waiting []*job
}

// Preview returns the plans of a question, or [Pending] if they are not there after Wait: then ask again.
// Urgent questions have a queue of their own. Other errors are [ErrBusy] and those of Plan.
func (d *Planner) Preview(ctx context.Context, question schedule.PlanRequest, urgent bool) (Answer, error) {
	j, err := d.join(question, urgent)
	if err != nil {
		return Answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(d.Wait, DefaultWait))
	defer cancel()
	select {
	case <-j.done:
		return j.answer, j.err
	case <-ctx.Done():
		d.mu.Lock()
		defer d.mu.Unlock()
		return Answer{}, &Pending{Since: j.since, Queued: !j.started}
	}
}

// join returns the job of a question, which it enqueues if it is new.
func (d *Planner) join(question schedule.PlanRequest, urgent bool) (*job, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	for other, j := range d.jobs {
		if !j.answer.At.IsZero() && now.Sub(j.answer.At) >= Fresh {
			delete(d.jobs, other)
		}
	}
	if j := d.jobs[question]; j != nil {
		j.asked = now
		if urgent {
			d.expedite(j)
		}
		return j, nil
	}
	l := &d.queues[0]
	if urgent {
		l = &d.queues[1]
	}
	d.dropAbandoned(l, now)
	if len(l.waiting) >= MaxWaiting {
		return nil, ErrBusy
	}
	j := &job{question: question, done: make(chan struct{}), since: now, asked: now}
	if d.jobs == nil {
		d.jobs = map[schedule.PlanRequest]*job{}
	}
	d.jobs[question] = j
	d.enqueue(l, j)
	return j, nil
}

// enqueue appends a job to a queue.
func (d *Planner) enqueue(l *queue, j *job) {
	l.waiting = append(l.waiting, j)
	if !l.busy {
		l.busy = true
		go d.run(l)
	}
}

// expedite moves a waiting job to the urgent queue: a reader may have asked the same question before.
func (d *Planner) expedite(j *job) {
	from, to := &d.queues[0], &d.queues[1]
	if i := slices.Index(from.waiting, j); i >= 0 && len(to.waiting) < MaxWaiting {
		from.waiting = slices.Delete(from.waiting, i, i+1)
		d.enqueue(to, j)
	}
}

// dropAbandoned removes the jobs that no client asks for any more.
func (d *Planner) dropAbandoned(l *queue, now time.Time) {
	var kept []*job
	for _, j := range l.waiting {
		if now.Sub(j.asked) < abandoned {
			kept = append(kept, j)
			continue
		}
		delete(d.jobs, j.question)
		j.err = ErrBusy // no client is waiting
		close(j.done)
	}
	l.waiting = kept
}

// run plans the jobs of a queue until it is empty.
func (d *Planner) run(l *queue) {
	for j := d.next(l); j != nil; j = d.next(l) {
		ctx, cancel := context.WithTimeout(context.Background(), Longest)
		answer, err := d.plan(ctx, j.question)
		cancel()
		d.mu.Lock()
		j.answer, j.err = answer, err
		j.answer.At = d.now()
		d.mu.Unlock()
		close(j.done)
	}
}

func (d *Planner) next(l *queue) *job {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dropAbandoned(l, d.now())
	if len(l.waiting) == 0 {
		l.busy = false
		return nil
	}
	j := l.waiting[0]
	l.waiting, j.started = l.waiting[1:], true
	return j
}

// plan answers a question. A panic becomes an error of this question only.
func (d *Planner) plan(ctx context.Context, question schedule.PlanRequest) (answer Answer, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &PanicError{Cause: cause, Stack: debug.Stack()}
		}
	}()
	preview, err := d.Plan(ctx, question)
	if err != nil {
		return Answer{}, err
	}
	// Diffs are read while the context lasts.
	return Answer{Preview: preview, Plans: plansOf(preview)}, nil
}

// PanicError is a panic while planning.
type PanicError struct {
	Cause any
	Stack []byte
}

// Error implements error.
func (e *PanicError) Error() string { return fmt.Sprint(e.Cause) }

func (d *Planner) now() time.Time {
	if d.Now != nil {
		return d.Now()
	}
	return time.Now()
}
