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
	cluster     *clusterMemo       // nil for a cluster type
	of          *folderBuild       // the folder of the cluster's type
}

// clusterMemo is what a build determined for a cluster. The next one determines it again only if the cluster, its type or a layer
// that can apply has changed: ten thousand clusters have ten thousand sets of layers.
type clusterMemo struct {
	cluster    *fleet.Cluster
	folder     string       // the name of its own folder
	typeBase   fleet.Digest // of the folder of its type
	base       fleet.Digest // of its own folder
	candidates config.Candidates
	result     *Folder // its own folder, also if it is not written yet; nil if the cluster shares that of its type
}

// placeOf returns the folder of a cluster, and whether it has one: if platform configuration is different for it than for its type,
// or if the folder is published. A folder that exists stays as long as the Cluster does, even without values of its own: the
// cluster follows it, and nobody here knows until when.
func (b *builder) placeOf(n int, types []*folderBuild, previous *Bundle) (place, bool) {
	c := b.snapshot.Clusters[n]
	i, _ := findBuild(types, c.Type)
	of := types[i] // it exists: a cluster without one is not in the snapshot
	p := place{cluster: &b.clusters[n], of: of}
	if before := previous.clusterMemo(n, c.Name); before != nil && before.cluster.Digest == c.Digest &&
		before.typeBase == of.base && b.composer.Unchanged(before.candidates) {
		*p.cluster = *before
	} else {
		p.clusterType = of.clusterType.Of(c)
		*p.cluster = clusterMemo{
			cluster: c, folder: p.clusterType.Folder(), typeBase: of.base, base: of.baseOf(p.clusterType),
			candidates: b.composer.Candidates(p.clusterType),
		}
		if before != nil {
			p.cluster.result = before.result
		}
	}
	p.name = p.cluster.folder
	return p, !p.cluster.candidates.Same(of.candidates) || b.published.folderOf(p.name) != nil
}

// clusterMemo returns what the bundle was built from for a cluster, which probably still has the index n; nil if it is not known.
func (b *Bundle) clusterMemo(n int, cluster string) *clusterMemo {
	if n < len(b.clusters) && b.clusters[n].cluster.Name == cluster {
		return &b.clusters[n]
	}
	i, ok := slices.BinarySearchFunc(b.clusters, cluster, func(c clusterMemo, name string) int { return cmp.Compare(c.cluster.Name, name) })
	if !ok {
		return nil
	}
	return &b.clusters[i]
}

// postpone leaves out new folders of clusters that would not have everything that the cluster runs now, because the cluster
// would remove the rest when it follows the folder. It stays with its type until all of it can be written.
func (b *builder) postpone(folders []*folderBuild) {
	for _, f := range folders {
		if f.of == nil || f.published != nil {
			continue
		}
		if incomplete := cmp.Or(f.result.held, f.of.result.held); incomplete != nil {
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

// firstHeld returns the first assignment that is held; nil if none is.
func firstHeld(assignments []Assignment) *Assignment {
	for i := range assignments {
		if assignments[i].Held != nil {
			return &assignments[i]
		}
	}
	return nil
}
