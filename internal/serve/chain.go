package serve

import (
	"context"
	"fmt"
	"time"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/record"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// Chains is the work that follows what was published, on its way to the clusters and from environment to environment.
// Every method may be called at any time, by several goroutines, and again.
type Chains interface {
	// Record notes what the GitOps branches of an environment want, its platform's and its applications'.
	Record(ctx context.Context, controlPlane, environment string) (*Recorded, error)
	// Promote moves the commits of a control plane along the chain of its environments.
	Promote(ctx context.Context, controlPlane string) (*Promoted, error)
}

// Recorded says what a look at GitOps branches found.
type Recorded struct {
	// Did lists what was noted, in order; empty when there was nothing new.
	Did []string
	// Problems are what could not be noted, and why.
	Problems []string
	// Read are the branches that were looked at.
	Read []schedule.Location
}

// Add adds what recording a branch found.
func (r *Recorded) Add(o *record.Outcome) {
	name := fmt.Sprintf("branch %s of %s", o.Branch.Branch, o.Branch.Repository)
	if n := len(o.Recorded); n > 0 {
		commits := "commits"
		if n == 1 {
			commits = "commit"
		}
		r.Did = append(r.Did, fmt.Sprintf("recorded %d %s of %s", n, commits, name))
	}
	if o.Rewritten != nil {
		r.Problems = append(r.Problems, fmt.Sprintf("%s: %s", name, o.Rewritten.Reason))
	}
	if o.Gone {
		r.Problems = append(r.Problems, name+" does not exist any more; what is recorded of it stays")
	}
	for _, p := range o.Problems {
		at := name
		if p.Position.File != "" { // it is not about the branch as a whole
			at += ": " + p.Position.String()
		}
		r.Problems = append(r.Problems, at+": "+p.Message)
	}
}

// Promoted says what was done in a chain.
type Promoted struct {
	// Did lists what was done, in order; empty for a round in which nothing had to be.
	Did []string
	// Moved are the environments whose inputs were changed by it.
	Moved []string
	// Next is when to look again though nothing happens; zero when that is not needed.
	Next time.Time
	// Environments are how they stand now.
	Environments []promote.Standing
}

// How long a chain is left alone after something happened to it: clusters report one after the other, and one look is enough
// for all that report within a moment. A look at a large fleet takes longer, and the next one waits for twice as long, so that
// clusters that report all the time do not keep the server busy; but never so long that people wonder.
const (
	settle     = 200 * time.Millisecond
	settleMost = time.Second
	settleTime = 2
)

// settles is how long a chain is left alone.
func (k *Keeper) settles(subject string) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return min(max(settle, settleTime*k.looks[subject]), settleMost)
}

// looked notes how long the last look at a chain took.
func (k *Keeper) looked(subject string, took time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.looks[subject] = took
}

// record notes what is published. What clusters do about it is looked at next.
func (k *Keeper) record(ctx context.Context, i item) error {
	recorded, err := k.Chains.Record(ctx, i.controlPlane, i.environment)
	if recorded != nil {
		k.mu.Lock()
		was := k.rounds[i]
		now := found{read: placesOf(recorded.Read), problems: recorded.Problems}
		k.rounds[i] = now
		k.mu.Unlock()
		k.say(i, recorded.Did, news(recorded.Problems, was.problems))
		if len(recorded.Did) > 0 {
			k.followAll(i.controlPlane) // targets may have other cluster types now
		}
	}
	if err == nil {
		k.queue.AddAfter(item{task: doPromote, controlPlane: i.controlPlane}, k.settles(i.controlPlane))
	}
	return err
}

// promote moves a chain. What it moved is scheduled at once.
func (k *Keeper) promote(ctx context.Context, i item) error {
	begun := time.Now()
	promoted, err := k.Chains.Promote(ctx, i.controlPlane)
	k.looked(i.controlPlane, time.Since(begun))
	if promoted == nil {
		return err
	}
	k.say(i, promoted.Did, nil)
	k.Metrics.stand(promoted.Environments)
	for _, environment := range promoted.Moved {
		k.queue.Add(item{task: doRound, controlPlane: i.controlPlane, environment: environment})
	}
	if !promoted.Next.IsZero() {
		k.queue.AddAfter(i, max(time.Until(promoted.Next), k.settles(i.controlPlane)))
	}
	return err
}

// say logs what was done, and what went wrong.
func (k *Keeper) say(i item, did, problems []string) {
	log := k.Log.With(i.attributes()...)
	for _, what := range did {
		log.Info(what)
	}
	for _, what := range problems {
		log.Warn(what)
	}
}

// news returns what is said and was not said before.
func news(said, before []string) []string {
	known := map[string]bool{}
	for _, what := range before {
		known[what] = true
	}
	var fresh []string
	for _, what := range said {
		if !known[what] {
			fresh = append(fresh, what)
		}
	}
	return fresh
}

// Reported counts the reports that clusters sent, and soon runs the chains that they are about. It returns at once.
func (k *Keeper) Reported(reports []ledger.Report) {
	k.start()
	k.Metrics.reported(len(reports))
	for _, url := range k.ControlPlanes {
		k.promoteSoon(url)
	}
	for _, i := range k.following(reports) {
		k.queue.AddAfter(i, k.settles(i.application))
	}
}

// Continue soon runs a chain again: a user gave it a command, or a verification ended. The subject is the URL of a
// control plane, or an application as the ledger names it. It returns at once.
func (k *Keeper) Continue(subject string) {
	k.start()
	if _, ok := deliver.WorkloadOf(subject); ok {
		for _, url := range k.ControlPlanes {
			k.queue.AddAfter(item{task: doFollow, controlPlane: url, application: subject}, k.settles(subject))
		}
		return
	}
	for _, url := range k.ControlPlanes {
		k.promoteSoon(url)
	}
}

// promoteSoon looks at a chain in a moment.
func (k *Keeper) promoteSoon(controlPlane string) {
	if k.Chains != nil {
		k.queue.AddAfter(item{task: doPromote, controlPlane: controlPlane}, k.settles(controlPlane))
	}
}
