package meter

import (
	"math"
	"reflect"
	"regexp/syntax"
	"strings"
)

// arguments of a call.
type arguments struct {
	list []reflect.Value // the last one is a slice for variadic functions
	size float64         // the work of measuring them
}

func (a arguments) number(i int) float64 { return math.Abs(float64(a.list[i].Int())) }
func (a arguments) text(i int) string    { return a.list[i].String() }
func (a arguments) length(i int) float64 { return float64(a.list[i].Len()) }

// items returns the length of a list, or 1 for any other value.
func (a arguments) items(i int) float64 {
	v := Concrete(a.list[i])
	if v.Kind() == reflect.Slice || v.Kind() == reflect.Array {
		return float64(v.Len())
	}
	return 1
}

// estimates return the cost of functions whose work can be more than proportional to the size of their arguments.
// They are upper bounds.
var estimates = map[string]func(arguments) float64{
	"repeat":    func(a arguments) float64 { return a.number(0) * a.length(1) },
	"until":     func(a arguments) float64 { return a.number(0) * PerItem },
	"untilStep": func(a arguments) float64 { return steps(a.list[0].Int(), a.list[1].Int(), a.list[2].Int()) },
	"seq":       seqSteps,
	"indent":    func(a arguments) float64 { return a.number(0) * float64(1+strings.Count(a.text(1), "\n")) },
	"nindent":   func(a arguments) float64 { return a.number(0) * float64(1+strings.Count(a.text(1), "\n")) },
	"replace":   func(a arguments) float64 { return float64(strings.Count(a.text(2), a.text(0))) * a.length(1) },
	"join":      func(a arguments) float64 { return a.items(1) * (PerItem + a.length(0)) },
	"wrapWith":  func(a arguments) float64 { return (1 + a.length(2)) * (1 + a.length(1)) },
	"printf":    func(a arguments) float64 { return Widths(a.text(0)) },

	"split":     func(a arguments) float64 { return 100 * float64(1+strings.Count(a.text(1), a.text(0))) },
	"splitList": func(a arguments) float64 { return 20 * float64(1+strings.Count(a.text(1), a.text(0))) },
	"splitn":    func(a arguments) float64 { return 100 * float64(1+strings.Count(a.text(2), a.text(0))) },

	"toJson": times(8), "mustToJson": times(8), "toPrettyJson": times(8), "mustToPrettyJson": times(8), "toRawJson": times(8), "mustToRawJson": times(8),
	"fromJson": times(16), "mustFromJson": times(16), "fromJsonArray": times(16), "deepCopy": times(8), "mustDeepCopy": times(8),
	"toYaml": times(60), "mustToYaml": times(60), "toYamlPretty": times(60), "toToml": times(60),
	"fromYaml": times(250), "fromYamlArray": times(250), "fromToml": times(100),
	"sha1sum": times(4), "sha256sum": times(4), "sha512sum": times(4), "sortAlpha": times(8), "plural": times(1),
	"derivePassword": func(arguments) float64 { return 1 << 27 },

	// Each element is compared with each other one, and a comparison may walk through both.
	"uniq": pairs, "mustUniq": pairs, "without": pairs, "mustWithout": pairs, "has": pairs, "mustHas": pairs,
	"merge": pairs, "mustMerge": pairs, "mergeOverwrite": pairs, "mustMergeOverwrite": pairs,
	// Exact decimals grow with each operand.
	"addf": decimals, "subf": decimals, "mulf": decimals, "divf": decimals, "add1f": decimals,

	"regexMatch": matching(0), "mustRegexMatch": matching(0), "regexFind": matching(0), "mustRegexFind": matching(0),
	"regexFindAll": matching(20), "mustRegexFindAll": matching(20), "regexSplit": matching(20), "mustRegexSplit": matching(20),
	"regexReplaceAll": replacing, "mustRegexReplaceAll": replacing,
	"regexReplaceAllLiteral": replacing, "mustRegexReplaceAllLiteral": replacing,
}

// times is the cost of functions that do more with each byte and element than read it.
func times(n float64) func(arguments) float64 {
	return func(a arguments) float64 { return n * a.size }
}

// steps is the cost of the numbers from start to stop.
func steps(start, stop, step int64) float64 {
	return PerItem * math.Abs(float64(stop)-float64(start)) / math.Max(1, math.Abs(float64(step)))
}

func seqSteps(a arguments) float64 {
	numbers, ok := a.list[0].Interface().([]int)
	if !ok {
		return 0
	}
	switch len(numbers) {
	case 1:
		return steps(1, int64(numbers[0]), 1)
	case 2:
		return steps(int64(numbers[0]), int64(numbers[1]), 1)
	case 3:
		return steps(int64(numbers[0]), int64(numbers[2]), int64(numbers[1]))
	default:
		return 0
	}
}

func pairs(a arguments) float64 {
	items := 0.0
	for i := range a.list {
		items += a.items(i)
	}
	return items * a.size
}

func decimals(a arguments) float64 {
	operands := 1 + a.items(len(a.list)-1)
	return operands * operands * 2000
}

// Widths sums the widths and precisions in a format. A width given by an argument counts as the maximum.
func Widths(format string) float64 {
	const largest = 1e6 // fmt refuses more
	sum, number := 0.0, 0.0
	for _, c := range format {
		switch {
		case c >= '0' && c <= '9':
			number = math.Min(number*10+float64(c-'0'), largest)
			continue
		case c == '*':
			sum += largest
		}
		sum, number = sum+number, 0
	}
	return sum + number
}

// Compiling is the cost of Compiling one instruction of a regular expression.
const Compiling = 50

// matching returns the cost of running a regular expression over a text, with an additional cost per match.
func matching(perMatch float64) func(arguments) float64 {
	return func(a arguments) float64 {
		size := ExpressionSize(a.text(0))
		return size*Compiling + (1+a.length(1))*(1+size/4+perMatch)
	}
}

func replacing(a arguments) float64 {
	return matching(0)(a) + (1+a.length(1))*(1+a.length(2))
}

// ExpressionSize returns the approximate number of instructions of a compiled regular expression.
// Repetitions are copies: (a{100}){10} has a thousand. An invalid expression is refused by the function itself.
func ExpressionSize(text string) float64 {
	expression, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return float64(len(text))
	}
	return instructions(expression)
}

func instructions(e *syntax.Regexp) float64 {
	size := float64(1 + len(e.Rune))
	for _, sub := range e.Sub {
		size += instructions(sub)
	}
	if e.Op == syntax.OpRepeat {
		size *= float64(max(e.Min, e.Max, 1))
	}
	return size
}
