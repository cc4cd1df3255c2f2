package bundle

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/config"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
	"github.com/kalypso-io/kalypso/internal/schedule/render"
)

// Bundle is what the GitOps branch of an environment should hold. It is immutable.
type Bundle struct {
	Environment string
	// Snapshot is what the bundle was built from.
	Snapshot *fleet.Snapshot
	// Decisions explain the assignments.
	Decisions *placement.Decisions
	// Folders are the folders of all cluster types, and of clusters with values of their own, including held ones, sorted by name.
	Folders []*Folder
	// Removed are the published assignments that are no longer wanted, sorted by cluster type and target.
	Removed []Assignment
	// Tracking is the file with the promoted commit. Its path is empty if main's head is used.
	Tracking File
	// Answers are the files with the answers of external schedulers, sorted.
	Answers []File
	// Rings are those that the files have; nil if there are none, or they are not known.
	Rings *Rings
	// RingFiles are the files of the rings, sorted.
	RingFiles []File
	// Problems are the problems of the snapshot and those of scheduling, configuring and rendering, sorted.
	Problems []fleet.Problem

	published *Published
	// unchanged are the folders that have exactly the files of published ones, which are the values.
	unchanged map[*Folder]*Folder

	settled []fleet.Digest // of the inputs of the folders that were not built, see [Options.Settled]

	// For the next build.
	workload string // the only one whose assignments were built, or empty
	library  *render.Library
	composer *config.Composer
	clusters []clusterMemo // by name
}

// Build schedules, configures and renders a snapshot.
//
// published is what the branch holds now; nil means nothing. previous is an earlier bundle of the same environment,
// or nil: results whose inputs have not changed are reused. The result does not depend on previous.
//
// It renders no charts, and asks no external schedulers: what depends on them is held. See [BuildWith].
func Build(s *fleet.Snapshot, published *Published, previous *Bundle) *Bundle {
	return BuildWith(s, published, previous, Options{})
}

// Options are what a bundle depends on besides the snapshot and what is published.
type Options struct {
	// Charts renders templates that are charts. Its jobs are run one after the other. Nil holds what depends on charts.
	Charts render.Charts
	// Standing has the assignments that decisions prefer. Default: the published ones.
	Standing Standing
	// Answers are those of external schedulers and extenders, by policy.
	Answers map[string]placement.Answer
	// Recorded are the same answers, to be recorded, for the policies whose questions were all answered.
	Recorded map[string][]Answer
	// Problems are those of asking.
	Problems []fleet.Problem
	// Decisions are used instead of deciding, if they are known already. Standing and Answers are ignored then.
	Decisions *placement.Decisions
	// Approved means that a user approved removals: nothing stays only because others need it, or because its removal may be a mistake.
	Approved bool
	// Workload restricts the build to the assignments of one workload. Default: all.
	Workload string
	// Settled reports whether an earlier build of the same program has returned the digest of a folder's inputs with [Bundle.Settled]. Such a folder
	// is not built: it is the published one, without the configuration of its assignments. Default: none has.
	Settled func(fleet.Digest) bool
}

// Standing has assignments that decisions prefer.
type Standing interface {
	// Standing yields the assignments with the policies that selected them.
	Standing(yield func(placement.Pair, []string) bool)
	// Assignment returns the assignment of a target to a cluster type.
	Assignment(clusterType, target string) (*Assignment, bool)
}

// StaysOf returns what reports whether an assignment stays even if nothing wants it any more, because something in the
// snapshot cannot be read; nil if none does.
func StaysOf(s *fleet.Snapshot, standing Standing) func(placement.Pair) bool {
	l := newLost(s)
	return l.stays(standing)
}

// BuildWith is [Build] for snapshots with charts and external schedulers.
func BuildWith(s *fleet.Snapshot, published *Published, previous *Bundle, o Options) *Bundle {
	if o.Charts == nil {
		o.Charts = render.NoCharts
	}
	if o.Standing == nil {
		o.Standing = published
	}
	if previous == nil {
		previous = &Bundle{}
	}
	b := newBuilder(s, published, previous, o)
	folders := b.prepareAll(previous)
	b.renderAll(folders)
	b.renderCharts(folders)
	parallel(len(folders), func(_ int, i int) { folders[i].finish() })
	b.postpone(folders)
	result := b.bundle(folders)
	result.findUnchanged(previous)
	return result
}

