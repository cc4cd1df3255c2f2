package bundle

import (
	"cmp"
	"errors"
	"path"
	"slices"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/config"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/placement"
	"github.com/kalypso-io/kalypso/internal/render"
)

// folderBuild is the work on the folder of one cluster type.
type folderBuild struct {
	*builder
	clusterType *fleet.ClusterType // nil for one that is only published
	published   *Folder            // nil for one that is only wanted
	previous    *Folder            // what an earlier build made of it; may be nil
	wanted      []placement.Assignment
	stack       *config.Stack
	templates   []slot
	base        fleet.Digest      // of what all files of the folder are made from
	problems    [][]fleet.Problem // by wanted assignment
	result      *Folder
	// reused is true when result was taken from the previous bundle as a whole.
	reused bool
	// gone is true when nothing is left of the folder.
	gone bool
}

// slot is one file of every assignment of a cluster type: the template that writes it, or why there is none.
type slot struct {
	file     string
	template *render.Template
	missing  *fleet.Problem
}

// prepare collects the inputs of a folder, and takes the previous result when they did not change.
func (b *builder) prepare(name string, previous *Bundle) *folderBuild {
	f := &folderBuild{
		builder:     b,
		clusterType: b.clusterType(name),
		published:   b.published.folderOf(name),
		result:      &Folder{ClusterType: name},
	}
	if previous != nil {
		f.previous = findFolder(previous.Folders, name)
	}
	if f.clusterType == nil {
		return f
	}
	wanted := b.decisions.For(name)
	f.stack = b.composer.Stack(f.clusterType)
	f.slots()
	f.base = f.baseDigest()
	f.result.digest = f.digest(wanted)
	if f.previous != nil && f.previous.digest == f.result.digest {
		f.result, f.reused = f.previous, true
		return f
	}
	f.wanted = wanted
	f.problems = make([][]fleet.Problem, len(wanted))
	f.result.Assignments = make([]Assignment, len(wanted))
	return f
}

// slots finds the templates that the cluster type names.
func (f *folderBuild) slots() {
	f.slot(v1alpha1.NamespaceTemplate, f.clusterType.NamespaceService, namespaceName)
	if f.clusterType.ConfigType != fleet.NoConfig {
		f.slot(v1alpha1.ConfigTemplate, f.clusterType.ConfigType, configYAMLName)
	}
	f.slot(v1alpha1.ReconcilerTemplate, f.clusterType.Reconciler, reconcilerName)
}

func (f *folderBuild) slot(kind v1alpha1.TemplateType, name, file string) {
	t, problem := f.library.Find(kind, name)
	if t != nil && t.ContentType() == v1alpha1.ContentShell && file == configYAMLName {
		file = configShellName
	}
	s := slot{file: file, template: t}
	if problem != nil {
		p := *problem
		if p.Position == (fleet.Position{}) {
			p.Position = f.clusterType.Position
		}
		if p.Object == (fleet.Ref{}) {
			p.Object = fleet.Ref{Kind: "ClusterType", Name: f.clusterType.Name}
		}
		f.result.problems = append(f.result.problems, p)
		if t == nil {
			s.missing = &p
		}
	}
	f.templates = append(f.templates, s)
}

// digest identifies every input of the folder: two builds with equal digests give equal folders.
func (f *folderBuild) digest(wanted []placement.Assignment) fleet.Digest {
	d := digester{make([]byte, 0, 1024+80*len(wanted))}
	d.digest(f.base)
	d.digest(f.stack.Digest())
	d.digest(f.lost.digest)
	d.digest(f.builder.published.digestOf(f.clusterType.Name))
	for _, problem := range f.result.problems {
		d.problem(problem)
	}
	for _, a := range wanted {
		d.digest(a.Target.Digest)
		d.number(len(a.Policies))
		d.texts(a.Policies...)
	}
	return d.sum()
}

