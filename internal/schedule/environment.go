package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Environments returns the names of the environments on the control plane's base branch, sorted, and the problems of
// their documents.
func (l *Loader) Environments(ctx context.Context, r Request) ([]string, []fleet.Problem, error) {
	objects, err := l.environments(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	return environmentNames(objects), objects.Problems, nil
}

// WithUnreadable adds the environments whose documents cannot be read: their rounds fail with the reason, which is shown. A document without
// a readable name may be any environment, so all that were there before stay.
func WithUnreadable(names []string, problems []fleet.Problem, before []string) []string {
	for _, p := range problems {
		switch {
		case p.Severity != fleet.SeverityError:
		case p.Object.Name != "":
			names = append(names, p.Object.Name)
		default:
			names = append(names, before...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// EnvironmentBranch is an environment and its branch of the control plane.
type EnvironmentBranch struct{ Environment, Branch string }

// EnvironmentBranches returns the environments on the base branch and their branches, sorted by name. It leaves out
// environments in other repositories.
func (l *Loader) EnvironmentBranches(ctx context.Context, r Request) ([]EnvironmentBranch, error) {
	objects, err := l.environments(ctx, r)
	if err != nil {
		return nil, err
	}
	var branches []EnvironmentBranch
	for _, e := range objects.Environments {
		spec := e.Value.Spec.ControlPlane
		if repo, err := l.Repositories.Resolve(r.ControlPlane, cmp.Or(spec.Repo, ".")); err == nil && l.Repositories.Same(repo, r.ControlPlane) {
			branches = append(branches, EnvironmentBranch{e.Value.Name, cmp.Or(spec.Branch, e.Value.Name)})
		}
	}
	return branches, nil
}

// Description is an Environment object of the base branch, and the location that it refers to.
type Description struct {
	Environment *v1alpha1.Environment
	Position    fleet.Position
	// At is the environment's folder, at the head of its branch.
	At Location
	// Err is why At is unknown; nil if it is known.
	Err error
}

// Descriptions returns the environments on the base branch, sorted by name, and the problems of their documents.
func (l *Loader) Descriptions(ctx context.Context, r Request) ([]Description, []fleet.Problem, error) {
	objects, err := l.environments(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	var all []Description
	for i := range objects.Environments {
		e := objects.Environments[i]
		d := Description{Environment: &e.Value, Position: e.Position}
		w := &walk{Loader: l, request: r}
		d.At, d.Err = w.locate(Location{Repo: r.ControlPlane, Branch: e.Value.Name}, e)
		all = append(all, d)
	}
	return all, objects.Problems, nil
}

func environmentNames(objects *fleet.Objects) []string {
	var names []string
	if objects != nil {
		for _, e := range objects.Environments {
			names = append(names, e.Value.Name)
		}
	}
	return names
}

func unsure(objects *fleet.Objects) bool {
	return objects != nil && slices.ContainsFunc(objects.Unreadable, func(u fleet.Unreadable) bool {
		return describesEnvironment(u.Ref, u.Position)
	})
}

// environments reads the Environment objects at the head of the base branch.
func (l *Loader) environments(ctx context.Context, r Request) (*fleet.Objects, error) {
	source, err := l.Repositories.Environments(ctx, l.baseHead(r))
	if err != nil {
		return nil, fmt.Errorf("read branch %q of the control plane: %w", DefaultBase, err)
	}
	source.Name = DefaultBase
	objects := fleet.Read(l.Cache, source)
	objects.Problems = slices.DeleteFunc(objects.Problems, func(p fleet.Problem) bool {
		return !describesEnvironment(p.Object, p.Position)
	})
	return objects, nil
}

// describesEnvironment reports whether an object is an Environment. A file whose objects are unknown may contain one if
// it is in a folder called environments.
func describesEnvironment(object fleet.Ref, at fleet.Position) bool {
	return object.Kind == "Environment" || object.Kind == "" && strings.Contains(at.File, "environments/")
}

func (l *Loader) baseHead(r Request) Location {
	return Location{Repo: r.ControlPlane, Folder: r.Main, Branch: DefaultBase}
}

// findEnvironment returns the location of the environment: that of its Environment object on main,
// or else the branch with its name.
func (w *walk) findEnvironment(ctx context.Context) (Location, error) {
	r := w.request
	w.controlPlane = r.ControlPlane
	if at := w.Fixed.Environment; at != nil {
		w.controlPlane = at.Repo
		return *at, nil
	}
	objects, err := w.environments(ctx, r)
	if err != nil && (r.Branch == "" || ctx.Err() != nil) && !errors.Is(err, ErrNoBranch) {
		return Location{}, err
	}
	w.known, w.incomplete = environmentNames(objects), unsure(objects)
	at := Location{Repo: r.ControlPlane, Folder: r.Branch, Branch: r.Environment, Commit: r.BranchRef}
	if objects == nil {
		return at, nil
	}
	w.problems = append(w.problems, objects.Problems...)
	for _, e := range objects.Environments {
		if e.Value.Name == r.Environment {
			return w.locate(at, e)
		}
	}
	if r.Branch != "" {
		return at, nil
	}
	for _, e := range objects.Environments {
		if e.Value.Spec.ControlPlane.Branch == r.Environment {
			return Location{}, fmt.Errorf("no environment %q: that is the branch of environment %q; did you mean -e %s?",
				r.Environment, e.Value.Name, e.Value.Name)
		}
	}
	if err := lostEnvironment(objects, r.Environment); err != nil {
		return Location{}, err
	}
	if _, err := w.Repositories.Source(ctx, at); errors.Is(err, ErrNoBranch) {
		return Location{}, w.unknownEnvironment()
	}
	return at, nil
}

// lostEnvironment returns an error if the Environment object may be in a document that cannot be read. The branch with
// the environment's name cannot be used then, because the document may name another one.
func lostEnvironment(objects *fleet.Objects, name string) error {
	for _, u := range objects.Unreadable {
		if !describesEnvironment(u.Ref, u.Position) || u.Ref.Name != "" && u.Ref.Name != name {
			continue
		}
		for _, p := range objects.Problems {
			if p.Severity == fleet.SeverityError && p.Object == u.Ref && p.Position.File == u.Position.File {
				return fmt.Errorf("%s: the location of environment %q is unknown: %s", p.Position, name, p.Message)
			}
		}
		return fmt.Errorf("%s: the location of environment %q is unknown", u.Position, name)
	}
	return nil
}

// locate takes repository, branch and path from the Environment object.
func (w *walk) locate(at Location, e fleet.Object[v1alpha1.Environment]) (Location, error) {
	spec := e.Value.Spec.ControlPlane
	path, err := fleet.CleanPath(spec.Path)
	if err != nil {
		return Location{}, fmt.Errorf("%s: environment %q: %w", e.Position, e.Value.Name, err)
	}
	at.Path, at.Branch = path, cmp.Or(spec.Branch, at.Branch)
	if at.Folder != "" || spec.Repo == "" {
		return at, nil
	}
	repo, err := w.Repositories.Resolve(w.request.ControlPlane, spec.Repo)
	if err != nil {
		return Location{}, fmt.Errorf("%s: environment %q: %w", e.Position, e.Value.Name, err)
	}
	at.Repo, w.controlPlane = repo, repo
	return at, nil
}

func (w *walk) unknownEnvironment() error {
	known := "main lists no Environment"
	if len(w.known) > 0 {
		known = "there are " + strings.Join(w.known, ", ")
	}
	return fmt.Errorf("environment %q: %w, and no Environment object of that name on %s (%s)",
		w.request.Environment, ErrNoBranch, DefaultBase, known)
}
