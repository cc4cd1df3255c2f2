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

// Resolve returns the URL that a document of a repository means, as [schedule.Repositories] does.
type Resolve func(repository, url string) (string, error)

// Branches returns the branches that say what is wanted in an environment: its platform branch first, then those that its
// deployment targets get their manifests from, by repository and branch. A target that is not in Git, or follows a tag, has
// none. The problems are places that are not read: on hosts that nobody configured, or on this machine, named from elsewhere.
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

// lister gathers the branches of an environment.
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

// platform adds the branch that the environment's files go to. One that cannot be found is scheduling's to report.
func (l *lister) platform() {
	repo := l.loaded.Snapshot.GitOps
	if repo == nil {
		return
	}
	if url, err := l.resolve(l.loaded.Inputs.Branch.Repo, repo.Repo); err == nil {
		l.add(Branch{Repository: url, Branch: repo.Branch, Kind: ledger.BranchPlatform, Path: repo.Path})
	}
}

// target adds the branch that a deployment target gets its manifests from.
func (l *lister) target(t *fleet.Target) {
	m := t.Manifests
	if storage := m["storage"]; m["repo"] == "" || storage != "" && storage != "git" || m["tag"] != "" {
		return
	}
	url, err := l.resolve(l.repositoryOf(t), m["repo"])
	if err == nil && isRemote(url) && !l.hosts.Know(url) {
		err = fmt.Errorf("nobody configured the host of %q", secret.Redact(url))
	}
	if err != nil {
		l.problems = append(l.problems, fleet.Problem{
			Severity: fleet.SeverityWarning, Kind: fleet.KindUnreachable, Position: t.Position,
			Object:  fleet.Ref{Kind: "DeploymentTarget", Name: t.Name},
			Message: "the manifests are not read, so that it is not known which versions run: " + secret.Line(err.Error()),
			Hint:    "keep them on a host that the platform team named",
		})
		return
	}
	l.add(Branch{Repository: url, Branch: m["branch"], Kind: ledger.BranchApplication})
}

// repositoryOf returns the repository that a target was read from, which relative URLs are relative to.
func (l *lister) repositoryOf(t *fleet.Target) string {
	in := l.loaded.Inputs
	for _, input := range slices.Concat([]schedule.Input{in.Main}, in.Others) {
		if input.Name == t.Position.Source {
			return input.Repo
		}
	}
	return in.Branch.Repo
}

// isRemote says whether a URL is of a host, rather than a path that was allowed already.
func isRemote(url string) bool {
	_, err := forge.ParseID(url)
	return err == nil || strings.Contains(url, "://") && !strings.HasPrefix(url, "file://")
}

// Reports are what the ledger knows of clusters, and of branches.
type Reports interface {
	States(ctx context.Context, q ledger.StateQuery) (ledger.StatePage, error)
	Commits(ctx context.Context, q ledger.CommitQuery) ([]ledger.Commit, error)
}

// statesPage is how many states are asked for at once.
const statesPage = 2000

// Followed returns the branches that clusters were reported to follow and that nobody recorded yet, by repository and branch.
// Repositories on hosts that nobody configured are left out: what a cluster reports is not trusted.
//
// It reads the states of all reconcilers, which takes a while where there are many: call it now and then, not in every round,
// and after the branches of all environments are recorded, because it takes what nobody knows for an application's.
func Followed(ctx context.Context, reports Reports, hosts *Hosts) ([]Branch, error) {
	sources := map[branchKey]bool{}
	for after, more := "", true; more; {
		page, err := reports.States(ctx, ledger.StateQuery{After: after, Limit: statesPage})
		if err != nil {
			return nil, fmt.Errorf("find what clusters follow: %w", err)
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
		// A branch that several environments share is recorded and of none.
		recorded, err := reports.Commits(ctx, ledger.CommitQuery{Repository: at.repository, Branch: at.branch, Limit: 1})
		if err != nil {
			return nil, fmt.Errorf("find what is recorded: %w", err)
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
