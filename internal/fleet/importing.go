package fleet

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// ImportOptions say how a list of clusters becomes Clusters.
type ImportOptions struct {
	// Type is the cluster type of clusters for which the list has none.
	Type string
	// TypeLabel is the label whose value is the cluster type. It does not stay a label.
	TypeLabel string
	// Labels are the labels to keep. Default: all that are valid.
	Labels []string
}

// ImportClusters reads clusters from ClusterProfiles (multicluster.x-k8s.io), clusters of Cluster API (cluster.x-k8s.io), a CSV file with the
// columns name, clusterType, ring, and one for each label, or the JSON lists of az aks list, gcloud container clusters list,
// aws eks list-clusters and aws eks describe-cluster. They are sorted by name. Names are written in lower case,
// with dashes for underscores, and clusters whose names cannot be used even then are left out, each with a note.
//
// Labels that are not valid in Kubernetes, or match names in platform configuration, are left out, with a note for each.
func ImportClusters(text []byte, o ImportOptions) (clusters []v1alpha1.Cluster, notes []string, err error) {
	found, err := listed(bytes.TrimPrefix(text, []byte("\ufeff"))) // as Excel begins a file
	if err != nil {
		return nil, nil, err
	}
	if len(found) == 0 {
		return nil, nil, errors.New("it has no clusters of a known form; a CSV file needs a header with the column name")
	}
	found, notes = named(found)
	slices.SortStableFunc(found, func(a, b listedCluster) int { return strings.Compare(a.name, b.name) })
	leftOut := map[string]int{}
	for i, c := range found {
		if i > 0 && found[i-1].name == c.name {
			return nil, nil, fmt.Errorf("cluster %q is there twice", c.name)
		}
		cluster, err := c.cluster(o, leftOut)
		if err != nil {
			return nil, nil, err
		}
		clusters = append(clusters, cluster)
	}
	for _, key := range slices.Sorted(maps.Keys(leftOut)) {
		notes = append(notes, fmt.Sprintf("label %s of %d clusters is left out: it is not valid, or matches names", quoteShort(key), leftOut[key]))
	}
	return clusters, notes, nil
}

// named gives clusters names that can be used: AKS permits capitals and underscores. One without a usable name is
// left out. There is a note for each.
func named(found []listedCluster) (usable []listedCluster, notes []string) {
	for _, c := range found {
		name := strings.ReplaceAll(strings.ToLower(c.name), "_", "-")
		switch {
		case len(validation.IsDNS1123Label(name)) > 0:
			notes = append(notes, fmt.Sprintf("a cluster is left out: %s cannot be the name of a cluster: %s", quoteShort(c.name), dnsLabel.hint))
			continue
		case name != c.name:
			notes = append(notes, fmt.Sprintf("cluster %s is called %s: register it by that name", quoteShort(c.name), name))
		}
		c.name = name
		usable = append(usable, c)
	}
	return usable, notes
}

// listedCluster is a cluster as it is listed.
type listedCluster struct {
	name, clusterType, ring string
	labels                  map[string]string
}

func (c listedCluster) cluster(o ImportOptions, leftOut map[string]int) (v1alpha1.Cluster, error) {
	clusterType := c.clusterType
	if clusterType == "" && o.TypeLabel != "" {
		clusterType = c.labels[o.TypeLabel]
	}
	if clusterType == "" {
		clusterType = o.Type
	}
	if len(validation.IsDNS1123Label(clusterType)) > 0 {
		return v1alpha1.Cluster{}, fmt.Errorf("cluster %q has no usable cluster type (%s): give one for all, or the label that has it", c.name, quoteShort(clusterType))
	}
	if c.ring != "" && len(validation.IsDNS1123Label(c.ring)) > 0 {
		return v1alpha1.Cluster{}, fmt.Errorf("ring %s of cluster %q is not a DNS label", quoteShort(c.ring), c.name)
	}
	labels := map[string]string{}
	for key, value := range c.labels {
		switch {
		case value == "", key == o.TypeLabel, len(o.Labels) > 0 && !slices.Contains(o.Labels, key):
		case key == RingLabel, slices.Contains(namedLabels, key), len(validation.IsQualifiedName(key)) > 0, len(validation.IsValidLabelValue(value)) > 0:
			leftOut[key]++
		default:
			labels[key] = value
		}
	}
	if len(labels) == 0 {
		labels = nil
	}
	return v1alpha1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: kindCluster},
		ObjectMeta: metav1.ObjectMeta{Name: c.name},
		Spec:       v1alpha1.ClusterSpec{ClusterType: clusterType, Labels: labels, Ring: c.ring},
	}, nil
}

