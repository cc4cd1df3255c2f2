package ledger

import (
	"fmt"
	"strings"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// Source is what a reconciler follows.
type Source = hub.Source

// State is the state of a reconciler. Ledgers store it by its severity.
type State = hub.State

// The states, from the most to the least favourable.
const (
	StateReady       = hub.StateReady
	StateProgressing = hub.StateProgressing
	StateSuspended   = hub.StateSuspended
	StateFailed      = hub.StateFailed
)

// ReconcilerID identifies a reconciler: an object in a cluster that follows a source.
type ReconcilerID struct {
	Cluster   string `json:"cluster"`
	Kind      string `json:"kind"`                // Kustomization, HelmRelease, Application...
	Namespace string `json:"namespace,omitempty"` // empty for a cluster-scoped object
	Name      string `json:"name"`
}

// String returns, for example, "Kustomization flux-system/apps on large-01".
func (id ReconcilerID) String() string {
	return fmt.Sprintf("%s %s/%s on %s", id.Kind, id.Namespace, id.Name, id.Cluster)
}

// CleanPath returns a path as a [Source] has it: "./x/" becomes "x", and "." becomes "".
func CleanPath(path string) string {
	path = strings.Trim(path, "/")
	for strings.HasPrefix(path, "./") {
		path = strings.TrimLeft(path[2:], "/")
	}
	if path == "." {
		return ""
	}
	return path
}

// Outcome is the content of an observation.
type Outcome struct {
	Source   Source `json:"source"`
	Revision string `json:"revision,omitempty"` // full hash or digest; empty before the first one
	State    State  `json:"state"`
	Message  string `json:"message,omitempty"`
	// Applied is the revision that was applied last, whatever its health. If it is empty, the state says it: a reconciler that is
	// ready or suspended has applied Revision.
	Applied string `json:"applied,omitempty"`
	// Health is the health of the applied objects; in results of a ledger, empty if it is unknown.
	Health hub.Health `json:"health,omitempty"`
	// Unhealthy are objects that are not healthy.
	Unhealthy []hub.ObjectHealth `json:"unhealthy,omitempty"`
}

// Report is what a cluster reports about one of its reconcilers.
type Report struct {
	Reconciler ReconcilerID `json:"reconciler"`
	Outcome
	// Observed is when the cluster first saw the outcome.
	Observed time.Time `json:"observed"`
	// Received is when the server received the report.
	Received time.Time `json:"received"`
}

// Check returns an error that wraps [ErrInvalid] if the report cannot be recorded.
func (r Report) Check() error {
	switch {
	case r.Reconciler.Cluster == "", r.Reconciler.Kind == "", r.Reconciler.Name == "":
		return fmt.Errorf("report on %s: %w: cluster, kind and name are required", r.Reconciler, ErrInvalid)
	case r.State.Severity() == 0:
		return fmt.Errorf("report on %s: %w: unknown state %q", r.Reconciler, ErrInvalid, r.State)
	case r.Health.Severity() == 0:
		return fmt.Errorf("report on %s: %w: unknown health %q", r.Reconciler, ErrInvalid, r.Health)
	case !storable(r.Observed), !storable(r.Received):
		return fmt.Errorf("report on %s: %w: observed and received are required, from 1970 on", r.Reconciler, ErrInvalid)
	}
	return nil
}

// storable reports whether a time can be stored as microseconds since 1970, where 0 means none.
func storable(t time.Time) bool { return t.UnixMicro() > 0 && t.Year() < 10000 }
