package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/solution"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Versions makes solution versions of the platform from merged commits: what clusters have of the control plane, with a target for each cluster
// type, and for each cluster with values of its own.
//
// A version is scheduled again from its inputs, and has to equal the merged files. So everything that is published can be rebuilt by
// anyone who can read the repositories. Files that were changed by hand, and assignments that are held, are in no version.
type Versions struct {
	Drafter // required; its schedulers are not asked, because the branch has their answers
	// Messages reads the messages of commits. // required
	Messages Messages
	// Renderer names this program. // required
	Renderer solution.Renderer
}

// Messages reads the messages of commits.
type Messages interface {
	// Messages returns the messages of a commit, of those that it merged, and of those before it on its branch, newest first. It may leave out old ones.
	Messages(ctx context.Context, at Location) ([]string, error)
}

// ErrNothingMerged is returned for a branch that has no files of the environment yet.
var ErrNothingMerged = errors.New("it has no files of the environment: merge a pull request first")

// Merged is a version with the place that the environment's GitOpsRepo publishes to.
type Merged struct {
	*solution.Version
	// Publish is empty if it names none.
	Publish string
	// Rings means that clusters follow the branches of rings, which reach the commit later than the environment's branch.
	Rings bool
}

// Merged returns the version of a merged commit of the GitOps branch; an empty commit is the head of the branch.
func (v *Versions) Merged(ctx context.Context, r Request, commit string) (*Merged, error) {
	if r.Main != "" || r.Branch != "" {
		return nil, errors.New("a version is made from commits, not from plain folders")
	}
	loaded, err := v.Loader.Load(ctx, r)
	if err != nil {
		return nil, err
	}
	at, err := v.Loader.gitOpsLocation(loaded, "")
	if err != nil {
		return nil, err
	}
	at.Commit = commit
	_, head, err := v.Loader.Repositories.GitOps(ctx, at)
	if errors.Is(err, ErrNoBranch) || err == nil && head.Commit == "" {
		return nil, fmt.Errorf("branch %q of %s: %w", at.Branch, secret.Redact(at.Repo), ErrNothingMerged)
	}
	if err != nil {
		return nil, fmt.Errorf("read the GitOps branch: %w", err)
	}
	if at.Commit = head.Commit; commit != "" {
		if err := v.onBranch(ctx, at); err != nil {
			return nil, err
		}
	}
	messages, err := v.Messages.Messages(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("read the message of commit %s: %w", fleet.ShortCommit(at.Commit), err)
	}
	var first error
	states := []func(string, Location) string{nil} // the heads of branches
	if recorded := recordedIn(messages); recorded != nil {
		states = append([]func(string, Location) string{recorded}, states...)
	}
	for _, fixed := range states {
		found, err := v.rebuild(ctx, r, Fixed{Commit: fixed, GitOps: at.Commit})
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil && len(found.merged) == 0:
			return nil, fmt.Errorf("branch %q of %s: %w", at.Branch, secret.Redact(at.Repo), ErrNothingMerged)
		}
		if err == nil {
			if differences := solution.CompareFiles(found.version, found.merged); len(differences) > 0 {
				err = &solution.NotRebuiltError{
					Environment: r.Environment, Commit: at.Commit, Differences: differences, Advice: "merge the environment's open pull request",
				}
			}
		}
		if err == nil {
			repo := loaded.Snapshot.GitOps
			return &Merged{found.version, repo.Publish, len(loaded.Snapshot.Rings) > 0 || loaded.Snapshot.LostRings}, nil
		}
		first = cmp.Or(first, err)
	}
	return nil, first
}

// inputTrailer is a line of a generated commit that names an input: see [Inputs.Trailers].
var inputTrailer = regexp.MustCompile(`(?m)^Kalypso-Inputs: (\S+)@([0-9a-f]{40})$`)

