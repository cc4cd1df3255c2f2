package deliver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/deliver/tree"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/solution"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Versions makes solution versions from merged commits.
//
// A version is rebuilt from its inputs, without looking at what is published, and has to equal the merged files. So everything that is
// published can be rebuilt by anyone who can read the repositories, and files that were changed by hand are in no version.
type Versions struct {
	Drafter // required
	// Messages reads the messages of commits. // required
	Messages Messages
	// Renderer names this program. // required
	Renderer solution.Renderer
}

// Messages reads the messages of commits.
type Messages interface {
	// Messages returns the messages of a commit, of those that it merged, and of those before it on its branch, newest first.
	Messages(ctx context.Context, at schedule.Location) ([]string, error)
}

// VersionRequest identifies a merged commit.
type VersionRequest struct {
	// Request identifies the application. Its GitOpsCommit is the merged commit. Default: the head of the branch.
	// Its ConfigCommit is the commit of the configuration. Default: the one that the merged commit names, or the head of the branch.
	Request     Request
	Environment string // required
}

// Merged returns the version that a merged commit rendered.
//
// A pinned target has the files of one of its revisions, so its own inputs are those of that commit.
func (v *Versions) Merged(ctx context.Context, request VersionRequest) (*solution.Version, error) {
	return v.version(ctx, request, "", 0)
}

// maxFollowed is how many revisions are followed from a pinned target: a revision can have pinned it, too.
const maxFollowed = 10

// version is Merged for all targets, or only one of them.
func (v *Versions) version(ctx context.Context, request VersionRequest, only string, depth int) (*solution.Version, error) {
	if err := request.check(); err != nil {
		return nil, err
	}
	head, err := v.Loader.Application(ctx, request.Request, "")
	if err != nil {
		return nil, err
	}
	if err := head.checkEnvironment(request.Environment); err != nil {
		return nil, err
	}
	g, err := v.Loader.GitOps(ctx, head, request.Environment)
	if err != nil {
		return nil, err
	}
	if g.Build.Commit == "" || len(g.Published.Targets) == 0 {
		return nil, fmt.Errorf("branch %q of %s has nothing of the application %q: merge a pull request first",
			g.Location.Branch, secret.Redact(g.Location.Repo), head.Workload.Name)
	}
	d := solution.Descriptor{
		Application: head.Workload.Name, Environment: request.Environment, Workspace: g.workspace(), Release: g.Build.Version, Image: g.Build.Image, Merged: g.Time,
		Inputs: solution.Inputs{
			Source: solution.Input{Repository: secret.Redact(head.Request.Source), Branch: head.Source.Branch, Path: head.Request.Path, Commit: g.Build.Commit},
			GitOps: solution.Input{Repository: secret.Redact(g.Location.Repo), Branch: g.Location.Branch, Path: g.Location.Path, Commit: g.Commit},
		},
		Parameters: solution.Parameters{
			Kubernetes: head.environment(request.Environment).Kubernetes,
			Set:        request.Request.Set, SetString: request.Request.SetString, Vars: request.Request.Vars,
		},
	}
	if request.Request.GitOpsCommit != "" {
		if err := v.merged(ctx, d.Inputs.GitOps); err != nil {
			return nil, err
		}
	}
	if d.Targets, err = v.pinnedIn(ctx, request, g, only, depth); err != nil {
		return nil, err
	}
	merged, err := g.files(only)
	if err != nil {
		return nil, err
	}
	configs, err := v.configs(ctx, request, head, g)
	if err != nil {
		return nil, err
	}
	var first []solution.Difference
	for i, config := range configs {
		d.Inputs.Config = config
		rebuilt, err := v.rebuild(ctx, request.Request, d, only)
		if err != nil {
			return nil, err
		}
		differences := solution.CompareMerged(rebuilt, merged)
		if len(differences) == 0 {
			return rebuilt, nil
		}
		if i == 0 {
			first = differences
		}
	}
	return nil, &solution.NotRebuiltError{
		Environment: request.Environment, Commit: g.Commit, Differences: first,
		Advice: "merge the environment's open pull request, or name the commit of the configuration that was merged",
	}
}

