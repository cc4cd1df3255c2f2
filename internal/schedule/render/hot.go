package render

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/chart/meter"
)

// The most frequent functions are metered by hand: the general way costs as much as the rest of an action.

// quote returns values in double quotes, so that YAML reads them as strings.
func (w *Worker) quote(values ...any) (string, error) {
	if len(values) == 1 {
		if text, ok := values[0].(string); ok {
			return strconv.Quote(text), w.Charge(meter.PerCall + float64(4*len(text)))
		}
	}
	quoted := make([]string, 0, len(values))
	for _, v := range values {
		if v == nil {
			return "", meter.ErrAbsent
		}
		if err := w.Measure(reflect.ValueOf(v), 0); err != nil {
			return "", err
		}
		quoted = append(quoted, strconv.Quote(plainText(v)))
	}
	return strings.Join(quoted, " "), w.Charge(meter.PerCall)
}

// plainText formats a value as sprig's toString does.
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

// orDefault returns given, or fallback if given is absent, empty or the zero value of its type.
func (w *Worker) orDefault(fallback any, given ...any) (any, error) {
	if len(given) == 0 {
		return fallback, w.Charge(meter.PerCall)
	}
	v := reflect.ValueOf(given[0])
	if !v.IsValid() {
		return fallback, w.Charge(meter.PerCall)
	}
	isEmpty := v.Kind() != reflect.Struct && v.IsZero()
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice:
		isEmpty = v.Len() == 0
	}
	if isEmpty {
		return fallback, w.Charge(meter.PerCall)
	}
	return given[0], w.Charge(meter.PerCall)
}

// pattern is a compiled regular expression.
type pattern struct {
	expression *regexp.Regexp // nil if the text is not a valid expression
	size       float64        // see [meter.ExpressionSize]
}

// regexMatch reports whether a string matches. As in sprig, an invalid expression matches nothing.
// Compiling is charged every time, so that the limit does not depend on earlier renderings.
func (w *Worker) regexMatch(text, s string) (bool, error) {
	p, known := w.patterns[text]
	if !known {
		p.size = meter.ExpressionSize(text)
	}
	if err := w.Charge(meter.PerCall + p.size*meter.Compiling + float64(1+len(s))*(1+p.size/4)); err != nil {
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
