package render

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"text/template"

	"github.com/kalypso-io/kalypso/internal/chart/meter"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Worker executes the templates of a library. It is not safe for concurrent use: each goroutine needs its own.
//
// Templates are bound to the worker's functions once, so that an execution copies nothing.
type Worker struct {
	meter.Meter

	bound    map[*program]*template.Template
	evals    map[string]*program
	memo     memo
	mapping  mapping
	patterns map[string]pattern
	charts   RenderedCharts

	// State of one execution.
	data    *Data
	program *program
	depth   int
	out     []byte // output so far, of all manifests of the template
	start   int    // of the manifest in out
	trace   trace

	// State of a compiled template.
	dot       operand // of the innermost with or range
	variables []operand
	operands  []operand // arguments of calls
	callable  map[string]reflect.Value
}

// Worker returns a new worker.
func (l *Library) Worker() *Worker {
	return &Worker{
		bound:    map[*program]*template.Template{},
		evals:    map[string]*program{},
		memo:     memo{},
		patterns: map[string]pattern{},
		callable: map[string]reflect.Value{},
	}
}

// none is the result of an injected action.
type none struct{}

// functions returns the functions that are methods of the worker.
func (w *Worker) functions() template.FuncMap {
	functions := template.FuncMap{
		enterFunc: w.enter, leaveFunc: w.leave, atFunc: w.at, overFunc: w.over,
		printFunc: w.print, quoteFunc: w.printQuoted, runFunc: w.run,
		"toYaml": w.toYAML, "stringify": w.stringify, "hash": w.hash,
		"quote": w.quote, "default": w.orDefault,
		"eq": w.Equal, "regexMatch": w.regexMatch,
	}
	for _, name := range []string{"ne", "lt", "le", "gt", "ge"} {
		functions[name] = w.Comparison(name)
	}
	return functions
}

// bind returns a program that calls this worker's functions.
func (w *Worker) bind(p *program) (*template.Template, error) {
	if t := w.bound[p]; t != nil {
		return t, nil
	}
	own, functions := w.functions(), template.FuncMap{}
	for _, name := range injected {
		functions[name] = own[name]
	}
	for _, name := range p.functions {
		if function := own[name]; function != nil {
			functions[name] = function
		} else if function := library()[name]; function != nil {
			functions[name] = w.Metered(name, function)
		}
	}
	t := template.New(mainName).Funcs(functions)
	for _, name := range slices.Sorted(maps.Keys(p.trees)) {
		if _, err := t.AddParseTree(name, p.trees[name]); err != nil {
			return nil, fmt.Errorf("bind template %q: %w", name, err)
		}
	}
	w.bound[p] = t
	return t, nil
}

// begin prepares the execution of a manifest.
func (w *Worker) begin(traced bool) {
	w.Left, w.Limit = maxWork, maxWork
	w.start = len(w.out)
	w.trace.reset(traced)
}

// execute appends the output of a program.
func (w *Worker) execute(p *program, d *Data) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the template engine failed: %v", r)
		}
	}()
	w.program, w.data, w.depth = p, d, 0
	if p.compiled != nil && w.runCompiled(p.compiled) {
		return nil
	}
	t, err := w.bind(p)
	if err != nil {
		return err
	}
	if p.mutates {
		if w.data, err = w.private(d); err != nil {
			return err
		}
	}
	// A copy, because a pointer in a list is printed as an address, which differs each time.
	return t.Execute(w, *w.data)
}

// runCompiled executes a compiled template, and reports whether it came to its end. If not, nothing has happened.
func (w *Worker) runCompiled(c *compiled) (done bool) {
	left, out, key, words := w.Left, len(w.out), len(w.trace.key), len(w.trace.words)
	defer func() {
		if recover() != nil || !done {
			w.Left, w.depth, w.out = left, 0, w.out[:out]
			w.trace.key, w.trace.words = w.trace.key[:key], w.trace.words[:words]
			done = false
		}
	}()
	return c.run(w) == nil
}

// private returns a copy of the data that a template can change.
func (w *Worker) private(d *Data) (*Data, error) {
	if err := w.Measure(reflect.ValueOf(d.ConfigData), 0); err != nil {
		return nil, err
	}
	own := *d
	own.Grants, own.DependsOn = slices.Clone(d.Grants), slices.Clone(d.DependsOn)
	if d.ConfigData != nil {
		own.ConfigData, _ = deepCopy(d.ConfigData).(map[string]any)
	}
	return &own, nil
}

