package meter

import (
	"errors"
	"fmt"
	"reflect"
)

// ErrAbsent is the error for printing an absent value.
var ErrAbsent = errors.New("the value is not set")

// cheap functions do not walk through their arguments, and return one of them, a part of one,
// or a collection of them.
var cheap = setOf(
	"all", "any", "atoi", "coalesce", "default", "dict", "dig", "empty", "first", "float64", "get", "hasKey",
	"int", "int64", "kindIs", "kindOf", "last", "list", "mustFirst", "mustLast", "pluck", "set", "ternary",
	"tuple", "typeIs", "typeIsLike", "typeOf", "unset",
)

// shallow functions copy the elements of lists, and not what is in the elements.
var shallow = setOf(
	"append", "mustAppend", "push", "mustPush", "prepend", "mustPrepend", "concat", "reverse", "mustReverse", "rest", "mustRest",
	"initial", "mustInitial", "slice", "mustSlice", "compact", "mustCompact",
)

// perCopy is the work of copying an element, which has 16 bytes.
const perCopy = 16

// formatters convert a value to text. Passing an absent value to one is an error, like printing it.
var formatters = setOf(
	"cat", "hash", "html", "js", "mustToJson", "mustToPrettyJson", "mustToRawJson", "print", "printf", "println", "quote",
	"squote", "stringify", "toJson", "toPrettyJson", "toRawJson", "toString", "toYaml", "urlquery",
)

func setOf(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// Metered wraps fn so that it draws from the meter:
// before the call for its arguments and the estimated work, afterwards for its result.
func (m *Meter) Metered(name string, fn any) any {
	function := reflect.ValueOf(fn)
	t := function.Type()
	call := function.Call
	if t.IsVariadic() {
		call = function.CallSlice
	}
	return reflect.MakeFunc(fallible(t), func(args []reflect.Value) []reflect.Value {
		if err := m.admit(name, args, t.IsVariadic()); err != nil {
			return failed(t, err)
		}
		results := call(args)
		if err := m.built(name, results[0]); err != nil {
			return failed(t, err)
		}
		if len(results) == 1 {
			results = append(results, reflect.Zero(reflect.TypeFor[error]()))
		}
		return results
	}).Interface()
}

// fallible returns the type of a function that also returns an error.
func fallible(t reflect.Type) reflect.Type {
	in := make([]reflect.Type, t.NumIn())
	for i := range in {
		in[i] = t.In(i)
	}
	return reflect.FuncOf(in, []reflect.Type{t.Out(0), reflect.TypeFor[error]()}, t.IsVariadic())
}

func failed(t reflect.Type, err error) []reflect.Value {
	return []reflect.Value{reflect.Zero(t.Out(0)), reflect.ValueOf(&err).Elem()}
}

// admit charges for a call before it is made.
func (m *Meter) admit(name string, args []reflect.Value, variadic bool) error {
	if err := m.Charge(PerCall); err != nil {
		return err
	}
	if !m.Absent && formatters[name] && anyAbsent(args, variadic) {
		return ErrAbsent
	}
	before := m.Left
	for i, arg := range args {
		if err := m.read(name, arg, variadic && i == len(args)-1); err != nil {
			return err
		}
	}
	estimate := estimates[name]
	if estimate == nil {
		return nil
	}
	want := estimate(arguments{list: args, size: before - m.Left})
	if want > m.Left {
		return &Error{fmt.Sprintf("%s would need %.0f units of work, but only %.0f of %.0f are left", name, want, before, m.Limit)}
	}
	return m.Charge(want)
}

// read charges for an argument.
func (m *Meter) read(name string, arg reflect.Value, isRest bool) error {
	switch {
	case shallow[name]:
		return m.copied(arg)
	case !cheap[name]:
		return m.Measure(arg, 0)
	case isRest || Concrete(arg).Kind() == reflect.String:
		return m.measureTop(arg)
	default:
		return nil
	}
}

// built charges for a result. A cheap function's result is no larger than its arguments, which are already charged for.
func (m *Meter) built(name string, result reflect.Value) error {
	before := m.Left
	if err := m.chargeResult(name, result); err != nil {
		return err
	}
	if m.Result > 0 && before-m.Left > m.Result {
		return &Error{fmt.Sprintf("%s makes a value of more than %.0f units of work", name, m.Result)}
	}
	return nil
}

func (m *Meter) chargeResult(name string, result reflect.Value) error {
	switch {
	case cheap[name]:
		return nil
	case shallow[name]:
		return m.copied(result)
	}
	return m.measureTop(result)
}

// copied charges for the elements of a value that are copied.
func (m *Meter) copied(v reflect.Value) error {
	switch v = Concrete(v); v.Kind() {
	case reflect.String:
		return m.Charge(float64(v.Len()))
	case reflect.Slice, reflect.Array:
		return m.Charge(float64(v.Len()) * perCopy)
	default:
		return nil
	}
}

// anyAbsent reports whether one of the arguments is an absent value.
func anyAbsent(args []reflect.Value, variadic bool) bool {
	for i, arg := range args {
		if arg.Kind() == reflect.Interface && arg.IsNil() {
			return true
		}
		if variadic && i == len(args)-1 && arg.Type().Elem().Kind() == reflect.Interface {
			for j := range arg.Len() {
				if arg.Index(j).IsNil() {
					return true
				}
			}
		}
	}
	return false
}
