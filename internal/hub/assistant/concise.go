package assistant

import (
	"context"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// lastSteps is how many steps an answer about a promotion has for each environment, and lastRingSteps how many of its rings, unless the question says
// how many.
const lastSteps, lastRingSteps = 2, 3

// promotion answers the question about a commit with what the promotion waits for or failed of, and its last steps. The whole history of a commit
// repeats each reason several times.
func promotion(ask func(context.Context, query.PromotionQuery) (query.PromotionDetail, error)) func(context.Context, promotionQuery) (query.PromotionDetail, error) {
	return func(ctx context.Context, q promotionQuery) (query.PromotionDetail, error) {
		d, err := ask(ctx, q.PromotionQuery)
		if err != nil || q.steps > 0 {
			for i := range d.Stages {
				d.Stages[i].Steps, d.Stages[i].RingSteps = last(d.Stages[i].Steps, q.steps), last(d.Stages[i].RingSteps, q.steps)
			}
			return d, err
		}
		for i := range d.Stages {
			s := &d.Stages[i]
			s.Steps, s.RingSteps = concise(s.Steps, lastSteps), concise(s.RingSteps, lastRingSteps)
			if s.Gate != nil && len(s.Gate.Causes) > 0 {
				gate := *s.Gate
				gate.Worst = nil // the causes say the same
				s.Gate = &gate
			}
		}
		return d, nil
	}
}

// promotionQuery is a query with the number of steps that a question asks for; 0 means the last few.
type promotionQuery struct {
	query.PromotionQuery
	steps int
}

// concise returns the last steps, without what is the same in all, and without what is for programs.
func concise(steps []ledger.Step, n int) []ledger.Step {
	short := append([]ledger.Step{}, last(steps, n)...)
	for i := range short {
		short[i].Subject, short[i].Commit, short[i].Detail = "", "", nil
	}
	return short
}

func last(steps []ledger.Step, n int) []ledger.Step { return steps[max(len(steps)-n, 0):] }
