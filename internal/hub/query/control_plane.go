package query

import (
	"context"
	"fmt"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// AmbiguousError means that several control planes have an environment of the same name. It matches [ledger.ErrInvalid].
type AmbiguousError struct {
	Environment   string
	ControlPlanes []string
}

// Error returns the name and the number of control planes.
func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%d control planes have an environment %q", len(e.ControlPlanes), e.Environment)
}

// Is reports whether target is [ledger.ErrInvalid].
func (e *AmbiguousError) Is(target error) bool { return target == ledger.ErrInvalid }

// ControlPlaneOf returns the control plane of an environment, by default the only one that has it; empty if no round knows
// the environment. The error is an [AmbiguousError].
func (o *Observer) ControlPlaneOf(environment, controlPlane string) (string, error) {
	if controlPlane != "" {
		return controlPlane, nil
	}
	var found []string
	for _, s := range o.standings() {
		if s.name == environment {
			found = append(found, s.controlPlane)
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	return "", &AmbiguousError{environment, found}
}

// Standing returns an environment that a server's rounds know. The error is an [UnknownError] or [AmbiguousError].
func (o *Observer) Standing(environment, controlPlane string) (Standing, error) {
	controlPlane, err := o.ControlPlaneOf(environment, controlPlane)
	if err != nil {
		return Standing{}, err
	}
	var names []string
	for _, s := range o.Standings() {
		switch {
		case controlPlane != "" && s.ControlPlane != controlPlane:
			continue
		case s.Environment == environment:
			return s, nil
		}
		names = append(names, s.Environment)
	}
	if controlPlane != "" && len(names) == 0 {
		return Standing{}, Unknown("control plane", controlPlane, o.controlPlanes())
	}
	return Standing{}, Unknown("environment", environment, names)
}

// oneEnvironment returns an environment of its only control plane, also for the past. The error is an [UnknownError] or [AmbiguousError].
func (o *Observer) oneEnvironment(ctx context.Context, controlPlane, name string, asOf time.Time) (standing, error) {
	controlPlane, err := o.ControlPlaneOf(name, controlPlane)
	if err != nil {
		return standing{}, err
	}
	return o.environment(ctx, controlPlane, name, asOf)
}
