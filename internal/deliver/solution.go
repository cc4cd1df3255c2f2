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
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule"
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
	// Messages returns the message of a commit and of those that it merged, newest first.
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
func (v *Versions) Merged(ctx context.Context, request VersionRequest) (*solution.Version, error) {
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
	if pins := g.Published.Pins(); len(pins) > 0 {
		names := slices.Sorted(maps.Keys(pins))
		return nil, &PinnedError{Environment: request.Environment, Commit: g.Commit, Targets: names}
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
	merged, err := g.files()
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
		rebuilt, err := v.Rebuild(ctx, request.Request, d)
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

// PinnedError is returned for a merged commit with pinned targets, whose files its inputs do not render.
type PinnedError struct {
	Environment, Commit string
	// Targets are the names of the pinned targets.
	Targets []string
}

// Error names a pinned target.
func (e *PinnedError) Error() string {
	return fmt.Sprintf("commit %s of %s has %d pinned targets, such as %q, whose files are of other versions", fleet.ShortCommit(e.Commit), e.Environment, len(e.Targets), e.Targets[0])
}

// Hint says what to do.
func (e *PinnedError) Hint() string {
	return "kalypso target deploy lets them follow the environment again; the versions before can be published"
}

func (r VersionRequest) check() error {
	if r.Request.SourceFolder != "" || r.Request.ConfigFolder != "" || r.Request.GitOpsFolder != "" {
		return errors.New("a version is made from commits, not from plain folders")
	}
	return nil
}

// configTrailer is the line of a generated commit that names the commit of the configuration.
var configTrailer = regexp.MustCompile(`(?m)^Kalypso-Inputs: config@([0-9a-f]{40})$`)

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

// files returns the files of the application's targets, sorted by path.
func (g *GitOps) files() ([]solution.File, error) {
	var files []solution.File
	for _, t := range g.Published.Targets {
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
		Request: r, Environment: d.Environment, Build: Build{Commit: d.Inputs.Source.Commit, Version: d.Release, Image: d.Image}, Unpublished: true,
	}, nil)
	if err != nil {
		return nil, err
	}
	return v.seal(d, draft)
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

// seal returns the version that a draft rendered.
func (v *Versions) seal(d solution.Descriptor, draft *Draft) (*solution.Version, error) {
	root := d.Inputs.GitOps.Path
	d.Targets, d.Renderer, d.Schema = nil, v.Renderer, ""
	var files []solution.File
	for _, e := range draft.Tree.Targets {
		if e.Held != nil {
			return nil, fmt.Errorf("target %q does not render: %s", e.Name, e.Held.Message)
		}
		d.Targets = append(d.Targets, solution.Target{Name: e.Name, Folder: within(root, path.Join(root, e.Folder)), Objects: len(e.Objects), Images: e.Images})
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
	d.Checks = solution.Checks{Policy: solution.PolicyBuiltIn, Findings: []check.Finding{}}
	if v.Policies != nil {
		d.Checks.Policy = solution.PolicyPlatform
	}
	for _, f := range draft.Findings {
		f.File = within(root, f.File)
		d.Checks.Findings = append(d.Checks.Findings, f)
	}
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
	return g.files()
}
