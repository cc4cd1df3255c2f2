package render

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"text/template"
)

// operand is a value while a compiled template runs. Texts, the most frequent ones, are not put into an interface, which would
// allocate each of them.
type operand struct {
	kind operandKind
	text string
	is   bool
	any  any // neither nil nor one of the other kinds
}

type operandKind uint8

const (
	absentKind operandKind = iota // nil, or a key that a map does not have
	textKind
	boolKind
	anyKind
)

func textOperand(text string) operand { return operand{kind: textKind, text: text} }
func boolOperand(is bool) operand     { return operand{kind: boolKind, is: is} }

func operandOf(v any) operand {
	switch v := v.(type) {
	case nil:
		return operand{}
	case string:
		return textOperand(v)
	case bool:
		return boolOperand(v)
	default:
		return operand{kind: anyKind, any: v}
	}
}

// value returns the operand as text/template passes it to a function.
func (o *operand) value() any {
	switch o.kind {
	case textKind:
		return o.text
	case boolKind:
		return o.is
	default:
		return o.any
	}
}

// truth reports whether a branch takes the operand as true.
func (o *operand) truth() (bool, error) {
	switch o.kind {
	case absentKind:
		return false, nil
	case textKind:
		return o.text != "", nil
	case boolKind:
		return o.is, nil
	}
	is, ok := template.IsTrue(o.any)
	if !ok {
		return false, errUnusual
	}
	return is, nil
}

// errUnusual ends the run of a compiled template: only the template engine knows what becomes of it.
var errUnusual = errors.New("a compiled template does not do this")

// follow returns what a chain of keys leads to.
func (o operand) follow(keys []string) (operand, error) {
	for i, key := range keys {
		next, err := o.key(key)
		if err != nil {
			return next, err
		}
		if next.kind == absentKind && i+1 < len(keys) {
			return next, errUnusual // absent, or an error if the key has no value
		}
		o = next
	}
	return o, nil
}

// key returns the value of a key.
func (o *operand) key(key string) (operand, error) {
	switch v := o.any.(type) {
	case map[string]string:
		text, ok := v[key]
		if !ok {
			return operand{}, nil
		}
		return textOperand(text), nil
	case map[string]any:
		return operandOf(v[key]), nil
	case Grant:
		return v.field(key)
	case Dependency:
		return v.field(key)
	}
	return operand{}, errUnusual
}

func (g *Grant) field(name string) (operand, error) {
	switch name {
	case "Name":
		return textOperand(g.Name), nil
	case "ClusterRole":
		return textOperand(g.ClusterRole), nil
	case "Namespace":
		return textOperand(g.Namespace), nil
	case "ClusterWide":
		return boolOperand(g.ClusterWide), nil
	}
	return operand{}, errUnusual
}

func (d *Dependency) field(name string) (operand, error) {
	switch name {
	case "DeploymentTargetName":
		return textOperand(d.DeploymentTargetName), nil
	case "Workload":
		return textOperand(d.Workload), nil
	case "Workspace":
		return textOperand(d.Workspace), nil
	case "Namespace":
		return textOperand(d.Namespace), nil
	case "Manifests":
		return operand{kind: anyKind, any: d.Manifests}, nil
	}
	return operand{}, errUnusual
}

// reader returns the function that reads a field of the data, or nil.
func reader(name string) func(*Data) operand {
	if read := fields[name]; read != nil {
		return func(d *Data) operand { return textOperand(read(d)) }
	}
	if read := tables[name]; read != nil {
		return func(d *Data) operand { return operand{kind: anyKind, any: read(d)} }
	}
	switch name {
	case "ConfigData":
		return func(d *Data) operand { return operand{kind: anyKind, any: d.ConfigData} }
	case "Grants":
		return func(d *Data) operand { return operand{kind: anyKind, any: d.Grants} }
	case "DependsOn":
		return func(d *Data) operand { return operand{kind: anyKind, any: d.DependsOn} }
	case "Wave":
		return func(d *Data) operand { return operand{kind: anyKind, any: d.Wave} }
	default:
		return nil
	}
}

// each calls visit for the elements of a list or map in the order of text/template, and reports whether there were any.
func (w *Worker) each(list *operand, visit func(key, element operand) error) (bool, error) {
	switch list.kind {
	case absentKind:
		return false, nil
	case textKind, boolKind:
		return false, errUnusual
	}
	v := reflect.ValueOf(list.any)
	if _, err := w.over(v); err != nil {
		return false, err
	}
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			if err := visit(operand{kind: anyKind, any: i}, operandOf(v.Index(i).Interface())); err != nil {
				return true, err
			}
		}
	case reflect.Map:
		if v.Type().Key().Kind() != reflect.String {
			return false, errUnusual
		}
		for _, key := range sortedKeys(v) {
			if err := visit(textOperand(key.String()), operandOf(v.MapIndex(key).Interface())); err != nil {
				return true, err
			}
		}
	default:
		return false, errUnusual
	}
	return v.Len() > 0, nil
}

// sortedKeys returns the keys of a map whose keys are texts, sorted.
func sortedKeys(m reflect.Value) []reflect.Value {
	return slices.SortedFunc(slices.Values(m.MapKeys()), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
}