// builder holds what the folders of one build share.
type builder struct {
	snapshot  *fleet.Snapshot
	published *Published
	decisions *placement.Decisions
	composer  *config.Composer
	library   *render.Library
	charts    render.Charts
	options   Options
	lost      lost
	mistyped  *mistyped
	root      string
	clusters  []clusterMemo
	problems  []fleet.Problem
}

func newBuilder(s *fleet.Snapshot, published *Published, previous *Bundle, o Options) *builder {
	b := &builder{snapshot: s, published: published, lost: newLost(s), mistyped: newMistyped(s), charts: o.Charts, options: o, decisions: o.Decisions}
	if s.GitOps != nil {
		b.root = s.GitOps.Path
	}
	var configuring, rendering []fleet.Problem
	if b.decisions == nil {
		b.decisions = placement.Decide(s, placement.Options{Published: o.Standing.Standing, Stays: b.lost.stays(o.Standing), Answers: o.Answers, Previous: previous.Decisions})
	}
	b.composer, configuring = previous.composer.Next(s)
	b.library, rendering = render.NewLibrary(s, previous.library)
	rendering = append(rendering, b.library.LoadCharts(o.Charts)...)
	b.problems = slices.Concat(s.Problems, o.Problems, b.decisions.Unused(), b.decisions.Problems(), configuring, rendering)
	if published != nil {
		b.problems = slices.Concat(b.problems, published.Problems, published.leftBehind(s.Environment))
	}
	return b
}

// prepareAll prepares the folders of the cluster types and clusters, and those that are published, sorted by name.
func (b *builder) prepareAll(previous *Bundle) []*folderBuild {
	types := make([]*folderBuild, len(b.snapshot.ClusterTypes))
	parallel(len(types), func(_, i int) {
		ct := b.snapshot.ClusterTypes[i]
		types[i] = b.prepare(place{name: ct.Name, clusterType: ct}, previous)
	})
	clusters := make([]*folderBuild, len(b.snapshot.Clusters))
	b.clusters = make([]clusterMemo, len(clusters))
	parallel(len(clusters), func(_, i int) {
		if p, own := b.placeOf(i, types, previous); own {
			clusters[i] = b.prepare(p, previous)
		}
	})
	at, _ := findBuild(types, fleet.ClusterFolder(""))
	wanted := slices.Insert(types, at, slices.DeleteFunc(clusters, func(f *folderBuild) bool { return f == nil })...)
	folders := wanted
	if b.published != nil {
		for _, f := range b.published.Folders {
			if _, ok := findBuild(wanted, f.Name); !ok {
				folders = append(folders, b.prepare(place{name: f.Name}, previous))
			}
		}
	}
	if len(folders) > len(wanted) {
		slices.SortFunc(folders, func(x, y *folderBuild) int { return cmp.Compare(x.result.Name, y.result.Name) })
	}
	return folders
}

// findBuild returns the index of the folder with a name in a sorted list, or where it would be.
func findBuild(folders []*folderBuild, name string) (int, bool) {
	return slices.BinarySearchFunc(folders, name, func(f *folderBuild, name string) int { return cmp.Compare(f.result.Name, name) })
}

// worker renders assignments, and keeps their files.
type worker struct {
	*render.Worker
	files packer
}

// renderAll renders the assignments of all folders on all cores, in slices small enough to keep every core busy.
func (b *builder) renderAll(folders []*folderBuild) {
	const slice = 64
	type span struct {
		folder   *folderBuild
		from, to int
	}
	var spans []span
	for _, f := range folders {
		for from := 0; from < len(f.wanted); from += slice {
			spans = append(spans, span{f, from, min(from+slice, len(f.wanted))})
		}
	}
	workers := make([]*worker, cores())
	parallel(len(spans), func(core, i int) {
		if workers[core] == nil {
			workers[core] = &worker{Worker: b.library.Worker()}
		}
		for n := spans[i].from; n < spans[i].to; n++ {
			spans[i].folder.assignment(workers[core], n)
		}
		workers[core].files.pack()
		spans[i].folder.rendered(spans[i].to - spans[i].from)
	})
}