// baseDigest identifies what all files of the folder are made from: the cluster type and its templates.
func (f *folderBuild) baseDigest() fleet.Digest {
	var d digester
	d.texts(f.snapshot.Environment, f.root)
	d.digest(f.clusterType.Digest)
	for _, s := range f.templates {
		d.texts(s.file)
		if s.template != nil {
			d.texts(s.template.Name())
			d.digest(s.template.Digest())
		}
	}
	return d.sum()
}

// assignment configures and renders the wanted assignment with index n.
func (f *folderBuild) assignment(w *render.Worker, n int) {
	wanted := f.wanted[n]
	published, _ := f.published.Assignment(wanted.Target.Name)
	a := Assignment{
		ClusterType:  f.clusterType.Name,
		Target:       wanted.Target.Name,
		Workload:     wanted.Target.Workload,
		Workspace:    wanted.Target.Workspace,
		Registration: wanted.Target.Registration,
		Policies:     f.lost.policies(wanted.Policies, published),
	}
	data := render.NewData(f.snapshot.Environment, f.clusterType, wanted.Target)
	composed := f.stack.Compose(wanted.Target, func(text string) (string, error) { return w.Eval(text, &data) })
	a.Config = composed.Composed

	// What blocks an assignment is a problem of its own already; what only rendering finds is not.
	reason := f.blocked(composed, published)
	var found []fleet.Problem
	if reason == nil {
		data.ConfigData = composed.Data
		if reason = cmp.Or(f.contents(&a, w, &data, wanted.Target), f.foreign(&a, published)); reason != nil {
			found = []fleet.Problem{*reason}
		}
	}
	f.problems[n] = slices.Concat(composed.Problems, a.warnings, found)
	if reason != nil {
		hold(&a, published, reason)
	}
	f.result.Assignments[n] = a
}