// pinnedIn returns the pinned targets of a merged commit, or only one of them, with what they have.
func (v *Versions) pinnedIn(ctx context.Context, request VersionRequest, g *GitOps, only string, depth int) ([]solution.Target, error) {
	pins := g.Published.Pins()
	var targets []solution.Target
	for _, name := range slices.Sorted(maps.Keys(pins)) {
		pin := pins[name]
		if only != "" && name != only {
			continue
		}
		if pin.Uninstalled {
			targets = append(targets, solution.Target{Name: name, Pinned: &solution.Pinned{Uninstalled: true}})
			continue
		}
		if depth == maxFollowed {
			return nil, fmt.Errorf("target %q is pinned to a revision that pins it, more than %d times", name, maxFollowed)
		}
		request.Request.GitOpsCommit, request.Request.ConfigCommit = pin.Revision, ""
		then, err := v.version(ctx, request, name, depth+1)
		if err != nil {
			return nil, fmt.Errorf("target %q is pinned to commit %s: %w", name, fleet.ShortCommit(pin.Revision), err)
		}
		has := &solution.Pinned{Revision: pin.Revision, Source: &then.Inputs.Source, Config: then.Inputs.Config, Release: then.Release, Image: then.Image}
		if t, ok := then.Target(name); ok && t.Pinned != nil {
			if t.Pinned.Uninstalled {
				return nil, fmt.Errorf("target %q is pinned to commit %s, which uninstalled it", name, fleet.ShortCommit(pin.Revision))
			}
			of := *t.Pinned
			of.Revision, has = pin.Revision, &of
		}
		targets = append(targets, solution.Target{Name: name, Pinned: has})
	}
	return targets, nil
}

func (r VersionRequest) check() error {
	if r.Request.SourceFolder != "" || r.Request.ConfigFolder != "" || r.Request.GitOpsFolder != "" {
		return errors.New("a version is made from commits, not from plain folders")
	}
	return nil
}

// configTrailer is the line of a generated commit that names the commit of the configuration.
var configTrailer = regexp.MustCompile(`(?m)^Kalypso-Inputs: config@([0-9a-f]{40})$`)

// renderedFrom is the line of a generated commit that names the application.
var renderedFrom = regexp.MustCompile(`(?m)^Rendered by Kalypso from the source of (.+)\.$`)

// configOf returns the commit of the configuration that the newest of some messages names; empty if none does. Older ones are of earlier
// states of a pull request.
func configOf(messages []string) string {
	for _, message := range messages {
		if m := configTrailer.FindStringSubmatch(message); m != nil {
			return m[1]
		}
	}
	return ""
}

// configs returns the commits of the configuration that the merged files can be made from, the likeliest first; one nil for an application without configuration.
func (v *Versions) configs(ctx context.Context, request VersionRequest, head *Application, g *GitOps) ([]*solution.Input, error) {
	a, err := v.Loader.Application(ctx, request.Request, g.Build.Commit)
	if err != nil {
		return nil, err
	}
	if spec := a.Delivery.Spec; spec.Kustomization != "" || spec.Manifests != "" {
		return []*solution.Input{nil}, nil
	}
	a.Delivery.Spec.Environments = head.Delivery.Spec.Environments
	config, _, err := v.Loader.Config(ctx, a, request.Environment)
	if err != nil {
		return nil, err
	}
	commits := []string{config.Input.Commit}
	if request.Request.ConfigCommit == "" {
		messages, err := v.Messages.Messages(ctx, schedule.Location{Repo: g.Location.Repo, Branch: g.Location.Branch, Commit: g.Commit})
		if err != nil {
			return nil, fmt.Errorf("read the message of commit %s: %w", fleet.ShortCommit(g.Commit), err)
		}
		// Others can push to the branch, such as another application that shares it.
		messages = slices.DeleteFunc(messages, func(message string) bool {
			of := renderedFrom.FindStringSubmatch(message)
			return of == nil || of[1] != head.Workload.Name
		})
		if recorded := configOf(messages); recorded != "" {
			commits = append([]string{recorded}, commits...)
		}
	}
	var all []*solution.Input
	for _, commit := range slices.Compact(commits) {
		at := schedule.Location{Repo: config.Location.Repo, Branch: config.Location.Branch}
		if on, err := v.Loader.Repositories.Contains(ctx, at, commit); err != nil || !on && len(commits) > 1 {
			if err != nil {
				return nil, fmt.Errorf("find commit %s: %w", fleet.ShortCommit(commit), err)
			}
			continue // the branch was rewritten
		}
		all = append(all, &solution.Input{Repository: secret.Redact(at.Repo), Branch: config.Input.Branch, Path: config.Location.Path, Commit: commit})
	}
	return all, nil
}

