package schedule

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// DefaultBase is the branch that holds what is promoted.
const DefaultBase = "main"

// Request names what to schedule.
type Request struct {
	// ControlPlane is the URL or path of the control plane repository. // required
	ControlPlane string
	// Environment is the name of the environment. // required
	Environment string

	// Main and Branch are plain folders that stand in for the base branch and the environment's; empty for none.
	Main, Branch string

	// BranchRef and MainRef are commits or other revisions to read instead of the environment branch's head and
	// the promoted commit of main; empty for those.
	BranchRef, MainRef string
}

// Loader reads environments.
type Loader struct {
	// Repositories is where the sources come from. // required
	Repositories Repositories
	// Progress is told what is being read; nil for nobody.
	Progress func(what string)

	// Cache keeps parsed files, which makes later loads faster; nil keeps nothing.
	Cache *fleet.Cache
}

// Loaded is an environment at fixed commits.
type Loaded struct {
	Snapshot *fleet.Snapshot
	Inputs   Inputs
	// Environments are the names of all environments that main knows, sorted.
	Environments []string
	// Read are the places that were asked for, whether they could be read or not.
	Read []Location

	controlPlane string
}

// Load reads everything about one environment.
func (l *Loader) Load(ctx context.Context, r Request) (*Loaded, error) {
	walk := &walk{Loader: l, request: r}
	at, err := walk.findEnvironment(ctx)
	if err != nil {
		return nil, err
	}
	l.progress("reading " + r.Environment)
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
	if walk.held {
		snapshot.PromotedCommit = ""
	}
	walk.problems = append(walk.problems, walk.unknownEnvironments()...)
	snapshot.Problems = fleet.SortProblems(append(walk.withoutRead(snapshot.Problems), walk.problems...))
	return &Loaded{
		Snapshot:     snapshot,
		Inputs:       walk.sortedInputs(),
		Environments: walk.known,
		Read:         append(walk.places, l.baseHead(r)),
		controlPlane: walk.controlPlane,
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
	// known are the environments that main lists.
	known []string
	// unsure says that there may be more, which cannot be read.
	unsure bool
	// controlPlane is the repository of the environment branch, which relative URLs are resolved against.
	controlPlane string
	problems     []fleet.Problem
	// held says that the promoted commit does not count.
	held bool

	// branchAt and mainAt are where the environment branch and main were read; mainAt is zero when main was not.
	branchAt, mainAt Location

	mu     sync.Mutex
	places []Location
}

// read lists and reads one source.
func (w *walk) read(ctx context.Context, name string, at Location) (*fleet.Objects, Input, error) {
	w.asked(at)
	source, err := w.Repositories.Source(ctx, at)
	if err != nil {
		return nil, Input{}, err
	}
	// People write passwords into URLs, and names are shown and committed.
	source.Name = secret.Redact(name)
	input := Input{Name: source.Name, Repo: source.Repo, Branch: source.Branch, Commit: source.Commit, Time: source.Time}
	return fleet.Read(w.Cache, source), input, nil
}

// asked notes a place. Several are read at the same time.
func (w *walk) asked(at Location) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.places = append(w.places, at)
}

// readMain reads the base branch at the promoted commit.
func (w *walk) readMain(ctx context.Context) (*fleet.Objects, Input, error) {
	if lost, ok := w.in.Branch.LostBaseRepo(DefaultBase); ok && w.request.Main == "" && w.request.MainRef == "" {
		return w.holdMain(lost), Input{Name: DefaultBase + " (not known)"}, nil
	}
	at := Location{Repo: w.controlPlane, Branch: DefaultBase}
	if base, origin, ok := w.in.Branch.BaseRepo(DefaultBase); ok {
		located, err := w.repository(base.Spec.Repository)
		if err != nil {
			return nil, Input{}, fmt.Errorf("%s: BaseRepo %q: %w", origin.Position, base.Name, err)
		}
		at = located
		at.Commit = base.Spec.Commit
		if stray, err := w.stray(ctx, at); stray || err != nil {
			return w.holdStray(base, origin), Input{Name: DefaultBase + " (not known)"}, err
		}
	}
	if w.request.MainRef != "" {
		at.Commit = w.request.MainRef
	}
	at.Folder = w.request.Main
	name := at.Branch
	if name == "" {
		name = DefaultBase
	}
	w.progress("reading " + name)
	w.mainAt = at
	objects, input, err := w.read(ctx, name, at)
	if err != nil {
		return nil, Input{}, fmt.Errorf("read %s: %w", w.describe(name, at), err)
	}
	return objects, input, nil
}

// holdMain stands in for main when nobody knows which commit of it is promoted: everything stays as it is published.
func (w *walk) holdMain(lost fleet.Unreadable) *fleet.Objects {
	w.problems = append(w.problems, fleet.Problem{
		Severity: fleet.SeverityError, Kind: fleet.KindHeld, Object: lost.Ref, Position: lost.Position,
		Message: "which commit of main is promoted cannot be read, so nothing is scheduled",
		Hint:    "mend the BaseRepo; until then everything stays as it is published",
	})
	return &fleet.Objects{Unreadable: []fleet.Unreadable{{Position: lost.Position}}}
}

// stray reports whether the promoted commit is not one of the base branch: then nobody has agreed to what it says.
// A commit that does not exist, or a branch, is for reading it to report.
func (w *walk) stray(ctx context.Context, at Location) (bool, error) {
	if at.Commit == "" || w.request.Main != "" || w.request.MainRef != "" {
		return false, nil
	}
	on, err := w.Repositories.Contains(ctx, Location{Repo: at.Repo, Branch: at.Branch}, at.Commit)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return err == nil && !on, nil
}

// holdStray stands in for main when the promoted commit is not one of it.
func (w *walk) holdStray(base *v1alpha1.BaseRepo, origin fleet.Origin) *fleet.Objects {
	w.problems = append(w.problems, fleet.Problem{
		Severity: fleet.SeverityError, Kind: fleet.KindHeld,
		Object: fleet.Ref{Kind: "BaseRepo", Name: base.Name}, Position: origin.Position,
		Message: fmt.Sprintf("commit %s is not on branch %q, so nothing is scheduled from it", fleet.ShortCommit(base.Spec.Commit), cmp.Or(base.Spec.Branch, DefaultBase)),
		Hint:    "promote a commit that was merged; until then everything stays as it is published",
	})
	w.held = true
	return &fleet.Objects{Unreadable: []fleet.Unreadable{{Position: origin.Position}}}
}

// describe names the commit of the base branch that was asked for.
func (w *walk) describe(name string, at Location) string {
	switch {
	case w.request.MainRef != "":
		return fmt.Sprintf("%s at %q", name, w.request.MainRef)
	case at.Commit != "":
		return name + " at its promoted commit"
	}
	return name
}

// repository returns the location that a document of the control plane names.
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
