package tree

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// Wanted is what a workload's branch should hold in an environment.
type Wanted struct {
	// Workload and Environment are names. Required.
	Workload, Environment string
	// Root is the folder to write to. Default: the root of the repository.
	Root string
	// Targets are those of the environment, in any order.
	Targets []Target
	// Only names the targets to write; all others stay as published. Nil writes all.
	Only map[string]bool
	// Held are targets that stay as published, also those that are not in Targets any more, with the reason.
	Held map[string]fleet.Problem
	// Requests say who asked for pins or for their end, by target. Targets that are not in it keep the request that is published.
	Requests map[string]Request
	// Tracking is the content of the tracking files.
	Tracking Tracking
	// Build is what the targets that are not pinned are rendered from. It is recorded if a target is pinned.
	Build Tracking
	// Withhold means that something could not be read that may define more targets. No target is removed then.
	Withhold bool
}

// Target is one target that was rendered, or failed to render.
type Target struct {
	// Name is the name of the target in the Workload. Required.
	Name string
	// Folder is the folder of its manifests, below Root. Default: the name.
	Folder string
	// Chart is the chart that was rendered; zero for targets without one.
	Chart Origin
	// Descriptor is completed with the images and the chart. Nil writes none.
	Descriptor *hub.DeploymentDescriptor
	// Rendered holds the manifests, or the problems that prevented them. Not used for a target that is pinned.
	Rendered chart.Rendered
	// Pin pins the target; zero if it is not pinned. Kept are then the files of its revision, or PinProblem why they cannot be read.
	Pin        Pin
	Kept       []bundle.File
	PinProblem error
}

// Origin identifies a chart that was rendered, for the records.
type Origin struct {
	Name, Version string
	// Digest identifies the content.
	Digest string
}

// Tracking is the content of the tracking files. A file whose content is unknown stays as published.
type Tracking struct {
	// Commit is the commit of the source.
	Commit string
	// Version is the human-readable version.
	Version string
	// ImageTag is the tag of the image that was built.
	ImageTag string
}

// Paths of the tracking files.
const (
	TrackingCommit   = bundle.TrackingPath
	TrackingVersion  = ".github/tracking/Version"
	TrackingImageTag = ".github/tracking/Image_tag"
)

// Tree is what the branch should hold. It is immutable.
type Tree struct {
	// Targets are those with files on the branch, and those that would
	// have files if they were not held, sorted by name.
	Targets []Entry
	// Removed are the published targets that are no longer wanted, sorted by name.
	Removed []Entry
	// Problems are those of all targets, sorted. Their Assignment is the target.
	Problems []fleet.Problem

	wanted    Wanted
	published *Published
	// others are the files that belong to no target: inventory and tracking files.
	others []bundle.File
}

// Entry is one target with its files.
type Entry struct {
	Name, Folder string
	// Files are sorted by path. Files that stay as published have no content.
	Files []bundle.File
	// Held explains why the target keeps its published files; nil if it was rendered.
	Held *fleet.Problem
	// Pin is set for a pinned target.
	Pin Pin
	// Objects and Images are those of the manifests; empty for a held target. A pinned target has the images if its files change, and no objects.
	Objects []chart.Object
	Images  []string
}

// File names of a target.
const (
	manifestsName     = "manifests.yaml"
	kustomizationName = "kustomization.yaml"
	descriptorName    = "descriptor.yaml"
	valuesName        = "values.yaml"
	// legacyName is the file that the original scheduler's pipelines wrote.
	legacyName = "gen_manifests.yaml"
	ownFolder  = ".kalypso"
)

