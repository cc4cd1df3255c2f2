package ledger

import (
	"fmt"
	"strings"
	"time"
)

// State is how a reconciler is doing.
type State string

// The states, from the most to the least favourable.
const (
	StateReady       State = "ready"
	StateProgressing State = "progressing"
	StateSuspended   State = "suspended"
	StateFailed      State = "failed"
)

// severities are the states in order. Their index plus one is how adapters store them.
var severities = []State{StateReady, StateProgressing, StateSuspended, StateFailed}

// Severity is 1 for ready, up to 4 for failed, and 0 for what is no state.
func (s State) Severity() int {
	for i, known := range severities {
		if s == known {
			return i + 1
		}
	}
	return 0
}

// StateOf is the state of a severity, or "".
func StateOf(severity int) State {
	if severity < 1 || severity > len(severities) {
		return ""
	}
	return severities[severity-1]
}

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

// Source is what a reconciler follows.
type Source struct {
	Repository string `json:"repository"`
	// Ref is a branch by its name, or a tag as refs/tags/<name>.
	Ref string `json:"ref,omitempty"`
	// Path is relative to the root, which is "".
	Path string `json:"path,omitempty"`
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