// recordedIn returns the commits of the inputs that the newest of some messages names, by the names of inputs. Older messages are of earlier states of
// a pull request. A name with several commits, of branches of one repository, has none. It returns nil if no message names any.
func recordedIn(messages []string) func(name string, at Location) string {
	recorded := map[string]string{}
	for _, message := range messages {
		if !IsCommitMessage(message) {
			continue
		}
		for _, m := range inputTrailer.FindAllStringSubmatch(message, -1) {
			if known, ok := recorded[m[1]]; ok && known != m[2] {
				recorded[m[1]] = ""
			} else {
				recorded[m[1]] = m[2]
			}
		}
		break
	}
	if len(recorded) == 0 {
		return nil
	}
	return func(name string, _ Location) string { return recorded[name] }
}

// Rebuild makes a version of the platform again, from nothing but the inputs in a descriptor. merged are the files of its GitOps commit.
func (v *Versions) Rebuild(ctx context.Context, d solution.Descriptor) (rebuilt *solution.Version, merged []solution.File, err error) {
	p := d.Inputs.Platform
	if p == nil {
		return nil, nil, errors.New("it is not a version of the platform")
	}
	for _, i := range d.Inputs.All() {
		if err := v.onBranch(ctx, Location{Repo: i.Repository, Branch: i.Branch, Commit: i.Commit}); err != nil {
			return nil, nil, err
		}
	}
	e := p.Environment
	found, err := v.rebuild(ctx, Request{ControlPlane: e.Repository, Environment: d.Environment}, Fixed{
		Environment: &Location{Repo: e.Repository, Branch: e.Branch, Commit: e.Commit, Path: e.Path},
		Commit: func(_ string, at Location) string {
			return v.commitOf(append([]solution.Input{p.Main}, p.Others...), at)
		},
		GitOps: d.Inputs.GitOps.Commit,
	})
	if err != nil {
		return nil, nil, err
	}
	return found.version, found.merged, nil
}

// commitOf returns the commit of the input at a location; empty if it is none of them, or several.
func (v *Versions) commitOf(inputs []solution.Input, at Location) string {
	commit := ""
	for _, i := range inputs {
		if !v.Loader.Repositories.Same(i.Repository, secret.Redact(at.Repo)) || at.Branch != "" && at.Branch != i.Branch || commit == i.Commit {
			continue
		}
		if commit != "" {
			return ""
		}
		commit = i.Commit
	}
	return commit
}

// onBranch returns an error for a commit that is not on the branch of its location, so that it was never approved.
func (v *Versions) onBranch(ctx context.Context, at Location) error {
	on, err := v.Loader.Repositories.Contains(ctx, Location{Repo: at.Repo, Branch: at.Branch}, at.Commit)
	if err != nil {
		return fmt.Errorf("find commit %s: %w", fleet.ShortCommit(at.Commit), err)
	}
	if !on {
		return fmt.Errorf("commit %s of %s is not on branch %q: it was not merged, or the branch was rewritten",
			fleet.ShortCommit(at.Commit), secret.Redact(at.Repo), at.Branch)
	}
	return nil
}

// scheduledAgain is a version that was rebuilt, and the files that were merged.
type scheduledAgain struct {
	version *solution.Version
	merged  []solution.File
}

// rebuild schedules an environment in a state.
func (v *Versions) rebuild(ctx context.Context, r Request, state Fixed) (*scheduledAgain, error) {
	loader := *v.Loader
	loader.Fixed = state
	drafter := Drafter{Loader: &loader, Charts: v.Charts, Trace: v.Trace}
	draft, err := drafter.Draft(ctx, DraftRequest{Request: r})
	if err != nil {
		return nil, err
	}
	if draft.GitOps.Published == nil {
		return nil, fmt.Errorf("%s has no files", draft.GitOps)
	}
	merged, err := draft.GitOps.files()
	if err != nil {
		return nil, err
	}
	version, err := v.seal(draft)
	if err != nil {
		return nil, err
	}
	return &scheduledAgain{version, merged}, nil
}

