package formula

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// Limits of a result.
const (
	maxResultSize   = 256 << 10 // bytes of all its texts
	maxResultValues = 10_000
	maxResultDepth  = 64
)

var errResultSize = fmt.Errorf("the result is larger than %d KiB, %d values or %d levels", maxResultSize>>10, maxResultValues, maxResultDepth)

// native converts results of CEL.
type native struct{ size, values int }

// convert returns a result as a string, bool, int64, uint64, float64, map[string]any or []any. ok is false if there is none: null, or
// an absent optional.
func convert(v ref.Val) (result any, ok bool, err error) {
	n := &native{}
	if result, err = n.value(v, 0); err != nil {
		return nil, false, err
	}
	return result, result != nil, nil
}

func (n *native) value(v ref.Val, depth int) (any, error) {
	if n.values++; n.values > maxResultValues || depth > maxResultDepth {
		return nil, errResultSize
	}
	switch v := v.(type) {
	case types.Null:
		return nil, nil
	case *types.Optional:
		if !v.HasValue() {
			return nil, nil
		}
		return n.value(v.GetValue(), depth+1)
	case types.Bool:
		return bool(v), nil
	case types.Int:
		return int64(v), nil
	case types.Uint:
		return uint64(v), nil
	case types.Double:
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, errors.New("the result is not a number, or an infinite one")
		}
		return float64(v), nil
	case types.String:
		return n.text(string(v))
	case *types.Err:
		return nil, v
	case traits.Mapper:
		return n.fields(v, depth)
	case traits.Lister:
		return n.items(v, depth)
	}
	return nil, fmt.Errorf("the result has a %s, want texts, numbers, booleans, maps and lists", v.Type().TypeName())
}

func (n *native) text(s string) (string, error) {
	if n.size += len(s); n.size > maxResultSize {
		return "", errResultSize
	}
	return s, nil
}

func (n *native) fields(m traits.Mapper, depth int) (any, error) {
	fields := map[string]any{}
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, ok := key.(types.String)
		if !ok {
			return nil, fmt.Errorf("the result has a map with a key that is not a text: %v", key.Value())
		}
		if _, err := n.text(string(name)); err != nil {
			return nil, err
		}
		value, err := n.value(m.Get(key), depth+1)
		if err != nil {
			return nil, err
		}
		fields[string(name)] = value
	}
	return fields, nil
}

func (n *native) items(l traits.Lister, depth int) (any, error) {
	items := []any{}
	for it := l.Iterator(); it.HasNext() == types.True; {
		item, err := n.value(it.Next(), depth+1)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
