package query

import (
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
)

// Fleet is the state that the last rounds found.
type Fleet interface {
	// ControlPlanes returns what is known of each control plane, by URL. It answers from memory. The result is
	// shared, and must not be modified.
	ControlPlanes() []ControlPlane
}

// ControlPlane is what the last rounds of a control plane found.
type ControlPlane struct {
	URL string // required
	// Err is the error of the last attempt to read its environments; nil if that succeeded. The other fields are then
	// from the last successful attempt.
	Err error
	// Environments are its environments; nil until they were read. Results of others are ignored then.
	Environments []string
	// Promotion is the result of the last promotion round; nil before the first one.
	Promotion *promote.Outcome
	// Scheduling holds the results of the last scheduling rounds, by environment.
	Scheduling map[string]*Scheduled
	// Applications are the applications that it registers and that the server
	// delivers, with the results of their last rounds.
	Applications []*Application
}

// Standing is an environment that a server's rounds know, with the results of the last rounds.
type Standing struct {
	ControlPlane string
	Environment  string
	// Promotion is the result of the last promotion round; nil before the
	// first one, and for environments without promotion.
	Promotion *promote.Standing
	// Scheduling is the result of the last scheduling round; nil before the first one.
	Scheduling *Scheduled
}

// Standings returns the fleet's environments: by control plane URL, then
// in promotion order, those without promotion last.
func (o *Observer) Standings() []Standing {
	var all []Standing
	for _, s := range o.standings() {
		all = append(all, Standing{ControlPlane: s.controlPlane, Environment: s.name, Promotion: s.promotion, Scheduling: s.scheduled})
	}
	return all
}

// Unread is a control plane whose environments could not be read in the last attempt, with the reason.
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

// Scheduled is the result of a scheduling round. Make a new one for each round.
type Scheduled struct {
	// At is the time of the round.
	At time.Time
	// Err is the error of the last round. The other fields are then from the last successful round.
	Err error
	// Outcome has the plan, with its problems, and the open pull request; may be nil.
	Outcome *schedule.Outcome
	// Snapshot has workloads, targets and cluster types; may be nil.
	Snapshot *fleet.Snapshot
	// Decisions are the assignments; may be nil.
	Decisions *placement.Decisions

	once      sync.Once
	inventory *inventory
}
