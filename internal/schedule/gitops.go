package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// GitOps is the branch that the files of an environment go to, as it is now.
type GitOps struct {
	Location Location
	// Head is zero for a branch that does not exist yet.
	Head
	// Exists is false for a branch that does not exist yet.
	Exists bool
	// Published is what the branch holds; nil when it does not exist yet.
	Published *bundle.Published
}

// String names the branch and its commit: "gitops dev@8c6fb4a".
func (g *GitOps) String() string {
	switch {
	case g.Location.Folder != "" || g.Exists && g.Commit == "":
		return g.place()
	case !g.Exists:
		return g.place() + " (not there yet)"
	}
	return g.place() + "@" + g.Commit[:min(7, len(g.Commit))]
}

// place names the branch, or the folder that stands in for it.
func (g *GitOps) place() string {
	if g.Location.Folder != "" {
		return g.Location.Folder
	}
	return "gitops " + g.Location.Branch
}

// ErrNoGitOpsRepo says that an environment does not say where its files go.
var ErrNoGitOpsRepo = errors.New("the environment has no readable GitOpsRepo; add one that names the repository and branch for its files")

// GitOps reads what is published for an environment. folder, when it is not empty, is a plain folder that
// stands in for the branch; it need not exist.
func (l *Loader) GitOps(ctx context.Context, loaded *Loaded, folder string) (*GitOps, error) {
	at, err := l.gitOpsLocation(loaded, folder)
	if err != nil {
		return nil, err
	}
	g := &GitOps{Location: at}
	l.progress("reading " + g.place())
	branch, head, err := l.Repositories.GitOps(ctx, at)
	if errors.Is(err, ErrNoBranch) {
		return g, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the GitOps branch: %w", err)
	}
	g.Exists, g.Head = true, head
	branch.Root = at.Path
	g.Published, err = bundle.ReadPublished(branch, knownClusterTypes(loaded.Snapshot))
	if err != nil {
		return nil, fmt.Errorf("read the GitOps branch: %w", err)
	}
	return g, nil
}

func (l *Loader) gitOpsLocation(loaded *Loaded, folder string) (Location, error) {
	repo := loaded.Snapshot.GitOps
	switch {
	case repo == nil && (folder == "" || mayHaveGitOpsRepo(loaded.Snapshot)):
		return Location{}, noGitOpsRepo(loaded.Snapshot)
	case repo == nil:
		return Location{Folder: folder}, nil
	case folder != "":
		return Location{Folder: folder, Path: repo.Path}, nil
	}
	url, err := l.Repositories.Resolve(loaded.controlPlane, repo.Repo)
	if err != nil {
		return Location{}, fmt.Errorf("%s: GitOpsRepo: %w", repo.Position, err)
	}
	return Location{Repo: url, Branch: repo.Branch, Path: repo.Path}, nil
}

// noGitOpsRepo says why it is not known where the files go: first what is wrong with the GitOpsRepo that is there.
func noGitOpsRepo(s *fleet.Snapshot) error {
	for _, p := range s.Problems {
		if p.Severity == fleet.SeverityError && p.Object.Kind == "GitOpsRepo" {
			return fmt.Errorf("%s: %s: %w", p.Position, p.Message, ErrNoGitOpsRepo)
		}
	}
	for _, u := range s.Unreadable {
		if u.Ref == (fleet.Ref{}) {
			return fmt.Errorf("%s: the file cannot be read: %w", u.Position, ErrNoGitOpsRepo)
		}
	}
	return ErrNoGitOpsRepo
}

// mayHaveGitOpsRepo says whether there is a GitOpsRepo that cannot be read. It may name a path, and a folder that was
// written below it would have everything twice.
func mayHaveGitOpsRepo(s *fleet.Snapshot) bool {
	return slices.ContainsFunc(s.Unreadable, func(u fleet.Unreadable) bool {
		return u.Ref.Kind == "GitOpsRepo" || u.Ref == fleet.Ref{}
	})
}

// knownClusterTypes returns the names whose folders may be taken over from the original scheduler:
// the cluster types of the snapshot, and those that exist and cannot be read.
func knownClusterTypes(s *fleet.Snapshot) []string {
	var names []string
	for _, ct := range s.ClusterTypes {
		names = append(names, ct.Name)
	}
	for _, u := range s.Unreadable {
		if u.Ref.Kind == "ClusterType" && u.Ref.Name != "" {
			names = append(names, u.Ref.Name)
		}
	}
	return names
}

// Name is what people call the loaded state: "control plane dev@1f0c2aa, main@5523a85".
func (l *Loaded) Name() string { return "control plane " + l.Inputs.String() }