// blocked says why an assignment cannot be rendered before any template runs; nil when it can.
func (f *folderBuild) blocked(composed config.Result, published *Assignment) *fleet.Problem {
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

// firstError returns the problem that holds an assignment.
func firstError(problems []fleet.Problem) *fleet.Problem {
	for i := range problems {
		if problems[i].Severity == fleet.SeverityError {
			return &problems[i]
		}
	}
	return &fleet.Problem{Severity: fleet.SeverityError, Kind: fleet.KindHeld, Message: "its configuration cannot be composed"}
}

// hold leaves an assignment with the files it has.
func hold(a *Assignment, published *Assignment, reason *fleet.Problem) {
	a.Held, a.Config, a.Files, a.digest = reason, nil, nil, fleet.Digest{}
	if published != nil {
		a.Files, a.Sources = published.Files, published.Sources
	}
}

// contents fills in the files: from the previous build when their inputs are the same, else from the templates.
// It returns why that was not possible.
func (f *folderBuild) contents(a *Assignment, w *render.Worker, data *render.Data, target *fleet.Target) *fleet.Problem {
	a.digest = f.assignmentDigest(a, target)
	if before, ok := f.previous.Assignment(a.Target); ok && before.digest == a.digest {
		a.Files, a.warnings = before.Files, before.warnings
		return nil
	}
	return f.render(a, w, data)
}

// assignmentDigest identifies what the files of one assignment are made from.
func (f *folderBuild) assignmentDigest(a *Assignment, target *fleet.Target) fleet.Digest {
	d := digester{make([]byte, 0, 3*len(fleet.Digest{}))}
	d.digest(f.base)
	d.digest(target.Digest)
	d.digest(a.Config.Digest)
	return d.sum()
}

// render executes the templates of the cluster type.
func (f *folderBuild) render(a *Assignment, w *render.Worker, data *render.Data) *fleet.Problem {
	a.Files = make([]File, 0, len(f.templates))
	folder := path.Join(f.root, a.ClusterType, a.Target) + "/"
	for _, s := range f.templates {
		content, warnings, err := w.Render(s.template, data)
		a.warnings = append(a.warnings, warnings...)
		if err != nil {
			problem := renderProblem(a, err)
			return &problem
		}
		a.Files = append(a.Files, newFile(folder+s.file, content))
	}
	sortFiles(a.Files)
	return nil
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

// foreign says which file of somebody else lies where one of ours has to go; nil when there is none.
func (f *folderBuild) foreign(a *Assignment, published *Assignment) *fleet.Problem {
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
		return &fleet.Problem{
			Severity: fleet.SeverityError, Kind: fleet.KindFileConflict,
			Position:   fleet.Position{Source: "gitops", File: file.Path},
			Assignment: a.Name(),
			Message:    "the GitOps branch has a file of this name that Kalypso did not write",
			Hint:       "delete or rename it there",
		}
	}
	return nil
}

// sources notes for each rendered assignment the set of objects it was made from. Most assignments share one set:
// configurations of the same layers have the same list of them, which is known by where it lies.
func (f *folderBuild) sources() {
	sets := map[*string]*Sources{}
	for i := range f.result.Assignments {
		a := &f.result.Assignments[i]
		if a.Held != nil {
			continue
		}
		var layers *string
		if len(a.Config.Layers) > 0 {
			layers = &a.Config.Layers[0]
		}
		if sets[layers] == nil {
			sets[layers] = f.sourcesOf(a.Config)
		}
		a.Sources = sets[layers]
	}
}

// sourcesOf returns the set of objects that a configuration and the templates of the cluster type stand for.
func (f *folderBuild) sourcesOf(composed *config.Composed) *Sources {
	refs := make([]fleet.Ref, 0, len(composed.Layers)+len(f.templates))
	for _, layer := range composed.Layers {
		refs = append(refs, configRef(layer))
	}
	for _, s := range f.templates {
		refs = append(refs, templateRef(s.template.Name()))
	}
	return newSources(refs)
}

// finish decides about what is published and not wanted, and writes the README and the inventory.
func (f *folderBuild) finish() {
	if f.reused {
		return
	}
	f.sources()
	f.unwanted()
	r := f.result
	for _, p := range f.problems {
		r.problems = append(r.problems, p...)
	}
	r.problems = fleet.SortProblems(r.problems)
	f.gone = f.clusterType == nil && len(r.Assignments) == 0 && !f.withheld()
	if f.gone {
		return
	}
	r.Readme = readme(f.root, f.snapshot.Environment, r.ClusterType)
	if f.published != nil {
		r.recorded = f.published.recorded
	}
	r.Inventory = newFile(inventoryPath(f.root, r.ClusterType), encodeInventory(r))
	r.recorded = nil
}

// unwanted sorts the published assignments that nobody wants into those that are removed and those that are held.
func (f *folderBuild) unwanted() {
	if f.published == nil {
		return
	}
	var kept []Assignment
	for i := range f.published.Assignments {
		before := &f.published.Assignments[i]
		if _, wanted := f.result.Assignment(before.Target); wanted {
			continue
		}
		if reason := f.lost.removal(before); reason != nil {
			a := *before
			a.Held = reason
			kept = append(kept, a)
			continue
		}
		f.result.removed = append(f.result.removed, *before)
	}
	f.result.Assignments = mergeAssignments(f.result.Assignments, kept)
}

// withheld reports whether a folder without a cluster type has to stay because nobody knows whether it is gone.
func (f *folderBuild) withheld() bool {
	_, unreadable := f.lost.refs[fleet.Ref{Kind: "ClusterType", Name: f.result.ClusterType}]
	return unreadable || f.lost.file != nil
}

// mergeAssignments merges two lists without common targets, sorted by target.
func mergeAssignments(a, b []Assignment) []Assignment {
	if len(b) == 0 {
		return a
	}
	merged := slices.Concat(a, b)
	slices.SortFunc(merged, func(x, y Assignment) int {
		if x.Target < y.Target {
			return -1
		}
		return 1
	})
	return merged
}
