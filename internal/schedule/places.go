package schedule

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// place is where an environment's files are written.
type place struct {
	environment string
	at          Location
	position    fleet.Position
	// clusterTypes are the names of the environment's cluster types, each a folder below the path.
	clusterTypes []string
}

// folderAround returns the cluster type whose folder contains the path of another place on the same branch. Clusters of
// that type would apply the other environment's files, for all its cluster types, in addition to their own.
func (p place) folderAround(inner place) (clusterType string, ok bool) {
	for _, name := range p.clusterTypes {
		if within(path.Join(p.at.Path, name), inner.at.Path) {
			return name, true
		}
	}
	return "", false
}

// SharedPlaces returns a problem for each two environments with the same GitOps repository, branch and path, or one of
// which writes into the folder of the other's cluster type. For a request with an environment, only those that concern
// it. Environments that cannot be read are left out.
func (l *Loader) SharedPlaces(ctx context.Context, r Request) ([]fleet.Problem, error) {
	places, err := l.places(ctx, r)
	if err != nil {
		return nil, err
	}
	var problems []fleet.Problem
	for i, a := range places {
		for _, b := range places[:i] {
			if r.Environment != "" && r.Environment != a.environment && r.Environment != b.environment {
				continue
			}
			if message := l.conflict(a, b); message != "" {
				problems = append(problems, fleet.Problem{
					Severity: fleet.SeverityError, Kind: fleet.KindOtherOwner,
					Object: fleet.Ref{Kind: "Environment", Name: a.environment}, Position: a.position, Message: message,
					Hint: fmt.Sprintf("change the branch or the path in the GitOpsRepo of one; that of %q is in %s of %s", b.environment, b.position, b.position.Source),
				})
			}
		}
	}
	return problems, nil
}

// conflict says why two environments cannot both write where they do; empty if they can.
func (l *Loader) conflict(a, b place) string {
	if a.at.Branch != b.at.Branch || !l.Repositories.Same(a.at.Repo, b.at.Repo) {
		return ""
	}
	if a.at.Path == b.at.Path {
		return fmt.Sprintf("environments %q and %q write to the same repository, branch %q and path %q", b.environment, a.environment,
			a.at.Branch, cmp.Or(a.at.Path, "."))
	}
	for _, pair := range [][2]place{{a, b}, {b, a}} {
		outer, inner := pair[0], pair[1]
		if clusterType, ok := outer.folderAround(inner); ok {
			return fmt.Sprintf("environment %q writes to the path %q of branch %q, in the folder of cluster type %q of environment %q, whose clusters would apply it",
				inner.environment, inner.at.Path, inner.at.Branch, clusterType, outer.environment)
		}
	}
	return ""
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
	in := fleet.Read(l.Cache, source)
	if len(in.GitOpsRepos) != 1 {
		return place{}, false
	}
	repo := in.GitOpsRepos[0]
	spec := repo.Value.Spec
	url, err := l.Repositories.Resolve(branch.Repo, spec.Repo)
	if err != nil {
		return place{}, false
	}
	p := place{environment: environment, at: Location{Repo: url, Branch: spec.Branch, Path: spec.Path}, position: repo.Position}
	for _, c := range in.ClusterTypes {
		p.clusterTypes = append(p.clusterTypes, c.Value.Name)
	}
	return p, true
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
func overlap(a, b string) bool { return within(a, b) || within(b, a) }

// within reports whether a clean path is the outer one or below it. The empty path is the root.
func within(outer, inner string) bool {
	return outer == "" || inner == outer || strings.HasPrefix(inner, outer+"/")
}
