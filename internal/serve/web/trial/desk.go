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

// The bounds of a desk.
const (
	// Fresh is how long an answer is kept.
	Fresh = 10 * time.Second
	// Longest is how long planning may take.
	Longest = 5 * time.Minute
	// MaxWaiting is how many questions wait in a lane.
	MaxWaiting = 8
	// Patience is how long somebody waits for an answer before they ask again, where a desk says nothing else.
	Patience = 4 * time.Second
	// forgotten is how long a question waits that nobody asks any more.
	forgotten = 30 * time.Second
)

// Desk plans. It must not be copied once it was asked.
type Desk struct {
	// Try plans. // required
	Try func(ctx context.Context, t schedule.Trial) (*schedule.Preview, error)
	// Now tells the time; nil for the clock.
	Now func() time.Time
	// Patience is how long Ask waits; 0 means [Patience].
	Patience time.Duration

	mu    sync.Mutex
	jobs  map[schedule.Trial]*job
	lanes [2]lane
}

// Answer is what a question came to.
type Answer struct {
	*schedule.Preview
	// Plans are those of the preview, ready to be shown.
	Plans []Plan
	// At is when it was planned.
	At time.Time
}

// ErrBusy says that too many questions wait already.
var ErrBusy = errors.New("too many plans are asked for at the moment")

// Pending says that an answer is on its way.
type Pending struct {
	// Since is when the question was asked first.
	Since time.Time
	// Waits says that it is not being planned yet.
	Waits bool
}

// Error implements error.
func (p *Pending) Error() string { return "it is being planned" }

// job is a question on its way to an answer.
type job struct {
	question schedule.Trial
	// done is closed when answer and err are set.
	done   chan struct{}
	answer Answer
	err    error
	// since is when it was asked first, and asked when it was asked last.
	since, asked time.Time
	begun        bool
}

// lane is what is planned one after the other.
type lane struct {
	busy    bool
	waiting []*job
}

// Ask returns the plans of a question, or [Pending] when they are not there after a while: ask again then.
// urgent questions do not wait for others. Other errors are [ErrBusy] and those of [schedule.Previewer.Try].
func (d *Desk) Ask(ctx context.Context, question schedule.Trial, urgent bool) (Answer, error) {
	j, err := d.join(question, urgent)
	if err != nil {
		return Answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(d.Patience, Patience))
	defer cancel()
	select {
	case <-j.done:
		return j.answer, j.err
	case <-ctx.Done():
		d.mu.Lock()
		defer d.mu.Unlock()
		return Answer{}, &Pending{Since: j.since, Waits: !j.begun}
	}
}

// join finds the job of a question, or puts one into a lane.
func (d *Desk) join(question schedule.Trial, urgent bool) (*job, error) {
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
			d.overtake(j)
		}
		return j, nil
	}
	l := &d.lanes[0]
	if urgent {
		l = &d.lanes[1]
	}
	d.forget(l, now)
	if len(l.waiting) >= MaxWaiting {
		return nil, ErrBusy
	}
	j := &job{question: question, done: make(chan struct{}), since: now, asked: now}
	if d.jobs == nil {
		d.jobs = map[schedule.Trial]*job{}
	}
	d.jobs[question] = j
	d.line(l, j)
	return j, nil
}

// line puts a job at the end of a lane.
func (d *Desk) line(l *lane, j *job) {
	l.waiting = append(l.waiting, j)
	if !l.busy {
		l.busy = true
		go d.work(l)
	}
}

// overtake moves a job to the lane of urgent ones, when it waits in the other: readers may have asked the same before.
func (d *Desk) overtake(j *job) {
	from, to := &d.lanes[0], &d.lanes[1]
	if i := slices.Index(from.waiting, j); i >= 0 && len(to.waiting) < MaxWaiting {
		from.waiting = slices.Delete(from.waiting, i, i+1)
		d.line(to, j)
	}
}

// forget takes out of a lane what nobody asks any more.
func (d *Desk) forget(l *lane, now time.Time) {
	var kept []*job
	for _, j := range l.waiting {
		if now.Sub(j.asked) < forgotten {
			kept = append(kept, j)
			continue
		}
		delete(d.jobs, j.question)
		j.err = ErrBusy // nobody is listening
		close(j.done)
	}
	l.waiting = kept
}

// work plans what waits in a lane, until nothing does.
func (d *Desk) work(l *lane) {
	for j := d.next(l); j != nil; j = d.next(l) {
		ctx, cancel := context.WithTimeout(context.Background(), Longest)
		answer, err := d.answer(ctx, j.question)
		cancel()
		d.mu.Lock()
		j.answer, j.err = answer, err
		j.answer.At = d.now()
		d.mu.Unlock()
		close(j.done)
	}
}

func (d *Desk) next(l *lane) *job {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget(l, d.now())
	if len(l.waiting) == 0 {
		l.busy = false
		return nil
	}
	j := l.waiting[0]
	l.waiting, j.begun = l.waiting[1:], true
	return j
}

// answer plans. A panic is an error of whoever asked, and of nobody else.
func (d *Desk) answer(ctx context.Context, question schedule.Trial) (answer Answer, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &PanicError{Cause: cause, Stack: debug.Stack()}
		}
	}()
	preview, err := d.Try(ctx, question)
	if err != nil {
		return Answer{}, err
	}
	// The differences are read while the context lasts.
	return Answer{Preview: preview, Plans: plansOf(preview)}, nil
}

// PanicError is a panic while something was planned.
type PanicError struct {
	Cause any
	Stack []byte
}

// Error implements error.
func (e *PanicError) Error() string { return fmt.Sprint(e.Cause) }

func (d *Desk) now() time.Time {
	if d.Now != nil {
		return d.Now()
	}
	return time.Now()
}
