package promote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// environmentBranch is an environment branch at one commit, with the BaseRepo that holds the promoted commit.
type environmentBranch struct {
	name    string
	at      schedule.Location
	source  fleet.Source
	objects *fleet.Objects
	base    *v1alpha1.BaseRepo
	file    fleet.Position
}

// described returns the description of an environment.
func (p *Platform) described(ctx context.Context, environment string) (schedule.Description, error) {
	all, _, err := p.Loader.Descriptions(ctx, p.request())
	if err != nil {
		return schedule.Description{}, err
	}
	i := slices.IndexFunc(all, func(d schedule.Description) bool { return d.Environment.Name == environment })
	if i < 0 {
		return schedule.Description{}, fmt.Errorf("main lists no environment %q", environment)
	}
	return all[i], all[i].Err
}

// environmentBranch reads an environment branch at a commit, or at its head if commit is empty.
func (p *Platform) environmentBranch(ctx context.Context, d schedule.Description, commit string) (*environmentBranch, error) {
	if d.Err != nil {
		return nil, d.Err
	}
	t := &environmentBranch{name: d.Environment.Name, at: d.At}
	at := d.At
	at.Commit = commit
	var err error
	if t.source, err = p.Loader.Repositories.Source(ctx, at); err != nil {
		return nil, fmt.Errorf("read branch %q: %w", at.Branch, err)
	}
	t.source.Name = t.name
	if t.source.Commit == "" {
		return nil, errors.New("the control plane is a plain folder, in which nothing can be promoted")
	}
	t.objects = fleet.Read(p.Loader.Cache, t.source)
	return t, p.findBase(t)
}

// findBase finds the BaseRepo that holds the promoted commit.
func (p *Platform) findBase(t *environmentBranch) error {
	if lost, ok := t.objects.LostBaseRepo(schedule.DefaultBase); ok {
		return fmt.Errorf("%s: the BaseRepo cannot be read; mend it", lost.Position)
	}
	base, origin, ok := t.objects.BaseRepo(schedule.DefaultBase)
	if !ok {
		return fmt.Errorf("branch %q has no BaseRepo %q; add one, so that it can name the commit", t.at.Branch, schedule.DefaultBase)
	}
	repo, err := p.Loader.Repositories.Resolve(t.at.Repo, base.Spec.Repo)
	if err != nil {
		return fmt.Errorf("%s: BaseRepo %q: %w", origin.Position, base.Name, err)
	}
	branch := cmp.Or(base.Spec.Branch, schedule.DefaultBase)
	if !p.Loader.Repositories.Same(repo, p.ControlPlane) || branch != schedule.DefaultBase {
		return fmt.Errorf("%s: BaseRepo %q follows branch %q of %s, which is not what is promoted; commits come from branch %q of the control plane",
			origin.Position, base.Name, branch, base.Spec.Repo, schedule.DefaultBase)
	}
	t.base, t.file = base, origin.Position
	return nil
}

// gitOps returns the source that the clusters of the environment follow.
func (p *Platform) gitOps(t *environmentBranch) (hub.Source, error) {
	if n := len(t.objects.GitOpsRepos); n != 1 {
		return hub.Source{}, fmt.Errorf("there are %d readable GitOpsRepos on branch %q; keep one, which names the repository and branch for its files", n, t.at.Branch)
	}
	spec := t.objects.GitOpsRepos[0].Value.Spec
	url, err := p.Loader.Repositories.Resolve(t.at.Repo, spec.Repo)
	if err != nil {
		return hub.Source{}, fmt.Errorf("%s: GitOpsRepo: %w", t.objects.GitOpsRepos[0].Position, err)
	}
	path, err := fleet.CleanPath(spec.Path)
	if err != nil {
		return hub.Source{}, fmt.Errorf("%s: GitOpsRepo: %w", t.objects.GitOpsRepos[0].Position, err)
	}
	return hub.Source{Repository: url, Ref: spec.Branch, Path: path}, nil
}

// named returns the file with the BaseRepo, after its commit is set.
func (t *environmentBranch) named(commit string) (path string, text []byte, err error) {
	i := slices.IndexFunc(t.source.Files, func(f fleet.File) bool { return f.Path == t.file.File })
	if i < 0 || t.source.Files[i].Symlink {
		return "", nil, fmt.Errorf("%s is not a file that can be written", t.file)
	}
	if text, err = t.source.Files[i].Read(); err != nil {
		return "", nil, fmt.Errorf("read %s: %w", t.file, err)
	}
	if text, err = setCommit(text, t.base.Name, commit); err != nil {
		return "", nil, fmt.Errorf("%s: %w", t.file.File, err)
	}
	return t.file.File, text, nil
}
