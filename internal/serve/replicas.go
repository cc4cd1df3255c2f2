package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/replica"
)

// Replicas divides work among servers. [replica.Member] implements it.
type Replicas interface {
	// Begin begins work on a unit, under a context that ends when another replica may work on it. The error is [replica.ErrElsewhere]
	// if another one works on it.
	Begin(ctx context.Context, unit string) (under context.Context, end func(), err error)
	// Mine reports whether this replica is the one to work on a unit.
	Mine(unit string) bool
	// Post sends a note to the others.
	Post(note string)
}

var _ Replicas = (*replica.Member)(nil)

// Views shows on this replica what others work on. It writes nothing, and its methods can be called concurrently and repeatedly.
//
// What an environment's files would be is a pure function of commits, so each replica computes it for itself. What a round of it did on
// the forge, and the results of chains and applications, are read from the ledger, where the replica that works on them stores them.
type Views interface {
	// Round reads an environment.
	Round(ctx context.Context, controlPlane, environment string) (*schedule.Outcome, error)
	// Promotion reads the result of the chain of a control plane; nil before the first.
	Promotion(ctx context.Context, controlPlane string) (*Promoted, error)
	// Delivery reads the result of an application; nil before the first.
	Delivery(ctx context.Context, controlPlane, application string) (*Delivered, error)
}

// UnitOf returns the name of an environment, of an application or, without either, of a chain as a unit of work.
func UnitOf(controlPlane, environment, application string) string {
	return unitOf(item{task: doPromote, controlPlane: controlPlane, environment: environment, application: application})
}

// unitOf returns the unit of an item; empty for what every replica does.
func unitOf(i item) string {
	switch {
	case i.task == doRefresh || i.task == listApplications:
		return ""
	case i.application != "":
		return "application " + i.application + " of " + i.controlPlane
	case i.environment != "":
		return "environment " + i.environment + " of " + i.controlPlane
	case i.task == listChanges || i.task == doPreview:
		return "pull requests of " + i.controlPlane
	}
	return "chain of " + i.controlPlane
}

// workOrView works on an item if it is this replica's, and otherwise views it.
func (k *Keeper) workOrView(ctx context.Context, i item) error {
	unit := unitOf(i)
	if unit == "" {
		return k.do(ctx, i)
	}
	under, end, err := k.Replicas.Begin(ctx, unit)
	switch {
	case errors.Is(err, replica.ErrElsewhere):
		return k.view(ctx, i)
	case errors.Is(err, replica.ErrBusy):
		return errors.Join(err, k.view(ctx, i)) // it is tried again
	case err != nil:
		return err
	}
	defer end()
	err = k.do(under, i)
	k.noteLooked(i)
	if cause := context.Cause(under); ctx.Err() == nil && errors.Is(cause, replica.ErrLost) {
		return errors.Join(cause, err)
	}
	return err
}

// noteLooked notes that an environment was worked on or viewed.
func (k *Keeper) noteLooked(i item) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if i.task == doRound && slices.Contains(k.seen[i.controlPlane], i.environment) {
		k.looked[i] = true
	}
}

// view shows what another replica works on.
func (k *Keeper) view(ctx context.Context, i item) error {
	switch i.task {
	case doRound:
		return k.viewRound(ctx, i)
	case doPromote:
		promoted, err := k.Views.Promotion(ctx, i.controlPlane)
		if promoted != nil {
			k.Metrics.Stand(i.controlPlane, k.known(i.controlPlane, promoted.Environments))
		}
		return err
	case doDeliver:
		delivered, err := k.Views.Delivery(ctx, i.controlPlane, i.application)
		if delivered != nil && !k.gone(i) {
			k.Metrics.delivered(delivered.Application)
		}
		return err
	}
	return nil
}

// viewRound reads an environment, and remembers which branches it depends on.
func (k *Keeper) viewRound(ctx context.Context, i item) error {
	outcome, err := k.Views.Round(ctx, i.controlPlane, i.environment)
	k.noteLooked(i)
	first := k.isNew(i)
	if k.ended(i, err) {
		return err
	}
	if outcome != nil {
		k.Metrics.outcome(i.controlPlane, i.environment, outcome)
		k.remember(i, outcome)
	}
	if err == nil && first {
		// What reads the environment may be this replica's.
		k.deliverAll(i.controlPlane)
		k.promoteSoon(i.controlPlane)
	}
	return err
}

