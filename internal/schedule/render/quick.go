package render

import (
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/meter"
)

// quickCall is a function that compiled templates call without reflection. It charges what the general way charges. If it does not know what to do with
// its arguments, it returns errUnusual before it charges anything.
type quickCall struct {
	least, most int // arguments
	call        func(*Worker, []operand) (operand, error)
}

// quick are the frequent functions.
var quick = map[string]quickCall{
	"default":   {2, 2, quickDefault},
	"quote":     {1, 1, quickQuote},
	"index":     {2, 2, quickIndex},
	"not":       {1, 1, quickNot},
	"len":       {1, 1, quickLength},
	"eq":        {2, math.MaxInt, quickEqual},
	"ne":        {2, 2, quickCompare("ne")},
	"lt":        {2, 2, quickCompare("lt")},
	"le":        {2, 2, quickCompare("le")},
	"gt":        {2, 2, quickCompare("gt")},
	"ge":        {2, 2, quickCompare("ge")},
	"coalesce":  {1, math.MaxInt, quickCoalesce},
	"printf":    {1, math.MaxInt, quickPrintf},
	"list":      {0, math.MaxInt, quickList},
	"splitList": {2, 2, quickSplitList},
	"first":     {1, 1, quickEnd(func(int) int { return 0 })},
	"last":      {1, 1, quickEnd(func(n int) int { return n - 1 })},
	"toString":  {1, 1, quickToString},
	"hasPrefix": {2, 2, quickTest(func(part, text string) bool { return strings.HasPrefix(text, part) })},
	"hasSuffix": {2, 2, quickTest(func(part, text string) bool { return strings.HasSuffix(text, part) })},
	"contains":  {2, 2, quickTest(func(part, text string) bool { return strings.Contains(text, part) })},
	"lower":     {1, 1, quickText(strings.ToLower)},
	"upper":     {1, 1, quickText(strings.ToUpper)},
	"trim":      {1, 1, quickText(strings.TrimSpace)},
}

func quickDefault(w *Worker, args []operand) (operand, error) {
	given := args[1]
	if given.kind == anyKind {
		v, err := w.orDefault(args[0].value(), given.any)
		return operandOf(v), err
	}
	is, err := given.truth()
	if !is {
		given = args[0]
	}
	if err != nil {
		return given, err
	}
	return given, w.Charge(meter.PerCall)
}

func quickQuote(w *Worker, args []operand) (operand, error) {
	text, err := w.quote(args[0].value())
	return textOperand(text), err
}

func quickIndex(_ *Worker, args []operand) (operand, error) {
	if args[1].kind != textKind {
		return operand{}, errUnusual
	}
	switch v := args[0].any.(type) {
	case map[string]string:
		return textOperand(v[args[1].text]), nil
	case map[string]any:
		return operandOf(v[args[1].text]), nil
	}
	return operand{}, errUnusual
}

func quickLength(_ *Worker, args []operand) (operand, error) {
	switch args[0].kind {
	case textKind:
		return operandOf(len(args[0].text)), nil
	case anyKind:
		if v := reflect.ValueOf(args[0].any); v.Kind() == reflect.Map || v.Kind() == reflect.Slice {
			return operandOf(v.Len()), nil
		}
	}
	return operand{}, errUnusual
}

func quickNot(_ *Worker, args []operand) (operand, error) {
	is, err := args[0].truth()
	return boolOperand(!is), err
}

func quickEqual(w *Worker, args []operand) (operand, error) {
	for _, other := range args[1:] {
		if is, err := w.compareOperands("eq", args[0], other); is || err != nil {
			return boolOperand(is), err
		}
	}
	return boolOperand(false), nil
}

func quickCompare(name string) func(*Worker, []operand) (operand, error) {
	return func(w *Worker, args []operand) (operand, error) {
		is, err := w.compareOperands(name, args[0], args[1])
		return boolOperand(is), err
	}
}

func (w *Worker) compareOperands(name string, a, b operand) (bool, error) {
	if a.kind != textKind || b.kind != textKind {
		return w.Compare(name, reflect.ValueOf(a.value()), reflect.ValueOf(b.value()))
	}
	if err := w.Charge(meter.PerCall); err != nil {
		return false, err
	}
	return w.CompareTexts(name, a.text, b.text)
}

