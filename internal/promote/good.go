package promote

import (
	"slices"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// GoodCommits returns the commits that an environment can be rolled back to, newest first: see [decide.GoodCommits].
// steps is the history of a subject in the environment, newest first, as the ledger returns it.
func GoodCommits(steps []ledger.Step, present string) []string {
	history := make([]decide.Step, len(steps))
	for i, s := range steps {
		history[i] = decide.Step{Kind: decide.StepKind(s.Kind), Commit: s.Commit, At: s.At}
	}
	slices.Reverse(history)
	return decide.GoodCommits(history, present)
}

// LastGood returns the first of [GoodCommits], or "".
func LastGood(steps []ledger.Step, present string) string {
	if good := GoodCommits(steps, present); len(good) > 0 {
		return good[0]
	}
	return ""
}
