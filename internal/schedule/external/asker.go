package external

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	schedulingv1 "github.com/kalypso-io/kalypso/api/scheduling/v1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Configured is a scheduler that the operator allows.
type Configured struct {
	Scheduler Scheduler // required
	// Timeout is the time for one answer. Default: [DefaultTimeout].
	Timeout time.Duration
}

// Asker asks the schedulers that the operator configured. It is safe for concurrent use, and remembers answers until they are
// recorded. The zero value has no schedulers: only recorded answers are used then.
type Asker struct {
	// Schedulers are the schedulers and extenders by their names.
	Schedulers map[string]Configured
	// Observe is called after a scheduler was asked; optional.
	Observe func(scheduler string, took time.Duration, err error)
	// Now is the clock; defaults to [time.Now].
	Now func() time.Time

	mu     sync.Mutex
	known  map[knownKey]*bundle.Answer
	pairs  int // in known
	pauses map[string]pause
}

type knownKey struct{ scheduler, digest string }

// The limits of asking.
const (
	// maxQuestions is how many questions an environment may have.
	maxQuestions = 500
	// workers is how many questions a scheduler gets at once for an environment.
	workers = 4
	// maxKnown is how many pairs are remembered. All are forgotten when there are more.
	maxKnown = 1 << 20
	// firstPause is how long a scheduler is not asked after it did not answer in time. It doubles up to longestPause.
	firstPause, longestPause = 30 * time.Second, 10 * time.Minute
)

// Input is what the schedulers of an environment are asked about.
type Input struct {
	Snapshot *fleet.Snapshot // required
	// Standing is what is published; nil is nothing.
	Standing placement.Published
	// Recorded returns the recorded answers for a policy; optional.
	Recorded func(policy string) []bundle.Answer
	// Proposed returns the answers of an open pull request that would record them; optional. It is only called for questions
	// that would be asked otherwise, but maybe concurrently.
	Proposed func(policy string) []bundle.Answer
	// Progress is called before schedulers are asked; optional.
	Progress func(what string)
}

// Asked are the answers for an environment.
type Asked struct {
	// Answers are those for decisions, also the errors.
	Answers map[string]placement.Answer
	// Recorded are the answers of the policies whose questions were all answered.
	Recorded map[string][]bundle.Answer
	// Problems are the warnings of the schedulers. Errors are in Answers.
	Problems []fleet.Problem
}

