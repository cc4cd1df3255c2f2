package bundle

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/config"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
	"github.com/kalypso-io/kalypso/internal/schedule/render"
)

type folderBuild struct {
	*builder
	clusterType    *fleet.ClusterType            // or that of the cluster; nil if the folder is only published
	of             *folderBuild                  // the folder of the cluster's type; nil for the folder of a cluster type
	published      *Folder                       // nil if nothing is published
	previous       *Folder                       // the result of an earlier build; may be nil
	assigned       func() []placement.Assignment // to the cluster type, determined when it is needed
	wanted         []placement.Assignment        // those that are rendered; nil if the folder is reused
	candidates     config.Candidates
	stack          *config.Stack // nil if the folder is reused
	templates      []slot
	assignedDigest fleet.Digest // of what is assigned
	shared         fleet.Digest // of the inputs that a cluster type shares with its clusters
	base           fleet.Digest // of the inputs that all files of the folder share
	notes          []note       // by index of the wanted assignment
	unrendered     atomic.Int64 // number of assignments
	charted        bool         // a template is a chart
	mu             sync.Mutex
	// waiting are the assignments whose charts are rendered later, by index. mu guards it.
	waiting map[int]*step
	result  *Folder
	// reused means that result was taken as a whole from the previous bundle, or from what is published.
	reused bool
	// settled identifies the inputs of a result that was taken from what is published.
	settled fleet.Digest
	// gone means that nothing is left of the folder.
	gone bool
}

// note holds data about a wanted assignment that is not part of the result.
type note struct {
	problems []fleet.Problem
	// schemas are the names of the schemas that validated its configuration.
	schemas []string
	grants  []*fleet.Grant
	// unsettled means that another build may be able to render the assignment, though its inputs are the same.
	unsettled bool
}

// step is an assignment on its way through a build.
type step struct {
	index      int
	assignment Assignment
	published  *Assignment
	target     *fleet.Target
	// mistyped means that a typo holds it, which the folder's inputs do not tell, approvable that a user can approve what it removes.
	mistyped, approvable bool
	// unread means that a published file that decides about it could not be read.
	unread   bool
	grants   []*fleet.Grant
	data     render.Data
	needs    []*fleet.Target // that it depends on
	composed config.Result
	reason   *fleet.Problem // it is blocked
}

// prepare collects the inputs of a folder, and reuses the previous result if they have not changed.
func (b *builder) prepare(p place, previous *Bundle) *folderBuild {
	f := &folderBuild{
		builder:     b,
		clusterType: p.clusterType,
		of:          p.of,
		published:   b.published.folderOf(p.name),
	}
	var problems []fleet.Problem
	switch {
	case p.cluster != nil:
		f.inputsOfCluster(p.cluster)
	case f.clusterType != nil:
		f.previous = findFolder(previous.Folders, p.name)
		problems = f.inputsOfType(previous)
	default:
		f.result = &Folder{Name: p.name, ClusterType: f.published.ClusterType, Cluster: f.published.Cluster}
		return f
	}
	inputs := f.inputs(p.name)
	if f.previous != nil && f.previous.inputs == inputs {
		f.result, f.reused = f.previous, true
		return f
	}
	f.charted = slices.ContainsFunc(f.templates, func(s slot) bool { return s.template != nil && s.template.HasChart() })
	if f.settle(inputs) {
		return f
	}
	if f.clusterType == nil {
		f.clusterType = f.of.clusterType.Of(p.cluster.cluster)
	}
	f.result = &Folder{Name: p.name, ClusterType: f.clusterType.Name, Cluster: f.clusterType.Cluster, problems: problems, inputs: inputs}
	if p.cluster != nil {
		p.cluster.result = f.result
	}
	f.stack = b.composer.StackOf(f.candidates)
	f.wanted = f.assigned()
	f.notes = make([]note, len(f.wanted))
	f.unrendered.Store(int64(len(f.wanted)))
	f.result.Assignments = make([]Assignment, len(f.wanted))
	f.waiting = map[int]*step{}
	return f
}

// inputsOfType sets the inputs of the folder of a cluster type, and returns the problems of its templates.
func (f *folderBuild) inputsOfType(previous *Bundle) []fleet.Problem {
	clusterType, workload := f.clusterType.Name, f.options.Workload
	f.assigned = sync.OnceValue(func() []placement.Assignment {
		return slices.DeleteFunc(f.decisions.For(clusterType), func(a placement.Assignment) bool {
			return workload != "" && a.Target.Workload != workload
		})
	})
	f.assignedDigest = f.digestAssigned(previous)
	problems := f.slots()
	f.shared, f.base = f.sharedDigest(problems), f.baseOf(f.clusterType)
	f.candidates = f.composer.Candidates(f.clusterType)
	return problems
}

