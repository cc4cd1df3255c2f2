package serve

import (
	"context"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/record"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
)

// Chains records published commits, and promotes them. Its methods can be called concurrently and repeatedly.
type Chains interface {
	// Record records the GitOps branches of an environment: those of the platform and of its applications.
	Record(ctx context.Context, controlPlane, environment string) (*record.Summary, error)
	// Promote promotes the commits of a control plane along its chain.
	Promote(ctx context.Context, controlPlane string) (*Promoted, error)
}

// Promoted is the result of a promotion round.
type Promoted struct {
	// Did lists what was done, in order.
	Did []string
	// Moved are the environments whose inputs changed.
	Moved []string
	// Next is when another round is needed without an event; zero for never.
	Next time.Time
	// Environments are the states after the round.
	Environments []promote.Standing
}

// Delays before a round of a chain. Clusters report one after the other, and one round serves all reports in that time.
// The delay is delayFactor times the duration of the last round, within limits, so that frequent reports of a large fleet do not
// keep the server busy.
const (
	minDelay    = 200 * time.Millisecond
	maxDelay    = time.Second
	delayFactor = 2
)

// delay returns the delay before the next round of a chain.
func (k *Keeper) delay(subject string) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return min(max(minDelay, delayFactor*k.durations[subject]), maxDelay)
}

// noteDuration stores the duration of a chain's last round.
func (k *Keeper) noteDuration(subject string, took time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.durations[subject] = took
}

// record records what is published, and schedules a promotion round.
func (k *Keeper) record(ctx context.Context, i item) error {
	recorded, err := k.Chains.Record(ctx, i.controlPlane, i.environment)
	if recorded != nil {
		k.mu.Lock()
		was := k.rounds[i]
		now := found{read: placesOf(recorded.Read), problems: recorded.Problems}
		k.rounds[i] = now
		k.mu.Unlock()
		k.log(i, recorded.Did, newProblems(recorded.Problems, was.problems))
		if len(recorded.Did) > 0 {
			k.followAll(i.controlPlane) // assignments may have changed
		}
	}
	if err == nil {
		k.wake(item{task: doPromote, controlPlane: i.controlPlane}, k.delay(i.controlPlane))
	}
	return err
}

// promote runs a promotion round, and schedules the environments that changed.
func (k *Keeper) promote(ctx context.Context, i item) error {
	begun := time.Now()
	promoted, err := k.Chains.Promote(ctx, i.controlPlane)
	k.noteDuration(i.controlPlane, time.Since(begun))
	if promoted == nil {
		return err
	}
	k.log(i, promoted.Did, nil)
	k.Metrics.Stand(i.controlPlane, k.known(i.controlPlane, promoted.Environments))
	for _, environment := range promoted.Moved {
		k.wake(roundOf(i.controlPlane, environment), 0)
	}
	if !promoted.Next.IsZero() {
		k.queue.AddAfter(i, max(time.Until(promoted.Next), k.delay(i.controlPlane)))
	}
	return err
}

// log logs what was done, and problems.
func (k *Keeper) log(i item, did, problems []string) {
	log := k.Log.With(i.attributes()...)
	for _, what := range did {
		log.Info(what)
	}
	for _, what := range problems {
		log.Warn(what)
	}
}

// newProblems returns the problems that were not reported before.
func newProblems(problems, before []string) []string {
	return slices.DeleteFunc(slices.Clone(problems), func(p string) bool { return slices.Contains(before, p) })
}

// HandleReports counts stored reports, and schedules the chains that they concern. It does not block.
func (k *Keeper) HandleReports(reports []ledger.Report) {
	k.start()
	k.Metrics.reported(len(reports))
	k.tell(note{Sources: sourcesOf(reports)})
	k.wakeChains(sourcesOf(reports))
}

// wakeChains schedules the chains that reports about some sources concern.
func (k *Keeper) wakeChains(sources []ledger.Source) {
	for _, url := range k.ControlPlanes {
		k.promoteSoon(url)
	}
	for _, i := range k.chainsOf(sources) {
		k.ours(i, k.delay(i.application))
	}
}

// RunChain schedules a round of a chain, after a user's command or a verification. The subject is the URL of a control plane,
// or the subject of an application in the ledger. It does not block.
func (k *Keeper) RunChain(subject string) {
	k.start()
	k.tell(note{Chain: subject})
	k.runChain(subject)
}

func (k *Keeper) runChain(subject string) {
	if _, ok := deliver.WorkloadOf(subject); ok {
		for _, url := range k.ControlPlanes {
			k.ours(item{task: doFollow, controlPlane: url, application: subject}, k.delay(subject))
		}
		return
	}
	for _, url := range k.ControlPlanes {
		k.promoteSoon(url)
	}
}

// promoteSoon schedules a promotion round, if there are chains.
func (k *Keeper) promoteSoon(controlPlane string) {
	if k.Chains != nil {
		k.ours(item{task: doPromote, controlPlane: controlPlane}, k.delay(controlPlane))
	}
}