// listed returns the clusters of a text in any of the known forms.
func listed(text []byte) ([]listedCluster, error) {
	if len(text) > MaxFileSize {
		return nil, fmt.Errorf("it has %d bytes, more than %d", len(text), MaxFileSize)
	}
	if separator, ok := csvSeparator(text); ok {
		return listedCSV(text, separator)
	}
	roots, line, err := ParseYAML(text, MaxDocuments)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	var all []listedCluster
	for _, root := range roots {
		var document any
		if err := root.Decode(&document); err != nil {
			return nil, fmt.Errorf("decode: %w", err)
		}
		all = append(all, clustersIn(document)...)
	}
	return all, nil
}

// csvSeparator returns what separates the columns of a CSV file: programs write commas, semicolons or tabs. ok is
// false if the first line is not a header with the column name.
func csvSeparator(text []byte) (separator rune, ok bool) {
	first, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	if bytes.ContainsAny(first, "{:[") {
		return 0, false
	}
	for _, separator := range []rune{',', ';', '\t'} {
		r := csv.NewReader(bytes.NewReader(first))
		r.Comma = separator
		if head, err := r.Read(); err == nil && slices.ContainsFunc(head, func(c string) bool { return isColumn(c, "name") }) {
			return separator, true
		}
	}
	return 0, false
}

func isColumn(column, name string) bool { return strings.EqualFold(strings.TrimSpace(column), name) }

func listedCSV(text []byte, separator rune) ([]listedCluster, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimSpace(text)))
	r.Comma = separator
	rows, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	var all []listedCluster
	for _, row := range rows[1:] {
		c := listedCluster{labels: map[string]string{}}
		for i, column := range rows[0] {
			switch value := strings.TrimSpace(row[i]); {
			case isColumn(column, "name"):
				c.name = value
			case isColumn(column, "clusterType"):
				c.clusterType = value
			case isColumn(column, RingLabel):
				c.ring = value
			default:
				c.labels[strings.TrimSpace(column)] = value
			}
		}
		if strings.Join(row, "") != "" { // spreadsheets end with blank rows
			all = append(all, c)
		}
	}
	return all, nil
}

// clustersIn returns the clusters in a document, or in each of a list.
func clustersIn(document any) []listedCluster {
	var all []listedCluster
	switch d := document.(type) {
	case []any:
		for _, item := range d {
			all = append(all, clustersIn(item)...)
		}
	case map[string]any:
		switch {
		case d["items"] != nil:
			return clustersIn(d["items"])
		case d["clusters"] != nil: // aws eks list-clusters
			names, _ := d["clusters"].([]any)
			for _, name := range names {
				if text, ok := name.(string); ok {
					all = append(all, listedCluster{name: text})
				}
			}
			return all
		case d["cluster"] != nil: // aws eks describe-cluster
			return clustersIn(d["cluster"])
		case d["kind"] != nil:
			return objectIn(d)
		}
		return cloudIn(d)
	}
	return all
}

// objectIn returns the cluster of a ClusterProfile, or of Cluster API.
func objectIn(d map[string]any) []listedCluster {
	kind, _ := d["kind"].(string)
	version, _ := d["apiVersion"].(string)
	group, _, _ := strings.Cut(version, "/")
	if !(kind == "ClusterProfile" && group == "multicluster.x-k8s.io" || kind == "Cluster" && group == "cluster.x-k8s.io") {
		return nil
	}
	meta, _ := d["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	return []listedCluster{{name: name, labels: textsIn(meta["labels"])}}
}

// cloudIn returns a cluster of a cloud: AKS and EKS have tags, GKE resource labels, and AKS and GKE a location.
func cloudIn(d map[string]any) []listedCluster {
	name, _ := d["name"].(string)
	if name == "" {
		return nil
	}
	c := listedCluster{name: name, labels: textsIn(d["tags"])}
	maps.Copy(c.labels, textsIn(d["resourceLabels"]))
	if location, ok := d["location"].(string); ok && c.labels["region"] == "" {
		c.labels["region"] = location
	}
	return []listedCluster{c}
}

func textsIn(v any) map[string]string {
	texts := map[string]string{}
	m, _ := v.(map[string]any)
	for key, value := range m {
		if text, ok := value.(string); ok {
			texts[key] = text
		}
	}
	return texts
}

// ClusterDocument returns a Cluster as users write it. Equal Clusters give equal bytes.
func ClusterDocument(c *v1alpha1.Cluster) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "apiVersion: %s\nkind: %s\nmetadata:\n  name: %q\nspec:\n  clusterType: %q\n", c.APIVersion, c.Kind, c.Name, c.Spec.ClusterType)
	if c.Spec.Ring != "" {
		fmt.Fprintf(&b, "  ring: %q\n", c.Spec.Ring)
	}
	if len(c.Spec.Labels) > 0 {
		b.WriteString("  labels:\n")
		for _, key := range slices.Sorted(maps.Keys(c.Spec.Labels)) {
			fmt.Fprintf(&b, "    %q: %q\n", key, c.Spec.Labels[key])
		}
	}
	return b.Bytes()
}
