package placementdecision

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// API is one of the groups that have a PlacementDecision.
type API string

// The groups, as users name them.
const (
	OCM API = "open-cluster-management"
	SIG API = "sig-multicluster"
)

// Pair is a target on a cluster type, or on one cluster of it.
type Pair struct{ Target, ClusterType, Cluster string }

// Of returns pairs as placements: one for each target, also for those without a pair, with the clusters of its cluster types. A
// cluster type without Cluster objects stands for itself.
func Of(s *fleet.Snapshot, pairs []Pair, namespace string) []Placement {
	clusters := map[string][]string{}
	for _, c := range s.Clusters {
		clusters[c.Type] = append(clusters[c.Type], c.Name)
	}
	chosen := map[string]map[Cluster]bool{}
	for _, t := range s.Targets {
		chosen[t.Name] = map[Cluster]bool{}
	}
	for _, pair := range pairs {
		if chosen[pair.Target] == nil {
			chosen[pair.Target] = map[Cluster]bool{}
		}
		names := clusters[pair.ClusterType]
		switch {
		case pair.Cluster != "":
			names = []string{pair.Cluster}
		case len(names) == 0:
			names = []string{pair.ClusterType}
		}
		for _, name := range names {
			chosen[pair.Target][Cluster{name, "cluster type " + pair.ClusterType}] = true
		}
	}
	placements := make([]Placement, 0, len(chosen))
	for _, target := range slices.Sorted(maps.Keys(chosen)) {
		all := slices.SortedFunc(maps.Keys(chosen[target]), func(a, b Cluster) int { return cmp.Compare(a.Name, b.Name) })
		placements = append(placements, Placement{Namespace: namespace, Name: target, Clusters: append([]Cluster{}, all...)})
	}
	return placements
}

// Write returns placements as YAML documents of PlacementDecisions. Each has at most 100 decisions, and each placement has at
// least one.
func Write(placements []Placement, api API) ([]byte, error) {
	var text []byte
	for _, p := range placements {
		for n, rest := 0, p.Clusters; n == 0 || len(rest) > 0; n++ {
			slice := rest[:min(maxDecisions, len(rest))]
			rest = rest[len(slice):]
			document, err := yaml.Marshal(documentOf(&p, n, slice, api))
			if err != nil {
				return nil, fmt.Errorf("encode the decisions of %q: %w", p.Name, err)
			}
			text = append(append(text, "---\n"...), document...)
		}
	}
	return text, nil
}

// documentOf returns the n-th PlacementDecision of a placement.
func documentOf(p *Placement, n int, clusters []Cluster, api API) map[string]any {
	labels := map[string]string{labelPlacement: p.Name, labelGroup: "0"}
	if api == SIG {
		labels = map[string]string{labelKey: p.Name, labelDecided: p.Name, labelIndex: strconv.Itoa(n)}
	}
	metadata := map[string]any{"name": fmt.Sprintf("%s-decision-%d", p.Name, n+1), "labels": labels}
	if p.Namespace != "" {
		metadata["namespace"] = p.Namespace
	}
	document := map[string]any{"apiVersion": versionOCM, "kind": kind, "metadata": metadata}
	if api == SIG {
		decisions := make([]decisionSIG, len(clusters))
		for i, c := range clusters {
			decisions[i] = decisionSIG{profileRef{Name: c.Name, Namespace: p.Namespace}, c.Reason}
		}
		document["apiVersion"], document["schedulerName"], document["decisions"] = versionSIG, "kalypso", decisions
		return document
	}
	decisions := make([]decisionOCM, len(clusters))
	for i, c := range clusters {
		decisions[i] = decisionOCM{c.Name, c.Reason}
	}
	document["status"] = map[string]any{"decisions": decisions}
	return document
}
