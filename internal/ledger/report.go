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

// ReconcilerID is a reconciler of a cluster: an object that keeps something as a source says.
type ReconcilerID struct {
	Cluster   string `json:"cluster"`
	Kind      string `json:"kind"`                // Kustomization, HelmRelease, Application...
	Namespace string `json:"namespace,omitempty"` // empty for what is in no namespace
	Name      string `json:"name"`
}

// String is the reconciler in words: Kustomization flux-system/apps on large-01.
func (id ReconcilerID) String() string {
	return fmt.Sprintf("%s %s/%s on %s", id.Kind, id.Namespace, id.Name, id.Cluster)
}

// CleanPath writes a path as [Source] has it: "./x/" is "x", and "." is "".
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

// Outcome is what an observation says.
type Outcome struct {
	Source   Source `json:"source"`
	Revision string `json:"revision,omitempty"` // full hash of the commit, or digest; empty before the first
	State    State  `json:"state"`
	Message  string `json:"message,omitempty"`
}

// Report is what a cluster says about one of its reconcilers.
type Report struct {
	Reconciler ReconcilerID `json:"reconciler"`
	Outcome
	// Observed is when the reconciler was first seen so.
	Observed time.Time `json:"observed"`
	// Received is when we heard of it.
	Received time.Time `json:"received"`
}

// Check says what is wrong with a report; nil means that it can be recorded.
func (r Report) Check() error {
	switch {
	case r.Reconciler.Cluster == "", r.Reconciler.Kind == "", r.Reconciler.Name == "":
		return fmt.Errorf("report on %s: %w: cluster, kind and name are required", r.Reconciler, ErrInvalid)
	case r.State.Severity() == 0:
		return fmt.Errorf("report on %s: %w: %q is no state", r.Reconciler, ErrInvalid, r.State)
	case !storable(r.Observed), !storable(r.Received):
		return fmt.Errorf("report on %s: %w: observed and received are required, from 1970 on", r.Reconciler, ErrInvalid)
	}
	return nil
}

// storable says whether a time can be told from no time: ledgers keep microseconds since 1970.
func storable(t time.Time) bool { return t.UnixMicro() > 0 && t.Year() < 10000 }
