package ledger

import (
	"regexp"
	"slices"
)

// formatBeforeStates is the format of exports with other words for the states of commits. It is the earliest one that [Import] reads.
const formatBeforeStates = 2

// earlierStates holds the words for the states of commits that replace those of earlier formats. The migrations of ledgers have the same.
var earlierStates = map[string]string{
	"empty": "outside", "promoted": "proposed", "refused": "rejected", "deploying": "applying", "verifying": "checking", "deployed": "good",
	"aborted": "takenBack",
}

// earlierEmptied is the reason of steps of a batch that had no clusters any more.
const earlierEmptied = "its clusters are in other batches now"

// earlierPhase matches a state in the details of a step. It cannot be part of a string, in which quotes are escaped.
var earlierPhase = regexp.MustCompile(`("phase":\s*")([a-z]+)(")`)

// convert replaces what earlier formats say differently.
func (e *Entry) convert(format int) {
	if format > formatBeforeStates || e.Step == nil {
		return
	}
	if e.Step.Kind == "started" && e.Step.Reason == earlierEmptied {
		e.Step.Kind = "emptied"
	}
	if e.Step.Kind != "stateChanged" {
		return
	}
	e.Step.Detail = earlierPhase.ReplaceAllFunc(e.Step.Detail, func(found []byte) []byte {
		parts := earlierPhase.FindSubmatch(found)
		state, known := earlierStates[string(parts[2])]
		if !known {
			return found
		}
		return slices.Concat(parts[1], []byte(state), parts[3])
	})
}
