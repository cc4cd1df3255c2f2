package comply

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// DefaultOfflineAfter is the silence after which a cluster counts as offline, unless the gate says otherwise.
const DefaultOfflineAfter = 15 * time.Minute

// Gate says when enough reconcilers run a commit. The zero value asks for all of them, waits for ever,
// and is never passed by nobody.
type Gate struct {
	Require Require
	// OfflineAfter is DefaultOfflineAfter when it is zero.
	OfflineAfter time.Duration
	// Offline is OfflineWait when it is empty.
	Offline v1alpha1.OfflinePolicy
	// Timeout is no limit when it is zero.
	Timeout   time.Duration
	AllowNone bool
}

// Require is how many reconcilers must have reached the commit. The zero value means all of them.
type Require struct {
	// Count is a number of reconcilers, or a percentage.
	Count   int
	Percent bool
}

// of returns how many out of a number are required: never less than one, and a percentage is rounded up.
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

// ParseGate understands the gate of an environment; nil is the zero Gate.
// What makes no sense is an error and has its strictest meaning in the gate that is returned.
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
		errs = append(errs, errors.New("offlineAfter and timeout are spans of time and cannot be negative"))
		gate.OfflineAfter, gate.Timeout = max(gate.OfflineAfter, 0), max(gate.Timeout, 0)
	}
	switch g.Offline {
	case "", v1alpha1.OfflineWait, v1alpha1.OfflineBlock, v1alpha1.OfflineIgnore:
	default:
		errs = append(errs, fmt.Errorf("offline %q is none of block, ignore and wait", g.Offline))
		gate.Offline = v1alpha1.OfflineBlock
	}
	return gate, errors.Join(errs...)
}

// parseRequire understands 3, "3" and "95%".
func parseRequire(value *intstr.IntOrString) (Require, error) {
	if value == nil {
		return Require{}, nil
	}
	digits, percent := strings.CutSuffix(value.String(), "%")
	count, err := strconv.Atoi(digits)
	if err != nil || count < 1 || percent && count > 100 {
		return Require{}, fmt.Errorf(`require %q is neither a number from 1 nor a percentage from "1%%" to "100%%"`, value.String())
	}
	return Require{Count: count, Percent: percent}, nil
}

// offlineAfter is the silence that makes a cluster offline.
func (g Gate) offlineAfter() time.Duration {
	if g.OfflineAfter == 0 {
		return DefaultOfflineAfter
	}
	return g.OfflineAfter
}
