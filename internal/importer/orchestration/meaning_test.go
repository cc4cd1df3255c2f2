package orchestration_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
	sigs "sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/chart/values"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/importer/orchestration"
)

// The language of the service, written down a second time and only for this test: what its documentation states, and the grammar that Eclipse
// Symphony publishes of the language that it is made from.

// node is an expression.
type node struct {
	// op is a function, an operator, "val" or "constant".
	op   string
	args []node
	// text is the source of a constant or the name of a value.
	text string
}

// source writes an expression.
func (n node) source() string {
	var args []string
	for _, a := range n.args {
		args = append(args, a.source())
	}
	switch n.op {
	case "constant":
		return n.text
	case "val":
		return "$val(" + n.text + ")"
	case "+", "-", "*", "/":
		return "(" + args[0] + " " + n.op + " " + args[1] + ")"
	}
	return "$" + n.op + "(" + strings.Join(args, ", ") + ")"
}

var errType = errors.New("a value has the wrong type")

// shown is a value as text.
func shown(v any) string {
	if f, isNumber := v.(float64); isNumber {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

func number(v any) (float64, error) {
	f, err := strconv.ParseFloat(shown(v), 64)
	if err != nil {
		return 0, errType
	}
	return f, nil
}

func boolean(v any) (bool, error) {
	b, err := strconv.ParseBool(fmt.Sprint(v))
	if _, isNumber := v.(float64); isNumber || err != nil {
		return false, errType
	}
	return b, nil
}

func constantValue(text string) any {
	if quoted := strings.Trim(text, `'"`); quoted != text {
		return quoted
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return float64(i)
	}
	if text == "true" || text == "false" {
		return text == "true"
	}
	return text
}

// eval computes an expression.
func (n node) eval(given map[string]any) (any, error) {
	switch n.op {
	case "constant":
		return constantValue(n.text), nil
	case "val":
		return given[n.text], nil
	case "if":
		condition, err := n.args[0].eval(given)
		if err != nil {
			return nil, err
		}
		if fmt.Sprint(condition) == "true" {
			return n.args[1].eval(given)
		}
		return n.args[2].eval(given)
	}
	var args []any
	for _, a := range n.args {
		v, err := a.eval(given)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	switch n.op {
	case "+", "-", "*", "/":
		return calculate(n.op, args[0], args[1])
	case "and", "or", "any", "not":
		return logic(n.op, args)
	case "eq":
		return shown(args[0]) == shown(args[1]), nil
	case "in":
		return slices.ContainsFunc(args[1:], func(a any) bool { return shown(a) == shown(args[0]) }), nil
	case "empty":
		return args[0] == "", nil
	}
	return order(n.op, args)
}

func calculate(op string, a, b any) (any, error) {
	x, isX := a.(float64)
	y, isY := b.(float64)
	switch {
	case !isX || !isY:
		if op == "+" {
			return shown(a) + shown(b), nil
		}
		return shown(a) + op + shown(b), nil
	case op == "+":
		return x + y, nil
	case op == "-":
		return x - y, nil
	case op == "*":
		return x * y, nil
	case y == 0:
		return nil, errType
	}
	return x / y, nil
}

func logic(op string, args []any) (any, error) {
	var all []bool
	for _, a := range args {
		b, err := boolean(a)
		if err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	switch op {
	case "not":
		return !all[0], nil
	case "and":
		return !slices.Contains(all, false), nil
	}
	return slices.Contains(all, true), nil
}

func order(op string, args []any) (any, error) {
	var numbers []float64
	for _, a := range args {
		f, err := number(a)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, f)
	}
	switch op {
	case "gt":
		return numbers[0] > numbers[1], nil
	case "ge":
		return numbers[0] >= numbers[1], nil
	case "lt":
		return numbers[0] < numbers[1], nil
	case "le":
		return numbers[0] <= numbers[1], nil
	case "between":
		return numbers[0] >= numbers[1] && numbers[0] <= numbers[2], nil
	}
	return nil, fmt.Errorf("no function %s", op)
}

// The values that expressions read: of each declared type, and some without one.
const declared = `rules:
  configs:
    name: {type: string}
    port: {type: string}
    replicas: {type: int}
    limit: {type: int}
    ratio: {type: float}
    live: {type: boolean}
`

func given(t *rapid.T) map[string]any {
	return map[string]any{
		"name":     rapid.SampledFrom([]string{"Hamburg", "north sea", "true", ""}).Draw(t, "name"),
		"port":     rapid.SampledFrom([]string{"80", "2.5"}).Draw(t, "port"),
		"replicas": float64(rapid.IntRange(-2, 9).Draw(t, "replicas")),
		"limit":    float64(rapid.IntRange(1, 5).Draw(t, "limit")),
		"ratio":    rapid.SampledFrom([]float64{0.5, 2, 2.5}).Draw(t, "ratio"),
		"live":     rapid.Bool().Draw(t, "on"),
		"free":     rapid.SampledFrom([]any{"true", "7", "x", 7.0, 0.5, true, false}).Draw(t, "free"),
	}
}

func expressions(depth int) *rapid.Generator[node] {
	return rapid.Custom(func(t *rapid.T) node {
		if depth == 0 || rapid.IntRange(0, 3).Draw(t, "leaf") == 0 {
			if rapid.Bool().Draw(t, "constant") {
				return node{op: "constant", text: rapid.SampledFrom([]string{"5", "-2", "007", "2.5", "RED", "'two words'", `"80"`, "true", "'true'", "false"}).Draw(t, "text")}
			}
			return node{op: "val", text: rapid.SampledFrom([]string{"name", "port", "replicas", "limit", "ratio", "live", "free"}).Draw(t, "value")}
		}
		op := rapid.SampledFrom([]string{
			"gt", "ge", "lt", "le", "eq", "between", "and", "or", "any", "not", "if", "if", "in", "empty", "+", "+", "-", "*", "/",
		}).Draw(t, "op")
		n := node{op: op}
		args := map[string]int{"not": 1, "empty": 1, "between": 3, "if": 3, "any": 3, "in": 3}[op]
		if args == 0 {
			args = 2
		}
		if op == "empty" {
			n.args = []node{{op: "val", text: rapid.SampledFrom([]string{"name", "port", "free"}).Draw(t, "tested")}}
			return n
		}
		for range args {
			n.args = append(n.args, expressions(depth-1).Draw(t, "arg"))
		}
		return n
	})
}

// imported returns the values that files give a target, and what was listed.
func imported(t interface{ Fatalf(string, ...any) }, files map[string][]byte) (map[string]any, []fleet.Problem) {
	result := orchestration.Convert(files, orchestration.Options{Name: "shop", Environment: "dev"})
	var listed []fleet.Problem
	for _, p := range result.Problems {
		if p.Severity != fleet.SeverityNotice && p.Position.File == "template.yaml" {
			listed = append(listed, p)
		}
	}
	var layers []*values.Layer
	if text, ok := result.Files["configs/values.cel.yaml"]; ok {
		l, problems := values.ParseExpressions("", "values.cel.yaml", text)
		if len(problems) > 0 {
			t.Fatalf("%v:\n%s", problems, text)
		}
		layers = append(layers, l)
	}
	l, problems := values.Parse("", "values.yaml", result.Files["configs/values.yaml"])
	if len(problems) > 0 {
		t.Fatalf("%v", problems)
	}
	composed, problems := values.Compute(append(layers, l), nil, values.Facts{Environment: "dev", Workload: "shop", Target: "line-1"})
	return composed.Data, append(listed, problems...)
}

// plainJSON is a value as other programs read it, so that 2 and 2.0 are the same.
func plainJSON(t *rapid.T, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var again any
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%T %v", again, again)
}

// TestSameResult: an expression has the same result in the service and here, or it is listed, or it is held with the values that the service
// cannot compute it with.
func TestSameResult(t *testing.T) {
	same, listed, neither := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		facts := given(t)
		expression := expressions(3).Draw(t, "expression")
		template, err := sigs.Marshal(map[string]any{"configs": map[string]any{"result": "${{" + expression.source() + "}}"}})
		if err != nil {
			t.Fatal(err)
		}
		set, err := sigs.Marshal(map[string]any{"configs": facts})
		if err != nil {
			t.Fatal(err)
		}
		got, problems := imported(t, map[string][]byte{"schema.yaml": []byte(declared), "template.yaml": template, "values.yaml": set})
		want, err := expression.eval(facts)
		switch {
		case err != nil:
			neither++ // or it is computed here: CEL leaves out what cannot change the result of "and", "or" and "any"
		case len(problems) > 0:
			listed++
		case plainJSON(t, got["result"]) != plainJSON(t, want):
			t.Fatalf("%s is %v (%T), want %v (%T)", expression.source(), got["result"], got["result"], want, want)
		default:
			same++
		}
	})
	t.Logf("%d have the same result, %d are listed or held, %d have none in the service", same, listed, neither)
	if same < listed {
		t.Errorf("only %d expressions were computed, %d were not", same, listed)
	}
}

// TestJoined has texts around expressions, with the results that the rule of the service's documentation gives: a + between a text and an
// expression joins them.
func TestJoined(t *testing.T) {
	for text, want := range map[string]string{
		"Monitor of + ${{$val(name)}} + plant":       "Monitor of Hamburg plant",
		"${{$val(address)}}+/tools/img":              "10.0.0.1/tools/img",
		"http://${{$val(address)}}:${{$val(port)}}/": "http://10.0.0.1:80/",
		"${{$val(name)}}+${{$val(port)}}":            "Hamburg80",
		"a+b ${{$val(name)}}":                        "a+b Hamburg",
		"port+${{$val(port)}}":                       "port80",
		"${{$val(port) + 1}}":                        "801",
		"${{'C-' + $val(name)}}":                     "C-Hamburg",
		"${{$property(unit.name)}}":                  "press",
		"${{$val('$.unit.name')}}":                   "press",
		"${{$target(name)}}":                         "line-1",
		"${{$config(/subscriptions/x/resourceGroups/y/providers/Microsoft.Edge/configurations/z/versions/1.0.0, name)}}": "Hamburg",
		"${{$if($val(live), yes, no)}}":                                                               "yes",
		"${{$if($eq($val(name), Hamburg), $val(port), none)}}":                                        "80",
		"${{$if($any($not($val(live)), $between($val(port), 10, 100)), 'in range', 'out of range')}}": "in range",
	} {
		template, err := sigs.Marshal(map[string]any{"configs": map[string]any{
			"result": text, "name": "Hamburg", "port": "80", "address": "10.0.0.1", "live": "true", "unit": map[string]any{"name": "press"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		got, problems := imported(t, map[string][]byte{"schema.yaml": []byte("rules: {port: {type: string}}"), "template.yaml": template})
		if len(problems) > 0 || got["result"] != want {
			t.Errorf("%s is %q, want %q; %v", text, got["result"], want, problems)
		}
	}
	for _, text := range []string{"a+ ${{$val(name)}}", "${{$val(name)}} +a", "${{$val(name)}} + ${{$val(port)}}", "${{$target(id)}}", "${{$config(common/1.0.0)}}"} {
		template, err := sigs.Marshal(map[string]any{"configs": map[string]any{"result": text, "name": "Hamburg", "port": "80"}})
		if err != nil {
			t.Fatal(err)
		}
		got, problems := imported(t, map[string][]byte{"template.yaml": template})
		if len(problems) != 1 || problems[0].Position.Line == 0 || got["result"] != nil {
			t.Errorf("%s is %v, and %v is listed", text, got["result"], problems)
		}
	}
}

// TestValidations checks values with the rules of a schema: for a value, and across values in both places where the service reads them.
func TestValidations(t *testing.T) {
	for name, schema := range map[string]string{
		"of a value":    "rules: {configs: {a: {type: int, expression: '${{ $le($val(a), $val(b)) }}'}, b: {type: int}}}",
		"at the top":    "rules: {configs: {a: {type: int}, b: {type: int}}}\nvalidations: {expression: '${{ $le($val(a), $val(b)) }}'}",
		"in the rules":  "rules:\n  configs: {a: {type: int}, b: {type: int}}\n  validations: [{expression: '${{ $le($val(a), $val(b)) }}'}]",
		"without types": "rules: {c: {type: int}}\nvalidations: [{expression: '${{ $le($val(a), $val(b)) }}'}]",
		"as text":       "rules: {c: {type: int}}\nvalidations: [{expression: \"${{ $if($le($val(a), $val(b)), 'true', 'false') }}\"}]",
	} {
		result := orchestration.Convert(map[string][]byte{"schema.yaml": []byte(schema)}, orchestration.Options{Name: "shop", Environment: "dev"})
		compiled, err := values.CompileSchema(fleet.Position{File: "schema.yaml"}, result.Files["source/config/schema.yaml"])
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, c := range []struct {
			data  map[string]any
			valid bool
		}{
			{map[string]any{"a": 1, "b": 2}, true}, {map[string]any{"a": 3, "b": 2}, false}, {map[string]any{"a": 3}, true}, {map[string]any{}, true},
		} {
			if problems := compiled.Check(c.data, values.Compose(nil, nil), ""); (len(problems) == 0) != c.valid {
				t.Errorf("%s: %v gives %v", name, c.data, problems)
			}
		}
	}
}
