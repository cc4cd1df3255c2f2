package render

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Configurations are formatted for every assignment, and most are maps of short texts and numbers. The YAML library takes most of its time
// to find out that such a text needs no quotes. This file writes what is surely plain itself, and leaves everything else to the library.

const (
	maxEntries = 1000 // of a map that is written here
	maxKey     = 64   // bytes of a key
	maxOrders  = 256  // sets of keys whose order a worker remembers
	// maxOther is the number of entries that are given to the library one by one. With more of them, it is faster to give it the whole map.
	maxOther = 2
)

// mapping has what a worker keeps to format maps. The zero value is ready.
type mapping struct {
	orders  map[string][]string // keys in the library's order, by the sorted keys with a comma after each
	keys    []string
	id, out []byte
}

// marshal returns a value as YAML, without the final newline.
func (m *mapping) marshal(v any) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		if text, ok := format(m, v, appendPlain); ok {
			return text, nil
		}
	case map[string]string:
		if text, ok := format(m, v, appendPlainText); ok {
			return text, nil
		}
	}
	return marshal(v)
}

// format returns a map as YAML, as [marshal] does; not ok leaves that to it. add appends a value that is surely plain.
func format[V any](m *mapping, values map[string]V, add func([]byte, V) ([]byte, bool)) (text string, ok bool) {
	if len(values) == 0 || len(values) > maxEntries {
		return "", false
	}
	m.keys, m.out = m.keys[:0], m.out[:0]
	for key := range values {
		if !isPlainKey(key) {
			return "", false
		}
		m.keys = append(m.keys, key)
	}
	keys, err := m.order()
	if err != nil {
		return "", false
	}
	others := 0
	for _, key := range keys {
		before := len(m.out)
		m.out = append(append(m.out, key...), ": "...)
		if m.out, ok = add(m.out, values[key]); ok {
			m.out = append(m.out, '\n')
			continue
		}
		if others++; others > maxOther {
			return "", false
		}
		entry, err := yaml.Marshal(map[string]any{key: values[key]})
		if err != nil {
			return "", false
		}
		m.out = append(m.out[:before], entry...)
	}
	return strings.TrimSuffix(string(m.out), "\n"), true
}

// order sorts the keys as the library does, which it asks once for each set of keys.
func (m *mapping) order() ([]string, error) {
	slices.Sort(m.keys)
	m.id = m.id[:0]
	for _, key := range m.keys {
		m.id = append(append(m.id, key...), ',')
	}
	if keys := m.orders[string(m.id)]; keys != nil {
		return keys, nil
	}
	set := map[string]bool{}
	for _, key := range m.keys {
		set[key] = true
	}
	data, err := yaml.Marshal(set)
	if err != nil {
		return nil, err
	}
	keys := make([]string, 0, len(set))
	for line := range strings.Lines(string(data)) {
		key, _, _ := strings.Cut(line, ":")
		keys = append(keys, key)
	}
	if m.orders == nil || len(m.orders) >= maxOrders {
		m.orders = map[string][]string{}
	}
	m.orders[string(m.id)] = keys
	return keys, nil
}

// isPlainKey reports whether a text is surely a key that needs no quotes.
func isPlainKey(key string) bool {
	if len(key) > maxKey || key == "" || !isLetter(key[0]) || isReserved(key) {
		return false
	}
	for i := range len(key) {
		if c := key[i]; !isAlphanumeric(c) && c != '_' && c != '-' && c != '.' {
			return false
		}
	}
	return true
}

// isReserved reports whether a text may be a boolean or null, in some case and version of YAML.
func isReserved(text string) bool {
	if len(text) > len("false") {
		return false
	}
	switch strings.ToLower(text) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return true
	}
	return false
}

// appendPlain appends a value as YAML; not ok means that the library has to.
func appendPlain(out []byte, v any) ([]byte, bool) {
	switch v := v.(type) {
	case string:
		return appendPlainText(out, v)
	case bool:
		return strconv.AppendBool(out, v), true
	case int:
		return strconv.AppendInt(out, int64(v), 10), true
	case int64:
		return strconv.AppendInt(out, v, 10), true
	case nil:
		return append(out, "null"...), true
	}
	return out, false
}

// appendPlainText appends a text as YAML: words that begin with a letter or slash as they are; whole numbers, true and false in quotes.
func appendPlainText(out []byte, text string) ([]byte, bool) {
	switch {
	case text == "true", text == "false", isNumber(text):
		return append(append(append(out, '"'), text...), '"'), true
	case text == "", !isLetter(text[0]) && text[0] != '/', isReserved(text):
		return out, false
	}
	start := len(out)
	out = append(out, text...)
	for rest := out[start:]; ; {
		end := slices.Index(rest, ' ')
		if end < 0 {
			return out, isPlainWord(rest)
		}
		if !isPlainWord(rest[:end]) {
			return out[:start], false
		}
		rest = rest[end+1:]
	}
}

// isNumber reports whether a text is surely a whole number.
func isNumber(text string) bool {
	if text == "" || len(text) > 18 || text[0] == '0' {
		return false
	}
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}
