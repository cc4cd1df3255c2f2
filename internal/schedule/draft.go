package schedule

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/external"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Draft is what an environment's GitOps branch should hold, with its plan and findings.
type Draft struct {
	Loaded *Loaded
	// Base is the state that [DraftRequest.Base] selects; nil without one.
	Base *Loaded
	// GitOps is the branch that the draft is compared with; nil if it is compared with another state of the control plane.
	GitOps *GitOps
	Bundle *bundle.Bundle
	// Plan is nil for [DraftRequest.Unpublished].
	Plan *plan.Plan
	// Findings are those about the files that the draft writes. Published files were checked when they were added. Nil for
	// [DraftRequest.Unpublished].
	Findings []check.Finding
	// WhatIf are the imagined changes, as they are written; empty for the environment as it is.
	WhatIf []string
	// NewProblems are the errors that the state of the control plane that it is compared with does not have.
	NewProblems []fleet.Problem

	edited []string // the sources that differ from the base
}

// Refused reports whether a check refuses the draft. It must not be written to the GitOps branch then.
func (d *Draft) Refused() bool { return check.Worst(d.Findings) == check.Refuse }

// OutputVersion is the version of the JSON of plans, explanations and validations, in their field "version". It changes if
// a field is removed or gets another meaning, not if one is added. docs/reference/json.md describes the fields.
const OutputVersion = 1

// Report is the JSON form of a draft.
type Report struct {
	Version int `json:"version"`
	*plan.Plan
	Findings []check.Finding `json:"findings,omitempty"`
}

// Report returns the JSON form of the draft. It must have a plan.
func (d *Draft) Report() Report { return Report{OutputVersion, d.Plan, d.Findings} }

// Markdown returns the plan and the findings, for a comment on a pull request.
func (d *Draft) Markdown(o plan.MarkdownOptions) string { return withFindings(d.Plan, d.Findings, o) }

// Trace is called when a step begins, and returns a function to call with its error when it ends.
type Trace func(ctx context.Context, step string) (context.Context, func(error))

func (t Trace) run(ctx context.Context, step string, do func(context.Context) error) error {
	if t == nil {
		return do(ctx)
	}
	ctx, end := t(ctx, step)
	err := do(ctx)
	end(err)
	return err
}

// Drafter makes drafts for all commands, pages and rounds, so that they show the same plan and the same findings.
type Drafter struct {
	Loader *Loader // required
	// Charts renders the templates that are charts. Without it, the assignments that use them are held.
	Charts Renderer
	// Memory keeps results, so that only changes are rendered; optional.
	Memory *Memory
	// Settled remembers folders from one process to the next, so that drafts that are compared with the GitOps branch need not render them; optional.
	// The bundles of these drafts have no configuration for them.
	Settled Settled
	// Comparisons keeps drafts with a base; optional.
	Comparisons *Comparisons
	// Schedulers are the external schedulers and extenders. Without it, only their recorded answers are used.
	Schedulers *external.Asker
	// Trace is called for each step; optional.
	Trace Trace
}

// Settled remembers digests that identify folders of a GitOps branch and everything that they are rendered from. It must forget them when the
// program changes. Forgetting only costs time.
type Settled interface {
	// Known returns what reports whether a digest was remembered.
	Known(r Request) func(fleet.Digest) bool
	// Remember adds digests.
	Remember(r Request, settled []fleet.Digest)
}

// DraftRequest selects what to draft, and what to compare it with: by default the GitOps branch, or with imagined changes, the same
// state without them, so that the plan does not show what is pending besides.
type DraftRequest struct {
	Request
	// Folder is a plain folder to read instead of the GitOps branch. It does not have to exist.
	Folder string
	// Base is another state of the control plane to compare with.
	Base *Request
	// Unpublished compares with nothing and does not read the GitOps branch. The draft has no plan and no findings, but its
	// bundle holds the assignments with credentials, as for an empty branch.
	Unpublished bool
	// Lenient drafts for an empty branch, as with Unpublished, if the GitOps branch cannot be read.
	Lenient bool
	// WhatIf are imagined changes of the environment. The draft must not be written then.
	WhatIf []fleet.WhatIf
	// Approved means that a user approved removals, also of what others need, and of what may be missing because of a typo.
	Approved bool
}

