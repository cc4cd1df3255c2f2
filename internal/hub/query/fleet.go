package query

import (
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
)

// Fleet is how things stood after the last rounds.
type Fleet interface {
	// ControlPlanes returns what is known of each control plane, by URL. It answers from memory, at once.
	// What it returns is shared, and nobody changes it any more.
	ControlPlanes() []ControlPlane
}

// ControlPlane is what the last rounds of a control plane found.
type ControlPlane struct {
	URL string // required
	// Err is why its environments could not be read the last time; nil when they were. What else is known is from before.
	Err error
	// Promotion is what the last round of its chain found; nil before the first one.
	Promotion *promote.Outcome
	// Scheduling is what the last rounds of its environments found, by name.
	Scheduling map[string]*Scheduled
	// Applications are those that it registers and that are delivered, with what their last rounds found.
	Applications []*Application
}

// Standing is an environment that the rounds of a server know, and what the last ones found about it.
type Standing struct {
	ControlPlane string
	Environment  string
	// Promotion is what the last round of the chain found; nil before the first one, and for what is in no chain.
	Promotion *promote.Standing
	// Scheduling is what the last round of scheduling found; nil before the first one.
	Scheduling *Scheduled
}

// Standings returns what the fleet knows: control planes by URL, environments in the order of their chain, those that are in
// no chain last.
func (o *Observer) Standings() []Standing {
	var all []Standing
	for _, s := range o.standings() {
		all = append(all, Standing{ControlPlane: s.controlPlane, Environment: s.name, Promotion: s.promotion, Scheduling: s.scheduled})
	}
	return all
}

// Unread is a control plane whose environments could not be read the last time, and why.
type Unread struct{ ControlPlane, Why string }

// Unread returns the control planes that could not be read, by URL.
func (o *Observer) Unread() []Unread {
	if o.Fleet == nil {
		return nil
	}
	var all []Unread
	for _, cp := range o.Fleet.ControlPlanes() {
		if cp.Err != nil {
			all = append(all, Unread{cp.URL, errorLine(cp.Err)})
		}
	}
	return all
}

// Scheduled is what a round of scheduling found. Make a new one for each round.
type Scheduled struct {
	// At is when the round was.
	At time.Time
	// Err is why the last round failed; the other fields are then those of the last one that did not.
	Err error
	// Outcome has the plan, with its problems, and the open change; may be nil.
	Outcome *schedule.Outcome
	// Snapshot has workloads, targets and cluster types; may be nil.
	Snapshot *fleet.Snapshot
	// Decisions are the assignments; may be nil.
	Decisions *placement.Decisions

	once      sync.Once
	inventory *inventory
}