// Ask answers the questions of an environment, from recorded answers where it can. A scheduler that does not answer makes no
// error of this function, but of its policies' answers. The error is that of ctx.
func (a *Asker) Ask(ctx context.Context, in Input) (*Asked, error) {
	if a == nil {
		a = &Asker{}
	}
	questions := placement.Questions(in.Snapshot, placement.Options{Published: in.Standing})
	results := make([]result, len(questions))
	lanes := map[string]*lane{}
	var wait sync.WaitGroup
	for i := range questions {
		q := &questions[i]
		if i >= maxQuestions {
			results[i].err = unanswered(fleet.KindSchedulerSilent, "use fewer policies with external schedulers and extenders",
				"the environment has more than %d questions for schedulers", maxQuestions)
			continue
		}
		l := lanes[q.Scheduler]
		if l == nil {
			l = &lane{Asker: a, in: in, name: q.Scheduler, places: make(chan struct{}, workers)}
			l.configured, l.exists = a.Schedulers[q.Scheduler]
			lanes[q.Scheduler] = l
		}
		wait.Go(func() {
			l.places <- struct{}{}
			defer func() { <-l.places }()
			results[i] = l.answer(ctx, q)
		})
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return collect(in.Snapshot, questions, results), nil
}

// result is an answer to a question, or why there is none.
type result struct {
	answer *bundle.Answer
	err    error
}

// collect returns the answers by policy.
func collect(s *fleet.Snapshot, questions []placement.Question, results []result) *Asked {
	asked := &Asked{Answers: map[string]placement.Answer{}, Recorded: map[string][]bundle.Answer{}}
	for _, p := range s.Policies {
		if p.External() || len(p.Extenders) > 0 {
			// A policy without candidates has no questions, and needs no answers.
			asked.Answers[p.Name] = placement.Answer{Extenders: map[string]placement.Extension{}}
		}
		for _, e := range p.Extenders {
			asked.Answers[p.Name].Extenders[e.Name] = placement.Extension{}
		}
	}
	incomplete := map[string]bool{}
	for i := range questions {
		q, r := &questions[i], results[i]
		policy := q.Policy.Name
		answer := asked.Answers[policy]
		if r.err != nil {
			incomplete[policy] = true
		} else {
			asked.Recorded[policy] = append(asked.Recorded[policy], *r.answer)
			for _, w := range r.answer.Warnings {
				asked.Problems = append(asked.Problems, fleet.Problem{
					Severity: fleet.SeverityWarning, Kind: fleet.KindSchedulerWarning, Position: q.Policy.Position,
					Object: fleet.Ref{Kind: "SchedulingPolicy", Name: policy}, Message: fmt.Sprintf("%s: %s", named(q), w),
				})
			}
		}
		if q.Extender {
			answer.Extenders[q.Scheduler] = extension(r)
		} else {
			answer.Err, answer.Pairs = r.err, chosen(r)
		}
		asked.Answers[policy] = answer
	}
	for policy := range incomplete {
		delete(asked.Recorded, policy)
	}
	return asked
}

func chosen(r result) map[placement.Pair]placement.Verdict {
	pairs := map[placement.Pair]placement.Verdict{}
	if r.err == nil {
		for _, d := range r.answer.Decisions {
			pairs[placement.Pair{Target: d.Target, ClusterType: d.ClusterType}] = placement.Verdict{Reason: d.Reason, Score: d.Score}
		}
	}
	return pairs
}

func extension(r result) placement.Extension {
	e := placement.Extension{Err: r.err, Refused: map[placement.Pair]string{}, Scores: map[placement.Pair]int32{}}
	if r.err == nil {
		for _, f := range r.answer.Refused {
			e.Refused[placement.Pair{Target: f.Target, ClusterType: f.ClusterType}] = f.Reason
		}
		for _, s := range r.answer.Scores {
			e.Scores[placement.Pair{Target: s.Target, ClusterType: s.ClusterType}] = s.Score
		}
	}
	return e
}

// named returns whom a question is for: scheduler "cost".
func named(q *placement.Question) string {
	if q.Extender {
		return fmt.Sprintf("extender %q", q.Scheduler)
	}
	return fmt.Sprintf("scheduler %q", q.Scheduler)
}

func unanswered(kind fleet.ProblemKind, hint, format string, args ...any) error {
	return &placement.Unanswered{Kind: kind, Hint: hint, Err: fmt.Errorf(format, args...)}
}

// lane are the questions of an environment for one scheduler.
type lane struct {
	*Asker
	in         Input
	name       string
	configured Configured
	exists     bool
	// places limits the questions at once.
	places chan struct{}

	once     sync.Once
	facts    Observation
	factsErr error

	lateMu sync.Mutex
	// late is set when an answer came too late: the other questions are not asked.
	late error
}

// answer returns the answer to a question: the recorded one, one that is remembered, or a new one.
func (l *lane) answer(ctx context.Context, q *placement.Question) result {
	var recorded []bundle.Answer
	if l.in.Recorded != nil {
		recorded = l.in.Recorded(q.Policy.Name)
	}
	proposed := func() []bundle.Answer {
		if l.in.Proposed == nil {
			return nil
		}
		return l.in.Proposed(q.Policy.Name)
	}
	if !l.exists {
		if r := l.recordedOnly(q, recorded); r.err == nil {
			return r
		}
		return l.recordedOnly(q, proposed())
	}
	if err := l.observe(ctx); err != nil {
		return result{err: unanswered(fleet.KindSchedulerSilent, "check what the scheduler's configuration names", "%s: read its facts: %s", named(q), secret.Scrub(err.Error()))}
	}
	request, err := l.request(q)
	if err != nil {
		return result{err: err}
	}
	if found := fitting(request, recorded); found != nil {
		return result{answer: found}
	}
	if found := l.remembered(request); found != nil {
		return result{answer: found}
	}
	if found := fitting(request, proposed()); found != nil {
		return result{answer: found}
	}
	return l.ask(ctx, q, request)
}

// recordedOnly returns a recorded answer of a scheduler that is not configured here. Its facts are taken to be those of then.
func (l *lane) recordedOnly(q *placement.Question, recorded []bundle.Answer) result {
	for i := range recorded {
		request, err := RequestOf(l.in.Snapshot, q, nil)
		if err == nil {
			err = request.SealWithFacts(recorded[i].Facts)
		}
		if err != nil {
			return result{err: err}
		}
		if found := fitting(request, recorded[i:i+1]); found != nil {
			return result{answer: found}
		}
	}
	return result{err: unanswered(fleet.KindSchedulerUnknown,
		fmt.Sprintf("configure it: schedulers in the configuration of kalypso serve, or --scheduler %s=PROGRAM or URL", l.name),
		"%s is not configured here, and no answer to this question is recorded", named(q))}
}

// fitting returns the recorded answer to a request. Anyone who can push to the branch can write one, so it is checked like
// any other.
func fitting(r *schedulingv1.Request, recorded []bundle.Answer) *bundle.Answer {
	for i := range recorded {
		a := &recorded[i]
		if a.Scheduler == r.Scheduler && a.Task == r.Task && a.Digest == r.Digest && a.Response().Check(r) == nil {
			return a
		}
	}
	return nil
}

// observe reads the facts of the scheduler, once.
func (l *lane) observe(ctx context.Context) error {
	observer, ok := l.configured.Scheduler.(Observer)
	if !ok {
		return nil
	}
	l.once.Do(func() {
		ctx, cancel := context.WithTimeout(ctx, l.timeout())
		defer cancel()
		l.facts, l.factsErr = observer.Observe(ctx)
	})
	return l.factsErr
}

// request returns the request for a question, with the facts.
func (l *lane) request(q *placement.Question) (*schedulingv1.Request, error) {
	r, err := RequestOf(l.in.Snapshot, q, nil)
	if err != nil || l.facts == nil {
		return r, err
	}
	if r.Facts, err = l.facts(r); err != nil {
		return nil, fmt.Errorf("encode the facts: %w", err)
	}
	return r, r.Seal()
}

func (l *lane) timeout() time.Duration {
	if l.configured.Timeout <= 0 {
		return DefaultTimeout
	}
	return min(l.configured.Timeout, MaxTimeout)
}

// ask asks the scheduler.
func (l *lane) ask(ctx context.Context, q *placement.Question, request *schedulingv1.Request) result {
	const hint = "check the scheduler and its log"
	l.lateMu.Lock()
	late := l.late
	l.lateMu.Unlock()
	if late == nil {
		late = l.paused(l.name)
	}
	if late != nil {
		return result{err: unanswered(fleet.KindSchedulerSilent, hint, "%s did not answer: %w", named(q), late)}
	}
	if l.in.Progress != nil {
		l.in.Progress("asking " + named(q))
	}
	within, cancel := context.WithTimeout(ctx, l.timeout())
	defer cancel()
	begun := l.now()
	response, err := l.configured.Scheduler.Ask(within, request)
	isLate := within.Err() != nil && ctx.Err() == nil && err != nil
	if err == nil {
		if checked := response.Check(request); checked != nil {
			err = errAnswer{checked}
		} else if response.Error != "" {
			err = fmt.Errorf("it says: %s", secret.Scrub(response.Error))
		}
	}
	if isLate {
		err = fmt.Errorf("it took longer than %s", l.timeout())
		l.lateMu.Lock()
		l.late = err
		l.lateMu.Unlock()
	}
	if ctx.Err() == nil {
		l.answered(l.name, isLate, err)
		if l.Observe != nil {
			l.Observe(l.name, l.now().Sub(begun), err)
		}
	}
	var broken errAnswer
	switch {
	case errors.As(err, &broken):
		return result{err: unanswered(fleet.KindSchedulerAnswer, "the scheduler has to keep the rules of docs/reference/scheduler-protocol.md", "%s: %s", named(q), secret.Scrub(err.Error()))}
	case err != nil:
		return result{err: unanswered(fleet.KindSchedulerSilent, hint, "%s did not answer: %s", named(q), secret.Scrub(err.Error()))}
	}
	answer := l.record(request, response)
	l.remember(answer)
	return result{answer: answer}
}

// record returns an answer as it is recorded: without control characters and credentials in its texts.
func (l *lane) record(request *schedulingv1.Request, r *schedulingv1.Response) *bundle.Answer {
	a := &bundle.Answer{
		Scheduler: l.name, Task: request.Task, Digest: request.Digest, Facts: schedulingv1.FactsDigest(request.Facts),
		Decisions: r.Decisions, Refused: r.Refused, Scores: r.Scores,
	}
	clean := func(text string) string { return secret.Line(secret.Redact(text)) }
	for _, w := range r.Warnings {
		a.Warnings = append(a.Warnings, clean(w))
	}
	for i := range a.Decisions {
		a.Decisions[i].Reason = clean(a.Decisions[i].Reason)
	}
	for i := range a.Refused {
		if a.Refused[i].Reason = clean(a.Refused[i].Reason); a.Refused[i].Reason == "" {
			a.Refused[i].Reason = "no reason"
		}
	}
	return a
}

func (a *Asker) now() time.Time {
	if a.Now != nil {
		return a.Now()
	}
	return time.Now()
}

func (a *Asker) remembered(r *schedulingv1.Request) *bundle.Answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known[knownKey{r.Scheduler, r.Digest}]
}

