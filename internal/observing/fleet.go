package observing

import (
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/placement"
	"github.com/kalypso-io/kalypso/internal/promotion"
	"github.com/kalypso-io/kalypso/internal/scheduling"
)

// Fleet is how things stood after the last rounds. It answers from memory, at once.
type Fleet interface {
	// Standings returns every environment of every control plane: control planes by URL, environments in the order of
	// their chain, those that are in no chain last. What it returns is shared, and nobody changes it any more.
	Standings() []Standing
}

// Standing is how an environment stood after its last rounds. Its parts come from different rounds: either may be missing.
type Standing struct {
	ControlPlane string // required
	Environment  string // required
	// Promotion is what the round of the chain found; nil before the first one, and for what is in no chain.
	Promotion *Promoted
	// Scheduling is what the round of the environment found; nil before the first one.
	Scheduling *Scheduled
}

// Promoted is what a round of a chain found about one environment.
type Promoted struct {
	// At is when the round was.
	At       time.Time
	Rules    *promotion.Rules
	Facts    promotion.Environment
	Decision promotion.Decision
}

// Scheduled is what a round of scheduling found.
type Scheduled struct {
	// At is when the round was.
	At time.Time
	// Err is why the last round failed; the other fields are then those of the last one that did not.
	Err error
	// Outcome has the plan, with its problems, and the open change; may be nil.
	Outcome *scheduling.Outcome
	// Snapshot has workloads, targets and cluster types; may be nil.
	Snapshot *fleet.Snapshot
	// Decisions are the assignments; may be nil.
	Decisions *placement.Decisions
}
