package comply

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// DefaultOfflineAfter is how long after its last report a cluster counts as offline, unless the gate sets another time.
const DefaultOfflineAfter = 15 * time.Minute

// Gate says when enough reconcilers run a commit. The zero value requires that all of them, at least one, applied it, and has
// no timeout.
type Gate struct {
	Require Require
	// Healthy requires that the applied objects are healthy, too. A reconciler whose health is unknown has not reached the commit.
	Healthy bool
	// OfflineAfter defaults to DefaultOfflineAfter.
	OfflineAfter time.Duration
	// Offline defaults to OfflineWait.
	Offline v1alpha1.OfflinePolicy
	// Timeout counts from the time at which the commit was published; zero means none.
	Timeout time.Duration
	// MaxFailures is how many reconcilers may fail without failing the gate; they are not required then. Zero means none.
	MaxFailures Require
	// MaxDelay is how long after Published a reconciler that is suspended, and behind, is not counted; zero means that it always counts.
	MaxDelay time.Duration
	// SparesEarlier means that a failure which began by itself before the commit arrived does not count: see [Observation.Follow].
	SparesEarlier bool
	// AllowNone passes the gate if no reconciler is expected.
	AllowNone bool
}

// Require is how many reconcilers must have reached the commit. The zero value means all.
type Require struct {
	// Count is a number of reconcilers, or a percentage.
	Count   int
	Percent bool
}

// of returns how many of n are required: at least one; a percentage is rounded up.
func (r Require) of(n int) int {
	switch {
	case r.Count <= 0:
		return max(n, 1)
	case r.Percent:
		return max((n*r.Count+99)/100, 1)
	default:
		return r.Count
	}
}

// tolerated returns how many of n may fail; a percentage is rounded down.
func (r Require) tolerated(n int) int {
	if r.Percent {
		return n * r.Count / 100
	}
	return r.Count
}

// ParseGate parses the gate of an environment; nil is the zero Gate.
// For each invalid value it returns an error, and the gate has the strictest value instead.
func ParseGate(g *v1alpha1.Gate) (Gate, error) {
	if g == nil {
		return Gate{}, nil
	}
	require, errRequire := parseRequire(g.Require)
	gate := Gate{Require: require, Offline: g.Offline, AllowNone: g.AllowNone}
	errs := []error{errRequire}
	if g.OfflineAfter != nil {
		gate.OfflineAfter = g.OfflineAfter.Duration
	}
	if g.Timeout != nil {
		gate.Timeout = g.Timeout.Duration
	}
	if gate.OfflineAfter < 0 || gate.Timeout < 0 {
		errs = append(errs, errors.New("offlineAfter and timeout cannot be negative"))
		gate.OfflineAfter, gate.Timeout = max(gate.OfflineAfter, 0), max(gate.Timeout, 0)
	}
	switch g.State {
	case "", v1alpha1.GateApplied:
	case v1alpha1.GateHealthy:
		gate.Healthy = true
	default:
		errs = append(errs, fmt.Errorf("unknown state %q: use applied or healthy", g.State))
		gate.Healthy = true
	}
	switch g.Offline {
	case "", v1alpha1.OfflineWait, v1alpha1.OfflineBlock, v1alpha1.OfflineIgnore:
	default:
		errs = append(errs, fmt.Errorf("unknown offline policy %q: use block, ignore or wait", g.Offline))
		gate.Offline = v1alpha1.OfflineBlock
	}
	return gate, errors.Join(errs...)
}

// parseRequire parses 3, "3" and "95%".
func parseRequire(value *intstr.IntOrString) (Require, error) {
	if value == nil {
		return Require{}, nil
	}
	count, percent, err := fleet.ParseCount(*value)
	if err != nil || count < 1 {
		return Require{}, fmt.Errorf(`require %q is neither a number from 1 nor a percentage from "1%%" to "100%%"`, value.String())
	}
	return Require{Count: count, Percent: percent}, nil
}

// OfflineTime returns OfflineAfter or its default.
func (g Gate) OfflineTime() time.Duration {
	if g.OfflineAfter == 0 {
		return DefaultOfflineAfter
	}
	return g.OfflineAfter
}
