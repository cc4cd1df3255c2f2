package record

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Resolve resolves a URL in a document of a repository, like [schedule.Repositories].
type Resolve func(repository, url string) (string, error)

// Branches returns the branches to record for an environment: its platform branch first, then those with manifests of
// deployment targets, by repository and branch. A target that is not in Git, or follows a tag, has
// none. Problems are repositories that are not read, because their host is not configured or the path is not allowed.
func Branches(loaded *schedule.Loaded, resolve Resolve, hosts *Hosts) ([]Branch, []fleet.Problem) {
	l := &lister{loaded: loaded, resolve: resolve, hosts: hosts, seen: map[branchKey]bool{}}
	l.platform()
	for _, t := range loaded.Snapshot.Targets {
		l.target(t)
	}
	slices.SortFunc(l.branches, func(a, b Branch) int {
		return cmp.Or(-cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Repository, b.Repository), cmp.Compare(a.Branch, b.Branch))
	})
	return l.branches, fleet.SortProblems(l.problems)
}

// lister collects the branches of an environment.
type lister struct {
	loaded   *schedule.Loaded
	resolve  Resolve
	hosts    *Hosts
	seen     map[branchKey]bool
	branches []Branch
	problems []fleet.Problem
}

func (l *lister) add(b Branch) {
	b.Environment = l.loaded.Snapshot.Environment
	key := branchKey{ledger.CleanRepository(b.Repository), b.Branch}
	if !l.seen[key] {
		l.seen[key] = true
		l.branches = append(l.branches, b)
	}
}

// platform adds the environment's platform branch. Scheduling reports errors about it.
func (l *lister) platform() {
	repo := l.loaded.Snapshot.GitOps
	if repo == nil {
		return
	}
	if url, err := l.resolve(l.loaded.Inputs.Branch.Repo, repo.Repo); err == nil {
		l.add(Branch{Repository: url, Branch: repo.Branch, Kind: ledger.BranchPlatform, Path: repo.Path})
	}
}

// target adds the branch with the manifests of a deployment target.
func (l *lister) target(t *fleet.Target) {
	m := t.Manifests
	if storage := m["storage"]; m["repo"] == "" || storage != "" && storage != "git" || m["tag"] != "" {
		return
	}
	url, err := l.resolve(l.repositoryOf(t), m["repo"])
	if err == nil && isRemote(url) && !l.hosts.Know(url) {
		err = fmt.Errorf("the host of %q is not configured", secret.Redact(url))
	}
	if err != nil {
		l.problems = append(l.problems, fleet.Problem{
			Severity: fleet.SeverityWarning, Kind: fleet.KindUnreachable, Position: t.Position,
			Object:  fleet.Ref{Kind: "DeploymentTarget", Name: t.Name},
			Message: "manifests are not read, so that running versions are unknown: " + secret.Line(err.Error()),
			Hint:    "keep them on a host that the platform team named",
		})
		return
	}
	l.add(Branch{Repository: url, Branch: m["branch"], Kind: ledger.BranchApplication})
}

// repositoryOf returns the repository that a target was read from; relative URLs refer to it.
func (l *lister) repositoryOf(t *fleet.Target) string {
	in := l.loaded.Inputs
	for _, input := range slices.Concat([]schedule.Input{in.Main}, in.Others) {
		if input.Name == t.Position.Source {
			return input.Repo
		}
	}
	return in.Branch.Repo
}

// isRemote reports whether a URL has a host. Paths were checked by Resolve.
func isRemote(url string) bool {
	_, err := forge.ParseID(url)
	return err == nil || strings.Contains(url, "://") && !strings.HasPrefix(url, "file://")
}

// Reports is what [Followed] reads from the ledger.
type Reports interface {
	States(ctx context.Context, q ledger.StateQuery) (ledger.StatePage, error)
	Commits(ctx context.Context, q ledger.CommitQuery) ([]ledger.Commit, error)
}

// statesPage is the size of a page of states.
const statesPage = 2000

// Followed returns the branches that clusters follow and that are not recorded yet, by repository and branch.
// It leaves out hosts that are not configured, because reports are not trusted.
//
// It reads the states of all reconcilers, which is slow in large fleets: do not call it in every round.
// Call it after all environments are recorded, because it returns unknown branches as application branches.
func Followed(ctx context.Context, reports Reports, hosts *Hosts) ([]Branch, error) {
	sources := map[branchKey]bool{}
	for after, more := "", true; more; {
		page, err := reports.States(ctx, ledger.StateQuery{After: after, Limit: statesPage})
		if err != nil {
			return nil, fmt.Errorf("list sources of clusters: %w", err)
		}
		for _, s := range page.States {
			if ref := s.Source.Ref; s.Environment == "" && ref != "" && !strings.HasPrefix(ref, "refs/") {
				sources[branchKey{s.Source.Repository, ref}] = true
			}
		}
		after, more = page.Next, page.Next != ""
	}
	var branches []Branch
	for at := range sources {
		if !hosts.Know(at.repository) {
			continue
		}
		// A shared branch is recorded without an environment.
		recorded, err := reports.Commits(ctx, ledger.CommitQuery{Repository: at.repository, Branch: at.branch, Limit: 1})
		if err != nil {
			return nil, fmt.Errorf("list recorded commits: %w", err)
		}
		if len(recorded) == 0 {
			branches = append(branches, Branch{Repository: hosts.Reach(at.repository), Branch: at.branch, Kind: ledger.BranchApplication})
		}
	}
	slices.SortFunc(branches, func(a, b Branch) int {
		return cmp.Or(cmp.Compare(a.Repository, b.Repository), cmp.Compare(a.Branch, b.Branch))
	})
	return branches, nil
}