// inputsOfCluster sets the inputs of the folder of a cluster, which has assignments and templates from its type.
func (f *folderBuild) inputsOfCluster(c *clusterMemo) {
	f.assigned, f.templates, f.assignedDigest, f.shared = f.of.assigned, f.of.templates, f.of.assignedDigest, f.of.shared
	f.base, f.candidates, f.previous = c.base, c.candidates, c.result
}

// assignment configures and renders the wanted assignment with index n.
func (f *folderBuild) assignment(w *worker, n int) {
	wanted := f.wanted[n]
	published, _ := f.published.Assignment(wanted.Target.Name)
	a := Assignment{
		ClusterType:  f.clusterType.Name,
		Cluster:      f.clusterType.Cluster,
		Target:       wanted.Target.Name,
		Workload:     wanted.Target.Workload,
		Workspace:    wanted.Target.Workspace,
		Registration: wanted.Target.Registration,
		Policies:     f.lost.policies(wanted.Policies, published),
	}
	for _, dep := range wanted.Target.DependsOn {
		a.needs = append(a.needs, dep.String())
	}
	data := render.NewData(f.snapshot.Environment, f.clusterType, wanted.Target)
	grants := f.snapshot.GrantsOf(wanted.Target)
	composed := f.stack.Compose(wanted.Target, func(text string) (string, error) { return w.Eval(text, &data) })
	a.Config = composed.Composed
	data.Configure(composed.Data, composed.Texts)
	data.Grants = render.GrantsIn(data.Namespace, grants)
	data.DependsOn, data.Wave = render.DependenciesOf(f.snapshot.Environment, f.clusterType, wanted.DependsOn), wanted.Wave
	s := step{index: n, assignment: a, published: published, target: wanted.Target, grants: grants, data: data, needs: wanted.DependsOn, composed: composed}
	s.reason = cmp.Or(wanted.Held, f.blocked(composed, published), f.mayBeExcluded(&a, published))
	if s.reason == nil {
		if s.reason = f.lost.unlabelled(published); s.reason == nil {
			s.reason = f.strippedBy(published, composed.Composed, wanted.Target)
			s.approvable = s.reason != nil
		}
		s.mistyped = s.reason != nil
	}
	if s.reason == nil && f.charted && !f.unchanged(&s) {
		waiting := s
		f.mu.Lock()
		defer f.mu.Unlock()
		f.waiting[n] = &waiting
		return
	}
	f.complete(&s, w)
}

// complete renders an assignment and adds it to the result.
func (f *folderBuild) complete(s *step, w *worker) {
	// What blocks an assignment has been reported as a problem already, unlike errors that only rendering finds.
	var found []fleet.Problem
	a, reason := &s.assignment, s.reason
	if reason == nil {
		if reason = cmp.Or(f.contents(s, w), f.secrets(s), f.handOver(a, s.published), f.foreign(a, s.published)); reason == nil {
			reason = f.renamedKeys(s)
			s.approvable = reason != nil
		}
		if reason != nil {
			found = []fleet.Problem{*reason}
		}
	}
	f.notes[s.index] = note{problems: slices.Concat(unreported(s.composed), a.warnings, found), schemas: s.composed.Schemas, grants: s.grants, unsettled: s.mistyped || s.unread}
	if s.mistyped {
		f.notes[s.index].problems = append(f.notes[s.index].problems, *reason)
	}
	if reason != nil {
		hold(a, s.published, reason)
		a.approvable = s.approvable
	}
	f.result.Assignments[s.index] = *a
}

// rendered counts rendered assignments. The configurations of a folder need much memory until all of them are rendered.
func (f *folderBuild) rendered(n int) {
	if f.unrendered.Add(int64(-n)) == 0 {
		f.stack = nil
	}
}

// mayBeExcluded explains why a new assignment is not made while a policy that may exclude it cannot be read; nil if there
// is no such policy.
func (f *folderBuild) mayBeExcluded(a *Assignment, published *Assignment) *fleet.Problem {
	lost := f.snapshot.LostExclusion
	if lost == nil || published != nil {
		return nil
	}
	return &fleet.Problem{
		Severity: fleet.SeverityError, Kind: fleet.KindHeld, Object: lost.Ref, Position: lost.Position, Assignment: a.Name(),
		Message: "it is new, and a policy that may exclude it cannot be read", Hint: "it is added when that is corrected",
	}
}

