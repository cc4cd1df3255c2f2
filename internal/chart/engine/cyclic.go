package engine

import "reflect"

// tooDeep reports whether maps and lists nest deeper than levels, as in a value that contains itself.
func tooDeep(v any, levels int) bool {
	w := walker{left: 1 << 20}
	w.walk(v, levels)
	return w.tooDeep
}

// contains reports whether source contains m.
func contains(source, m map[string]any) bool {
	w := walker{left: 1 << 20, wanted: reflect.ValueOf(m).Pointer()}
	w.walk(source, maxDepth)
	return w.found && reflect.ValueOf(source).Pointer() != w.wanted
}

// walker walks through data. Its work is bounded, because shared values are visited each time.
type walker struct {
	left    int
	wanted  uintptr // the map to find; 0 for none
	found   bool
	tooDeep bool
}

func (w *walker) walk(v any, levels int) {
	w.left--
	if levels < 0 || w.left < 0 {
		w.tooDeep = true
	}
	if w.tooDeep || w.found {
		return
	}
	switch v := v.(type) {
	case nil, string, bool, int, int64, float64:
		return
	case []any:
		for _, item := range v {
			w.walk(item, levels-1)
		}
		return
	}
	r := reflect.ValueOf(v)
	if r.Kind() != reflect.Map {
		return
	}
	if w.wanted != 0 && r.Pointer() == w.wanted {
		w.found = true
		return
	}
	for entries := r.MapRange(); entries.Next(); {
		w.walk(entries.Value().Interface(), levels-1)
	}
}
