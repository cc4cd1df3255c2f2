package ledger

import (
	"context"
	"errors"
	"time"
)

// Errors about replicas. Match with [errors.Is].
var (
	// ErrLeaseLost means that the lease of a replica expired, or was never given. Others may work on its units.
	ErrLeaseLost = errors.New("the lease of this replica expired")
	// ErrHeld means that another living replica holds a unit.
	ErrHeld = errors.New("another replica holds it")
	// ErrFenced means that a write was made under a hold of a unit that another replica has taken since. Nothing was stored.
	ErrFenced = errors.New("another replica has taken this unit of work")
	// ErrOccupied means that a replica cannot join, because of another living one.
	ErrOccupied = errors.New("another server uses this ledger")
)

// Replicas divides work among the servers that share a ledger. Nothing of it is exported.
//
//	replica  a server with a lease, which it renews. When the lease expires, the replica is gone for good: it has to join again, with a new ID
//	unit     what one replica works on at a time: an environment, a chain, an application
//	hold     that a replica has a unit, with a fencing number that grows each time that the unit goes to another replica
//	note     a short text from one replica to all others
//
// All times are those of the database's clock, so that the clocks of replicas do not matter. A hold is as good as the lease of its
// replica; so renewing costs the same for one unit and for thousands.
type Replicas interface {
	// Join gives a replica a lease. It replaces one with the same name, which is an earlier run of it, if replace is set. The error is
	// [ErrOccupied] if another replica with that name lives, or if either of two living ones is alone.
	Join(ctx context.Context, r Replica, lease time.Duration, replace bool) error
	// Renew extends a lease, and returns the living replicas by ID. The error is [ErrLeaseLost] if the lease expired.
	Renew(ctx context.Context, id string, lease time.Duration) ([]Replica, error)
	// Leave ends a lease.
	Leave(ctx context.Context, id string) error
	// ClaimUnit gives a unit to a replica. The number stays the same if the replica has the unit already. The error is [ErrHeld] if another
	// living replica has it, and [ErrLeaseLost] if the replica has no lease.
	ClaimUnit(ctx context.Context, id, unit string) (Hold, error)
	// YieldUnit ends a hold, unless another replica has taken the unit.
	YieldUnit(ctx context.Context, h Hold) error
	// Holds returns what living replicas hold, by unit.
	Holds(ctx context.Context) ([]Hold, error)
	// PutResult stores the result of the last round of a unit. The error is [ErrFenced] if another replica has taken the unit.
	PutResult(ctx context.Context, h Hold, result []byte) error
	// Result returns the last stored result of a unit, or [ErrNotFound].
	Result(ctx context.Context, unit string) ([]byte, error)
	// Post stores notes for the other replicas.
	Post(ctx context.Context, from string, notes ...string) error
	// Notes returns the notes after a number, the oldest first, and the number of the last one. Notes that are older than
	// [NotesKept] are deleted. A negative number returns only the number of the last note.
	Notes(ctx context.Context, after int64) (notes []Note, last int64, err error)
	// Keep stores a text under a name, unless one is stored, and returns the stored one.
	Keep(ctx context.Context, name, value string) (string, error)
	// NextNumber returns a number that is larger than all that it returned before for a name, on any server, and is at least least. With the time as least, numbers go
	// on growing after the ledger was restored from an older copy, and a clock that was ahead, or is set back, does not stop them.
	NextNumber(ctx context.Context, name string, least int64) (int64, error)
}

// NotesKept is how long notes are kept at least.
const NotesKept = 10 * time.Minute

// Replica is a server that shares a ledger with others.
type Replica struct {
	// ID identifies one run of the server.
	ID string
	// Name identifies the server.
	Name string
	// Alone means that it cannot work with others, because it has data of its own.
	Alone bool
	// Joined is when it joined.
	Joined time.Time
}

// Hold is that a replica has a unit.
type Hold struct {
	Unit    string
	Replica string
	// Number grows each time that the unit goes to another replica.
	Number int64
}

// Note is a text from a replica.
type Note struct {
	From, Text string
}

// holdKey is the key of a hold in a context.
type holdKey struct{}

// Under returns a context for work under a hold. What is recorded with it is stored only if no other replica has taken the unit:
// steps, commits and events of pull requests. Otherwise the error is [ErrFenced].
func Under(ctx context.Context, h Hold) context.Context { return context.WithValue(ctx, holdKey{}, h) }

// HoldOf returns the hold of a context made by [Under].
func HoldOf(ctx context.Context) (Hold, bool) {
	h, ok := ctx.Value(holdKey{}).(Hold)
	return h, ok
}
