package schedule

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// DefaultBase is the branch whose commits are promoted.
const DefaultBase = "main"

// Request selects an environment, and what to read it from.
type Request struct {
	// ControlPlane is the URL or path of the control plane repository. // required
	ControlPlane string
	Environment  string // required

	// Main and Branch are plain folders to read instead of the base branch and the environment's branch; optional.
	Main, Branch string

	// BranchRef and MainRef are revisions to read instead of the environment branch's head and the promoted commit of
	// main; optional.
	BranchRef, MainRef string
}

// Loader reads environments.
type Loader struct {
	Repositories Repositories // required
	// Progress is called with what is about to be read; optional.
	Progress func(what string)
	// Cache keeps parsed files; optional.
	Cache *fleet.Cache
	// Fixed is what is read instead of the heads of branches; zero for nothing.
	Fixed Fixed
}

// Fixed is a state of branches that was read before, so that it can be read again.
type Fixed struct {
	// Environment is where the environment is described. Nil means where its Environment object on main says.
	Environment *Location
	// Commit returns the commit of a source, by the name of its [Input] and its location; empty for the head of its branch. Optional.
	Commit func(name string, at Location) string
	// GitOps is the commit of the GitOps branch; empty for its head.
	GitOps string
}

// Loaded is an environment at fixed commits.
type Loaded struct {
	Snapshot *fleet.Snapshot
	Inputs   Inputs
	// Environments are the names of all environments on main, sorted.
	Environments []string
	// incomplete means that more environments may be on main, in documents that cannot be read.
	incomplete bool
	// Read are the locations that were requested, including those that could not be read.
	Read []Location

	controlPlane string
	// at is where the environment was read.
	at Location
}

// Load reads an environment and everything that it refers to.
func (l *Loader) Load(ctx context.Context, r Request) (*Loaded, error) {
	walk := &walk{Loader: l, request: r}
	at, err := walk.findEnvironment(ctx)
	if err != nil {
		return nil, err
	}
	l.progress("reading " + r.Environment)
	at = walk.fixed(r.Environment, at)
	walk.branchAt = at
	if walk.in.Branch, walk.inputs.Branch, err = walk.read(ctx, r.Environment, at); err != nil {
		return nil, fmt.Errorf("read environment %q: %w", r.Environment, err)
	}
	if walk.in.Main, walk.inputs.Main, err = walk.readMain(ctx); err != nil {
		return nil, err
	}
	walk.in.Charts = walk.readCharts(ctx)
	walk.in.ConfigRepos = walk.readConfigRepos(ctx)
	walk.in.Workloads = walk.readWorkloads(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	walk.in.Environment = r.Environment
	snapshot := fleet.Assemble(walk.in)
	walk.refuseOwnBranch(snapshot)
	if walk.held {
		snapshot.PromotedCommit = ""
	}
	walk.problems = append(walk.problems, walk.unknownEnvironments(snapshot)...)
	snapshot.Problems = fleet.SortProblems(append(walk.withoutRead(snapshot.Problems), walk.problems...))
	return &Loaded{
		Snapshot:     snapshot,
		Inputs:       walk.sortedInputs(),
		Environments: walk.known, incomplete: walk.incomplete,
		Read:         append(walk.places, l.baseHead(r)),
		controlPlane: walk.controlPlane, at: at,
	}, nil
}

func (l *Loader) progress(what string) {
	if l.Progress != nil {
		l.Progress(what)
	}
}

// walk is one load in progress.
type walk struct {
	*Loader
	request Request
	in      fleet.Inputs
	inputs  Inputs
	// known are the environments on main. incomplete means that there may be more, which cannot be read.
	known      []string
	incomplete bool
	// controlPlane is the repository of the environment branch, for relative URLs.
	controlPlane string
	problems     []fleet.Problem
	// held means that the promoted commit is ignored.
	held bool

	// branchAt and mainAt are where the environment branch and main were read. mainAt is zero if main was not read.
	branchAt, mainAt Location

	mu     sync.Mutex
	places []Location
}

func (w *walk) read(ctx context.Context, name string, at Location) (*fleet.Objects, Input, error) {
	return w.readAs(ctx, name, at, func(s fleet.Source) fleet.Source { return s })
}

// readAs is read with a function that selects files of the source.
func (w *walk) readAs(ctx context.Context, name string, at Location, selected func(fleet.Source) fleet.Source) (*fleet.Objects, Input, error) {
	w.record(at)
	source, err := w.Repositories.Source(ctx, at)
	if err != nil {
		return nil, Input{}, err
	}
	source.Name = secret.Redact(name) // a URL can contain a password
	input := Input{Name: source.Name, Repo: source.Repo, Branch: source.Branch, Commit: source.Commit, Time: source.Time, Subject: source.Subject}
	return fleet.Read(w.Cache, selected(source)), input, nil
}

// fixed returns the location of a source at its fixed commit, unless it has one.
func (w *walk) fixed(name string, at Location) Location {
	if at.Commit == "" && at.Folder == "" && w.Fixed.Commit != nil {
		at.Commit = w.Fixed.Commit(secret.Redact(name), at)
	}
	return at
}

// record adds a location. It is safe for concurrent use.
func (w *walk) record(at Location) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.places = append(w.places, at)
}