// Draft reads an environment, and builds, compares and checks its files.
// With an error, it returns an incomplete draft.
func (d *Drafter) Draft(ctx context.Context, r DraftRequest) (*Draft, error) {
	w := &drafting{Drafter: d, request: r, draft: &Draft{}}
	for _, change := range r.WhatIf {
		w.draft.WhatIf = append(w.draft.WhatIf, change.String())
	}
	if err := d.Trace.run(ctx, "read", w.read); err != nil {
		return w.draft, err
	}
	if r.Base == nil || w.asks() || len(r.WhatIf) > 0 {
		return w.draft, w.make(ctx)
	}
	return d.Comparisons.get(comparisonKey(w.base, w.draft.Loaded, w.standingAt), func() (*Draft, error) { return w.draft, w.make(ctx) })
}

type drafting struct {
	*Drafter
	request DraftRequest
	draft   *Draft
	// base and baseBundle are for [DraftRequest.Base], or the state without the imagined changes.
	base       *Loaded
	baseBundle *bundle.Bundle
	// standing is what the GitOps branch has, for drafts that are not compared with it; nil unless decisions depend on it.
	standing   *bundle.Published
	standingAt string // its commit
	unread     error  // why the branch could not be read, see [DraftRequest.Lenient]
	// published is what baseBundle publishes.
	published *bundle.Published
	// asked and baseAsked are the answers of external schedulers.
	asked, baseAsked external.Asked
	checker          *check.Checker
	// written and findings are whether the bundle has new or changed files, and what the checks found in them.
	written  bool
	findings []check.Finding
}

func (w *drafting) read(ctx context.Context) (err error) {
	if w.draft.Loaded, err = w.Loader.Load(ctx, w.request.Request); err != nil {
		return err
	}
	actual := *w.draft.Loaded
	if w.draft.Loaded.Snapshot, err = actual.Snapshot.WhatIf(w.request.WhatIf); err != nil {
		return err
	}
	switch {
	case w.request.Base != nil:
		w.base, err = w.Loader.Load(ctx, *w.request.Base)
		w.draft.Base, w.draft.edited = w.base, editedSources(*w.request.Base, w.request.Request)
	case w.request.Unpublished:
	case len(w.request.WhatIf) > 0:
		w.base = &actual
	default:
		w.draft.GitOps, err = w.Loader.gitOps(ctx, w.draft.Loaded, w.request.Folder, w.Memory.published(w.request.Request))
	}
	if err != nil && w.request.Lenient && w.request.Base == nil && ctx.Err() == nil {
		w.unread, w.draft.GitOps, w.request.Unpublished, err = err, nil, true, nil
	}
	if err != nil {
		return err
	}
	return w.settle(ctx)
}

// settle gives each name that several owners use to the one whose assignments are published. Drafts that are not compared
// with the GitOps branch read it for that, and for decisions that prefer what is published: if that is not possible, the names
// stay contested, and decisions are those for an empty branch.
func (w *drafting) settle(ctx context.Context) error {
	var published *bundle.Published
	if w.draft.GitOps != nil {
		published = w.draft.GitOps.Published
	} else if len(w.draft.Loaded.Snapshot.Contests) > 0 || w.stateful() || w.imagines() || w.unread != nil {
		published = w.readStanding(ctx)
	}
	w.standing = published
	owners := published.Owners
	if w.base != nil {
		w.base.Snapshot = w.base.Snapshot.Settle(owners)
		owners = func(target string) []fleet.Owner {
			if known := published.Owners(target); len(known) > 0 {
				return known
			}
			return w.base.Snapshot.Owners(target)
		}
	}
	w.draft.Loaded.Snapshot = w.draft.Loaded.Snapshot.Settle(owners)
	return ctx.Err()
}

// imagines reports whether the draft is compared with the environment without imagined changes.
func (w *drafting) imagines() bool { return w.request.Base == nil && len(w.request.WhatIf) > 0 }

