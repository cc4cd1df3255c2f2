package render

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// Functions that nearly every template calls are metered by hand: the general way costs as much as the rest of an action.

// quote returns values in double quotes, in which YAML reads them as text whatever they are.
func (w *Worker) quote(values ...any) (string, error) {
	if len(values) == 1 {
		if text, ok := values[0].(string); ok {
			return strconv.Quote(text), w.charge(workPerCall + float64(4*len(text)))
		}
	}
	quoted := make([]string, 0, len(values))
	for _, v := range values {
		if v == nil {
			return "", errAbsent
		}
		if err := w.measure(reflect.ValueOf(v), 0); err != nil {
			return "", err
		}
		quoted = append(quoted, strconv.Quote(plainText(v)))
	}
	return strings.Join(quoted, " "), w.charge(workPerCall)
}

// plainText returns a value as sprig's toString does.
func plainText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	default:
		return fmt.Sprint(v)
	}
}

// orDefault returns given unless it is absent or the zero value of its type, and fallback then.
func (w *Worker) orDefault(fallback any, given ...any) (any, error) {
	if len(given) == 0 {
		return fallback, w.charge(workPerCall)
	}
	v := reflect.ValueOf(given[0])
	if !v.IsValid() {
		return fallback, w.charge(workPerCall)
	}
	isEmpty := v.Kind() != reflect.Struct && v.IsZero()
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice:
		isEmpty = v.Len() == 0
	}
	if isEmpty {
		return fallback, w.charge(workPerCall)
	}
	return given[0], w.charge(workPerCall)
}

// pattern is a compiled regular expression; nil when the text is none.
type pattern struct {
	expression *regexp.Regexp
	size       float64 // see expressionSize
}

// regexMatch reports whether a text matches. As in sprig, nothing matches what is no expression.
// Compiling is charged every time, so that what is too much does not depend on what was rendered before.
func (w *Worker) regexMatch(text, s string) (bool, error) {
	p, known := w.patterns[text]
	if !known {
		p.size = expressionSize(text)
	}
	if err := w.charge(workPerCall + p.size*compiling + float64(1+len(s))*(1+p.size/4)); err != nil {
		return false, err
	}
	if !known {
		p.expression, _ = regexp.Compile(text)
		if len(w.patterns) >= maxMemo {
			clear(w.patterns)
		}
		w.patterns[text] = p
	}
	return p.expression != nil && p.expression.MatchString(s), nil
}
