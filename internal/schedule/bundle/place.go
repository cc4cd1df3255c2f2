package bundle

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/config"
)

// place is a folder that can be built: that of a cluster type, of a cluster with values of its own, or one that is only published.
type place struct {
	name        string
	clusterType *fleet.ClusterType // or that of the cluster; nil if the folder is only published
	of          *folderBuild       // the folder of the cluster's type
	stack       *config.Stack
}

// placeOf returns the folder of a cluster, and whether it has one: if platform configuration is different for it than for its type,
// or if the folder is published. A folder that exists stays as long as the Cluster does, even without values of its own: the
// cluster follows it, and nobody here knows until when.
func (b *builder) placeOf(c *fleet.Cluster, types []*folderBuild) (place, bool) {
	i, _ := slices.BinarySearchFunc(types, c.Type, func(f *folderBuild, name string) int { return cmp.Compare(f.result.Name, name) })
	of := types[i] // it exists: a cluster without one is not in the snapshot
	own := of.clusterType.Of(c)
	p := place{name: own.Folder(), clusterType: own, of: of, stack: b.composer.Stack(own)}
	return p, !p.stack.Same(of.stack) || b.published.folderOf(p.name) != nil
}

// postpone leaves out new folders of clusters that would not have everything that the cluster runs now, because the cluster
// would remove the rest when it follows the folder. It stays with its type until all of it can be written.
func (b *builder) postpone(folders []*folderBuild) {
	for _, f := range folders {
		if f.of == nil || f.published != nil {
			continue
		}
		if incomplete := cmp.Or(f.result.held(), f.of.result.held()); incomplete != nil {
			f.gone = true
			b.problems = append(b.problems, fleet.Problem{
				Severity: fleet.SeverityError, Kind: fleet.KindHeld, Object: incomplete.Held.Object, Position: incomplete.Held.Position,
				Assignment: f.result.Name + "/" + incomplete.Target,
				Message:    fmt.Sprintf("the folder of the cluster is not written yet, because this assignment is held: %s", incomplete.Held.Message),
				Hint:       fmt.Sprintf("the cluster stays with the folder of its type %s until that is corrected", f.result.ClusterType),
			})
		}
	}
}

// held returns the first assignment that is held; nil if none is.
func (f *Folder) held() *Assignment {
	i := slices.IndexFunc(f.Assignments, func(a Assignment) bool { return a.Held != nil })
	if i < 0 {
		return nil
	}
	return &f.Assignments[i]
}
