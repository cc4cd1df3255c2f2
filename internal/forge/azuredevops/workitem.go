package azuredevops

import (
	"context"
	"errors"
	"fmt"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

// itemState is a state of work items. Each process has its own names, but sorts them into common categories.
type itemState struct {
	Name     string `json:"name"`
	Category string `json:"category"`
}

// stateByName holds the states of a type of work items, in order.
type stateByName []itemState

// closes reports whether work items in this state are closed.
func (s itemState) closes() bool { return s.Category == "Completed" || s.Category == "Removed" }

// of maps a state's name to one that all forges have.
func (states stateByName) of(name string) forge.State {
	for _, s := range states {
		if s.Name == name && s.closes() {
			return forge.Closed
		}
	}
	return forge.Open
}

// first returns the default name for a state: the first proposed or the first completed one.
func (states stateByName) first(state forge.State) string {
	category := "Proposed"
	if state == forge.Closed {
		category = "Completed"
	}
	for _, s := range states {
		if s.Category == category {
			return s.Name
		}
	}
	return ""
}

// states reads the states of the work item type used for issues. A project without that type is an error.
// A project's process rarely changes, so they are read once.
func (r *Repository) states(ctx context.Context) (stateByName, error) {
	r.forge.mu.Lock()
	defer r.forge.mu.Unlock()
	key := r.organization + "/" + r.project
	if known := r.forge.states[key]; known != nil {
		return known, nil
	}
	var states values[itemState]
	err := r.Do(ctx, rest.Request{
		Op: "read issue states", Right: workItems, Out: &states,
		Path: "/wit/workitemtypes" + rest.Path(r.forge.workItemType, "states"),
	})
	var e *forge.Error
	if errors.As(err, &e) && errors.Is(e.Kind, forge.ErrNotFound) {
		e.Detail = fmt.Sprintf("the project is not there, or has no work items of type %q", r.forge.workItemType)
		e.Hint = "configure the type of work items that issues are: Issue, Bug, or another one of the project's process"
	}
	if err != nil {
		return nil, err
	}
	r.forge.states[key] = states.Value
	return states.Value, nil
}
