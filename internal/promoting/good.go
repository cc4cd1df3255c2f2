package promoting

import (
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promotion"
)

// LastGood is the commit to go back to: the one that arrived last in an environment before the present one, and did not fail
// since. The steps are those of one environment, the newest first; ok is false when there is none among them.
func LastGood(steps []ledger.Step) (commit string, ok bool) {
	present := false
	out := map[string]bool{}
	for _, step := range steps {
		switch promotion.StepKind(step.Kind) {
		case promotion.Entered:
			if !present {
				present, out[step.Commit] = true, true
			}
		case promotion.FailedHere:
			out[step.Commit] = true
		case promotion.Arrived:
			if present && !out[step.Commit] {
				return step.Commit, true
			}
		}
	}
	return "", false
}
