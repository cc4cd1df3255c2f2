package engine

import (
	"fmt"
	"strings"

	"helm.sh/helm/v4/pkg/strvals"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/values"
)

// parseSet parses values in the format of Helm's --set, such as "image.tag=1.4.0,replicas=2". Numbers, booleans and null
// are recognized. from is the display name of the origin, such as "--set".
// List elements cannot be addressed, since lists are replaced as a whole.
func parseSet(from, text string) (*values.Layer, error) { return parseWith(from, text, strvals.Parse) }

// parseSetString is like [parseSet], but every value is a string.
func parseSetString(from, text string) (*values.Layer, error) {
	return parseWith(from, text, strvals.ParseString)
}

func parseWith(from, text string, parse func(string) (map[string]any, error)) (*values.Layer, error) {
	if len(text) > values.MaxSize {
		return nil, fmt.Errorf("read %s: it has %d bytes, more than the %d that are read", from, len(text), values.MaxSize)
	}
	if key, indexed := indexedKey(text); indexed {
		return nil, fmt.Errorf("read %s %q: %q addresses an element of a list; set the whole list, {a,b}", from, shortened(text), shortened(key))
	}
	data, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("read %s %q: %w; write key=value, with dots for nested keys", from, shortened(text), err)
	}
	return values.LayerOf(from, data), nil
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

// maxShown is how many bytes of a value a message shows.
const maxShown = 80

func shortened(text string) string { return chart.Shorten(text, maxShown, 0) }
