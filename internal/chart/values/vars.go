package values

import (
	"maps"
	"slices"
	"strings"
)

// Vars maps names of variables to values. Names consist of letters, digits and underscores.
type Vars map[string]string

// Expand replaces references to the variables, $NAME and ${NAME}. All other text is unchanged.
func (v Vars) Expand(text string) string {
	if len(v) == 0 || !strings.Contains(text, "$") {
		return text
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, reference := reference(after)
		if value, known := v[name]; known && name != "" {
			b.WriteString(value)
			text = after[reference:]
			continue
		}
		b.WriteByte('$')
		text = after
	}
}

// reference parses the name after a dollar sign, and returns the length of the reference. Empty if there is none.
func reference(text string) (string, int) {
	if !strings.HasPrefix(text, "{") {
		n := nameLength(text)
		return text[:n], n
	}
	n := nameLength(text[1:])
	if strings.HasPrefix(text[1+n:], "}") {
		return text[1 : 1+n], n + 2
	}
	return "", 0
}

// nameLength returns the number of bytes of the name at the start of a text.
func nameLength(text string) int {
	for i := range len(text) {
		c := text[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if digit := '0' <= c && c <= '9'; !letter && (!digit || i == 0) {
			return i
		}
	}
	return len(text)
}

// expandAny expands the strings in a value. The value itself is not modified.
func (v Vars) expandAny(value any) any {
	if len(v) == 0 {
		return value
	}
	switch value := value.(type) {
	case string:
		return v.Expand(value)
	case []any:
		items := make([]any, len(value))
		for i, item := range value {
			items[i] = v.expandAny(item)
		}
		return items
	case map[string]any:
		fields := make(map[string]any, len(value))
		for key, field := range value {
			fields[key] = v.expandAny(field)
		}
		return fields
	}
	return value
}

// ExpandMap returns values with their strings expanded. The values themselves are not modified.
func (v Vars) ExpandMap(data map[string]any) map[string]any {
	if len(v) == 0 || data == nil {
		return data
	}
	return v.expandAny(data).(map[string]any)
}

// In returns the names of the variables that strings in a value refer to, sorted.
func (v Vars) In(value any) []string {
	used := map[string]bool{}
	v.note(value, used)
	return slices.Sorted(maps.Keys(used))
}

// noteWritten adds the names of the variables that written values refer to.
func (v Vars) noteWritten(n *node, used map[string]bool) {
	if len(v) == 0 {
		return
	}
	n.eachLeaf("", func(_ string, leaf *node) {
		if leaf.by == nil {
			v.note(leaf.value, used)
		}
	})
}

func (v Vars) note(value any, used map[string]bool) {
	switch value := value.(type) {
	case string:
		for rest := value; ; {
			_, after, found := strings.Cut(rest, "$")
			if !found {
				return
			}
			if name, _ := reference(after); name != "" {
				if _, known := v[name]; known {
					used[name] = true
				}
			}
			rest = after
		}
	case []any:
		for _, item := range value {
			v.note(item, used)
		}
	case map[string]any:
		for _, field := range value {
			v.note(field, used)
		}
	}
}