func deepCopy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for key, value := range v {
			c[key] = deepCopy(value)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, value := range v {
			c[i] = deepCopy(value)
		}
		return c
	default:
		return v
	}
}

// Write appends text of the template itself.
func (w *Worker) Write(text []byte) (int, error) {
	w.out = append(w.out, text...)
	return len(text), w.bounded()
}

func (w *Worker) bounded() error {
	if len(w.out)-w.start > maxOutput {
		return &meter.Error{Limit: fmt.Sprintf("the template writes more than %d bytes", maxOutput)}
	}
	return nil
}

// enter begins the body of a template.
func (w *Worker) enter(block int) (none, error) {
	if w.depth++; w.depth > maxDepth {
		return none{}, &meter.Error{Limit: fmt.Sprintf("templates call each other more than %d levels deep", maxDepth)}
	}
	return w.at(block)
}

func (w *Worker) leave() none {
	w.depth--
	return none{}
}

// at begins a block.
func (w *Worker) at(block int) (none, error) {
	w.trace.block(block)
	return none{}, w.Charge(w.program.costs[block])
}

// over charges for sorting a map before a loop's first iteration.
func (w *Worker) over(v reflect.Value) (reflect.Value, error) {
	if m := meter.Concrete(v); m.Kind() == reflect.Map {
		return v, w.Charge(float64(m.Len()) * 4 * meter.PerItem)
	}
	return v, nil
}

// print writes the value of an action.
func (w *Worker) print(v any) (none, error) {
	start := len(w.out)
	switch v := v.(type) {
	case nil:
		return none{}, meter.ErrAbsent
	case string:
		return none{}, w.printText(v, false)
	default:
		if err := w.Measure(reflect.ValueOf(v), 0); err != nil {
			return none{}, err
		}
		w.out = fmt.Append(w.out, printable(v))
	}
	w.trace.printed(w.out, w.start, start)
	return none{}, w.bounded()
}

// printQuoted writes the value of an action in double quotes.
func (w *Worker) printQuoted(v any) (none, error) {
	text, ok := v.(string)
	if !ok {
		quoted, err := w.quote(v)
		if err != nil {
			return none{}, err
		}
		return w.print(quoted)
	}
	return none{}, w.printText(text, true)
}

// printText writes a text, or the text in double quotes.
func (w *Worker) printText(text string, quoted bool) error {
	start := len(w.out)
	if quoted {
		w.out = appendQuoted(w.out, text)
	} else {
		w.out = append(w.out, text...)
	}
	w.trace.printed(w.out, w.start, start)
	return w.bounded()
}

// appendQuoted is strconv.AppendQuote, which looks at each character of a text that needs no escapes, too.
func appendQuoted(out []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return strconv.AppendQuote(out, text)
		}
	}
	return append(append(append(out, '"'), text...), '"')
}

// printable dereferences a pointer, unless it implements fmt.Stringer or error.
func printable(v any) any {
	switch v.(type) {
	case fmt.Stringer, error:
		return v
	}
	p := reflect.ValueOf(v)
	for p.Kind() == reflect.Pointer && !p.IsNil() {
		p = p.Elem()
	}
	return p.Interface()
}

// Eval executes a configuration value with the data of an assignment, without ConfigData. The error is an *Error.
func (w *Worker) Eval(text string, d *Data) (string, error) {
	p, err := w.evalProgram(text)
	if err != nil {
		return "", w.evalError(err, nil, d)
	}
	w.out = w.out[:0]
	w.begin(false)
	if err := w.execute(p, d); err != nil {
		return "", w.evalError(err, p, d)
	}
	return string(w.out), nil
}

func (w *Worker) evalProgram(text string) (*program, error) {
	if p := w.evals[text]; p != nil {
		return p, nil
	}
	p, err := compile(text, "ConfigData", "Grants", "DependsOn", "Wave")
	if err != nil {
		return nil, err
	}
	if len(w.evals) >= maxMemo {
		clear(w.evals)
		clear(w.bound)
	}
	w.evals[text] = p
	return p, nil
}

func (w *Worker) evalError(err error, p *program, d *Data) error {
	problem := explain(err, p, d, fleet.Position{})
	if problem.Kind != fleet.KindTemplateBounds {
		problem.Kind = fleet.KindConfigValue
	}
	problem.Position.Line = 0 // only the caller knows the value's position
	return &Error{problem}
}

// asSyntax returns err as a *syntaxError, or nil.
func asSyntax(err error) *syntaxError {
	var mistake *syntaxError
	if errors.As(err, &mistake) {
		return mistake
	}
	return nil
}
