package v1alpha1

import "slices"

// Source is what a reconciler follows: a folder at a branch or tag of a Git repository.
//
// +kubebuilder:object:generate=false
type Source struct {
	// Repository is the URL of the repository, without credentials.
	Repository string `json:"repository"`
	// Ref is a branch by its name, or a tag as refs/tags/<name>.
	Ref string `json:"ref,omitempty"`
	// Path is the folder, relative to the root, which is "".
	Path string `json:"path,omitempty"`
}

// State is the state of a reconciler.
type State string

// The states, from the most to the least favourable.
const (
	StateReady       State = "ready"
	StateProgressing State = "progressing"
	StateSuspended   State = "suspended"
	StateFailed      State = "failed"
)

// states are in the order of their severity.
var states = []State{StateReady, StateProgressing, StateSuspended, StateFailed}

// Severity returns 1 for ready up to 4 for failed, and 0 for a value that is not a state.
func (s State) Severity() int { return slices.Index(states, s) + 1 }

// StateOf returns the state with a severity, or "".
func StateOf(severity int) State {
	if severity < 1 || severity > len(states) {
		return ""
	}
	return states[severity-1]
}