// files returns the files of the application's targets, or only of one of them, sorted by path.
func (g *GitOps) files(only string) ([]solution.File, error) {
	var files []solution.File
	for _, t := range g.Published.Targets {
		if only != "" && t.Name != only {
			continue
		}
		for _, f := range t.Files {
			content, err := g.read(f.Path)
			if err != nil {
				return nil, fmt.Errorf("read %q: %w", f.Path, err)
			}
			files = append(files, solution.File{Path: within(g.Location.Path, f.Path), Content: content})
		}
	}
	slices.SortFunc(files, func(a, b solution.File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

// within returns a path relative to a folder.
func within(root, file string) string {
	return strings.TrimPrefix(strings.TrimPrefix(file, root), "/")
}

// Rebuild makes a version again, from nothing but the inputs and parameters in a descriptor. base has what a server allows the application; empty elsewhere.
func (v *Versions) Rebuild(ctx context.Context, base Request, d solution.Descriptor) (*solution.Version, error) {
	return v.rebuild(ctx, base, d, "")
}

// rebuild is Rebuild for all targets, or only one of them.
func (v *Versions) rebuild(ctx context.Context, base Request, d solution.Descriptor, only string) (*solution.Version, error) {
	kept, err := v.keptBy(ctx, base, d)
	if err != nil {
		return nil, err
	}
	r := base.of(d)
	if c := d.Inputs.Config; c != nil {
		r.ConfigCommit = c.Commit
	}
	a, err := v.Loader.Application(ctx, r, d.Inputs.Source.Commit)
	if err != nil {
		return nil, err
	}
	spec := &a.Delivery.Spec
	spec.Environments = []app.Environment{{Name: d.Environment, Kubernetes: d.Parameters.Kubernetes}}
	spec.GitOps.Repo, spec.GitOps.Branch, spec.GitOps.Path = d.Inputs.GitOps.Repository, d.Inputs.GitOps.Branch, d.Inputs.GitOps.Path
	if c := d.Inputs.Config; c != nil {
		spec.Config.Repo, spec.Config.Branch, spec.Config.Path = c.Repository, c.Branch, c.Path
		if err := v.merged(ctx, *c); err != nil {
			return nil, err
		}
	}
	draft, err := v.draft(ctx, a, DraftRequest{
		Request: r, Environment: d.Environment, Build: Build{Commit: d.Inputs.Source.Commit, Version: d.Release, Image: d.Image}, Unpublished: true, kept: kept,
	}, nil)
	if err != nil {
		return nil, err
	}
	return v.seal(d, draft, only)
}

// keptBy makes the files of pinned targets again, each from its own inputs.
func (v *Versions) keptBy(ctx context.Context, base Request, d solution.Descriptor) (map[string]pinned, error) {
	kept := map[string]pinned{}
	for _, t := range d.Targets {
		p := t.Pinned
		if p == nil {
			continue
		}
		if p.Uninstalled {
			kept[t.Name] = pinned{Pin: tree.Pin{Uninstalled: true}}
			continue
		}
		then := d
		then.Targets, then.Inputs.Source, then.Inputs.Config, then.Release, then.Image = nil, *p.Source, p.Config, p.Release, p.Image
		rebuilt, err := v.rebuild(ctx, base, then, t.Name)
		if err != nil {
			return nil, fmt.Errorf("target %q, which is pinned to commit %s: %w", t.Name, fleet.ShortCommit(p.Revision), err)
		}
		files := []bundle.File{}
		for _, f := range rebuilt.Files {
			if f.Path != rebuilt.Schema {
				files = append(files, bundle.NewFile(path.Join(d.Inputs.GitOps.Path, f.Path), f.Content))
			}
		}
		kept[t.Name] = pinned{Pin: tree.Pin{Revision: p.Revision}, files: files, objects: rebuilt.Targets[0].Objects}
	}
	return kept, nil
}

// of returns the request for the application and inputs of a version.
func (r Request) of(d solution.Descriptor) Request {
	return Request{
		Source: d.Inputs.Source.Repository, Branch: d.Inputs.Source.Branch, Path: d.Inputs.Source.Path, Workload: d.Application, Workspace: d.Workspace,
		Set: d.Parameters.Set, SetString: d.Parameters.SetString, Vars: d.Parameters.Vars,
		Repositories: r.Repositories, NoRings: r.NoRings,
	}
}

// merged returns an error for a commit that is not on the branch of an input.
func (v *Versions) merged(ctx context.Context, i solution.Input) error {
	on, err := v.Loader.Repositories.Contains(ctx, schedule.Location{Repo: i.Repository, Branch: i.Branch}, i.Commit)
	if err != nil {
		return fmt.Errorf("find commit %s: %w", fleet.ShortCommit(i.Commit), err)
	}
	if !on {
		return fmt.Errorf("commit %s of %s is not on branch %q: it was not merged, or the branch was rewritten", fleet.ShortCommit(i.Commit), i.Repository, i.Branch)
	}
	return nil
}

// seal returns the version that a draft rendered, with all targets or only one.
func (v *Versions) seal(d solution.Descriptor, draft *Draft, only string) (*solution.Version, error) {
	root := d.Inputs.GitOps.Path
	pins := map[string]*solution.Pinned{}
	for _, t := range d.Targets {
		pins[t.Name] = t.Pinned
	}
	d.Targets, d.Renderer, d.Schema = nil, v.Renderer, ""
	var files []solution.File
	for _, e := range draft.Tree.Targets {
		if only != "" && e.Name != only {
			continue
		}
		if e.Held != nil {
			return nil, fmt.Errorf("target %q does not render: %s", e.Name, e.Held.Message)
		}
		d.Targets = append(d.Targets, solution.Target{
			Name: e.Name, Folder: within(root, path.Join(root, e.Folder)), Objects: max(len(e.Objects), draft.work.pins[e.Name].objects), Images: e.Images, Pinned: pins[e.Name],
		})
		for _, f := range e.Files {
			files = append(files, solution.File{Path: within(root, f.Path), Content: f.Content()})
		}
	}
	for _, p := range draft.work.parts {
		if p.job.Schema != nil && d.Schema == "" {
			d.Schema = solution.SchemaFile
			files = append(files, solution.File{Path: d.Schema, Content: p.job.Schema})
		}
	}
	policy := solution.PolicyBuiltIn
	if v.Policies != nil {
		policy = solution.PolicyPlatform
	}
	var findings []check.Finding
	for _, f := range draft.Findings {
		if f.File = within(root, f.File); only != "" && !slices.ContainsFunc(files, func(of solution.File) bool { return of.Path == f.File }) {
			continue // of another target
		}
		findings = append(findings, f)
	}
	d.Checks = solution.NewChecks(policy, findings)
	return solution.Seal(d, files)
}

// Published returns the files that the merged commit of a version has, sorted by path.
func (v *Versions) Published(ctx context.Context, d solution.Descriptor) ([]solution.File, error) {
	if err := v.merged(ctx, d.Inputs.GitOps); err != nil {
		return nil, err
	}
	r := Request{}.of(d)
	r.GitOpsCommit = d.Inputs.GitOps.Commit
	a, err := v.Loader.Application(ctx, r, d.Inputs.Source.Commit)
	if err != nil {
		return nil, err
	}
	spec := &a.Delivery.Spec
	spec.GitOps.Repo, spec.GitOps.Branch, spec.GitOps.Path = d.Inputs.GitOps.Repository, d.Inputs.GitOps.Branch, d.Inputs.GitOps.Path
	g, err := v.Loader.GitOps(ctx, a, d.Environment)
	if err != nil {
		return nil, err
	}
	if err := samePins(d, g.Published.Pins()); err != nil {
		return nil, err
	}
	return g.files("")
}

// samePins returns an error if a version names other pins than its merged commit has.
func samePins(d solution.Descriptor, pins map[string]tree.Pin) error {
	for _, t := range d.Targets {
		has := tree.Pin{}
		if t.Pinned != nil {
			has = tree.Pin{Revision: t.Pinned.Revision, Uninstalled: t.Pinned.Uninstalled}
		}
		if pin := pins[t.Name]; pin != has {
			is := "not pinned"
			if !pin.IsZero() {
				is = pin.String()
			}
			return fmt.Errorf("target %q is %s in commit %s, and the version says something else", t.Name, is, fleet.ShortCommit(d.Inputs.GitOps.Commit))
		}
	}
	return nil
}
