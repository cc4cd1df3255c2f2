package render

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"text/template"

	"github.com/Masterminds/sprig/v3"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Reasons for leaving functions of sprig out.
const (
	readsClock   = "it depends on the clock or the time zone, and the same commits must give the same files"
	readsMachine = "it reads from the machine that renders"
	isRandom     = "its result is random, and the same commits must give the same files"
	isCostly     = "it is too slow to be called for every assignment"
)

// leftOut are the functions of sprig that templates cannot call, with the reason; also [chart.RandomFunctions].
var leftOut = map[string]string{
	"env":           readsMachine,
	"expandenv":     readsMachine,
	"getHostByName": readsMachine,

	"ago": readsClock, "date": readsClock, "date_in_zone": readsClock, "date_modify": readsClock,
	"dateInZone": readsClock, "dateModify": readsClock, "htmlDate": readsClock, "htmlDateInZone": readsClock,
	"must_date_modify": readsClock, "mustDateModify": readsClock, "mustToDate": readsClock, "now": readsClock,
	"toDate": readsClock, "unixEpoch": readsClock,

	"derivePassword": isCostly, "buildCustomCert": isCostly,
}

func leftOutReason(name string) string {
	if slices.Contains(chart.RandomFunctions, name) {
		return isRandom
	}
	return leftOut[name]
}

// builtinNames are the functions of text/template itself.
var builtinNames = []string{
	"and", "call", "html", "index", "slice", "js", "len", "not", "or", "print", "printf", "println", "urlquery",
	"eq", "ge", "gt", "le", "lt", "ne",
}

// library returns the functions that templates can call besides a worker's own, not yet metered.
var library = sync.OnceValue(func() template.FuncMap {
	functions := sprig.TxtFuncMap()
	maps.DeleteFunc(functions, func(name string, _ any) bool { return leftOutReason(name) != "" })
	functions["print"], functions["printf"], functions["println"] = fmt.Sprint, chart.Printf, fmt.Sprintln
	functions["html"], functions["js"], functions["urlquery"] =
		template.HTMLEscaper, template.JSEscaper, template.URLQueryEscaper
	functions["keys"], functions["values"], functions["sortAlpha"] = chart.SortedKeys, chart.SortedValues, sortAlpha
	functions["unquote"], functions["shorten"] = unquote, shorten
	return functions
})

// functionNames returns the names of all functions that a text can call, in the parser's format.
var functionNames = sync.OnceValue(func() map[string]any {
	names := map[string]any{}
	for name := range library() {
		names[name] = true
	}
	for _, name := range builtinNames {
		names[name] = true
	}
	for name := range new(Worker).functions() {
		names[name] = true
	}
	for _, name := range injected {
		delete(names, name)
	}
	return names
})

// functionProblem returns the error for a function that cannot be called.
func functionProblem(line int, name string) *syntaxError {
	e := &syntaxError{line: line, message: brief(fmt.Sprintf("function %q is not defined", name))}
	if reason := leftOutReason(name); reason != "" {
		e.message, e.hint = fmt.Sprintf("function %q is not available", name), reason
	} else if near := fleet.Nearest(name, slices.Collect(maps.Keys(functionNames()))); near != "" {
		e.hint = fmt.Sprintf("did you mean %s?", near)
	} else {
		e.hint = "write a key with a dot before it, and a string in quotes"
	}
	return e
}

// sortAlpha sorts the strings of a list. Sprig's sortAlpha can sort the list in place, which may be shared.
func sortAlpha(list any) []string {
	v := reflect.ValueOf(list)
	if v.Kind() != reflect.Slice && v.Kind() != reflect.Array {
		return []string{plainText(list)}
	}
	texts := make([]string, 0, v.Len())
	for i := range v.Len() {
		if item := v.Index(i).Interface(); item != nil {
			texts = append(texts, plainText(item))
		}
	}
	slices.Sort(texts)
	return texts
}

// shorten cuts a name that is longer than limit bytes, and adds a hash of the whole name.
func shorten(limit int, name string) (string, error) {
	const least = 10
	if limit < least {
		return "", fmt.Errorf("%d is too short for a name with a hash; the minimum is %d", limit, least)
	}
	return fleet.Shorten(name, limit), nil
}

// unquote removes one pair of surrounding quotes, single or double, if there is one.
func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}