// renderCharts renders the assignments that wait for charts, with one job for each template.
func (b *builder) renderCharts(folders []*folderBuild) {
	wanted := map[*render.Template][]*render.Data{}
	var templates []*render.Template // in order
	for _, f := range folders {
		if len(f.waiting) == 0 {
			continue
		}
		for _, s := range f.templates {
			if s.template == nil || !s.template.HasChart() {
				continue
			}
			if wanted[s.template] == nil {
				templates = append(templates, s.template)
			}
			for _, n := range slices.Sorted(maps.Keys(f.waiting)) {
				wanted[s.template] = append(wanted[s.template], &f.waiting[n].data)
			}
		}
	}
	rendered := render.RenderedCharts{}
	for _, t := range templates {
		if data := wanted[t]; len(data) > 0 {
			rendered.Add(b.charts, t, data)
		}
	}
	parallel(len(folders), func(_, i int) {
		f := folders[i]
		if len(f.waiting) == 0 {
			return
		}
		w := &worker{Worker: b.library.Worker()}
		w.UseCharts(rendered)
		for n, step := range f.waiting {
			f.complete(step, w)
			for _, s := range f.templates {
				f.notes[n].unsettled = f.notes[n].unsettled || rendered.Unsettled(s.template, &step.data)
			}
		}
		w.files.pack()
	})
}

// bundle combines the finished folders.
func (b *builder) bundle(folders []*folderBuild) *Bundle {
	result := &Bundle{
		Environment: b.snapshot.Environment,
		Snapshot:    b.snapshot,
		Decisions:   b.decisions,
		Tracking:    b.tracking(),
		published:   b.published,
		workload:    b.options.Workload,
		library:     b.library,
		composer:    b.composer,
		clusters:    b.clusters,
	}
	b.recordAnswers(result)
	var problems []fleet.Problem
	for _, f := range folders {
		if !f.gone {
			result.Folders = append(result.Folders, f.result)
		}
		if f.settled != (fleet.Digest{}) {
			result.settled = append(result.settled, f.settled)
		}
		result.Removed = append(result.Removed, f.result.removed...)
		problems = append(problems, f.result.problems...)
	}
	b.addRings(result)
	problems = append(problems, b.problems...)
	result.Problems = fleet.SortProblems(append(problems, namespaceCollisions(b.snapshot, b.decisions)...))
	return result
}

// tracking returns the file with the promoted commit. A file that only lacks the newline, as written by the original
// scheduler, is kept.
func (b *builder) tracking() File {
	commit := b.snapshot.PromotedCommit
	if commit == "" {
		return File{}
	}
	at := TrackingPath
	if b.published != nil {
		at = b.published.tracking
		if b.published.Promoted == commit || len(b.published.owners) > 0 && b.published.Promoted != "" {
			hash, _ := b.published.Hash(at)
			return File{Path: at, Hash: hash}
		}
	}
	return NewFile(at, []byte(commit+"\n"))
}

// Files calls yield for each of our files that the branch should hold, folder by folder, until yield returns false.
func (b *Bundle) Files(yield func(File) bool) { b.filesWithout(nil, yield) }

// filesWithout is Files without those of some folders.
func (b *Bundle) filesWithout(folders map[*Folder]*Folder, yield func(File) bool) {
	if b.Tracking.Path != "" && !yield(b.Tracking) {
		return
	}
	for _, f := range b.Answers {
		if !yield(f) {
			return
		}
	}
	for _, f := range b.RingFiles {
		if !yield(f) {
			return
		}
	}
	for _, f := range b.Folders {
		if folders[f] == nil && !f.files(yield) {
			return
		}
	}
}

// Published returns what the branch held when the bundle was built; may be nil.
func (b *Bundle) Published() *Published { return b.published }

// Count returns the number of assignments, including held ones.
func (b *Bundle) Count() int {
	n := 0
	for _, f := range b.Folders {
		n += len(f.Assignments)
	}
	return n
}

// Approvable reports whether something is held that a build with [Options.Approved] would remove.
func (b *Bundle) Approvable() bool {
	return slices.ContainsFunc(b.Folders, func(f *Folder) bool {
		return slices.ContainsFunc(f.Assignments, func(a Assignment) bool { return a.approvable })
	})
}

