package schedule

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// place is where an environment's files are written.
type place struct {
	environment string
	at          Location
	position    fleet.Position
}

// SharedPlaces returns a problem for each two environments with the same GitOps repository, branch and path. For a
// request with an environment, only those that concern it. Environments that cannot be read are left out.
func (l *Loader) SharedPlaces(ctx context.Context, r Request) ([]fleet.Problem, error) {
	places, err := l.places(ctx, r)
	if err != nil {
		return nil, err
	}
	var problems []fleet.Problem
	for i, a := range places {
		for _, b := range places[:i] {
			if r.Environment != "" && r.Environment != a.environment && r.Environment != b.environment || !l.samePlace(a.at, b.at) {
				continue
			}
			problems = append(problems, fleet.Problem{
				Severity: fleet.SeverityError, Kind: fleet.KindOtherOwner,
				Object: fleet.Ref{Kind: "Environment", Name: a.environment}, Position: a.position,
				Message: fmt.Sprintf("environments %q and %q write to the same repository, branch %q and path %q", b.environment, a.environment,
					a.at.Branch, cmp.Or(a.at.Path, ".")),
				Hint: fmt.Sprintf("change the branch or the path in the GitOpsRepo of one; that of %q is in %s of %s", b.environment, b.position, b.position.Source),
			})
		}
	}
	return problems, nil
}

// places returns where the files of the environments on main, and of the requested one, are written.
func (l *Loader) places(ctx context.Context, r Request) ([]place, error) {
	described, _, err := l.Descriptions(ctx, r)
	if err != nil && (ctx.Err() != nil || r.Environment == "") {
		return nil, err
	}
	branches := map[string]Location{}
	var names []string
	for _, d := range described {
		if d.Err == nil {
			branches[d.Environment.Name] = d.At
			names = append(names, d.Environment.Name)
		}
	}
	if at, known := branches[r.Environment]; r.Environment != "" {
		if !known {
			at = Location{Repo: r.ControlPlane, Branch: r.Environment}
			names = append(names, r.Environment)
		}
		at.Folder = r.Branch
		branches[r.Environment] = at
	}
	var places []place
	for _, name := range names {
		if p, ok := l.place(ctx, name, branches[name]); ok {
			places = append(places, p)
		}
	}
	return places, ctx.Err()
}

// place reads where an environment's files are written.
func (l *Loader) place(ctx context.Context, environment string, branch Location) (place, bool) {
	source, err := l.Repositories.Source(ctx, branch)
	if err != nil {
		return place{}, false
	}
	source.Name = environment
	repos := fleet.Read(l.Cache, source).GitOpsRepos
	if len(repos) != 1 {
		return place{}, false
	}
	spec := repos[0].Value.Spec
	url, err := l.Repositories.Resolve(branch.Repo, spec.Repo)
	if err != nil {
		return place{}, false
	}
	return place{environment, Location{Repo: url, Branch: spec.Branch, Path: spec.Path}, repos[0].Position}, true
}

func (l *Loader) samePlace(a, b Location) bool {
	return a.Branch == b.Branch && a.Path == b.Path && l.Repositories.Same(a.Repo, b.Repo)
}

// refuseOwnBranch removes a GitOpsRepo that names what the environment is read from: generated files would become input,
// and replace what users wrote.
func (w *walk) refuseOwnBranch(s *fleet.Snapshot) {
	if s.GitOps == nil {
		return
	}
	url, err := w.Repositories.Resolve(w.controlPlane, s.GitOps.Repo)
	if err != nil {
		return // reported when the branch is read
	}
	for _, source := range []Location{w.branchAt, w.mainAt} {
		branch := cmp.Or(source.Branch, DefaultBase)
		if source.Repo == "" || s.GitOps.Branch != branch || !w.Repositories.Same(url, source.Repo) || !overlap(source.Path, s.GitOps.Path) {
			continue
		}
		ref := fleet.Ref{Kind: "GitOpsRepo"}
		for _, repo := range w.in.Branch.GitOpsRepos {
			ref.Name = repo.Value.Name
		}
		w.problems = append(w.problems, fleet.Problem{
			Severity: fleet.SeverityError, Kind: fleet.KindInvalidValue, Object: ref, Position: s.GitOps.Position,
			Message: fmt.Sprintf("the GitOpsRepo names branch %q of the control plane, which the environment is read from", branch),
			Hint:    "name a repository, branch or path for generated files alone",
		})
		s.Unreadable = append(s.Unreadable, fleet.Unreadable{Ref: ref, Position: s.GitOps.Position})
		s.GitOps = nil
		return
	}
}

// overlap reports whether one of two clean paths contains the other. The empty path is the root.
func overlap(a, b string) bool {
	within := func(outer, inner string) bool {
		return outer == "" || inner == outer || strings.HasPrefix(inner, outer+"/")
	}
	return within(a, b) || within(b, a)
}
