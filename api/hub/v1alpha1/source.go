package v1alpha1

import "slices"

// Source is what a reconciler follows: a folder on a branch or tag of a Git repository.
//
// +kubebuilder:object:generate=false
type Source struct {
	// Repository is the URL of the repository, without credentials.
	Repository string `json:"repository"`
	// Ref is the name of a branch, or refs/tags/<name> for a tag.
	Ref string `json:"ref,omitempty"`
	// Path is the folder, relative to the root, which is the empty path.
	Path string `json:"path,omitempty"`
}

// State is the state of a reconciler.
type State string

// States of a reconciler, from best to worst.
const (
	StateReady       State = "ready"
	StateProgressing State = "progressing"
	StateSuspended   State = "suspended"
	StateFailed      State = "failed"
)

// states lists the states by increasing severity.
var states = []State{StateReady, StateProgressing, StateSuspended, StateFailed}

// Severity returns 1 for ready up to 4 for failed, and 0 for an unknown state.
func (s State) Severity() int { return slices.Index(states, s) + 1 }

// StateOf returns the state with a severity; empty if there is none.
func StateOf(severity int) State {
	if severity < 1 || severity > len(states) {
		return ""
	}
	return states[severity-1]
}
