package query

import (
	"context"
	"slices"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// PromotionKind is the kind of a promotion: what it moves.
type PromotionKind string

// Kinds of promotions. Environments of both kinds can have the same names.
const (
	PlatformPromotion    PromotionKind = "platform"    // commits of a control plane
	ApplicationPromotion PromotionKind = "application" // commits of an application's source
)

// kindOf returns the kind of a ledger subject, and the workload if it is an application.
func kindOf(subject string) (m PromotionKind, workload string) {
	if workload, ok := deliver.WorkloadOf(subject); ok {
		return ApplicationPromotion, workload
	}
	return PlatformPromotion, ""
}

// former returns the subjects that applications had earlier and that look like those of control planes. Their steps
// are recorded under the current subjects, too.
func (o *Observer) former(ctx context.Context) (map[string]bool, error) {
	return deliver.FormerSubjects(ctx, o.Ledger)
}

// platformSteps returns the steps of a control plane in an environment, newest first. If the environment's control
// plane is unknown, it returns those of all control planes; if the environment
// is an application's, the steps of that application.
func (o *Observer) platformSteps(ctx context.Context, s *standing, q ledger.StepQuery) ([]ledger.Step, error) {
	if subject := s.subject(); subject != "" {
		q.Subject = subject
		return o.Ledger.Steps(ctx, q)
	}
	former, err := o.former(ctx)
	if err != nil {
		return nil, err
	}
	return o.stepsOf(ctx, q, func(subject string) bool {
		moves, _ := kindOf(subject)
		return moves == PlatformPromotion && !former[subject]
	})
}

// stepsOf returns the steps of the subjects that wanted accepts, newest first. It returns fewer than the limit only
// if there are no more.
func (o *Observer) stepsOf(ctx context.Context, q ledger.StepQuery, wanted func(subject string) bool) ([]ledger.Step, error) {
	for most := q.Limit; ; q.Limit *= 8 {
		steps, err := o.Ledger.Steps(ctx, q)
		if err != nil {
			return nil, err
		}
		read := len(steps)
		steps = slices.DeleteFunc(steps, func(s ledger.Step) bool { return !wanted(s.Subject) })
		switch {
		case most > 0 && len(steps) >= most:
			return steps[:most], nil
		case most == 0 || read < q.Limit:
			return steps, nil
		}
	}
}

// subjectsOf returns the ledger subjects of a workload's application, sorted; usually one.
func (o *Observer) subjectsOf(ctx context.Context, workload string) ([]string, error) {
	var found []string
	add := func(subject string) {
		if !slices.Contains(found, subject) {
			found = append(found, subject)
		}
	}
	for _, a := range o.applications() {
		if a.Name == workload {
			add(a.Subject)
		}
	}
	if len(found) == 0 { // only in the ledger
		last, err := o.Ledger.Promotions(ctx, ledger.StepQuery{})
		if err != nil {
			return nil, err
		}
		for _, s := range last {
			if _, of := kindOf(s.Subject); of == workload {
				add(s.Subject)
			}
		}
	}
	slices.Sort(found)
	return found, nil
}
