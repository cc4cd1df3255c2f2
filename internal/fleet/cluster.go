package fleet

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet/window"
)

// ClustersFolder is the folder with the folders of clusters, beside those of cluster types.
const ClustersFolder = "clusters"

// RingLabel is the label as which platform configuration matches the ring of a cluster.
const RingLabel = "ring"

// Cluster is one cluster. Platform configuration can match its name and its labels.
type Cluster struct {
	Name string
	// Type is the name of its cluster type, which exists.
	Type string
	// Labels are its own labels and its ring, without those of its type.
	Labels map[string]string
	// Ring may be empty.
	Ring string
	// Windows and Hold say when the cluster may be changed; optional.
	Windows []v1alpha1.Window
	Hold    *v1alpha1.Hold
	Origin
}

// Of returns the cluster type of a cluster as it is for this cluster: with its name, and its labels over those of the type.
// c must be of this type.
func (ct *ClusterType) Of(c *Cluster) *ClusterType {
	own := *ct
	own.Cluster = c.Name
	own.OverLabels = maps.Clone(ct.Labels)
	if own.OverLabels == nil {
		own.OverLabels = map[string]string{}
	}
	maps.Copy(own.OverLabels, c.Labels)
	// The position of a Cluster is not part of what its files are made from: many can be in one file.
	texts := []string{c.Name}
	for _, key := range slices.Sorted(maps.Keys(c.Labels)) {
		texts = append(texts, key, c.Labels[key])
	}
	own.Digest = ct.Digest.with(texts)
	return &own
}

// ClusterLabels returns the labels of the cluster, which include those of its type; for a cluster type, its labels.
func (ct *ClusterType) ClusterLabels() map[string]string {
	if ct.Cluster == "" {
		return ct.Labels
	}
	return ct.OverLabels
}

// Folder returns the folder of a cluster type, or of a cluster that has a folder of its own, below the root of the generated files.
func (ct *ClusterType) Folder() string {
	if ct.Cluster == "" {
		return ct.Name
	}
	return ClusterFolder(ct.Cluster)
}

// ClusterFolder returns the folder of a cluster that has one of its own.
func ClusterFolder(cluster string) string { return ClustersFolder + "/" + cluster }

// ClusterOf returns the cluster that has a folder; false for the folder of a cluster type.
func ClusterOf(folder string) (cluster string, ok bool) {
	return strings.CutPrefix(folder, ClustersFolder+"/")
}

// namedLabels are the labels of configuration that match names, and cannot be labels of a cluster.
var namedLabels = []string{"cluster", "cluster-type", "deployment-target", "workload"}

func decodeCluster(d *decoder, root *yaml.Node) any {
	var doc v1alpha1.Cluster
	d.into(root, &doc)
	checkCluster(d, root, &doc)
	c := &Cluster{Name: doc.Name, Type: doc.Spec.ClusterType, Labels: doc.Spec.Labels, Ring: doc.Spec.Ring, Windows: doc.Spec.Windows, Hold: doc.Spec.Hold}
	if c.Ring != "" {
		c.Labels = maps.Clone(c.Labels)
		if c.Labels == nil {
			c.Labels = map[string]string{}
		}
		c.Labels[RingLabel] = c.Ring
	}
	return c
}

