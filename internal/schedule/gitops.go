package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/external"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
)

// GitOps is an environment's GitOps branch with its content.
type GitOps struct {
	GitOpsBranch
	// Published is nil if the branch does not exist.
	Published *bundle.Published
}

// ErrNoGitOpsRepo is returned if an environment does not define where its files are written.
var ErrNoGitOpsRepo = errors.New("the environment has no readable GitOpsRepo; add one that names the repository and branch for its files")

// GitOps reads what is published for an environment. If folder is not empty, it is a plain folder to read instead of
// the branch. It does not have to exist.
func (l *Loader) GitOps(ctx context.Context, loaded *Loaded, folder string) (*GitOps, error) {
	return l.gitOps(ctx, loaded, folder, nil)
}

// gitOps is GitOps with what was read before, so that only changes are read.
func (l *Loader) gitOps(ctx context.Context, loaded *Loaded, folder string, before *bundle.Published) (*GitOps, error) {
	at, err := l.gitOpsLocation(loaded, folder)
	if err != nil {
		return nil, err
	}
	g := &GitOps{GitOpsBranch: GitOpsBranch{Location: at}}
	l.progress("reading " + g.name())
	branch, head, err := l.Repositories.GitOps(ctx, at)
	if errors.Is(err, ErrNoBranch) {
		return g, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the GitOps branch: %w", err)
	}
	g.Exists, g.Head = true, head
	branch.Root, branch.Before = at.Path, before
	if repo := loaded.Snapshot.GitOps; repo != nil {
		branch.Unmanaged = repo.Unmanaged
	}
	g.Published, err = bundle.ReadPublished(branch, loaded.Snapshot.Environment, knownClusterTypes(loaded.Snapshot), loaded.mayExist)
	if err != nil {
		return nil, fmt.Errorf("read the GitOps branch: %w", err)
	}
	if p := g.Published; head.Commit != "" {
		p.Problems = append(p.Problems, NotRendered(ctx, l.Repositories, at, p.Added, p.Drift)...)
	}
	return g, nil
}

// Decide decides what runs where in an environment, as the next schedule would. It reads the GitOps branch only if decisions
// depend on what is published.
func (l *Loader) Decide(ctx context.Context, loaded *Loaded) (*placement.Decisions, error) {
	var o placement.Options
	if placement.Stateful(loaded.Snapshot) {
		g, err := l.GitOps(ctx, loaded, "")
		if err != nil {
			return nil, err
		}
		o.Published, o.Stays = g.Published.Standing, bundle.StaysOf(loaded.Snapshot, g.Published)
		// The server that schedules the environment has recorded the answers of its schedulers.
		asked, err := (*external.Asker)(nil).Ask(ctx, external.Input{Snapshot: loaded.Snapshot, Standing: o.Published, Recorded: g.Published.Answers})
		if err != nil {
			return nil, err
		}
		o.Answers = asked.Answers
	}
	return placement.Decide(loaded.Snapshot, o), nil
}

func (l *Loader) gitOpsLocation(loaded *Loaded, folder string) (Location, error) {
	repo := loaded.Snapshot.GitOps
	switch {
	case repo == nil && (folder == "" || hasUnreadableGitOpsRepo(loaded.Snapshot)):
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
	return Location{Repo: url, Branch: repo.Branch, Commit: l.Fixed.GitOps, Path: repo.Path}, nil
}

// noGitOpsRepo explains why there is no GitOpsRepo: because of the problem of an invalid one, if there is one.
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

// hasUnreadableGitOpsRepo reports whether a GitOpsRepo may exist that cannot be read. It may set a path. Without that
// path, a folder would get all files twice.
func hasUnreadableGitOpsRepo(s *fleet.Snapshot) bool {
	return slices.ContainsFunc(s.Unreadable, func(u fleet.Unreadable) bool {
		return u.Ref.Kind == "GitOpsRepo" || u.Ref == fleet.Ref{}
	})
}

// knownClusterTypes returns the cluster types whose folders can be adopted from the original scheduler, including those
// that cannot be read.
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

// Name describes the loaded state: "control plane dev@1f0c2aa, main@5523a85".
func (l *Loaded) Name() string { return "control plane " + l.Inputs.String() }
