package tree

import (
	"encoding/json"
	"strings"

	sigs "sigs.k8s.io/yaml"
)

// Annotations of a descriptor about what the manifests were rendered from.
const (
	// AnnotationChart is the chart, as "name version".
	AnnotationChart = "app.kalypso.io/chart"
	// AnnotationChartDigest is the digest of the chart's content.
	AnnotationChartDigest = "app.kalypso.io/chart-digest"
	// AnnotationImages are the images in the manifests, one per line, with their digests if given there.
	AnnotationImages = "app.kalypso.io/images"
)

// describe adds the chart and the images to a descriptor, and encodes it without the fields that only clusters set.
func describe(t Target) ([]byte, error) {
	d := t.Descriptor.DeepCopy()
	if d.Annotations == nil {
		d.Annotations = map[string]string{}
	}
	for key, value := range map[string]string{
		AnnotationChart:       strings.TrimSpace(t.Chart.Name + " " + t.Chart.Version),
		AnnotationChartDigest: t.Chart.Digest,
		AnnotationImages:      strings.Join(t.Rendered.Manifests.Images, "\n"),
	} {
		if value != "" {
			d.Annotations[key] = value
		}
	}
	encoded, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(encoded, &fields); err != nil {
		return nil, err
	}
	delete(fields, "status")
	if metadata, ok := fields["metadata"].(map[string]any); ok {
		delete(metadata, "creationTimestamp")
	}
	return sigs.Marshal(fields)
}