// files returns the published files of all folders, sorted by path.
func (g *GitOps) files() ([]solution.File, error) {
	var files []solution.File
	add := func(f bundle.File) error {
		if f.Path == "" {
			return nil // it is missing
		}
		content, err := g.Published.Read(f.Path)
		if err != nil {
			return fmt.Errorf("read %q: %w", f.Path, err)
		}
		files = append(files, solution.File{Path: below(g.Location.Path, f.Path), Content: content})
		return nil
	}
	for _, folder := range g.Published.Folders {
		if err := add(folder.Readme); err != nil {
			return nil, err
		}
		for i := range folder.Assignments {
			for _, f := range folder.Assignments[i].Files {
				if err := add(f); err != nil {
					return nil, err
				}
			}
		}
	}
	slices.SortFunc(files, func(a, b solution.File) int { return cmp.Compare(a.Path, b.Path) })
	return files, nil
}

// below returns a path relative to a folder that contains it.
func below(folder, file string) string {
	return strings.TrimPrefix(strings.TrimPrefix(file, folder), "/")
}

// seal returns the version that a draft for a merged commit has.
func (v *Versions) seal(draft *Draft) (*solution.Version, error) {
	g, root := draft.GitOps, draft.GitOps.Location.Path
	d := solution.Descriptor{Environment: draft.Loaded.Snapshot.Environment, Merged: g.Time, Renderer: v.Renderer}
	d.Inputs.Platform = platformInputs(draft.Loaded)
	d.Inputs.GitOps = solution.Input{Repository: secret.Redact(g.Location.Repo), Branch: g.Location.Branch, Path: root, Commit: g.Commit}
	var files []solution.File
	manifests := map[string][]byte{}
	for _, folder := range draft.Bundle.Folders {
		target := solution.Target{Name: folder.Name, Folder: folder.Name}
		add := func(f bundle.File) error {
			if f.Path == "" {
				return nil
			}
			content := f.Content()
			if !f.Written() { // it stays as published
				var err error
				if content, err = g.Published.Read(f.Path); err != nil {
					return fmt.Errorf("read %q: %w", f.Path, err)
				}
			}
			files = append(files, solution.File{Path: below(root, f.Path), Content: content})
			if ext := path.Ext(f.Path); ext == ".yaml" || ext == ".yml" {
				manifests[below(root, f.Path)] = content
				target.Objects += len(bundle.Objects(content))
			}
			return nil
		}
		if err := add(folder.Readme); err != nil {
			return nil, err
		}
		for i := range folder.Assignments {
			a := &folder.Assignments[i]
			if a.Held != nil {
				return nil, fmt.Errorf("assignment %q is held, so that its inputs do not render it: %s", a.Name(), a.Held.Message)
			}
			for _, f := range a.Files {
				if err := add(f); err != nil {
					return nil, err
				}
				for _, o := range bundle.HandedOverObjects(manifests[below(root, f.Path)]) {
					d.Inputs.Platform.Kept = append(d.Inputs.Platform.Kept, a.Name()+" "+o.String())
				}
			}
		}
		d.Targets = append(d.Targets, target)
	}
	slices.SortFunc(d.Targets, func(a, b solution.Target) int { return cmp.Compare(a.Name, b.Name) })
	policy, _ := check.PolicyOf(draft.Loaded.Snapshot)
	checker, err := check.New(policy.At(draft.Loaded.Inputs.Newest()))
	if err != nil {
		return nil, fmt.Errorf("prepare the checks: %w", err)
	}
	d.Checks = solution.NewChecks(solution.PolicyPlatform, checker.Check(maps.All(manifests)))
	return solution.Seal(d, files)
}

// platformInputs returns the commits that an environment was read at.
func platformInputs(l *Loaded) *solution.PlatformInputs {
	of := func(i Input) solution.Input {
		return solution.Input{Repository: secret.Redact(i.Repo), Branch: i.Branch, Commit: i.Commit}
	}
	p := &solution.PlatformInputs{Environment: of(l.Inputs.Branch), Main: of(l.Inputs.Main)}
	p.Environment.Path = l.at.Path
	for _, i := range l.Inputs.Others {
		p.Others = append(p.Others, of(i))
	}
	p.Others = slices.Compact(p.Others) // documents can name a repository in different ways
	return p
}
