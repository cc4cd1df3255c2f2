package promote

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/promote/measure"
)

var (
	// ErrNoCommit means that the forge does not have a commit, or that no forge hosts its repository.
	ErrNoCommit = errors.New("the forge does not have the commit")
	// ErrProtected means that a branch can only be changed with a pull request.
	ErrProtected = errors.New("the branch is protected")
)

// Ledger is the part of the ledger that promotion uses.
type Ledger interface {
	RecordStep(ctx context.Context, s ledger.Step) error
	Steps(ctx context.Context, q ledger.StepQuery) ([]ledger.Step, error)
	Clusters(ctx context.Context, q ledger.ClusterQuery) ([]ledger.Cluster, error)
	Registered(ctx context.Context, q ledger.RegistrationQuery) ([]ledger.Registration, error)
	States(ctx context.Context, q ledger.StateQuery) (ledger.StatePage, error)
	KeepSilences(ctx context.Context, subject string, atLeast time.Duration) error
	StateHistory(ctx context.Context, q ledger.StateHistoryQuery) ([]ledger.Transition, error)
	Silences(ctx context.Context, q ledger.SilenceQuery) ([]ledger.Silence, error)
	// RecordCommit records the commits of rings.
	RecordCommit(ctx context.Context, c ledger.Commit) error
}

// Ancestry gives access to the history of GitOps repositories.
type Ancestry interface {
	// Reaches reports for each hash whether it is commit or a descendant. Hashes that are not in the repository are left out.
	Reaches(ctx context.Context, gitOps hub.Source, commit string, hashes []string) (map[string]bool, error)
}

// Checks runs verifications.
type Checks interface {
	// Run measures a verification once. A nil error means that it passed. The evidence is limited in size and contains no credentials.
	Run(ctx context.Context, check decide.RunCheck) (measure.Evidence, error)
}

// Promoter promotes commits along their chains, in rounds.
//
// It is level-triggered: a round can be killed after any step and repeated, and two concurrent rounds lead to the same state.
// Measurements of verifications run in the background; a round after their end uses the results.
// It is safe for concurrent use. Do not change or copy it after the first round.
type Promoter struct {
	Ledger   Ledger   // required
	Ancestry Ancestry // required
	// Checks runs verifications. If nil, all verifications fail with an explanation.
	Checks Checks
	// MaxChecks is how many measurements run concurrently; defaults to 4. The one that has waited longest is the next.
	MaxChecks int
	// Checked is called with the pipeline's subject when a verification ends; optional.
	Checked func(subject string)
	// People are the users whose reviews on forges count as approvals. If nil, reviews are not read.
	People *forge.People
	// Now is the clock; defaults to time.Now.
	Now func() time.Time

	mu sync.Mutex
	// subjects holds the caches by subject.
	subjects map[string]*subject
	checks   running
	jobs     jobBoard
}

// subject caches the state of one pipeline between rounds.
type subject struct {
	sync.Mutex // held during a round
	journal    journal
	// read is when the statuses of a commit were last read for a verification.
	read map[checkKey]time.Time
	// heads are the recorded commits of rings, by repository and branch.
	heads map[string]ringHead
	// relations are which commits contain a commit of a GitOps branch, which never changes.
	relations map[string]map[string]bool
	// past is what the clusters of each place reported over time.
	past map[string]*past
	// silence is how short the silences are that the ledger keeps for this subject; zero before the first round.
	silence time.Duration
	// reviews are what was read of pull requests.
	reviews map[string]cachedReviews
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

// Round gathers the facts, decides and carries out the decisions. It returns the outcome even with an error,
// because an error in one environment does not stop the others. If it did something, another round may be needed at once.
func (p *Promoter) Round(ctx context.Context, pipeline Pipeline) (*Outcome, error) {
	return p.work(ctx, pipeline, nil, func(r *round) error {
		err := r.act(ctx)
		if ctx.Err() == nil {
			p.jobs.replace(r.reading.Subject, r.requests)
		}
		return err
	})
}

// Preview gathers the facts and decides, but changes nothing.
func (p *Promoter) Preview(ctx context.Context, pipeline Pipeline) (*Outcome, error) {
	return p.work(ctx, pipeline, nil, func(*round) error { return nil })
}

// work gathers the facts and decides, and calls do to carry out the decisions. imagined are commands that were not
// given.
func (p *Promoter) work(ctx context.Context, pipeline Pipeline, imagined []ledger.Step, do func(*round) error) (*Outcome, error) {
	reading, err := pipeline.Read(ctx)
	if err != nil {
		return nil, fmt.Errorf("read what is promoted: %w", err)
	}
	s := p.subject(reading.Subject)
	s.Lock()
	defer s.Unlock()
	now := p.now()
	r := &round{
		Promoter: p, pipeline: pipeline, reading: reading, subject: s, journal: &s.journal, clock: now, at: now,
		running: p.checks.snapshot(), reviewed: map[string]bool{},
	}
	if len(imagined) > 0 {
		r.journal = &journal{} // that of the subject must not have them
	}
	if err := r.journal.refresh(ctx, p.Ledger, reading.Subject, r.at); err != nil {
		return nil, err
	}
	for _, s := range imagined {
		r.journal.absorb(s)
	}
	r.notBefore(r.journal.newest)
	gathered := r.gather(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.outcome = r.describe()
	return r.outcome, errors.Join(gathered, do(r))
}

// notBefore sets the time of the round to that of something in the ledger, if the clock was set back since: time stands still until the clock is
// later again. Otherwise what follows would seem to come before what it followed.
func (r *round) notBefore(recorded time.Time) { r.at = later(r.at, recorded) }

// clockTolerance is by how much the clocks of servers that share a ledger may differ.
const clockTolerance = time.Minute

// standsStill returns until when time stands still because the clock was set back; zero if it does not.
func (r *round) standsStill() time.Time {
	if r.at.Sub(r.clock) <= clockTolerance {
		return time.Time{}
	}
	return r.at
}

// Close stops running verifications and waits for them. They have no result, and run again later.
func (p *Promoter) Close() { p.checks.close() }