// unreported returns the problems of a configuration, except those that only point to an object that cannot be read.
// The snapshot reports such an object once, regardless of how many assignments wait for it.
func unreported(composed config.Result) []fleet.Problem {
	if !composed.Hold {
		return composed.Problems
	}
	return slices.DeleteFunc(slices.Clone(composed.Problems), func(p fleet.Problem) bool { return p.Kind == fleet.KindHeld })
}

// blocked explains why an assignment cannot be rendered, before any template is executed; nil if it can.
func (f *folderBuild) blocked(composed config.Result, published *Assignment) *fleet.Problem {
	if owner := f.builder.published.owner(f.result.Name); owner != nil {
		return owner
	}
	for _, s := range f.templates {
		if s.missing != nil {
			return s.missing
		}
	}
	if composed.Hold {
		return firstError(composed.Problems)
	}
	return f.lost.contents(published)
}

// firstError returns the first error among problems; nil if there is none.
func firstError(problems []fleet.Problem) *fleet.Problem {
	for i := range problems {
		if problems[i].Severity == fleet.SeverityError {
			return &problems[i]
		}
	}
	return &fleet.Problem{Severity: fleet.SeverityError, Kind: fleet.KindHeld, Message: "its configuration cannot be composed"}
}

// hold keeps an assignment's published files. Its configuration stays: it explains where the wanted values come from.
func hold(a *Assignment, published *Assignment, reason *fleet.Problem) {
	a.Held, a.Files, a.digest = reason, nil, fleet.Digest{}
	if published != nil {
		a.Files, a.Sources, a.needs = published.Files, published.Sources, published.needs
	}
}

// contents sets the files: from the previous build if their inputs have not changed, else from the templates. It
// returns the reason if that is not possible.
func (f *folderBuild) contents(s *step, w *worker) *fleet.Problem {
	if f.unchanged(s) {
		before, _ := f.previous.Assignment(s.assignment.Target)
		s.assignment.Files, s.assignment.warnings = before.Files, before.warnings
		return nil
	}
	return f.render(s, w)
}

// unchanged reports whether the inputs of an assignment are those of the previous build, which rendered it.
func (f *folderBuild) unchanged(s *step) bool {
	if s.assignment.digest == (fleet.Digest{}) {
		s.assignment.digest = f.assignmentDigest(s)
	}
	before, ok := f.previous.Assignment(s.assignment.Target)
	return ok && before.digest == s.assignment.digest
}

func (f *folderBuild) render(s *step, w *worker) *fleet.Problem {
	a := &s.assignment
	a.Files = make([]File, 0, len(f.templates))
	folder := path.Join(f.root, a.Folder(), a.Target) + "/"
	for _, used := range f.templates {
		content, warnings, err := w.Render(used.template, &s.data)
		for _, warning := range warnings {
			a.warnings = append(a.warnings, s.placed(warning))
		}
		if err != nil {
			problem := s.placed(renderProblem(a, err))
			return &problem
		}
		a.Files = append(a.Files, w.files.add(folder+used.file, content))
	}
	sortFiles(a.Files)
	return nil
}

// placed adds the position of the target to a problem about its manifests.
func (s *step) placed(p fleet.Problem) fleet.Problem {
	if p.Kind == fleet.KindTemplateKeys {
		p.Position = s.target.Position
	}
	return p
}

func renderProblem(a *Assignment, err error) fleet.Problem {
	var failed *render.Error
	if errors.As(err, &failed) {
		return failed.Problem
	}
	return fleet.Problem{
		Severity: fleet.SeverityError, Kind: fleet.KindTemplateExecution,
		Assignment: a.Name(), Message: err.Error(),
	}
}

// foreign returns a problem if something that is not ours is at the path of one of our files; nil if not.
func (f *folderBuild) foreign(a *Assignment, published *Assignment) *fleet.Problem {
	for _, file := range a.Files {
		if at := f.builder.published.obstacle(file.Path); at != "" {
			return fileConflict(a, at, "a file or folder with this name blocks "+file.Path)
		}
	}
	if f.published != nil && f.published.adopted {
		return nil
	}
	for _, file := range a.Files {
		hash, exists := f.builder.published.Hash(file.Path)
		if !exists || hash == file.Hash {
			continue
		}
		if published != nil {
			if _, ours := published.File(file.Name()); ours {
				continue
			}
		}
		return fileConflict(a, file.Path, "the GitOps branch has a file of this name that Kalypso did not write")
	}
	return nil
}

func fileConflict(a *Assignment, at, message string) *fleet.Problem {
	return &fleet.Problem{
		Severity: fleet.SeverityError, Kind: fleet.KindFileConflict,
		Position:   fleet.Position{Source: "gitops", File: at},
		Assignment: a.Name(),
		Message:    message,
		Hint:       "delete or rename it there",
	}
}
