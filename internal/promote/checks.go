package promote

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// running holds the verifications that run in the background. The zero value is empty.
type running struct {
	mu     sync.Mutex
	active map[checkKey]bool
	closed bool
	ctx    context.Context
	cancel context.CancelFunc
	wait   sync.WaitGroup
	signal chan struct{} // returned by ended
}

type checkKey struct{ subject, environment, revision, name string }

// defaultChecks is the default of MaxChecks.
const defaultChecks = 4

// start registers a verification. It returns false if the verification is already running, or nothing can be started.
func (r *running) start(key checkKey, limit int) (context.Context, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.active[key] || len(r.active) >= limit {
		return nil, false
	}
	if r.active == nil {
		r.active = map[checkKey]bool{}
		r.ctx, r.cancel = context.WithCancel(context.Background())
	}
	r.active[key] = true
	r.wait.Add(1)
	return r.ctx, true
}

func (r *running) end(key checkKey) {
	r.mu.Lock()
	delete(r.active, key)
	r.mu.Unlock()
	select {
	case r.ended() <- struct{}{}:
	default:
	}
	r.wait.Done()
}

// ended returns a channel that receives a value when a verification ends.
func (r *running) ended() chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.signal == nil {
		r.signal = make(chan struct{}, 1)
	}
	return r.signal
}

func (r *running) close() {
	r.mu.Lock()
	r.closed = true
	if r.cancel != nil {
		r.cancel()
	}
	r.mu.Unlock()
	r.wait.Wait()
}

// snapshot returns the running verifications.
func (r *running) snapshot() map[checkKey]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.active)
}

// markRunning adds the running verifications of a rollout to results.
func (r *round) markRunning(results []decide.CheckResult, place EnvironmentState) []decide.CheckResult {
	var names []string
	for key := range r.running {
		if key.subject == r.reading.Subject && key.environment == place.Environment && key.revision == place.Rollout.Commit {
			names = append(names, key.name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		results = slices.DeleteFunc(results, func(c decide.CheckResult) bool { return c.Name == name })
		results = append(results, decide.CheckResult{Name: name, Revision: place.Rollout.Commit, State: decide.CheckRunning})
	}
	return results
}

// check starts a verification unless it is already running. At the limit, a later round starts it.
func (r *round) check(a decide.RunCheck) error {
	limit := r.MaxChecks
	if limit <= 0 {
		limit = defaultChecks
	}
	key := checkKey{r.reading.Subject, a.Environment, a.Revision, a.Check.Name}
	ctx, ok := r.checks.start(key, limit)
	if !ok {
		r.outcome.wake(r.at.Add(countInterval))
		return nil
	}
	go r.Promoter.verify(ctx, key, a)
	r.did(a.String())
	return nil
}

// verify runs a verification and records its result. An interrupted verification has no result, and runs again.
func (p *Promoter) verify(ctx context.Context, key checkKey, a decide.RunCheck) {
	defer func() {
		p.checks.end(key)
		if p.Checked != nil && ctx.Err() == nil {
			p.Checked(key.subject)
		}
	}()
	begun := p.now()
	output, err := p.runCheck(ctx, a)
	if ctx.Err() != nil {
		return
	}
	d := Detail{Revision: a.Revision, Check: a.Check.Name, Result: decide.CheckPassed, Output: output, Took: p.now().Sub(begun).Round(time.Millisecond).String()}
	s := ledger.Step{
		PromotionID: ledger.PromotionID{Subject: key.subject, Commit: a.Commit, Environment: a.Environment},
		Kind:        string(Verified), At: p.now().UTC().Truncate(time.Microsecond),
	}
	if err != nil {
		d.Result, s.Reason = decide.CheckFailed, secret.Scrub(err.Error())
	}
	if s.Detail, err = json.Marshal(d); err != nil {
		return
	}
	_ = p.Ledger.RecordStep(ctx, s) // without a recorded result, the verification runs again
}

var errNoChecks = errors.New("verifications cannot be run here: the server is not set up for them")

func (p *Promoter) runCheck(ctx context.Context, a decide.RunCheck) (string, error) {
	if p.Checks == nil {
		return "", errNoChecks
	}
	return p.Checks.Run(ctx, a)
}
