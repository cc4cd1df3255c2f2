package deliver

import (
	"context"
	"fmt"
	"maps"
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

// Draft is what an environment's GitOps branch should hold, with the changes that this makes.
type Draft struct {
	App    *Application
	Config *Config // nil if the targets need none
	GitOps *GitOps
	Build  Build
	Tree   *tree.Tree
	Plan   *Plan
	// Findings are the results of checks on the manifests that change.
	Findings []check.Finding
	// Scanned reports whether the policy requires scans. Scans are the results for the images and charts that change.
	Scanned bool
	Scans   []scan.Result
	// Read are the locations that were read.
	Read []schedule.Location

	work      *work
	results   []*chart.Result
	changes   []bundle.Change
	keepDrift bool
}

// Drafter renders drafts.
type Drafter struct {
	Loader *Loader // required
	// Renderer renders the targets. // required
	Renderer Renderer
	// Policies are the platform team's check policies. Default: Kalypso's built-in rules.
	Policies Policies
	// Scanner runs the scans of the policies. Nil runs none, so that pull requests that need scans wait for them.
	Scanner Scanner
	// Images looks up the digests of images. Nil looks up none.
	Images Images
	// Memory holds earlier results, so that only changes are rendered; optional.
	Memory *Memory
}

// Policies returns what the platform requires of an application in an environment.
type Policies interface {
	// Policy returns the environment's check policy, and its problems.
	Policy(ctx context.Context, environment string) (check.Policy, []fleet.Problem, error)
	// Rights returns what the manifests of a workload's targets may change on clusters, by the target's name in the workload.
	// A target that is not in the result has unknown rights.
	Rights(ctx context.Context, environment, workload string) (map[string]check.Rights, error)
	// Rings returns the rings of the environment's clusters, and the batches of rings, as they are published; nil if it has none.
	Rings(ctx context.Context, environment string) ([]fleet.Stage, error)
}

// DraftRequest is what to draft.
type DraftRequest struct {
	Request     Request
	Environment string // required
	// Build is the build to render. Without a commit, the head of the branch is rendered.
	Build Build
	// Unpublished ignores the GitOps branch, as if nothing was published.
	Unpublished bool
	// Lenient reports values and variables that nothing uses as warnings, for requests that several environments share.
	Lenient bool
	// KeepDrift holds targets whose files were changed by hand.
	KeepDrift bool
	// Pins are the pinned targets. Nil leaves those that are published. If they differ from those, the draft changes nothing else.
	Pins map[string]tree.Pin
	// Requests say who asked for them, by target.
	Requests map[string]tree.Request

	// kept are pinned targets with their files, instead of Pins.
	kept map[string]pinned
}

// Draft renders an environment and compares it with what is published.
func (d *Drafter) Draft(ctx context.Context, request DraftRequest) (*Draft, error) {
	a, err := d.Loader.Application(ctx, request.Request, request.Build.Commit)
	if err != nil {
		return nil, err
	}
	return d.draft(ctx, a, request, nil)
}

// draft renders an application that has been read. published is the state of the branch; nil to read it.
func (d *Drafter) draft(ctx context.Context, a *Application, request DraftRequest, published *GitOps) (*Draft, error) {
	if err := a.checkEnvironment(request.Environment); err != nil {
		return nil, err
	}
	if err := request.Build.Check(); err != nil {
		return nil, err
	}
	if err := a.checkFlags(); err != nil {
		return nil, err
	}
	draft := &Draft{App: a, Build: request.Build, GitOps: published, keepDrift: request.KeepDrift}
	draft.Build.Commit = a.Source.Commit
	draft.Read = []schedule.Location{{Repo: a.Request.Source, Branch: a.Request.Branch}}
	if request.Unpublished {
		place := a.Delivery.GitOpsPlace(request.Environment)
		draft.GitOps = &GitOps{GitOpsBranch: schedule.GitOpsBranch{
			Location: schedule.Location{Repo: place.Repo, Branch: place.Branch, Path: strings.Trim(place.Path, "/")},
		}}
	}
	if err := d.read(ctx, draft, request.Environment); err != nil {
		return draft, err
	}
	var err error
	if draft.work, err = d.Loader.prepare(ctx, a, request.Environment, draft.Build, draft.Config, draft.GitOps); err != nil {
		return draft, err
	}
	draft.work.requests = request.Requests
	if request.kept != nil {
		draft.work.keepPinned(request.kept)
	} else if err := d.Loader.pin(ctx, draft.work, request.Pins); err != nil {
		return draft, err
	}
	if err := d.render(ctx, draft, request); err != nil {
		return draft, err
	}
	if draft.Plan, err = draft.plan(); err != nil {
		return draft, err
	}
	if err := d.check(ctx, draft); err != nil {
		return draft, err
	}
	d.digests(ctx, draft)
	return draft, nil
}

// read reads the configuration and the GitOps branch.
func (d *Drafter) read(ctx context.Context, draft *Draft, environment string) error {
	a := draft.App
	if spec := a.Delivery.Spec; spec.Kustomization == "" && spec.Manifests == "" {
		config, places, err := d.Loader.Config(ctx, a, environment)
		draft.Read = append(draft.Read, places...)
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
func (d *Drafter) render(ctx context.Context, draft *Draft, request DraftRequest) error {
	w := draft.work
	for i, p := range w.parts {
		key := memoryKey{draft.App.Subject(), request.Environment, i}
		d.Loader.progress("rendering %d targets", len(p.job.Targets))
		result, err := d.Renderer.Render(ctx, p.job, d.Memory.get(key))
		if err != nil {
			return fmt.Errorf("render: %w", err)
		}
		if w.only == nil {
			d.Memory.put(key, result)
		}
		draft.results = append(draft.results, result)
	}
	if err := w.checkUse(draft.results, request.Lenient || w.only != nil); err != nil {
		return err
	}
	var err error
	if w.held, err = d.withoutNeeded(ctx, w); err != nil {
		return err
	}
	known := w.workspace
	if w.gitops.unclaimed() {
		w.workspace = "" // naming the owner alone is not worth a pull request
	}
	if draft.build(request.KeepDrift); w.workspace != known && len(draft.changes) > 0 {
		w.workspace = known
		draft.build(request.KeepDrift)
	}
	return nil
}

// build builds the tree from the rendered targets.
func (d *Draft) build(keepsDrift bool) {
	wanted := d.work.wanted(d.results)
	if keepsDrift {
		keepDrift(&wanted, d.work.gitops.Published)
	}
	d.Tree = tree.Build(wanted, d.work.gitops.Published)
	d.changes = d.Tree.Changes()
}

// keepDrift holds the targets with files that were changed by hand.
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

// KindDrift means that a target keeps files that were changed by hand, because a user wants that.
const KindDrift fleet.ProblemKind = "drift-kept"

// Files returns the application's files that the branch should hold, sorted by
// path. Files that stay as published have no content.
func (d *Draft) Files() []bundle.File { return d.Tree.Files() }

// digest identifies the files that the branch should hold.
func (d *Draft) digest() string { return bundle.Digest(slices.Values(d.Files())) }

// Changes returns the changes to the branch, sorted by path.
func (d *Draft) Changes() []bundle.Change { return d.changes }

// Values returns the composed values of a target. ok is false if the target was not rendered.
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

// Made returns what the charts of the targets make up, by target, if the request wanted the list.
func (d *Draft) Made() map[string][]chart.Made {
	made := map[string][]chart.Made{}
	for _, result := range d.results {
		for _, r := range result.Targets {
			made[r.Name] = r.Made
		}
	}
	return made
}

// Inputs returns the commits that the draft was rendered from.
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

// when returns the time of the newest input. It is the commit's date,
// so that the date does not depend on who commits.
func (w *work) when() time.Time {
	var newest time.Time
	for _, i := range w.inputs() {
		if i.Time.After(newest) {
			newest = i.Time
		}
	}
	return newest
}

// check checks the manifests that change. Published manifests were checked when they were added.
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
	policy = policy.At(draft.work.when())
	d.scan(ctx, draft, policy.Wanted())
	files, others := map[string][]byte{}, map[string][]byte{}
	for _, c := range draft.changes {
		if path.Base(c.Path) == "manifests.yaml" && c.Content != nil {
			files[c.Path] = c.Content
		} else if c.Content != nil {
			others[c.Path] = c.Content
		}
	}
	if len(draft.changes) == 0 {
		return nil
	}
	checker, err := d.Memory.checker(policy)
	if err != nil {
		return fmt.Errorf("prepare the checks: %w", err)
	}
	draft.Findings = append(checker.Credentials(others), checker.Check(maps.All(files))...)
	outside, err := d.outside(ctx, draft, checker, files)
	if err != nil {
		return err
	}
	draft.Findings = append(draft.Findings, outside...)
	if err := draft.withholdCredentials(); err != nil {
		return err
	}
	if checker.Hides() {
		draft.Plan.redact()
	}
	return nil
}

// outside returns the findings about objects in changed manifests that the platform does not let the application change.
func (d *Drafter) outside(ctx context.Context, draft *Draft, checker *check.Checker, files map[string][]byte) ([]check.Finding, error) {
	var rights map[string]check.Rights
	if d.Policies != nil && len(files) > 0 {
		var err error
		if rights, err = d.Policies.Rights(ctx, draft.work.environment, draft.App.Workload.Name); err != nil {
			return nil, fmt.Errorf("read the grants: %w", err)
		}
	}
	var findings []check.Finding
	for _, t := range draft.Tree.Targets {
		own := map[string][]byte{}
		for _, f := range t.Files {
			if content, changed := files[f.Path]; changed {
				own[f.Path] = content
			}
		}
		findings = append(findings, checker.Outside(own, rights[t.Name])...)
	}
	return findings, nil
}

// credential returns the problem of a target with a credential: its object and field, or the value and where it is
// written. The file that has it is not written, so its lines say nothing.
func (d *Draft) credential(target string, f check.Finding) fleet.Problem {
	p := fleet.Problem{
		Severity: fleet.SeverityError, Kind: fleet.KindCredential, Object: fleet.Ref{Kind: "Workload", Name: d.App.Workload.Name},
		Message: f.Place() + " " + f.Message, Hint: "remove it where it is written; " + f.Hint,
	}
	if f.Object != "" {
		return p
	}
	keys, _ := d.Values(target)
	for _, key := range keys {
		if found, exposed := check.CredentialIn(key.Path, key.Value); exposed {
			p.Position, p.Message = key.From, fmt.Sprintf("the value of %s %s%s", key.Path, found.Message, f.EndedText())
			break
		}
	}
	return p
}

// withholdCredentials holds the targets with a credential that the policy refuses, so that it is neither pushed nor shown in a plan.
func (d *Draft) withholdCredentials() error {
	held := 0
	for _, t := range d.Tree.Targets {
		for _, f := range d.Findings {
			if f.Rule != check.RuleSecret || f.Level != check.Refuse || !slices.ContainsFunc(t.Files, func(file bundle.File) bool { return file.Path == f.File }) {
				continue
			}
			d.work.problems[t.Name] = append(d.work.problems[t.Name], d.credential(t.Name, f))
			held++
			break
		}
	}
	if held == 0 {
		return nil
	}
	d.build(d.keepDrift)
	problems := d.Plan.Problems
	var err error
	if d.Plan, err = d.plan(); err == nil {
		d.Plan.Problems = fleet.SortProblems(append(d.Plan.Problems, problems...))
	}
	return err
}