// remember keeps an answer until it is recorded, so that previews and rounds before that use the same one.
func (a *Asker) remember(answer *bundle.Answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	size := 1 + len(answer.Decisions) + len(answer.Refused) + len(answer.Scores)
	if a.pairs+size > maxKnown || a.known == nil {
		a.known, a.pairs = map[knownKey]*bundle.Answer{}, 0
	}
	a.known[knownKey{answer.Scheduler, answer.Digest}] = answer
	a.pairs += size
}

// pause is a scheduler that did not answer in time.
type pause struct {
	until time.Time
	next  time.Duration
	err   error
}

// paused returns why a scheduler is not asked now; nil if it is. Rounds of other environments would wait for it again and again.
func (a *Asker) paused(scheduler string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p, ok := a.pauses[scheduler]; ok && a.now().Before(p.until) {
		return p.err
	}
	return nil
}

// answered records that a scheduler answered, or was late.
func (a *Asker) answered(scheduler string, late bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !late {
		delete(a.pauses, scheduler)
		return
	}
	if a.pauses == nil {
		a.pauses = map[string]pause{}
	}
	p := a.pauses[scheduler]
	if a.now().Before(p.until) {
		return // another question was late at the same time
	}
	p.next = min(max(2*p.next, firstPause), longestPause)
	p.until, p.err = a.now().Add(p.next), err
	a.pauses[scheduler] = p
}