// readStanding reads the GitOps branch for a draft that is not compared with it. If that is not possible, a problem says what is not known.
func (w *drafting) readStanding(ctx context.Context) *bundle.Published {
	err := w.unread
	if err == nil {
		var gitOps *GitOps
		if gitOps, err = w.Loader.gitOps(ctx, w.draft.Loaded, "", w.Memory.published(w.request.Request)); err == nil {
			w.standingAt = gitOps.Head.Commit
			return gitOps.Published
		}
	}
	message := "it is not known what is published and stays: "
	switch {
	case w.stateful():
		message = "decisions may differ from those of a schedule, which prefers what is published: "
	case errors.Is(err, ErrNoGitOpsRepo), !w.imagines() && w.unread == nil:
		return nil
	}
	w.draft.Loaded.Snapshot.Problems = fleet.SortProblems(append(slices.Clone(w.draft.Loaded.Snapshot.Problems), fleet.Problem{
		Severity: fleet.SeverityWarning, Kind: fleet.KindUnreachable, Position: fleet.Position{Source: "gitops"},
		Message: message + secret.Redact(err.Error()),
	}))
	return nil
}

// stateful reports whether decisions depend on what is published.
func (w *drafting) stateful() bool {
	return placement.Stateful(w.draft.Loaded.Snapshot) || w.base != nil && placement.Stateful(w.base.Snapshot)
}

func (w *drafting) make(ctx context.Context) error {
	w.Loader.progress("scheduling " + w.request.Environment)
	steps := []struct {
		name string
		do   func(context.Context) error
	}{{"ask schedulers", w.ask}, {"build", w.build}, {"check", w.check}, {"plan", w.plan}}
	if w.request.Unpublished {
		steps = steps[:3]
	}
	if !w.asks() {
		steps = steps[1:]
	}
	for _, step := range steps {
		if err := w.Trace.run(ctx, step.name, step.do); err != nil {
			return err
		}
	}
	return nil
}

func (w *drafting) build(ctx context.Context) error {
	snapshot := w.draft.Loaded.Snapshot
	build := func(s *fleet.Snapshot, published *bundle.Published, previous *bundle.Bundle, standing bundle.Standing) *bundle.Bundle {
		asked := w.asked
		if w.base != nil && s == w.base.Snapshot {
			asked = w.baseAsked
		}
		o := bundle.Options{Charts: chartsOf(ctx, w.Charts), Standing: standing, Answers: asked.Answers, Recorded: asked.Recorded, Problems: asked.Problems, Approved: w.request.Approved}
		if w.Settled != nil && w.draft.GitOps != nil {
			o.Settled = w.Settled.Known(w.request.Request)
		}
		return bundle.BuildWith(s, published, previous, o)
	}
	switch {
	case w.base != nil:
		var published *bundle.Published
		if w.imagines() { // what is held now stays
			published = w.standing
		}
		w.baseBundle = build(w.base.Snapshot, published, w.Memory.get(w.request.Request), w.standing)
		// What the base has counts as published, so that what cannot be read any more is held.
		var err error
		if w.published, err = w.baseBundle.AsPublished(); err != nil {
			return fmt.Errorf("read the base: %w", err)
		}
		w.draft.Bundle = build(snapshot, w.published, w.baseBundle, w.baseBundle)
	case w.request.Unpublished:
		w.draft.Bundle = build(snapshot, nil, nil, w.standing)
	default:
		w.draft.Bundle = build(snapshot, w.draft.GitOps.Published, w.Memory.get(w.request.Request), nil)
		if ctx.Err() == nil {
			w.Memory.put(w.request.Request, w.draft.Bundle)
			if w.Settled != nil {
				w.Settled.Remember(w.request.Request, w.draft.Bundle.Settled())
			}
		}
	}
	return ctx.Err()
}

