package meter

import (
	"fmt"
	"reflect"
	"strings"
	"text/template"
)

// comparisons are text/template's own, which can only be called from a template.
var comparisons = template.Must(template.New("").Parse(
	`{{define "eq"}}{{eq .A .B}}{{end}}{{define "ne"}}{{ne .A .B}}{{end}}` +
		`{{define "lt"}}{{lt .A .B}}{{end}}{{define "le"}}{{le .A .B}}{{end}}` +
		`{{define "gt"}}{{gt .A .B}}{{end}}{{define "ge"}}{{ge .A .B}}{{end}}`))

type operands struct{ A, B any }

// Equal implements eq: it reports whether the first value equals one of the others.
func (m *Meter) Equal(a reflect.Value, others ...reflect.Value) (bool, error) {
	if len(others) == 0 {
		return false, fmt.Errorf("missing argument for comparison")
	}
	for _, b := range others {
		if is, err := m.Compare("eq", a, b); is || err != nil {
			return is, err
		}
	}
	return false, nil
}

// Comparison returns the implementation of ne, lt, le, gt or ge.
func (m *Meter) Comparison(name string) func(a, b reflect.Value) (bool, error) {
	return func(a, b reflect.Value) (bool, error) { return m.Compare(name, a, b) }
}

// Compare implements eq, ne, lt, le, gt and ge for two values.
func (m *Meter) Compare(name string, a, b reflect.Value) (bool, error) {
	a, b = Concrete(a), Concrete(b)
	if err := m.Charge(PerCall); err != nil {
		return false, err
	}
	if a.Kind() != reflect.String || b.Kind() != reflect.String {
		return m.compareOther(name, a, b)
	}
	return m.CompareTexts(name, a.String(), b.String())
}

// CompareTexts implements them for two texts.
func (m *Meter) CompareTexts(name, a, b string) (bool, error) {
	if err := m.Charge(float64(min(len(a), len(b)))); err != nil {
		return false, err
	}
	order := strings.Compare(a, b)
	switch name {
	case "eq":
		return order == 0, nil
	case "ne":
		return order != 0, nil
	case "lt":
		return order < 0, nil
	case "le":
		return order <= 0, nil
	case "gt":
		return order > 0, nil
	default:
		return order >= 0, nil
	}
}

// compareOther lets text/template compare values that are not both strings.
func (m *Meter) compareOther(name string, a, b reflect.Value) (bool, error) {
	if err := m.Charge(20 * PerCall); err != nil {
		return false, err
	}
	var result strings.Builder
	err := comparisons.ExecuteTemplate(&result, name, operands{value(a), value(b)})
	if err != nil {
		return false, fmt.Errorf("%s cannot compare %s with %s", name, typeName(a), typeName(b))
	}
	return result.String() == "true", nil
}

// Concrete returns the value in an interface, or the zero Value for nil.
func Concrete(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}

func value(v reflect.Value) any {
	if !v.IsValid() {
		return nil
	}
	return v.Interface()
}

func typeName(v reflect.Value) string {
	if !v.IsValid() {
		return "an absent value"
	}
	return v.Type().String()
}
