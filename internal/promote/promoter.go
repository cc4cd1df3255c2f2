package promote

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

var (
	// ErrNoCommit says that the forge does not have a commit, or that none hosts its repository.
	ErrNoCommit = errors.New("the forge does not have the commit")
	// ErrProtected says that a branch takes changes only by a proposal.
	ErrProtected = errors.New("the branch is protected")
)

// Ledger is the part of the ledger that promotion needs.
type Ledger interface {
	RecordStep(ctx context.Context, s ledger.Step) error
	Steps(ctx context.Context, q ledger.StepQuery) ([]ledger.Step, error)
	Clusters(ctx context.Context, q ledger.ClusterQuery) ([]ledger.Cluster, error)
	States(ctx context.Context, q ledger.StateQuery) (ledger.StatePage, error)
}

// Ancestry knows the history of GitOps repositories.
type Ancestry interface {
	// Reaches says of each hash whether it is a commit or a descendant of it. Those that the repository does not have are left out.
	Reaches(ctx context.Context, gitOps hub.Source, commit string, hashes []string) (map[string]bool, error)
}

// Checks runs verifications.
type Checks interface {
	// Run runs a verification, which passed when there is no error. The output is for people: bounded, and without credentials.
	Run(ctx context.Context, check decide.RunCheck) (output string, err error)
}

// Promoter takes commits along their chains, in rounds.
//
// It is level-triggered: a round may be killed after any step and run again, and two of them at once end in the same state.
// Verifications run in the background, and a round after their end sees their results.
// It is safe for concurrent use; do not change or copy it after the first round.
type Promoter struct {
	Ledger   Ledger   // required
	Ancestry Ancestry // required
	// Checks runs verifications; without it they fail and say so.
	Checks Checks
	// MaxChecks is how many verifications run at once. 0 means four.
	MaxChecks int
	// Checked is told the subject of a pipeline when a verification has ended; nil for nobody.
	Checked func(subject string)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Step is told the name of each step after it is done; for tests that end a round there. May be nil.
	Step func(name string) error

	mu sync.Mutex
	// subjects are those of the pipelines that were worked on.
	subjects map[string]*subject
	checks   running
}

// subject is what is kept about one pipeline between rounds: only what makes them faster.
type subject struct {
	sync.Mutex // is held for a round
	journal    journal
}

func (p *Promoter) subject(name string) *subject {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.subjects == nil {
		p.subjects = map[string]*subject{}
	}
	if p.subjects[name] == nil {
		p.subjects[name] = &subject{}
	}
	return p.subjects[name]
}

func (p *Promoter) now() time.Time {
	if p.Now == nil {
		return time.Now()
	}
	return p.Now()
}

// Round finds out where everything stands, decides and acts. The outcome says how far it came, also with an error:
// what concerns one environment does not stop the others. When it did something there may be more to do at once.
func (p *Promoter) Round(ctx context.Context, pipeline Pipeline) (*Outcome, error) {
	return p.work(ctx, pipeline, func(r *round) error { return r.act(ctx) })
}

// Look finds out where everything stands and decides, and does nothing.
func (p *Promoter) Look(ctx context.Context, pipeline Pipeline) (*Outcome, error) {
	return p.work(ctx, pipeline, func(*round) error { return nil })
}

// work gathers the facts and decides, and lets do act on that.
func (p *Promoter) work(ctx context.Context, pipeline Pipeline, do func(*round) error) (*Outcome, error) {
	reading, err := pipeline.Read(ctx)
	if err != nil {
		return nil, fmt.Errorf("read what is promoted: %w", err)
	}
	s := p.subject(reading.Subject)
	s.Lock()
	defer s.Unlock()
	r := &round{Promoter: p, pipeline: pipeline, reading: reading, journal: &s.journal, at: p.now()}
	if err := r.journal.refresh(ctx, p.Ledger, reading.Subject, r.at); err != nil {
		return nil, err
	}
	gathered := r.gather(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.decisions = decide.Decide(r.facts, r.at)
	r.outcome = r.describe()
	return r.outcome, errors.Join(gathered, do(r))
}

// Close ends the verifications that run, and waits for that. They have no result, and are run again.
func (p *Promoter) Close() { p.checks.close() }