// Build builds the tree. published is what the branch holds; nil means nothing.
func Build(w Wanted, published *Published) *Tree {
	t := &Tree{wanted: w, published: published}
	targets := slices.Clone(w.Targets)
	slices.SortFunc(targets, func(a, b Target) int { return cmp.Compare(a.Name, b.Name) })
	collisions := collide(targets)
	for _, target := range targets {
		if w.keeps(target.Name) {
			t.keep(target.Name)
		} else {
			t.add(target, collisions[target.Name])
		}
	}
	t.remove()
	t.settle()
	slices.SortFunc(t.Targets, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	t.others = append(t.tracking(), t.inventory())
	t.Problems = fleet.SortProblems(append(t.Problems, published.problems()...))
	return t
}

// add adds a target with its files, or with its published files if it is held.
func (t *Tree) add(target Target, collision *fleet.Problem) {
	if slices.ContainsFunc(t.Targets, func(e Entry) bool { return e.Name == target.Name }) {
		return // a collision, reported with the first of them
	}
	e := Entry{Name: target.Name, Folder: folderOf(target), Pin: target.Pin}
	problems := slices.Clone(target.Rendered.Problems)
	contents := contents
	if !target.Pin.IsZero() {
		problems, contents = nil, pinnedFiles
	}
	if collision != nil {
		problems = append(problems, *collision)
	}
	if held, ok := t.wanted.Held[target.Name]; ok {
		problems = append(problems, held)
	}
	if target.PinProblem != nil {
		problems = append(problems, fleet.Problem{
			Severity: fleet.SeverityError, Kind: fleet.KindHeld, Message: target.PinProblem.Error(), Hint: "deploy the target, or roll it back to another revision",
		})
	}
	var files []bundle.File
	if target.Pin.IsZero() && target.Rendered.Manifests == nil && !slices.ContainsFunc(problems, isError) {
		problems = append(problems, fleet.Problem{Severity: fleet.SeverityError, Kind: fleet.KindHeld, Message: "it was not rendered"})
	}
	if !slices.ContainsFunc(problems, isError) {
		var err error
		if files, err = contents(t.wanted.Root, e.Folder, target); err != nil {
			problems = append(problems, fleet.Problem{Severity: fleet.SeverityError, Kind: fleet.KindHeld, Message: err.Error()})
		}
		problems = append(problems, t.inTheWay(files)...)
	}
	if i := slices.IndexFunc(problems, isError); i >= 0 {
		e.Held = &problems[i]
		now, _ := t.published.target(target.Name)
		e.Files, e.Pin = now.Files, now.Pin
	} else {
		e.Files = files
		if target.Pin.IsZero() {
			e.Objects, e.Images = target.Rendered.Manifests.Objects, target.Rendered.Manifests.Images
		} else {
			e.Images = pinnedImages(files)
		}
	}
	for i := range problems {
		problems[i].Assignment = target.Name
	}
	t.Problems = append(t.Problems, problems...)
	t.Targets = append(t.Targets, e)
}

func isError(p fleet.Problem) bool { return p.Severity == fleet.SeverityError }

func folderOf(t Target) string { return cmp.Or(t.Folder, t.Name) }

// contents returns the files of a rendered target, sorted by path.
func contents(root, folder string, t Target) ([]bundle.File, error) {
	at := path.Join(root, folder)
	own := path.Join(root, ownFolder, t.Name)
	files := []bundle.File{
		file(path.Join(at, manifestsName), t.Rendered.Manifests.Content),
		file(path.Join(at, kustomizationName), kustomization(t.Rendered.Manifests)),
	}
	if len(t.Rendered.Values) > 0 {
		files = append(files, file(path.Join(own, valuesName), t.Rendered.Values))
	}
	if t.Descriptor != nil {
		text, err := describe(t)
		if err != nil {
			return nil, fmt.Errorf("write descriptor: %w", err)
		}
		files = append(files, file(path.Join(own, descriptorName), text))
	}
	slices.SortFunc(files, func(a, b bundle.File) int { return cmp.Compare(a.Path, b.Path) })
	return files, nil
}

func file(at string, content []byte) bundle.File {
	return bundle.NewFile(at, content)
}

// kustomization returns the kustomization that lists the manifests. kustomize rejects manifest files without objects.
func kustomization(m *chart.Manifests) []byte {
	text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:"
	if len(m.Objects) == 0 {
		return []byte(text + " []\n")
	}
	return []byte(text + "\n  - " + manifestsName + "\n")
}

// collide finds targets with the same name, invalid folders, and folders of a target that equal or contain that of
// another one. Reconcilers apply a folder with everything below it.
func collide(targets []Target) map[string]*fleet.Problem {
	found := map[string]*fleet.Problem{}
	problem := func(t Target, message string) {
		found[t.Name] = &fleet.Problem{
			Severity: fleet.SeverityError, Kind: fleet.KindFileConflict, Message: message,
			Hint: "give each target its own folder; they stay as published",
		}
	}
	for i, a := range targets {
		if err := checkFolder(a); err != nil {
			problem(a, err.Error())
			continue
		}
		for _, b := range targets[i+1:] {
			x, y := folderOf(a), folderOf(b)
			if a.Name == b.Name || x == y || strings.HasPrefix(x, y+"/") || strings.HasPrefix(y, x+"/") {
				message := fmt.Sprintf("the targets %q and %q are both written to %q", a.Name, b.Name, min(x, y))
				problem(a, message)
				problem(b, message)
			}
		}
	}
	return found
}

// checkFolder rejects names and folders outside the root, and those that Kalypso or forges use.
func checkFolder(t Target) error {
	folder := folderOf(t)
	clean, err := fleet.CleanPath(folder)
	if err != nil {
		return fmt.Errorf("the folder %q: %w", folder, err)
	}
	first, _, _ := strings.Cut(clean, "/")
	if clean == "" || clean != folder || strings.HasPrefix(first, ".") {
		return fmt.Errorf("the folder %q is not one that a target can have", folder)
	}
	if t.Name == "" || strings.ContainsAny(t.Name, "/\\\x00") || t.Name == "deliveries" || strings.HasPrefix(t.Name, ".") {
		return fmt.Errorf("%q is not a name that a target can have", t.Name)
	}
	return nil
}

// inTheWay returns a problem if a path of a target's files is blocked by something that is not ours.
func (t *Tree) inTheWay(files []bundle.File) []fleet.Problem {
	for _, f := range files {
		if at, what := t.published.obstacle(f.Path); at != "" {
			return []fleet.Problem{{
				Severity: fleet.SeverityError, Kind: fleet.KindFileConflict, Position: fleet.Position{Source: "gitops", File: at},
				Message: fmt.Sprintf("%q is in the way: %s", at, what), Hint: "move it, or give the target another folder",
			}}
		}
	}
	return nil
}

// remove moves the published targets that are no longer wanted to Removed.
func (t *Tree) remove() {
	if t.published == nil {
		return
	}
	for _, p := range t.published.Targets {
		if slices.ContainsFunc(t.wanted.Targets, func(w Target) bool { return w.Name == p.Name }) {
			continue
		}
		if t.wanted.keeps(p.Name) {
			t.keep(p.Name)
			continue
		}
		e := Entry{Name: p.Name, Folder: p.Folder, Files: p.Files, Pin: p.Pin}
		if held, ok := t.wanted.Held[p.Name]; ok {
			held.Assignment = p.Name
			e.Held = &held
			t.Problems, t.Targets = append(t.Problems, held), append(t.Targets, e)
			continue
		}
		if t.wanted.Withhold {
			e.Held = &fleet.Problem{
				Severity: fleet.SeverityWarning, Kind: fleet.KindHeld, Assignment: p.Name,
				Message: "it is not removed, because something that may name it cannot be read", Hint: "correct what cannot be read",
			}
			t.Problems = append(t.Problems, *e.Held)
			t.Targets = append(t.Targets, e)
			continue
		}
		t.Removed = append(t.Removed, e)
	}
}

// settle holds targets whose files would overwrite those of a held target, until there are no more.
func (t *Tree) settle() {
	for again := true; again; {
		again = false
		kept := map[string]string{}
		for _, e := range t.Targets {
			for _, f := range e.Files {
				if e.Held != nil {
					kept[f.Path] = e.Name
				}
			}
		}
		for i, e := range t.Targets {
			for _, f := range e.Files {
				if owner, taken := kept[f.Path]; taken && e.Held == nil && owner != e.Name {
					t.hold(i, fmt.Sprintf("the targets %q and %q are both written to %q: the latter is held there", e.Name, owner, path.Dir(f.Path)))
					again = true
					break
				}
			}
		}
	}
}

// hold replaces a target's files with its published ones.
func (t *Tree) hold(i int, message string) {
	e := &t.Targets[i]
	e.Held = &fleet.Problem{
		Severity: fleet.SeverityError, Kind: fleet.KindFileConflict, Assignment: e.Name, Message: message,
		Hint: "correct the target that is held",
	}
	e.Files, e.Objects, e.Images = t.published.filesOf(e.Name), nil, nil
	t.Problems = append(t.Problems, *e.Held)
}

// Files returns all our files that the branch should hold, sorted by path.
func (t *Tree) Files() []bundle.File {
	files := slices.Clone(t.others)
	for _, e := range t.Targets {
		files = append(files, e.Files...)
	}
	slices.SortFunc(files, func(a, b bundle.File) int { return cmp.Compare(a.Path, b.Path) })
	return files
}

// Changes returns the changes to the branch, sorted by path.
func (t *Tree) Changes() []bundle.Change {
	changes := map[string]bundle.Change{}
	wanted := map[string]bool{}
	for _, f := range t.Files() {
		wanted[f.Path] = true
		if old, there := t.published.hash(f.Path); f.Written() && (!there || old != f.Hash) {
			changes[f.Path] = bundle.Change{Path: f.Path, Content: f.Content(), Old: old}
		}
	}
	for _, at := range t.published.owned() {
		if old, there := t.published.hash(at); there && !wanted[at] {
			changes[at] = bundle.Change{Path: at, Old: old}
		}
	}
	return slices.SortedFunc(maps.Values(changes), func(a, b bundle.Change) int { return cmp.Compare(a.Path, b.Path) })
}

// tracking returns the tracking files. Those with unknown content stay as published.
func (t *Tree) tracking() []bundle.File {
	var files []bundle.File
	for _, f := range []struct{ at, text string }{
		{TrackingCommit, t.wanted.Tracking.Commit},
		{TrackingVersion, t.wanted.Tracking.Version},
		{TrackingImageTag, t.wanted.Tracking.ImageTag},
	} {
		if f.text != "" {
			files = append(files, file(f.at, []byte(f.text+"\n")))
		}
	}
	return files
}
