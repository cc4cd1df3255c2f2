package render

import (
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"

	"github.com/mitchellh/hashstructure"
	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/chart/meter"
)

// maxMemo bounds the results that a worker caches.
const maxMemo = 1 << 12

// memo caches function results for shared maps, by the map's address: marshalling a configuration of ten keys takes as long
// as executing ten templates, and a thousand assignments share one configuration.
// It keeps each map alive, so that no other map gets the same address.
type memo map[memoKey]memoResult

type memoKey struct {
	function string
	address  uintptr
}

type memoResult struct {
	of     any // the map, kept alive
	result any
	work   float64 // charged again, so that the limit does not depend on earlier renderings
}

// remember returns compute(v), from the cache if possible.
// Only results for shared maps are cached: the configuration itself and its stringified form.
func (w *Worker) remember(function string, v any, compute func(any) (any, error)) (any, error) {
	address, isShared := w.shared(v)
	key := memoKey{function, address}
	if found, ok := w.memo[key]; ok && isShared {
		return found.result, w.Charge(found.work)
	}
	before := w.Left
	if err := w.Measure(reflect.ValueOf(v), 0); err != nil {
		return nil, err
	}
	result, err := compute(v)
	if err != nil || !isShared {
		return result, err
	}
	if len(w.memo) >= maxMemo {
		clear(w.memo)
	}
	w.memo[key] = memoResult{of: v, result: result, work: before - w.Left}
	return result, nil
}

// shared returns the address of a map that no template can change.
func (w *Worker) shared(v any) (uintptr, bool) {
	if w.program.mutates || w.data == nil {
		return 0, false
	}
	switch m := v.(type) {
	case map[string]any:
		address := reflect.ValueOf(m).Pointer()
		return address, m != nil && address == reflect.ValueOf(w.data.ConfigData).Pointer()
	case map[string]string:
		return w.stringified(m)
	default:
		return 0, false
	}
}

// stringified returns the address of a map, and reports whether it is the stringified configuration.
func (w *Worker) stringified(m map[string]string) (uintptr, bool) {
	address := reflect.ValueOf(m).Pointer()
	made, ok := w.memo[memoKey{"stringify", reflect.ValueOf(w.data.ConfigData).Pointer()}]
	if !ok {
		return 0, false
	}
	original, ok := made.result.(map[string]string)
	return address, ok && reflect.ValueOf(original).Pointer() == address
}

// toYAML returns a value as YAML, without the final newline.
func (w *Worker) toYAML(v any) (string, error) {
	return w.text("toYaml", v, w.mapping.marshal)
}

// stringify returns a map whose values are strings: nested maps and lists as YAML.
func (w *Worker) stringify(v any) (any, error) {
	if err := w.admitValue(v); err != nil {
		return nil, err
	}
	return w.remember("stringify", v, func(v any) (any, error) {
		made, err := stringify(v)
		if _, isShared := w.shared(v); !isShared || err != nil {
			return made, err
		}
		if texts, ok := made.(map[string]string); ok {
			maps.Copy(texts, w.data.texts)
		}
		return made, nil
	})
}

// hash returns the hash of a value by mitchellh/hashstructure, format 1.
func (w *Worker) hash(v any) (string, error) {
	return w.text("hash", v, func(v any) (any, error) {
		sum, err := hashstructure.Hash(v, nil)
		return strconv.FormatUint(sum, 10), err
	})
}

func (w *Worker) text(function string, v any, compute func(any) (any, error)) (string, error) {
	if err := w.admitValue(v); err != nil {
		return "", err
	}
	result, err := w.remember(function, v, compute)
	if err != nil {
		return "", err
	}
	text, _ := result.(string)
	return text, w.Charge(float64(len(text)))
}

func (w *Worker) admitValue(v any) error {
	if v == nil {
		return meter.ErrAbsent
	}
	return w.Charge(meter.PerCall)
}

func marshal(v any) (any, error) {
	data, err := yaml.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("marshal %T: %w", v, err)
	}
	return strings.TrimSuffix(string(data), "\n"), nil
}

func stringify(v any) (any, error) {
	m := reflect.ValueOf(v)
	if m.Kind() != reflect.Map {
		return scalarText(v)
	}
	texts := make(map[string]string, m.Len())
	for entries := m.MapRange(); entries.Next(); {
		text, err := scalarText(entries.Value().Interface())
		if err != nil {
			return nil, err
		}
		texts[fmt.Sprint(entries.Key().Interface())] = text
	}
	return texts, nil
}

// scalarText returns a string unchanged and any other value as YAML.
func scalarText(v any) (string, error) {
	if text, ok := v.(string); ok {
		return text, nil
	}
	if v == nil {
		return "", nil
	}
	marshalled, err := marshal(v)
	if err != nil {
		return "", err
	}
	text, _ := marshalled.(string)
	return text, nil
}
