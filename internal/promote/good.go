package promote

import (
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// LastGood is the commit to go back to: the one that arrived last in an environment before the present one, and did not fail
// since. The steps are those of one environment, the newest first; ok is false when there is none among them.
func LastGood(steps []ledger.Step) (commit string, ok bool) {
	present := false
	out := map[string]bool{}
	for _, step := range steps {
		switch decide.StepKind(step.Kind) {
		case decide.Entered:
			if !present {
				present, out[step.Commit] = true, true
			}
		case decide.FailedHere:
			out[step.Commit] = true
		case decide.Arrived:
			if present && !out[step.Commit] {
				return step.Commit, true
			}
		}
	}
	return "", false
}
