package render

import (
	"fmt"
	"reflect"
)

// Limits of one manifest. A unit of work is roughly a nanosecond or a byte,
// so that the worst template stops after some tens of milliseconds.
const (
	maxWork   = 1 << 24
	maxOutput = 1 << 20 // bytes that a manifest may write
	maxText   = 1 << 18 // bytes of a template
	maxDepth  = 64      // levels of templates within templates, and of values within values

	workPerNode = 50  // a node of the parse tree, executed once
	workPerCall = 200 // a function call, besides what it reads and builds
	workPerItem = 30  // an element of a list or map
)

// boundsError names the limit that a template exceeded.
type boundsError struct{ limit string }

func (e *boundsError) Error() string { return e.limit }

// meter measures the work of one manifest.
// Loops, template bodies and function calls draw from it, and so does every byte and element that a function reads or builds.
type meter struct{ left float64 }

// charge takes n units. n is a float because the size of a requested result can overflow every integer.
func (m *meter) charge(n float64) error {
	m.left -= n
	if m.left >= 0 {
		return nil
	}
	return &boundsError{fmt.Sprintf("the template needs more than %d units of work", maxWork)}
}

// measure charges for the whole of a value. Call it before code that walks the value without a limit:
// a map can contain itself, and a list can contain the same list a billion times.
func (m *meter) measure(v reflect.Value, depth int) error {
	if depth > maxDepth {
		return &boundsError{fmt.Sprintf("a value is nested more than %d levels deep", maxDepth)}
	}
	switch v.Kind() {
	case reflect.String:
		return m.charge(float64(v.Len()))
	case reflect.Interface:
		return m.measure(v.Elem(), depth)
	case reflect.Pointer:
		return m.measure(v.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		return m.measureList(v, depth)
	case reflect.Map:
		return m.measureMap(v, depth)
	default:
		return m.charge(1)
	}
}

func (m *meter) measureList(v reflect.Value, depth int) error {
	if err := m.charge(float64(v.Len()) * float64(workPerItem+depth)); err != nil {
		return err
	}
	if !nests(v.Type().Elem()) {
		return nil
	}
	for i := range v.Len() {
		if err := m.measure(v.Index(i), depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (m *meter) measureMap(v reflect.Value, depth int) error {
	if err := m.charge(float64(v.Len()) * float64(workPerItem+depth)); err != nil {
		return err
	}
	for entries := v.MapRange(); entries.Next(); {
		if err := m.measure(entries.Key(), depth+1); err != nil {
			return err
		}
		if err := m.measure(entries.Value(), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// nests reports whether values of a type vary in size.
func nests(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Interface, reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return true
	default:
		return false
	}
}

// measureTop charges for a value without the contents of its elements: the cost of building it from existing parts.
func (m *meter) measureTop(v reflect.Value) error {
	v = concrete(v)
	switch v.Kind() {
	case reflect.String:
		return m.charge(float64(v.Len()))
	case reflect.Slice, reflect.Array, reflect.Map:
		return m.charge(float64(v.Len()) * workPerItem)
	default:
		return nil
	}
}
