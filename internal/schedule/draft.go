package schedule

import (
	"context"
	"fmt"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// Draft is what the GitOps branch of an environment should hold, with what that changes and what checks report about it.
type Draft struct {
	Loaded *Loaded
	// GitOps is the branch that the draft is compared with; nil if it is compared with another state of the control plane.
	GitOps *GitOps
	Bundle *bundle.Bundle
	// Plan is what the draft changes; nil for [DraftRequest.Unpublished].
	Plan *plan.Plan
	// Findings are what the checks report about the files that the draft writes. Files that stay the same were checked when they came.
	Findings []check.Finding
	// NewProblems are the errors that [DraftRequest.Base] does not have.
	NewProblems []fleet.Problem
}

// Refused reports whether a check refuses the draft: it must not be written to the GitOps branch itself.
func (d *Draft) Refused() bool { return check.Worst(d.Findings) == check.Refuse }

// Report is a draft for programs.
type Report struct {
	*plan.Plan
	// Findings are what the checks report about the files that change.
	Findings []check.Finding `json:"findings,omitempty"`
}

// Report returns the draft for programs. It must have a plan.
func (d *Draft) Report() Report { return Report{d.Plan, d.Findings} }

// Markdown returns the plan and the findings, for a comment on a pull request.
func (d *Draft) Markdown(o plan.MarkdownOptions) string {
	findings := check.Markdown(d.Findings)
	if o.Limit > 0 {
		o.Limit = max(o.Limit-len(findings), 200)
	}
	return d.Plan.Markdown(o) + findings
}

// Trace is called when a step begins, and returns a function to call with its error when it ends.
type Trace func(ctx context.Context, step string) (context.Context, func(error))

// run runs a step. The nil function traces nothing.
func (t Trace) run(ctx context.Context, step string, do func(context.Context) error) error {
	if t == nil {
		return do(ctx)
	}
	ctx, end := t(ctx, step)
	err := do(ctx)
	end(err)
	return err
}

// Drafter makes drafts. Every command, page and round of the server gets its drafts here,
// so that all of them show the same plan and the same findings.
type Drafter struct {
	// Loader reads the control plane and the GitOps branch. // required
	Loader *Loader
	// Memory makes drafting what was drafted before faster; optional.
	Memory *Memory
	// Comparisons keeps drafts with a base; optional.
	Comparisons *Comparisons
	// Trace is called for each step; optional.
	Trace Trace
}

// DraftRequest names what to draft, and what to compare it with: by default the GitOps branch.
type DraftRequest struct {
	Request
	// Folder is a plain folder that stands in for the GitOps branch. It need not exist.
	Folder string
	// Base is another state of the control plane to compare with instead of the GitOps branch.
	Base *Request
	// Unpublished compares with nothing and does not read the GitOps branch. The draft has no plan and no findings.
	Unpublished bool
}

// Draft reads an environment, builds its files, compares and checks them.
// With an error it returns the draft as far as it got.
func (d *Drafter) Draft(ctx context.Context, r DraftRequest) (*Draft, error) {
	w := &drafting{Drafter: d, request: r, draft: &Draft{}}
	if err := d.Trace.run(ctx, "read", w.read); err != nil {
		return w.draft, err
	}
	if r.Base == nil {
		return w.draft, w.make(ctx)
	}
	return d.Comparisons.get(comparisonKey(w.base, w.draft.Loaded), func() (*Draft, error) { return w.draft, w.make(ctx) })
}

// drafting is a draft in progress.
type drafting struct {
	*Drafter
	request DraftRequest
	draft   *Draft
	// base and baseBundle are the state of the control plane to compare with; nil without one.
	base       *Loaded
	baseBundle *bundle.Bundle
	// written are the files that differ, by path, without those that are deleted.
	written map[string][]byte
}

func (w *drafting) read(ctx context.Context) (err error) {
	if w.draft.Loaded, err = w.Loader.Load(ctx, w.request.Request); err != nil {
		return err
	}
	switch {
	case w.request.Base != nil:
		w.base, err = w.Loader.Load(ctx, *w.request.Base)
	case !w.request.Unpublished:
		w.draft.GitOps, err = w.Loader.GitOps(ctx, w.draft.Loaded, w.request.Folder)
	}
	return err
}

func (w *drafting) make(ctx context.Context) error {
	w.Loader.progress("scheduling " + w.request.Environment)
	steps := []struct {
		name string
		do   func(context.Context) error
	}{{"build", w.build}, {"plan", w.plan}, {"check", w.check}}
	if w.request.Unpublished {
		steps = steps[:1]
	}
	for _, step := range steps {
		if err := w.Trace.run(ctx, step.name, step.do); err != nil {
			return err
		}
	}
	return nil
}

func (w *drafting) build(context.Context) error {
	snapshot := w.draft.Loaded.Snapshot
	switch {
	case w.base != nil:
		w.baseBundle = bundle.Build(w.base.Snapshot, nil, nil)
		w.draft.Bundle = bundle.Build(snapshot, nil, w.baseBundle)
	case w.request.Unpublished:
		w.draft.Bundle = bundle.Build(snapshot, nil, nil)
	default:
		w.draft.Bundle = bundle.Build(snapshot, w.draft.GitOps.Published, w.Memory.get(w.request.Request))
		w.Memory.put(w.request.Request, w.draft.Bundle)
	}
	return nil
}

func (w *drafting) plan(context.Context) (err error) {
	d := w.draft
	var before plan.State
	if w.base != nil {
		before = plan.BundleState(w.base.Name(), w.baseBundle)
		w.written = d.Bundle.WrittenSince(w.baseBundle)
	} else {
		before = plan.PublishedState(d.GitOps.String(), d.GitOps.Published)
		w.written, _ = Edits(d.Bundle.Changes())
	}
	d.Plan, err = plan.Compare(before, d.Loaded.Name(), d.Bundle)
	return err
}

// check checks what the draft writes.
func (w *drafting) check(context.Context) error {
	d := w.draft
	if len(w.written) > 0 || !d.Plan.Empty() {
		policy, problems := check.PolicyOf(d.Loaded.Snapshot)
		checker, err := w.Memory.checker(w.request.Request, policy)
		if err != nil {
			return fmt.Errorf("prepare the checks: %w", err)
		}
		d.Findings = checker.Check(w.written)
		d.Plan.Problems = fleet.SortProblems(append(d.Plan.Problems, problems...))
	}
	if w.base != nil {
		_, known := check.PolicyOf(w.base.Snapshot)
		d.NewProblems = newErrors(append(known, w.baseBundle.Problems...), d.Plan.Problems)
	}
	return nil
}

// newErrors returns the errors that are not in before, wherever their lines have moved to.
func newErrors(before, after []fleet.Problem) []fleet.Problem {
	known := rootErrors("", before).problems
	var found []fleet.Problem
	roots := rootErrors("", after)
	for _, id := range roots.ids {
		if _, old := known[id]; !old {
			found = append(found, roots.problems[id])
		}
	}
	return found
}
