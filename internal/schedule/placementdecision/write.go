package placementdecision

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
)

// API is one of the groups that have a PlacementDecision.
type API string

// The groups, as users name them.
const (
	OCM API = "open-cluster-management"
	SIG API = "sig-multicluster"
)

// Of returns decisions as placements: one for each target, with the clusters of its cluster types. A cluster type without
// Cluster objects stands for itself.
func Of(s *fleet.Snapshot, d *placement.Decisions, namespace string) []Placement {
	clusters := map[string][]string{}
	for _, c := range s.Clusters {
		clusters[c.Type] = append(clusters[c.Type], c.Name)
	}
	index := make(map[string]int, len(s.Targets))
	placements := make([]Placement, len(s.Targets))
	for i, t := range s.Targets {
		placements[i], index[t.Name] = Placement{Namespace: namespace, Name: t.Name, Clusters: []Cluster{}}, i
	}
	for _, ct := range s.ClusterTypes {
		names := clusters[ct.Name]
		if len(names) == 0 {
			names = []string{ct.Name}
		}
		for _, a := range d.For(ct.Name) {
			p := &placements[index[a.Target.Name]]
			for _, name := range names {
				p.Clusters = append(p.Clusters, Cluster{name, "cluster type " + ct.Name})
			}
		}
	}
	for _, p := range placements {
		slices.SortFunc(p.Clusters, func(a, b Cluster) int { return cmp.Compare(a.Name, b.Name) })
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