// check checks the files. It holds the assignments with a credential that the policy refuses, so that it is neither pushed nor shown.
func (w *drafting) check(context.Context) error {
	b := w.draft.Bundle
	var err error
	if w.checker, err = w.checkerOf(w.draft.Loaded); err != nil {
		return err
	}
	w.examine()
	exposed := w.checker.Exposed(w.findings)
	if len(exposed) == 0 {
		return nil
	}
	reasons := map[string]fleet.Problem{}
	for _, folder := range b.Folders {
		for i := range folder.Assignments {
			if a := &folder.Assignments[i]; a.Held == nil {
				for _, f := range a.Files {
					if finding, found := exposed[f.Path]; found {
						reasons[a.Name()] = credential(a, f, finding)
					}
				}
			}
		}
	}
	w.draft.Bundle = b.Withhold(reasons)
	w.examine()
	return nil
}

// examine checks the new and changed files.
func (w *drafting) examine() {
	w.written = false
	w.findings = w.checker.Check(func(yield func(string, []byte) bool) {
		for path, content := range w.files() {
			w.written = true
			if !yield(path, content) {
				return
			}
		}
	})
}

func (w *drafting) checkerOf(l *Loaded) (*check.Checker, error) {
	policy, _ := check.PolicyOf(l.Snapshot)
	checker, err := w.Memory.checker(w.request.Request, policy.At(l.Inputs.Newest()))
	if err != nil {
		return nil, fmt.Errorf("prepare the checks: %w", err)
	}
	return checker, nil
}

// files returns the new and changed files, path to content.
func (w *drafting) files() iter.Seq2[string, []byte] {
	if w.base != nil {
		return maps.All(w.draft.Bundle.WrittenSince(w.baseBundle))
	}
	return func(yield func(string, []byte) bool) {
		for f := range w.draft.Bundle.Written {
			if !yield(f.Path, f.Content()) {
				return
			}
		}
	}
}

// credential is the problem of an assignment with a credential in a file. Its position is where the credential is
// written, if that is in the configuration.
func credential(a *bundle.Assignment, file bundle.File, finding check.Finding) fleet.Problem {
	p := fleet.Problem{
		Severity: fleet.SeverityError, Kind: fleet.KindCredential, Object: fleet.Ref{Kind: "DeploymentTarget", Name: a.Target},
		Assignment: a.Name(), Message: fmt.Sprintf("line %d of %s %s", finding.Line, file.Name(), finding.Message),
		Hint: "remove it where it is written; " + finding.Hint,
	}
	if finding.Object != "" {
		p.Message = finding.Place() + " " + finding.Message
	}
	if a.Config == nil || !bundle.IsConfig(file.Path) {
		return p
	}
	for _, key := range a.Config.Keys() {
		if found, exposed := check.CredentialIn(key.Path, key.Value); exposed {
			p.Object, p.Position = fleet.Ref{Kind: "ConfigMap", Name: key.From.ConfigMap}, key.From.Position
			p.Message = fmt.Sprintf("the value of %s %s%s", key.Path, found.Message, finding.EndedText())
			break
		}
	}
	return p
}

func (w *drafting) plan(context.Context) (err error) {
	d := w.draft
	var before plan.State
	switch {
	case w.request.Base != nil:
		before = plan.BundleState(w.base.Name(), w.baseBundle)
	case w.base != nil:
		before = plan.PublishedState("the same without what is imagined", w.published)
	default:
		before = plan.PublishedState(d.GitOps.String(), d.GitOps.Published)
	}
	if d.Plan, err = plan.Compare(before, d.Loaded.Name(), d.Bundle); err == nil && w.checker.Hides() {
		d.Plan.Redact(check.RedactYAML, check.RedactValue)
	}
	if err != nil {
		return err
	}
	d.Plan.WhatIf = d.WhatIf
	if w.written || !d.Plan.Empty() {
		_, problems := check.PolicyOf(d.Loaded.Snapshot)
		d.Findings = w.findings
		d.Plan.Problems = fleet.SortProblems(append(d.Plan.Problems, problems...))
	}
	if w.base != nil {
		_, known := check.PolicyOf(w.base.Snapshot)
		d.NewProblems = newErrors(append(known, w.baseBundle.Problems...), d.Plan.Problems)
	}
	return nil
}

// newErrors returns the errors that are not in before. Their lines can differ.
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
