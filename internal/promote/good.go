package promote

import (
	"slices"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// LastGood returns the commit that a command without a server offers to go back to, or "": the last one that was recorded as deployed before
// the present one, and did not fail since. Rounds decide from evidence instead, see [Standing.Targets]. steps is the history of a subject in
// the environment, newest first, as the ledger returns it. If present is empty, it is the last promoted commit.
func LastGood(steps []ledger.Step, present string) string {
	var stack []string
	good := map[string]bool{}
	enter := func(commit string) {
		if i := slices.Index(stack, commit); i >= 0 {
			stack = stack[:i+1]
			return
		}
		stack = append(stack, commit)
		good[commit] = false
	}
	for _, s := range slices.Backward(steps) {
		switch decide.StepKind(s.Kind) {
		case decide.StepStarted:
			enter(s.Commit)
		case decide.StepDeployed:
			enter(s.Commit)
			good[s.Commit] = true
		case decide.StepFailed:
			good[s.Commit] = false
		}
	}
	if present != "" {
		enter(present)
	}
	for i := len(stack) - 2; i >= 0; i-- {
		if good[stack[i]] {
			return stack[i]
		}
	}
	return ""
}
