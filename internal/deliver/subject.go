package deliver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
)

// SubjectOf returns the ledger subject of a workload's application: the URL of its source, "#", and the name of the
// workload. It stays the same when the repository gets another workload,
// and never equals the subject of a control plane.
func SubjectOf(source, workload string) string {
	return ledger.CleanRepository(source) + "#" + workload
}

// WorkloadOf returns the workload of a subject; ok is false for the subject of a control plane.
func WorkloadOf(subject string) (workload string, ok bool) {
	_, workload = ledger.SplitSubject(subject)
	return workload, workload != ""
}

// stepAdopted is the kind of the step that records an application's former subject.
const stepAdopted = "adopted"

// adopt copies the steps of an application's former subject to its current one. The former subject was the URL of the
// source only, while the repository had no other Workload. The original steps stay. Steps are recorded only once, so
// adopt can be interrupted and repeated.
func adopt(ctx context.Context, l Ledger, a *Application) error {
	if !a.Alone {
		return nil
	}
	subject, former := a.Subject(), ledger.CleanRepository(a.Request.Source)
	built, err := l.Steps(ctx, ledger.StepQuery{Subject: former, Environment: Everywhere, Kind: stepBuilt, Limit: 1})
	if err != nil {
		return fmt.Errorf("read what %q was known by: %w", subject, err)
	}
	if len(built) == 0 {
		return nil // no steps, or those of a control plane, which have no builds
	}
	adopted, err := l.Steps(ctx, ledger.StepQuery{Subject: subject, Environment: Everywhere, Kind: stepAdopted, Limit: 1})
	if err != nil || len(adopted) > 0 {
		return err
	}
	steps, err := l.Steps(ctx, ledger.StepQuery{Subject: former})
	if err != nil {
		return fmt.Errorf("read the steps of %q: %w", former, err)
	}
	for _, s := range slices.Backward(steps) { // oldest first
		s.Subject = subject
		if err := l.RecordStep(ctx, s); err != nil {
			return fmt.Errorf("take over a step of %q: %w", former, err)
		}
	}
	detail, err := json.Marshal(map[string]string{"from": former})
	if err != nil {
		return err
	}
	return l.RecordStep(ctx, ledger.Step{
		PromotionID: ledger.PromotionID{Subject: subject, Commit: promote.EveryCommit, Environment: Everywhere},
		Kind:        stepAdopted, Reason: "it was known as " + former, At: built[0].At, Detail: detail,
	})
}

// StepReader reads steps.
type StepReader interface {
	Steps(ctx context.Context, q ledger.StepQuery) ([]ledger.Step, error)
}

// FormerSubjects returns the subjects that applications had before subjects included the workload. They look like
// those of control planes.
func FormerSubjects(ctx context.Context, l StepReader) (map[string]bool, error) {
	steps, err := l.Steps(ctx, ledger.StepQuery{Environment: Everywhere, Kind: stepBuilt})
	if err != nil {
		return nil, fmt.Errorf("read what CI built: %w", err)
	}
	former := map[string]bool{}
	for _, s := range steps {
		if _, ok := WorkloadOf(s.Subject); !ok {
			former[s.Subject] = true
		}
	}
	return former, nil
}
