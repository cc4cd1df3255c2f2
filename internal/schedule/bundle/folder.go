package bundle

import (
	"cmp"
	"path"
	"slices"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/config"
)

// Folder is the content of the GitOps branch for a cluster type, or for a cluster with values of its own. It is immutable and may be
// shared between bundles.
type Folder struct {
	// Name is its path below the root: that of the cluster type, or [fleet.ClusterFolder].
	Name string
	// ClusterType is the cluster type, also of a cluster. It is empty if a published inventory does not name it.
	ClusterType string
	// Cluster is the cluster whose folder it is; empty for a cluster type.
	Cluster string
	// Assignments are sorted by target.
	Assignments []Assignment
	// Readme and Inventory describe the folder. In a published folder, the path of a missing file is empty.
	Readme, Inventory File

	// problems are the problems of rendering this folder.
	problems []fleet.Problem
	// removed are the published assignments that this folder no longer has.
	removed []Assignment
	// held is the first assignment that is held; nil if none is, and in a published folder.
	held *Assignment
	// inputs are what the folder was built from.
	inputs inputs
	// adopted marks a published folder without an inventory, so that it is not known what its files depend on.
	adopted bool
	// drifted are the hashes in the published inventory of files that were changed by hand, by path.
	drifted map[string]Hash
	// drift lists these files, and those that were deleted. environment is that of the published inventory.
	drift       []Drift
	environment string
	// added are the files that clusters may apply and that the inventory does not list.
	added []string
}

// Assignment is one target on one cluster type, or on one cluster with values of its own, with its files.
type Assignment struct {
	ClusterType string
	// Cluster is the cluster that has values of its own; empty for those that share the folder of the cluster type.
	Cluster string
	// Target is the name of the deployment target, which is the name of the folder.
	Target string
	// Workload and Workspace are empty for a published assignment without an inventory.
	Workload, Workspace string
	// Registration is the WorkloadRegistration that the target comes from; may be empty.
	Registration string
	// Policies are the names of the policies that select the pair, sorted.
	Policies []string
	// Sources are the objects that the contents were made from, in addition to the target and the cluster type:
	// layers, schemas and templates, sorted.
	Sources *Sources
	// Config is the composed platform configuration, also of a held assignment; nil if there is none, or it is unknown.
	Config *config.Composed
	// Files are sorted by path. Held assignments that were never published have none.
	Files []File
	// Held explains why the assignment keeps its published files; nil if it was rendered.
	Held *fleet.Problem

	// approvable means that it is held because a user has not approved what would be removed, see [Options.Approved].
	approvable bool
	// needs are the dependencies that the files were written with, as "<workload>" or "<workload>/<target>", sorted.
	needs []string
	// warnings are the warnings from rendering the files.
	warnings []fleet.Problem
	// digest identifies the inputs of the rendered files; zero for a held assignment.
	digest fleet.Digest
}

// Sources is a set of objects that several assignments are made from. It is shared and immutable.
type Sources struct {
	// list returns the objects in any order, also repeatedly. They are listed when they are needed, because a fleet has many sets.
	list func() []fleet.Ref
	// id identifies the set within an inventory: a short digest of the references.
	id string
}

// Refs returns the objects, sorted.
func (s *Sources) Refs() []fleet.Ref {
	refs := s.list()
	slices.SortFunc(refs, func(a, b fleet.Ref) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(refs)
}

// Name returns "<folder>/<target>", the name of the assignment in problems.
func (a *Assignment) Name() string { return a.Folder() + "/" + a.Target }

// Folder returns the name of the folder that the assignment is in.
func (a *Assignment) Folder() string {
	if a.Cluster != "" {
		return fleet.ClusterFolder(a.Cluster)
	}
	return a.ClusterType
}

func (a *Assignment) owner() fleet.Owner {
	return fleet.Owner{Workspace: a.Workspace, Registration: a.Registration, Workload: a.Workload}
}

// File returns the file with the given name in the assignment's folder.
func (a *Assignment) File(name string) (File, bool) {
	for _, f := range a.Files {
		if f.Name() == name {
			return f, true
		}
	}
	return File{}, false
}

// Assignment returns the assignment of a target.
func (f *Folder) Assignment(target string) (*Assignment, bool) {
	if f == nil {
		return nil, false
	}
	i, ok := slices.BinarySearchFunc(f.Assignments, target, func(a Assignment, name string) int {
		return cmp.Compare(a.Target, name)
	})
	if !ok {
		return nil, false
	}
	return &f.Assignments[i], true
}

// files calls yield for every file of the folder, inventory included.
func (f *Folder) files(yield func(File) bool) bool {
	for _, file := range []File{f.Readme, f.Inventory} {
		if file.Path != "" && !yield(file) {
			return false
		}
	}
	for i := range f.Assignments {
		for _, file := range f.Assignments[i].Files {
			if !yield(file) {
				return false
			}
		}
	}
	return true
}

// findFolder returns the folder with a name in a sorted list, or nil.
func findFolder(folders []*Folder, name string) *Folder {
	i, ok := slices.BinarySearchFunc(folders, name, func(f *Folder, name string) int { return cmp.Compare(f.Name, name) })
	if !ok {
		return nil
	}
	return folders[i]
}

// readmePath returns the path of the README of a folder.
func readmePath(root, folder string) string { return path.Join(root, folder, readmeName) }

func inventoryPath(root, folder string) string {
	return path.Join(root, inventoryFolder, folder+".json")
}
