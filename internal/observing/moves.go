package observing

import "github.com/kalypso-io/kalypso/internal/delivery"

// Moves says what a promotion moves.
type Moves string

// What is promoted.
const (
	MovesPlatform    Moves = "platform"    // commits of a control plane
	MovesApplication Moves = "application" // commits of an application's source
)

// movesOf says what a subject of the ledger is, and which workload it is the application of.
func movesOf(subject string) (m Moves, workload string) {
	if workload, ok := delivery.WorkloadOf(subject); ok {
		return MovesApplication, workload
	}
	return MovesPlatform, ""
}