// Assignment returns the assignment of a target in a folder: that of a cluster type, or [fleet.ClusterFolder].
func (b *Bundle) Assignment(folder, target string) (*Assignment, bool) {
	return findFolder(b.Folders, folder).Assignment(target)
}

// Folder returns the folder with a name, or nil.
func (b *Bundle) Folder(name string) *Folder { return findFolder(b.Folders, name) }

// Change is a file to write or delete.
type Change struct {
	Path string
	// Content is the new content; nil deletes the file.
	Content []byte
	// Old is the blob ID of the published file; zero for a new file.
	Old Hash
}

// Standing yields the assignments of the bundle, as if it were published.
func (b *Bundle) Standing(yield func(placement.Pair, []string) bool) { standing(b.Folders, yield) }

// standing yields the assignments of cluster types. Clusters with folders of their own have those of their types.
func standing(folders []*Folder, yield func(placement.Pair, []string) bool) {
	for _, f := range folders {
		if f.Cluster != "" {
			continue
		}
		for i := range f.Assignments {
			a := &f.Assignments[i]
			if !yield(placement.Pair{Target: a.Target, ClusterType: a.ClusterType}, a.Policies) {
				return
			}
		}
	}
}

// Written yields the files that are new or different from the published ones, folder by folder.
func (b *Bundle) Written(yield func(File) bool) {
	b.filesWithout(b.unchanged, func(f File) bool {
		old, _ := b.published.Hash(f.Path)
		return !f.Written() || old == f.Hash || yield(f)
	})
}

// Changes returns the changes that turn the published branch into the bundle, sorted by path.
func (b *Bundle) Changes() []Change {
	var changes []Change
	for f := range b.Written {
		old, _ := b.published.Hash(f.Path)
		changes = append(changes, Change{Path: f.Path, Content: f.Content(), Old: old})
	}
	if stale := b.published.staleTracking(); stale.Path != "" && b.Tracking.Path != "" {
		changes = append(changes, Change{Path: stale.Path, Old: stale.Hash})
	}
	changes = append(changes, b.deletedAnswers()...)
	changes = append(changes, b.deletedRings()...)
	if b.published != nil {
		for _, f := range b.published.Folders {
			if wanted := findFolder(b.Folders, f.Name); wanted == nil || b.unchanged[wanted] != f {
				changes = append(changes, deletions(f, wanted)...)
			}
		}
	}
	slices.SortFunc(changes, func(x, y Change) int { return cmp.Compare(x.Path, y.Path) })
	return changes
}

// WrittenSince returns the files of b, by path, that are new or different compared to an earlier bundle of the
// environment. It skips folders that both bundles share.
func (b *Bundle) WrittenSince(earlier *Bundle) map[string][]byte {
	written := map[string][]byte{}
	add := func(f File) bool {
		if f.Written() {
			written[f.Path] = f.Content()
		}
		return true
	}
	if b.Tracking.Hash != earlier.Tracking.Hash {
		add(b.Tracking)
	}
	for _, now := range b.Folders {
		was := findFolder(earlier.Folders, now.Name)
		if was == now {
			continue
		}
		now.files(add)
		if was != nil {
			was.files(func(f File) bool {
				if content, both := written[f.Path]; both && HashOf(content) == f.Hash {
					delete(written, f.Path)
				}
				return true
			})
		}
	}
	return written
}

// deletions returns the published files of a folder that the wanted folder, which may be nil, does not have.
func deletions(published, wanted *Folder) []Change {
	keep := map[string]bool{}
	if wanted != nil {
		wanted.files(func(f File) bool { keep[f.Path] = true; return true })
	}
	var changes []Change
	published.files(func(f File) bool {
		if !keep[f.Path] {
			changes = append(changes, Change{Path: f.Path, Old: f.Hash})
		}
		return true
	})
	return changes
}

func readme(root, environment string, f *Folder) File {
	title, where := f.ClusterType, "clusters of type `"+f.ClusterType+"`"
	if f.Cluster != "" {
		title, where = f.Cluster, "cluster `"+f.Cluster+"`, which has values of its own,"
	}
	text := "# " + title + "\n\n" +
		"What runs on " + where + " in the environment `" + environment + "`: one folder per deployment target.\n\n" +
		"These files are generated by Kalypso from the control plane. Change them there; a change made here is undone.\n"
	return NewFile(readmePath(root, f.Name), []byte(text))
}
