package values

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Set returns a layer of strings by their dotted paths, such as {"image.tag": "1.4.0"}.
// If one path is a prefix of another, the error names both.
func Set(from string, texts map[string]string) (*Layer, error) {
	data := map[string]any{}
	for _, path := range slices.Sorted(maps.Keys(texts)) {
		steps := strings.Split(path, ".")
		if slices.Contains(steps, "") {
			return nil, fmt.Errorf("set %q: a key of the path is empty", path)
		}
		at := data
		for _, step := range steps[:len(steps)-1] {
			if at[step] == nil {
				at[step] = map[string]any{}
			}
			below, ok := at[step].(map[string]any)
			if !ok {
				return nil, fmt.Errorf("set %q: %q is already set to a text", path, step)
			}
			at = below
		}
		last := steps[len(steps)-1]
		if at[last] != nil {
			return nil, fmt.Errorf("set %q: something below it is set as well", path)
		}
		at[last] = texts[path]
	}
	return LayerOf(from, data), nil
}

// LayerOf returns a layer of values. from is the display name of their origin.
func LayerOf(from string, data map[string]any) *Layer {
	p := parser{at: fleet.Position{Source: from}}
	return &Layer{root: p.node(data, nil)}
}
