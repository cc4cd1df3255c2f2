package placementdecision

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Placement is what a scheduler chose for one placement.
type Placement struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Clusters are sorted by name. An empty list is a decision, too.
	Clusters []Cluster `json:"clusters"`
}

// Cluster is a chosen cluster.
type Cluster struct {
	Name   string `json:"name"`
	Reason string `json:"reason,omitempty"`
}

// The groups, and the labels with which a PlacementDecision names its placement. A placement with more than 100 clusters has
// several of them.
const (
	groupOCM       = "cluster.open-cluster-management.io"
	versionOCM     = groupOCM + "/v1beta1"
	labelPlacement = groupOCM + "/placement"
	labelGroup     = groupOCM + "/decision-group-index"

	groupSIG     = "multicluster.x-k8s.io"
	versionSIG   = groupSIG + "/v1alpha1"
	labelKey     = groupSIG + "/placement-key"
	labelDecided = groupSIG + "/decision-key"
	labelIndex   = groupSIG + "/decision-index"

	kind         = "PlacementDecision"
	maxDecisions = 100
)

// object is a PlacementDecision of either group, or a list of them.
type object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		Labels    map[string]string `json:"labels"`
	} `json:"metadata"`
	Items  []json.RawMessage `json:"items"`
	Status *struct {
		Decisions []decisionOCM `json:"decisions"`
	} `json:"status"`
	Decisions []decisionSIG `json:"decisions"`
}

type decisionOCM struct {
	ClusterName string `json:"clusterName"`
	Reason      string `json:"reason"`
}

type decisionSIG struct {
	ClusterProfileRef profileRef `json:"clusterProfileRef"`
	Reason            string     `json:"reason,omitempty"`
}

type profileRef struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
}

// Read returns the placements in files of YAML or JSON documents, which can be lists as kubectl prints them, sorted. Documents
// of other kinds are left out.
func Read(files [][]byte) ([]Placement, error) {
	r := reader{found: map[[2]string]map[string]Cluster{}}
	for _, file := range files {
		documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(file)))
		for {
			text, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil {
				err = r.document(text, 0)
			}
			if err != nil {
				return nil, fmt.Errorf("read PlacementDecisions: %w", err)
			}
		}
	}
	placements := make([]Placement, 0, len(r.found))
	for name, clusters := range r.found {
		p := Placement{Namespace: name[0], Name: name[1], Clusters: make([]Cluster, 0, len(clusters))}
		for _, cluster := range slices.Sorted(maps.Keys(clusters)) {
			p.Clusters = append(p.Clusters, clusters[cluster])
		}
		placements = append(placements, p)
	}
	slices.SortFunc(placements, func(a, b Placement) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace))
	})
	return placements, nil
}

// reader collects the clusters of placements, by namespace and name.
type reader struct {
	found map[[2]string]map[string]Cluster
}

func (r *reader) document(text []byte, depth int) error {
	var o object
	if err := yaml.Unmarshal(text, &o); err != nil {
		return err
	}
	if strings.HasSuffix(o.Kind, "List") && len(o.Items) > 0 && depth == 0 {
		for _, item := range o.Items {
			if err := r.document(item, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	group, _, _ := strings.Cut(o.APIVersion, "/")
	if o.Kind != kind || group != groupOCM && group != groupSIG {
		return nil
	}
	labels := o.Metadata.Labels
	name := labels[labelPlacement]
	if group == groupSIG {
		name = cmp.Or(labels[labelKey], labels[labelDecided], o.Metadata.Name)
	}
	if name == "" {
		return fmt.Errorf("%s %q has no label %s, which names its placement", kind, o.Metadata.Name, labelPlacement)
	}
	clusters := r.clusters(o.Metadata.Namespace, name)
	switch {
	case group == groupSIG:
		for _, d := range o.Decisions {
			clusters.add(d.ClusterProfileRef.Name, d.Reason)
		}
	case o.Status == nil:
		return fmt.Errorf("%s %q has no status; it was not decided yet, or not exported", kind, o.Metadata.Name)
	default:
		for _, d := range o.Status.Decisions {
			clusters.add(d.ClusterName, d.Reason)
		}
	}
	return nil
}

type clusterSet map[string]Cluster

func (r *reader) clusters(namespace, name string) clusterSet {
	key := [2]string{namespace, name}
	if r.found[key] == nil {
		r.found[key] = clusterSet{}
	}
	return r.found[key]
}

// add adds a cluster. Open Cluster Management writes empty names where clusters are missing.
func (s clusterSet) add(name, reason string) {
	if name != "" {
		s[name] = Cluster{name, reason}
	}
}
