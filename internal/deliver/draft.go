package deliver

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/check/scan"
	"github.com/kalypso-io/kalypso/internal/deliver/tree"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// Draft is what the GitOps branch of an environment should hold, and what that changes.
type Draft struct {
	App    *Application
	Config *Config // nil where none is needed
	GitOps *GitOps
	Build  Build
	Tree   *tree.Tree
	Plan   *Plan
	// Findings are what the checks found in the manifests that change.
	Findings []check.Finding
	// Scanned is whether the policy wants scans, and Scans is how those of the images and charts that change stand.
	Scanned bool
	Scans   []scan.Result
	// Read are the locations that were read.
	Read []schedule.Location

	work      *work
	results   []*chart.Result
	changes   []bundle.Change
	keepDrift bool
}

// Drafter makes drafts.
type Drafter struct {
	Loader *Loader // required
	// Renderer renders; nil means [InProcess].
	Renderer Renderer
	// Policies are what the platform team checks; nil for the rules that come with Kalypso.
	Policies Policies
	// Scanner runs the scans of the policies; nil runs none, so that changes wait for those that are wanted.
	Scanner Scanner
	// Memory holds what was rendered before, so that only what changed is rendered again; nil for none.
	Memory *Memory
}

// Policies know what the manifests of an environment are checked by.
type Policies interface {
	Policy(ctx context.Context, environment string) (check.Policy, []fleet.Problem, error)
}

// Wish is what is to be drafted.
type Wish struct {
	Request     Request
	Environment string // required
	// Build is the commit to render, with what CI made of it. Without a commit it is the head of the branch.
	Build Build
	// Unpublished leaves the GitOps branch alone, as if nothing was published.
	Unpublished bool
	// KeepDrift leaves targets whose files somebody changed by hand as they are.
	KeepDrift bool
}

// Draft renders an environment and compares it with what is published.
func (d *Drafter) Draft(ctx context.Context, wish Wish) (*Draft, error) {
	a, err := d.Loader.Application(ctx, wish.Request, wish.Build.Commit)
	if err != nil {
		return nil, err
	}
	return d.draft(ctx, a, wish, nil)
}

// draft drafts an application that was read. published is what the branch holds; nil to read it.
func (d *Drafter) draft(ctx context.Context, a *Application, wish Wish, published *GitOps) (*Draft, error) {
	if err := a.knows(wish.Environment); err != nil {
		return nil, err
	}
	if err := wish.Build.check(); err != nil {
		return nil, err
	}
	draft := &Draft{App: a, Build: wish.Build, GitOps: published, keepDrift: wish.KeepDrift}
	draft.Build.Commit = a.Source.Commit
	draft.Read = []schedule.Location{{Repo: a.Request.Source, Branch: a.Request.Branch}}
	if wish.Unpublished {
		place := a.Delivery.GitOpsPlace(wish.Environment)
		draft.GitOps = &GitOps{Location: schedule.Location{Repo: place.Repo, Branch: place.Branch, Path: strings.Trim(place.Path, "/")}}
	}
	if err := d.read(ctx, draft, wish.Environment); err != nil {
		return draft, err
	}
	var err error
	if draft.work, err = d.Loader.prepare(ctx, a, wish.Environment, draft.Build, draft.Config, draft.GitOps); err != nil {
		return draft, err
	}
	if err := d.render(ctx, draft, wish); err != nil {
		return draft, err
	}
	if draft.Plan, err = draft.plan(); err != nil {
		return draft, err
	}
	return draft, d.check(ctx, draft)
}

// read reads configuration and GitOps branch.
func (d *Drafter) read(ctx context.Context, draft *Draft, environment string) error {
	a := draft.App
	if spec := a.Delivery.Spec; spec.Kustomization == "" && spec.Manifests == "" {
		config, asked, err := d.Loader.Config(ctx, a, environment)
		draft.Read = append(draft.Read, asked...)
		if err != nil {
			return err
		}
		draft.Config = config
	}
	if draft.GitOps == nil {
		var err error
		if draft.GitOps, err = d.Loader.GitOps(ctx, a, environment); err != nil {
			return err
		}
	}
	draft.Read = append(draft.Read, draft.GitOps.Location)
	return nil
}