func checkCluster(d *decoder, root *yaml.Node, c *v1alpha1.Cluster) {
	d.require(root, "spec", "clusterType")
	d.name(root, dnsLabel, "spec", "clusterType")
	d.name(root, dnsLabel, "spec", "ring")
	if n := lookup(root, "metadata", "labels"); n != nil && len(MatchingLabels(c.Labels)) > 0 {
		d.fail(KindInvalidValue, n, "write them in spec.labels", "metadata.labels of a Cluster are not used")
	}
	d.elements(root, len(c.Spec.Windows), func(n *yaml.Node, i int) {
		d.require(n, "cron")
		d.require(n, "duration")
		if _, err := window.Parse(c.Spec.Windows[i]); err != nil && c.Spec.Windows[i].Cron != "" && lookup(n, "duration") != nil {
			d.fail(KindInvalidValue, n, `write for example {cron: "0 2 * * *", duration: 3h, timeZone: Europe/Berlin}`, "%s", err)
		}
	}, "spec", "windows")
	if c.Spec.Hold != nil {
		d.require(root, "spec", "hold", "reason")
	}
	n := lookup(root, "spec", "labels")
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	for key, value := range pairs(n) {
		switch {
		case slices.Contains(namedLabels, key.Value):
			d.fail(KindReservedLabel, key, "use another label", "label %q of spec.labels matches names", key.Value)
		case key.Value == RingLabel:
			d.fail(KindReservedLabel, key, "write it as spec.ring", "label %q of spec.labels is spec.ring", key.Value)
		case len(validation.IsQualifiedName(key.Value)) > 0:
			d.fail(KindInvalidValue, key, "use a name such as region or example.com/region", "%s of spec.labels is not the name of a label", quoteShort(key.Value))
		case value.Kind == yaml.ScalarNode && len(validation.IsValidLabelValue(value.Value)) > 0:
			d.fail(KindInvalidValue, value, "use up to 63 letters, digits, dashes, dots and underscores, a letter or digit first and last",
				"%s is not the value of a label", quoteShort(value.Value))
		}
	}
}

// clusters adds the clusters of the environment. One whose type cannot be used is lost: its folder stays as it is.
func (a *assembly) clusters() {
	var all []*Cluster
	for _, o := range a.configs {
		all = append(all, o.Clusters...)
	}
	all = once(a, all)
	types := make(map[string]*ClusterType, len(a.s.ClusterTypes))
	names := make([]string, len(a.s.ClusterTypes))
	for i, ct := range a.s.ClusterTypes {
		types[ct.Name], names[i] = ct, ct.Name
	}
	a.reservedCluster()
	taken := types[ClustersFolder]
	if taken != nil && len(all) > 0 {
		a.s.Problems = append(a.s.Problems, Problem{
			Severity: SeverityError, Kind: KindNameCollision, Object: Ref{Kind: kindClusterType, Name: ClustersFolder}, Position: taken.Position,
			Message: "its folder is the one for the folders of clusters, so that no Cluster can be used", Hint: "rename the cluster type",
		})
	}
	for _, c := range all {
		switch {
		case taken != nil, a.lost(kindClusterType, c.Type):
			a.lose(c, Owner{}) // the cluster type has the problem
		case types[c.Type] == nil:
			a.problem(SeverityError, KindMissingObject, c, didYouMean(c.Type, names),
				"cluster type %s does not exist or cannot be read", quoteShort(c.Type))
			a.lose(c, Owner{})
		default:
			a.s.Clusters = append(a.s.Clusters, c)
		}
	}
}

// lost reports whether an object exists, but cannot be used.
func (a *assembly) lost(kind, name string) bool {
	return slices.ContainsFunc(a.s.Unreadable, func(u Unreadable) bool { return u.Ref == Ref{Kind: kind, Name: name} })
}

// reservedCluster warns about cluster types with a label that matches the names of clusters.
func (a *assembly) reservedCluster() {
	for _, ct := range a.s.ClusterTypes {
		if _, ok := ct.Labels["cluster"]; ok {
			a.s.Problems = append(a.s.Problems, Problem{
				Severity: SeverityWarning, Kind: KindReservedLabel, Object: Ref{Kind: kindClusterType, Name: ct.Name}, Position: ct.Position,
				Message: `platform configuration does not match its label "cluster", which matches the names of clusters`, Hint: "use another label",
			})
		}
	}
}

// ClusterType returns the cluster type with a name; nil if there is none.
func (s *Snapshot) ClusterType(name string) *ClusterType {
	i, ok := slices.BinarySearchFunc(s.ClusterTypes, name, func(ct *ClusterType, name string) int { return strings.Compare(ct.Name, name) })
	if !ok {
		return nil
	}
	return s.ClusterTypes[i]
}

// Cluster returns the cluster with a name; nil if there is none.
func (s *Snapshot) Cluster(name string) *Cluster {
	i, ok := slices.BinarySearchFunc(s.Clusters, name, func(c *Cluster, name string) int { return strings.Compare(c.Name, name) })
	if !ok {
		return nil
	}
	return s.Clusters[i]
}