// readMain reads the base branch at the promoted commit.
func (w *walk) readMain(ctx context.Context) (*fleet.Objects, Input, error) {
	if lost, ok := w.in.Branch.LostBaseRepo(DefaultBase); ok && w.request.Main == "" && w.request.MainRef == "" {
		return w.holdMain(lost), Input{Name: DefaultBase + " (unknown)"}, nil
	}
	at := Location{Repo: w.controlPlane, Branch: DefaultBase}
	if base, origin, ok := w.in.Branch.BaseRepo(DefaultBase); ok {
		located, err := w.repository(base.Spec.Repository)
		if err != nil {
			return nil, Input{}, fmt.Errorf("%s: BaseRepo %q: %w", origin.Position, base.Name, err)
		}
		at = located
		at.Commit = base.Spec.Commit
		if off, err := w.isOffBranch(ctx, at); off || err != nil {
			return w.holdOffBranch(base, origin), Input{Name: DefaultBase + " (unknown)"}, err
		}
	}
	if w.request.MainRef != "" {
		at.Commit = w.request.MainRef
	}
	at.Folder = w.request.Main
	name := cmp.Or(at.Branch, DefaultBase)
	at = w.fixed(name, at)
	w.progress("reading " + name)
	w.mainAt = at
	objects, input, err := w.read(ctx, name, at)
	if err != nil {
		return nil, Input{}, fmt.Errorf("read %s: %w", w.describe(name, at), err)
	}
	return objects, input, nil
}

// holdMain returns the objects to use if the promoted commit is unknown. Everything stays as published.
func (w *walk) holdMain(lost fleet.Unreadable) *fleet.Objects {
	w.problems = append(w.problems, fleet.Problem{
		Severity: fleet.SeverityError, Kind: fleet.KindHeld, Object: lost.Ref, Position: lost.Position,
		Message: "the promoted commit of main cannot be read, so nothing is scheduled",
		Hint:    "correct the BaseRepo; until then everything stays as published",
	})
	return &fleet.Objects{Unreadable: []fleet.Unreadable{{Position: lost.Position}}}
}

// isOffBranch reports whether the promoted commit exists, but is not on the base branch, so that its content was never
// approved. Reading reports a commit or branch that does not exist.
func (w *walk) isOffBranch(ctx context.Context, at Location) (bool, error) {
	if at.Commit == "" || w.request.Main != "" || w.request.MainRef != "" {
		return false, nil
	}
	on, err := w.Repositories.Contains(ctx, Location{Repo: at.Repo, Branch: at.Branch}, at.Commit)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return err == nil && !on, nil
}

// holdOffBranch returns the objects to use if the promoted commit is not on main. Everything stays as published.
func (w *walk) holdOffBranch(base *v1alpha1.BaseRepo, origin fleet.Origin) *fleet.Objects {
	w.problems = append(w.problems, fleet.Problem{
		Severity: fleet.SeverityError, Kind: fleet.KindHeld,
		Object: fleet.Ref{Kind: "BaseRepo", Name: base.Name}, Position: origin.Position,
		Message: fmt.Sprintf("commit %s is not on branch %q, so nothing is scheduled from it", fleet.ShortCommit(base.Spec.Commit), cmp.Or(base.Spec.Branch, DefaultBase)),
		Hint:    "promote a commit that was merged; until then everything stays as published",
	})
	w.held = true
	return &fleet.Objects{Unreadable: []fleet.Unreadable{{Position: origin.Position}}}
}

// describe returns the requested commit of the base branch, for errors.
func (w *walk) describe(name string, at Location) string {
	switch {
	case w.request.MainRef != "":
		return fmt.Sprintf("%s at %q", name, w.request.MainRef)
	case at.Commit != "":
		return name + " at its promoted commit"
	}
	return name
}

// repository returns the location of a repository in a document of the control plane.
func (w *walk) repository(r v1alpha1.Repository) (Location, error) {
	path, err := fleet.CleanPath(r.Path)
	if err != nil {
		return Location{}, err
	}
	repo, err := w.Repositories.Resolve(w.controlPlane, r.Repo)
	if err != nil {
		return Location{}, err
	}
	return Location{Repo: repo, Branch: r.Branch, Path: path}, nil
}

// mayExist reports whether an environment may exist: it is on main, or main does not tell.
func (l *Loaded) mayExist(environment string) bool {
	return l.incomplete || len(l.Environments) == 0 || slices.Contains(l.Environments, environment)
}
