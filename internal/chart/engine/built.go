package engine

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/chart"
)

// reference splits the text of an image into its parts.
func reference(image string) chart.Built {
	name, digest, _ := strings.Cut(image, "@")
	tag := ""
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name, tag = name[:i], name[i+1:]
	}
	return chart.Built{Repository: name, Tag: tag, Digest: digest}
}

// build is an image that a chart uses.
type build struct {
	chart.Built
	// below is the end of the repository, without a registry that the chart adds; may be empty.
	below string
}

// is reports whether an image is the built one. A digest takes precedence over the tag, which charts then leave out.
func (b build) is(image string) bool {
	r := reference(image)
	if b.Repository != "" && r.Repository != b.Repository {
		return false
	}
	if b.below != "" && r.Repository != b.below && !strings.HasSuffix(r.Repository, "/"+b.below) {
		return false
	}
	if b.Digest != "" {
		return r.Digest == b.Digest
	}
	return b.Tag == "" || r.Tag == b.Tag && r.Digest == ""
}

// replaced returns the reference to the build for a container that uses another build of the image; ok is false for other images.
func replaced(b chart.Built, image string) (now string, ok bool) {
	r := reference(image)
	if r.Repository != b.Repository && r.Repository != b.Name && path.Base(r.Repository) != b.Name {
		return "", false
	}
	b.Repository = cmp.Or(b.Repository, r.Repository)
	return b.String(), true
}

// setImages replaces images in manifests by those that were built. Everything else keeps its bytes.
func setImages(content string, built []chart.Built) (string, error) {
	if len(built) == 0 || !strings.Contains(content, "image") {
		return content, nil
	}
	lines := strings.SplitAfter(content, "\n")
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(content)))
	for {
		var document yaml.Node
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			return strings.Join(lines, ""), nil
		} else if err != nil {
			return content, nil //nolint:nilerr // reported where the objects are read
		}
		for _, node := range imageNodes(&document, nil) {
			for _, b := range built {
				now, ok := replaced(b, node.Value)
				if !ok || now == node.Value {
					continue
				}
				line := lines[node.Line-1]
				from := min(max(node.Column-1, 0), len(line))
				if !strings.Contains(line[from:], node.Value) {
					return "", fmt.Errorf("line %d: the image %q cannot be replaced; write it on one line", node.Line, node.Value)
				}
				lines[node.Line-1] = line[:from] + strings.Replace(line[from:], node.Value, now, 1)
				break
			}
		}
	}
}

// imageNodes returns the texts of all fields "image", the last one of a line first, so that columns stay valid.
func imageNodes(n *yaml.Node, found []*yaml.Node) []*yaml.Node {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if value := n.Content[i+1]; n.Content[i].Value == "image" && value.Kind == yaml.ScalarNode {
				found = append([]*yaml.Node{value}, found...)
			}
		}
	}
	for _, child := range n.Content {
		found = imageNodes(child, found)
	}
	if n.Kind == yaml.DocumentNode {
		slices.SortStableFunc(found, func(a, b *yaml.Node) int { return cmp.Or(a.Line-b.Line, b.Column-a.Column) })
	}
	return found
}

// uses returns an error unless every image that was built is in the manifests.
func uses(m *chart.Manifests, built []build) error {
	for _, b := range built {
		if slices.ContainsFunc(m.Images, b.is) || len(m.Images) == 0 && mentionsBuild(m, b.Built) {
			continue
		}
		return unused(m, b.Built)
	}
	return nil
}

func unused(m *chart.Manifests, b chart.Built) error {
	return fmt.Errorf("no object uses the image %s that was built; the images are %s. In spec.images of the Delivery, "+
		"write the values of the chart that hold it, or its name in the manifests", b, cmp.Or(strings.Join(m.Images, ", "), "none"))
}

// mentionsBuild reports whether an object has the tag or digest of a build as a text. Custom resources may have them in
// fields of their own.
func mentionsBuild(m *chart.Manifests, b chart.Built) bool {
	want := cmp.Or(b.Digest, b.Tag, b.Repository)
	for _, text := range chart.Documents(string(m.Content)) {
		if d, err := read("", text); err == nil && mentions(d.fields, want) {
			return true
		}
	}
	return false
}

func mentions(v any, want string) bool {
	switch v := v.(type) {
	case string:
		return v == want || strings.HasSuffix(v, ":"+want) || strings.HasSuffix(v, "@"+want)
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return mentions(item, want) })
	case map[string]any:
		for _, key := range sortedKeys(v) {
			if key != "labels" && key != "annotations" && mentions(v[key], want) {
				return true
			}
		}
	}
	return false
}

// textAt returns the first value on a dotted path that is not a map, with its path; value is nil if there is none.
func textAt(data map[string]any, dotted string) (at string, value any) {
	steps := strings.Split(dotted, ".")
	for i, step := range steps {
		below, isMap := data[step].(map[string]any)
		if data[step] != nil && !isMap {
			return strings.Join(steps[:i+1], "."), data[step]
		}
		data = below
	}
	return "", nil
}
