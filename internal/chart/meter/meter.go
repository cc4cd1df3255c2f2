package meter

import (
	"cmp"
	"fmt"
	"reflect"
)

// The work of parts of a call. A unit is roughly a nanosecond or a byte.
const (
	PerCall = 200 // a function call, besides what it reads and builds
	PerItem = 30  // an element of a list or map
	// MaxDepth is how many levels of values within values there can be, unless a meter says otherwise.
	MaxDepth = 64
)

// Error names the limit that a template exceeded.
type Error struct{ Limit string }

// Error returns the limit.
func (e *Error) Error() string { return e.Limit }

// Meter measures the work of templates.
// Loops, template bodies and function calls draw from it, and so does every byte and element that a function reads or builds.
type Meter struct {
	// Left is how much can be done yet, Limit how much could be done in the beginning.
	Left, Limit float64
	// Result is how much one call may build. Default: no limit but Left.
	Result float64
	// Depth is the maximum number of levels of values within values. Default: [MaxDepth].
	Depth int
	// Absent permits values that do not exist in functions that convert values to text.
	Absent bool
}

// Charge takes n units. n is a float because the size of a requested result can overflow every integer.
func (m *Meter) Charge(n float64) error {
	m.Left -= n
	if m.Left >= 0 {
		return nil
	}
	return m.exceeded()
}

func (m *Meter) exceeded() error {
	return &Error{fmt.Sprintf("the template needs more than %.0f units of work", m.Limit)}
}

// Measure charges for the whole of a value. Call it before code that walks the value without a limit:
// a map can contain itself, and a list can contain the same list a billion times.
func (m *Meter) Measure(v reflect.Value, depth int) error {
	if most := cmp.Or(m.Depth, MaxDepth); depth > most {
		return &Error{fmt.Sprintf("a value is nested more than %d levels deep", most)}
	}
	switch v.Kind() {
	case reflect.String:
		return m.Charge(float64(v.Len()))
	case reflect.Interface:
		return m.Measure(v.Elem(), depth)
	case reflect.Pointer:
		return m.Measure(v.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		return m.measureList(v, depth)
	case reflect.Map:
		return m.measureMap(v, depth)
	default:
		return m.Charge(1)
	}
}

func (m *Meter) measureList(v reflect.Value, depth int) error {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return m.Charge(float64(v.Len()))
	}
	if err := m.Charge(float64(v.Len()) * float64(PerItem+depth)); err != nil {
		return err
	}
	if !nests(v.Type().Elem()) {
		return nil
	}
	for i := range v.Len() {
		if err := m.Measure(v.Index(i), depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (m *Meter) measureMap(v reflect.Value, depth int) error {
	if err := m.Charge(float64(v.Len()) * float64(PerItem+depth)); err != nil {
		return err
	}
	for entries := v.MapRange(); entries.Next(); {
		if err := m.Measure(entries.Key(), depth+1); err != nil {
			return err
		}
		if err := m.Measure(entries.Value(), depth+1); err != nil {
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
func (m *Meter) measureTop(v reflect.Value) error {
	v = Concrete(v)
	switch v.Kind() {
	case reflect.String:
		return m.Charge(float64(v.Len()))
	case reflect.Slice, reflect.Array, reflect.Map:
		return m.Charge(float64(v.Len()) * PerItem)
	default:
		return nil
	}
}
