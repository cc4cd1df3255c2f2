package values

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/strvals"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// ParseSet parses values in the format of Helm's --set, such as "image.tag=1.4.0,replicas=2". Numbers, booleans and null
// are recognized. from is the display name of the origin, such as "--set".
// List elements cannot be addressed, since lists are replaced as a whole.
func ParseSet(from, text string) (*Layer, error) { return parseSet(from, text, strvals.Parse) }

// ParseSetString is like [ParseSet], but every value is a string.
func ParseSetString(from, text string) (*Layer, error) {
	return parseSet(from, text, strvals.ParseString)
}

func parseSet(from, text string, parse func(string) (map[string]any, error)) (*Layer, error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("read %s: it has %d bytes, more than the %d that are read", from, len(text), MaxSize)
	}
	if key, indexed := indexedKey(text); indexed {
		return nil, fmt.Errorf("read %s %q: %q addresses an element of a list; set the whole list, {a,b}", from, clip(text), clip(key))
	}
	data, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("read %s %q: %w; write key=value, with dots for nested keys", from, clip(text), err)
	}
	return layerOf(from, data), nil
}

// indexedKey finds a key with an index.
func indexedKey(text string) (string, bool) {
	for part := range strings.SplitSeq(text, ",") {
		key, _, _ := strings.Cut(part, "=")
		if strings.Contains(strings.ReplaceAll(key, `\[`, ""), "[") {
			return key, true
		}
	}
	return "", false
}

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
	return layerOf(from, data), nil
}

func layerOf(from string, data map[string]any) *Layer {
	p := parser{at: fleet.Position{Source: from}}
	return &Layer{root: p.node(data, nil)}
}