// wake schedules work, here or on the replica that does it.
func (k *Keeper) wake(i item, after time.Duration) {
	if k.Replicas != nil && !k.Replicas.Mine(unitOf(i)) {
		k.tell(note{Item: i.words()})
		return
	}
	k.add(i, after)
}

// ours schedules work if it is this replica's. The others are told separately.
func (k *Keeper) ours(i item, after time.Duration) {
	if k.Replicas == nil || k.Replicas.Mine(unitOf(i)) {
		k.add(i, after)
	}
}

func (k *Keeper) add(i item, after time.Duration) {
	if after == 0 {
		k.queue.Add(i)
		return
	}
	k.queue.AddAfter(i, after)
}

// Reassigned schedules everything, because work may have moved between replicas, or notes were missed. It does not block.
func (k *Keeper) Reassigned() {
	k.start()
	for _, url := range k.ControlPlanes {
		k.queue.Add(item{task: doRefresh, controlPlane: url})
		if k.Chains != nil {
			k.queue.Add(item{task: doPromote, controlPlane: url})
		}
	}
}

// Stored tells the other replicas that this one stored a new result of an environment, of an application or of a chain.
func (k *Keeper) Stored(controlPlane, environment, application string) {
	i := item{task: doPromote, controlPlane: controlPlane, environment: environment, application: application}
	switch {
	case application != "":
		i.task = doDeliver
	case environment != "":
		i.task = doRound
	}
	k.tell(note{Item: i.words()})
}

// note is what one replica tells the others. One field is set.
type note struct {
	// Item is work, or something to view.
	Item *itemWords `json:"item,omitempty"`
	// Event is an event of a forge.
	Event *forge.Event `json:"event,omitempty"`
	// Sources are those of stored reports.
	Sources []ledger.Source `json:"sources,omitempty"`
	// Chain is the subject of a chain after a command or a verification.
	Chain string `json:"chain,omitempty"`
}

// itemWords is an item as JSON.
type itemWords struct {
	Task         task   `json:"task"`
	ControlPlane string `json:"controlPlane"`
	Environment  string `json:"environment,omitempty"`
	Application  string `json:"application,omitempty"`
}

func (i item) words() *itemWords {
	return &itemWords{i.task, i.controlPlane, i.environment, i.application}
}

// tell sends a note to the other replicas, if there are any.
func (k *Keeper) tell(n note) {
	if k.Replicas == nil {
		return
	}
	text, err := json.Marshal(n)
	if err != nil {
		k.Log.Error("write a note to other replicas", "error", err)
		return
	}
	k.Replicas.Post(string(text))
}

// HandleNote does what a note of another replica is about. It does not block.
func (k *Keeper) HandleNote(text string) {
	k.start()
	var n note
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		k.Log.Warn("a note of another replica is not understood; is it of another version?", "error", err)
		return
	}
	switch {
	case n.Item != nil && slices.Contains(k.ControlPlanes, n.Item.ControlPlane):
		k.queue.Add(item{task: n.Item.Task, controlPlane: n.Item.ControlPlane, environment: n.Item.Environment, application: n.Item.Application})
	case n.Event != nil:
		k.handleEvent(*n.Event)
	case n.Sources != nil:
		k.wakeChains(n.Sources)
	case n.Chain != "":
		k.runChain(n.Chain)
	}
}

// sourcesOf returns the sources of reports, without duplicates.
func sourcesOf(reports []ledger.Report) []ledger.Source {
	sources := make([]ledger.Source, 0, len(reports))
	for i := range reports {
		sources = append(sources, ledger.Source{Repository: reports[i].Source.Repository, Ref: reports[i].Source.Ref})
	}
	slices.SortFunc(sources, func(a, b ledger.Source) int {
		return cmp.Or(strings.Compare(a.Repository, b.Repository), strings.Compare(a.Ref, b.Ref))
	})
	return slices.Compact(sources)
}