// render renders the targets and builds the tree.
func (d *Drafter) render(ctx context.Context, draft *Draft, wish Wish) error {
	renderer := d.Renderer
	if renderer == nil {
		renderer = InProcess{}
	}
	w := draft.work
	for i, p := range w.parts {
		key := memoryKey{draft.App.Subject(), wish.Environment, i}
		d.Loader.progress("rendering %d targets", len(p.job.Targets))
		result, err := renderer.Render(ctx, p.job, d.Memory.get(key))
		if err != nil {
			return fmt.Errorf("render: %w", err)
		}
		d.Memory.put(key, result)
		draft.results = append(draft.results, result)
	}
	known := w.workspace
	if w.gitops.unclaimed() {
		w.workspace = "" // to say whose it is alone is no change that somebody should have to merge
	}
	if draft.build(wish.KeepDrift); w.workspace != known && len(draft.changes) > 0 {
		w.workspace = known
		draft.build(wish.KeepDrift)
	}
	return nil
}

// build builds the tree of what was rendered.
func (d *Draft) build(keepsDrift bool) {
	wanted := d.work.wanted(d.results)
	if keepsDrift {
		keepDrift(&wanted, d.work.gitops.Published)
	}
	d.Tree = tree.Build(wanted, d.work.gitops.Published)
	d.changes = d.Tree.Changes()
}

// keepDrift holds the targets that somebody changed by hand.
func keepDrift(wanted *tree.Wanted, published *tree.Published) {
	if published == nil {
		return
	}
	drifted := map[string]bool{}
	for _, drift := range published.Drift {
		drifted[drift.Path] = true
	}
	for i, t := range wanted.Targets {
		for _, p := range published.Targets {
			if p.Name != t.Name || !slices.ContainsFunc(p.Files, func(f bundle.File) bool { return drifted[f.Path] }) {
				continue
			}
			wanted.Targets[i].Rendered.Problems = append(slices.Clone(t.Rendered.Problems), fleet.Problem{
				Severity: fleet.SeverityError, Kind: KindDrift, Message: "its files were changed by hand, and are kept", Hint: "remove the label " + LabelKeepDrift + " to restore them",
			})
		}
	}
}

// KindDrift is that a target keeps what somebody changed by hand, because somebody wants that.
const KindDrift fleet.ProblemKind = "drift-kept"

// Files are all files that the branch should hold and that are the application's, sorted by path.
// Those that stay as they are published have no content.
func (d *Draft) Files() []bundle.File { return d.Tree.Files() }

// digest identifies the files that the branch should hold.
func (d *Draft) digest() string { return bundle.Digest(slices.Values(d.Files())) }

// Changes are what has to be done to the branch, sorted by path.
func (d *Draft) Changes() []bundle.Change { return d.changes }

// Values are the composed values of a target; ok is false for one that was not rendered.
func (d *Draft) Values(target string) (keys []values.Key, ok bool) {
	for _, result := range d.results {
		for _, r := range result.Targets {
			if r.Name == target {
				return r.Keys, true
			}
		}
	}
	return nil, false
}

// Inputs are the commits that the draft was made of.
func (d *Draft) Inputs() []schedule.Input { return d.work.inputs() }

func (w *work) inputs() []schedule.Input {
	inputs := []schedule.Input{w.app.Source}
	if w.config != nil {
		inputs = append(inputs, w.config.Input)
	}
	return inputs
}

func (w *work) inputsText() string {
	var texts []string
	for _, i := range w.inputs() {
		texts = append(texts, i.String())
	}
	return strings.Join(texts, ", ")
}

// when is the time of the newest input, by which the commit is dated: it is the same whoever makes it.
func (w *work) when() time.Time {
	var newest time.Time
	for _, i := range w.inputs() {
		if i.Time.After(newest) {
			newest = i.Time
		}
	}
	return newest
}

// check looks at the manifests that change. What is published already was checked when it came.
func (d *Drafter) check(ctx context.Context, draft *Draft) error {
	policy := check.Policy{Environment: draft.work.environment}
	if d.Policies != nil {
		var problems []fleet.Problem
		var err error
		if policy, problems, err = d.Policies.Policy(ctx, policy.Environment); err != nil {
			return fmt.Errorf("read the check policies: %w", err)
		}
		draft.Plan.Problems = fleet.SortProblems(append(draft.Plan.Problems, problems...))
	}
	d.scan(ctx, draft, policy.Wanted())
	files := map[string][]byte{}
	for _, c := range draft.changes {
		if path.Base(c.Path) == "manifests.yaml" && c.Content != nil {
			files[c.Path] = c.Content
		}
	}
	if len(files) == 0 && (len(draft.changes) == 0 || len(policy.Unreadable) == 0) {
		return nil // whatever changes, a policy that cannot be read says so
	}
	checker, err := d.Memory.checker(policy)
	if err != nil {
		return fmt.Errorf("prepare the checks: %w", err)
	}
	draft.Findings = checker.Check(files)
	return nil
}