func quickCoalesce(w *Worker, args []operand) (operand, error) {
	var first operand
	for i := len(args) - 1; i >= 0; i-- {
		if args[i].kind == anyKind {
			return operand{}, errUnusual // sprig knows which ones are empty
		}
		if is, _ := args[i].truth(); is {
			first = args[i]
		}
	}
	return first, w.Charge(meter.PerCall + float64(len(args))*meter.PerItem)
}

func quickPrintf(w *Worker, args []operand) (operand, error) {
	format := args[0]
	if format.kind != textKind {
		return operand{}, errUnusual
	}
	work := meter.PerCall + float64(len(format.text)) + float64(len(args)-1)*meter.PerItem
	values := make([]any, len(args)-1)
	for i, o := range args[1:] {
		if o.kind != textKind {
			return operand{}, errUnusual
		}
		work += float64(len(o.text))
		values[i] = o.text
	}
	if err := w.Charge(work + meter.Widths(format.text)); err != nil {
		return operand{}, err
	}
	text, err := chart.Printf(format.text, values...)
	if err != nil {
		return operand{}, err
	}
	return textOperand(text), w.Charge(float64(len(text)))
}

func quickList(w *Worker, args []operand) (operand, error) {
	list := make([]any, len(args))
	for i := range args {
		list[i] = args[i].value()
	}
	return operand{kind: anyKind, any: list}, w.Charge(meter.PerCall + float64(len(args))*meter.PerItem)
}

func quickSplitList(w *Worker, args []operand) (operand, error) {
	if args[0].kind != textKind || args[1].kind != textKind {
		return operand{}, errUnusual
	}
	separator, text := args[0].text, args[1].text
	work := meter.PerCall + float64(len(separator)) + float64(len(text)) + 20*float64(1+strings.Count(text, separator))
	if err := w.Charge(work); err != nil {
		return operand{}, err
	}
	parts := strings.Split(text, separator)
	return operand{kind: anyKind, any: parts}, w.Charge(float64(len(parts)) * meter.PerItem)
}

// quickEnd is the element of a list at an index that depends on its length.
func quickEnd(at func(length int) int) func(*Worker, []operand) (operand, error) {
	return func(w *Worker, args []operand) (operand, error) {
		var end operand
		switch list := args[0].any.(type) {
		case []string:
			if len(list) == 0 {
				return end, errUnusual
			}
			end = textOperand(list[at(len(list))])
		case []any:
			if len(list) == 0 {
				return end, errUnusual
			}
			end = operandOf(list[at(len(list))])
		default:
			return end, errUnusual
		}
		return end, w.Charge(meter.PerCall)
	}
}

func quickToString(w *Worker, args []operand) (operand, error) {
	text, work := args[0].text, 0.0
	switch args[0].kind {
	case textKind:
		work = float64(len(text))
	case anyKind:
		number, ok := args[0].any.(int)
		if !ok {
			return operand{}, errUnusual
		}
		text, work = strconv.Itoa(number), 1
	default:
		return operand{}, errUnusual
	}
	return textOperand(text), w.Charge(meter.PerCall + work + float64(len(text)))
}

// quickTest is a function of two texts.
func quickTest(test func(part, text string) bool) func(*Worker, []operand) (operand, error) {
	return func(w *Worker, args []operand) (operand, error) {
		if args[0].kind != textKind || args[1].kind != textKind {
			return operand{}, errUnusual
		}
		part, text := args[0].text, args[1].text
		if err := w.Charge(meter.PerCall + float64(len(part)) + float64(len(text))); err != nil {
			return operand{}, err
		}
		return boolOperand(test(part, text)), nil
	}
}

// quickText is a function that makes a text of another one.
func quickText(change func(string) string) func(*Worker, []operand) (operand, error) {
	return func(w *Worker, args []operand) (operand, error) {
		if args[0].kind != textKind {
			return operand{}, errUnusual
		}
		if err := w.Charge(meter.PerCall + float64(len(args[0].text))); err != nil {
			return operand{}, err
		}
		text := change(args[0].text)
		return textOperand(text), w.Charge(float64(len(text)))
	}
}
