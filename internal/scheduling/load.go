package scheduling

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/secret"
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

// Inputs are the commits an environment was read at. A plain folder has no commit.
type Inputs struct {
	// Branch and Main are the environment's branch and the base branch of the control plane.
	Branch, Main Input
	// Others are the configuration and workload repositories, sorted by repository and branch.
	Others []Input
}

// Input is one source with its commit.
type Input struct {
	// Name is what people call it: the name of a branch of the control plane, or a URL.
	Name   string `json:"name"`
	Repo   string `json:"repo"`
	Branch string `json:"branch,omitempty"`
	Commit string `json:"commit,omitempty"`
	// Time is when the commit was made; zero for a plain folder.
	Time time.Time `json:"-"`
}

// String returns the name with the short commit: "dev@1f0c2aa".
func (i Input) String() string {
	if i.Commit == "" {
		return i.Name
	}
	return i.Name + "@" + i.Commit[:min(7, len(i.Commit))]
}

// String names the control plane's commits: "dev@1f0c2aa, main@5523a85".
func (i Inputs) String() string { return i.Branch.String() + ", " + i.Main.String() }

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

// Environments returns the names of the environments that the control plane's base branch lists, sorted,
// with what is wrong with the documents that describe them.
func (l *Loader) Environments(ctx context.Context, r Request) ([]string, []fleet.Problem, error) {
	objects, err := l.environments(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	return environmentNames(objects), objects.Problems, nil
}

// EnvironmentBranch says which branch of the control plane describes an environment.
type EnvironmentBranch struct{ Environment, Branch string }

// EnvironmentBranches returns the environments that the base branch lists, by name, with their branches.
// Those that another repository describes are left out.
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

// describesEnvironment reports whether an object, or a file whose objects nobody knows, is or may be an Environment.
// A file that cannot be read may be anything; only one in a folder of that name is likely to be an Environment.
func describesEnvironment(object fleet.Ref, at fleet.Position) bool {
	return object.Kind == "Environment" || object.Kind == "" && strings.Contains(at.File, "environments/")
}

func (l *Loader) baseHead(r Request) Location {
	return Location{Repo: r.ControlPlane, Folder: r.Main, Branch: DefaultBase}
}

// Load reads everything about one environment.
func (l *Loader) Load(ctx context.Context, r Request) (*Loaded, error) {
	walk := &walk{Loader: l, request: r}
	at, err := walk.findEnvironment(ctx)
	if err != nil {
		return nil, err
	}
	l.progress("reading " + r.Environment)
	if walk.in.Branch, walk.inputs.Branch, err = walk.read(ctx, r.Environment, at); err != nil {
		return nil, fmt.Errorf("read environment %q: %w", r.Environment, err)
	}
	if walk.in.Main, walk.inputs.Main, err = walk.readMain(ctx); err != nil {
		return nil, err
	}
	walk.in.ConfigRepos = walk.readConfigRepos(ctx)
	walk.in.Workloads = walk.readWorkloads(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	walk.in.Environment = r.Environment
	snapshot := fleet.Assemble(walk.in)
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

	mu     sync.Mutex
	places []Location
}

// findEnvironment returns where the environment is described: by its Environment object on main,
// else on the branch of its name.
func (w *walk) findEnvironment(ctx context.Context) (Location, error) {
	r := w.request
	w.controlPlane = r.ControlPlane
	objects, err := w.environments(ctx, r)
	if err != nil && (r.Branch == "" || ctx.Err() != nil) && !errors.Is(err, ErrNoBranch) {
		return Location{}, err
	}
	w.known, w.unsure = environmentNames(objects), unsure(objects)
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
	if err := lostEnvironment(objects, r.Environment); err != nil {
		return Location{}, err
	}
	if _, err := w.Repositories.Source(ctx, at); errors.Is(err, ErrNoBranch) {
		return Location{}, w.unknownEnvironment()
	}
	return at, nil
}

// lostEnvironment is an error when an environment may be described by a document that cannot be read:
// the branch of its name is no substitute, because the document may say another one.
func lostEnvironment(objects *fleet.Objects, name string) error {
	for _, u := range objects.Unreadable {
		if !describesEnvironment(u.Ref, u.Position) || u.Ref.Name != "" && u.Ref.Name != name {
			continue
		}
		for _, p := range objects.Problems {
			if p.Severity == fleet.SeverityError && p.Object == u.Ref && p.Position.File == u.Position.File {
				return fmt.Errorf("%s: nobody knows where environment %q is described: %s", p.Position, name, p.Message)
			}
		}
		return fmt.Errorf("%s: nobody knows where environment %q is described", u.Position, name)
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
	at.Path = path
	if spec.Branch != "" {
		at.Branch = spec.Branch
	}
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

func (w *walk) sortedInputs() Inputs {
	slices.SortFunc(w.inputs.Others, func(a, b Input) int {
		return strings.Compare(a.Repo+"\x00"+a.Branch, b.Repo+"\x00"+b.Branch)
	})
	// A workload in the control plane itself is no other input.
	w.inputs.Others = slices.DeleteFunc(slices.Compact(w.inputs.Others), func(i Input) bool {
		return i == w.inputs.Main || i == w.inputs.Branch
	})
	return w.inputs
}

// all returns every input.
func (i Inputs) all() []Input { return append([]Input{i.Branch, i.Main}, i.Others...) }

// Time returns when the newest of the commits was made; zero when all inputs are plain folders.
// A commit that is dated by it is the same whenever it is made.
func (i Inputs) Time() time.Time {
	var newest time.Time
	for _, input := range i.all() {
		if input.Time.After(newest) {
			newest = input.Time
		}
	}
	return newest
}

// Trailers returns the inputs as lines for the end of a commit message, one for each source that has a commit:
//
//	Kalypso-Inputs: dev@1f0c2aa…
//	Kalypso-Inputs: https://example.com/shop@77d1e04…
func (i Inputs) Trailers() []string {
	var lines []string
	for _, input := range i.all() {
		line := fmt.Sprintf("Kalypso-Inputs: %s@%s", input.Name, input.Commit)
		if input.Commit != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}
