package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Define makes a cluster know the kinds that are defined in the files that a pattern names.
func (c *Cluster) Define(ctx context.Context, pattern string) error {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		return fmt.Errorf("find definitions in %q: %w", pattern, errors.Join(err, os.ErrNotExist))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		definitions, err := Documents(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := c.define(ctx, definitions); err != nil {
			return err
		}
	}
	return nil
}

// define applies custom resource definitions and waits until their kinds can be used.
func (c *Cluster) define(ctx context.Context, definitions []*unstructured.Unstructured) error {
	if err := c.Apply(ctx, definitions...); err != nil {
		return err
	}
	return c.Defined(ctx, definitions...)
}

// Defined waits until the kinds of definitions that something else has applied can be used.
func (c *Cluster) Defined(ctx context.Context, definitions ...*unstructured.Unstructured) error {
	for _, d := range definitions {
		err := Until(ctx, startTime, func(ctx context.Context) error {
			now, err := c.Get(ctx, Definitions, "", d.GetName())
			if err != nil {
				return err
			}
			return errors.Join(conditionTrue(now, "Established"), c.finds(now))
		})
		if err != nil {
			return fmt.Errorf("define %s on %s: %w", d.GetName(), c.Name, err)
		}
	}
	return nil
}

// finds has no error when the API server lists the kind among what it has, which it does a moment after it is established.
func (c *Cluster) finds(definition *unstructured.Unstructured) error {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	c.mapper.Reset() // it remembers what was listed before
	for _, version := range versions {
		fields, ok := version.(map[string]any)
		if !ok || fields["served"] != true {
			continue
		}
		if _, err := c.mapper.RESTMapping(schema.GroupKind{Group: group, Kind: kind}, fmt.Sprint(fields["name"])); err != nil {
			return err
		}
	}
	return nil
}

// Documents parses the Kubernetes objects of a YAML text.
func Documents(text string) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		switch {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, fmt.Errorf("parse documents: %w", err)
		case len(object.Object) > 0:
			objects = append(objects, object)
		}
	}
}
