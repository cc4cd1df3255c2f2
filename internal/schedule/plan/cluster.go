package plan

import (
	"fmt"
	"path"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Folder returns the folder that has the assignment: that of its cluster type, or of its cluster.
func (c *Change) Folder() string {
	if c.Cluster != "" {
		return fleet.ClusterFolder(c.Cluster)
	}
	return c.ClusterType
}

// namedClusters is how many clusters a text names; more are counted.
const namedClusters = 3

// Places returns the distinct cluster types of the group, in order, and its clusters with values of their own: the folders of a few,
// or how many there are of each type.
func (g Group) Places() []string {
	var places, types []string
	clusters := map[string][]string{} // by type
	for _, c := range g.Changes {
		if c.Cluster == "" {
			if len(places) == 0 || places[len(places)-1] != c.ClusterType {
				places = append(places, c.ClusterType)
			}
			continue
		}
		known, seen := clusters[c.ClusterType]
		if !seen {
			types = append(types, c.ClusterType)
		}
		if len(known) == 0 || known[len(known)-1] != c.Folder() {
			clusters[c.ClusterType] = append(known, c.Folder())
		}
	}
	for _, name := range types {
		if all := clusters[name]; len(all) <= namedClusters {
			places = append(places, all...)
		} else {
			places = append(places, fmt.Sprintf("%d clusters of type %s", len(all), name))
		}
	}
	return places
}

// maxAlike is how many groups of clusters with the same keys and files, but other values, are shown one by one.
const maxAlike = 5

// joined joins the groups of clusters that differ only in values, if there are many: a value for each of ten thousand clusters is
// one change to review.
func joined(groups []Group) []Group {
	alike := map[string][]int{}
	for i, g := range groups {
		if shape, ok := g.shape(); ok {
			alike[shape] = append(alike[shape], i)
		}
	}
	gone := map[int]bool{}
	for _, all := range alike {
		if len(all) <= maxAlike {
			continue
		}
		first := &groups[all[0]]
		first.Differ = true
		for _, i := range all[1:] {
			first.Changes = append(first.Changes, groups[i].Changes...)
			gone[i] = true
		}
	}
	if len(gone) == 0 {
		return groups
	}
	var left []Group
	for i, g := range groups {
		if !gone[i] {
			left = append(left, g)
		}
	}
	return left
}

// shape identifies what changes without the values, for changes of clusters that delete nothing and give no rights; false for others.
func (g Group) shape() (string, bool) {
	c := g.Changes[0]
	if c.Cluster == "" || c.Op != Changed || len(c.Gone)+len(c.HandedOver)+len(c.Retired) > 0 || g.Rights() != "" {
		return "", false
	}
	var b strings.Builder
	b.WriteString(c.ClusterType)
	for _, k := range c.Config {
		fmt.Fprintf(&b, "\x00%s %t %t", k.Key, k.Old == nil, k.New == nil)
	}
	for _, s := range c.Sources {
		fmt.Fprintf(&b, "\x00%s", s)
	}
	for _, f := range c.Files {
		fmt.Fprintf(&b, "\x00%s %s", f.Op, path.Base(f.Path))
	}
	return b.String(), true
}

// clusterFolders returns the clusters whose folders are added or removed, sorted.
func (p *Plan) clusterFolders(op Op) []string {
	var names []string
	for _, t := range p.ClusterTypes {
		if t.Cluster != "" && t.Op == op {
			names = append(names, t.Cluster)
		}
	}
	return names
}

// NewFolders says which clusters get a folder of their own, and what lets them follow it; empty if none does.
func (p *Plan) NewFolders() string {
	names := p.clusterFolders(Added)
	if len(names) == 0 {
		return ""
	}
	who, it := "cluster "+names[0]+" gets a folder of its own, and follows it", "cluster register "+names[0]
	if n := len(names); n > 1 {
		who, it = fmt.Sprintf("%d clusters get folders of their own (%s), and follow them", n, few(names)), "cluster register NAME"
	}
	return fmt.Sprintf("%s after the objects of kalypso %s --manifests are applied; until then the values of the type count", who, it)
}

// few names a few clusters, and counts the others.
func few(names []string) string {
	text := strings.Join(names[:min(len(names), namedClusters)], ", ")
	if more := len(names) - namedClusters; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
