package render

import (
	"strings"
	"text/template/parse"

	"github.com/kalypso-io/kalypso/internal/chart/meter"
)

// step writes a piece of a template's text or one key of the data.
//
// Most templates consist of these. text/template executes each through reflection,
// so the rewriter joins adjacent ones into one call.
type step struct {
	text []byte // literal text; no other field is set then

	// Exactly one of these reads the value.
	field func(*Data) string            // a string that is always set
	table func(*Data) map[string]string // a map with key
	conf  bool                          // ConfigData with key
	key   string

	fallback *string // for an absent or empty value
	quoted   bool
	yaml     *yamlStep // instead, if conf
	pos      parse.Pos
}

// yamlStep writes a configuration, or one of its values, as YAML: toYaml (stringify .ConfigData) | indent 2.
type yamlStep struct {
	stringify bool
	newline   bool   // before the text, by nindent
	indent    string // before each line
}

// maxIndent limits what is indented here.
const maxIndent = 32

// fields are the strings of the data, tables its maps.
var (
	fields = map[string]func(*Data) string{
		"DeploymentTargetName": func(d *Data) string { return d.DeploymentTargetName },
		"Namespace":            func(d *Data) string { return d.Namespace },
		"Environment":          func(d *Data) string { return d.Environment },
		"Workspace":            func(d *Data) string { return d.Workspace },
		"Workload":             func(d *Data) string { return d.Workload },
		"ClusterType":          func(d *Data) string { return d.ClusterType },
		"Cluster":              func(d *Data) string { return d.Cluster },
	}
	tables = map[string]func(*Data) map[string]string{
		"Labels":            func(d *Data) map[string]string { return d.Labels },
		"Manifests":         func(d *Data) map[string]string { return d.Manifests },
		"ClusterTypeLabels": func(d *Data) map[string]string { return d.ClusterTypeLabels },
		"ClusterLabels":     func(d *Data) map[string]string { return d.ClusterLabels },
	}
)

// stepOf returns the step that replaces an action, if it prints
// a key of the data, with or without default and quote.
func stepOf(n *parse.ActionNode, s scope) (step, bool) {
	cmds := n.Pipe.Cmds
	st := step{pos: n.Pos}
	if len(n.Pipe.Decl) > 0 || len(cmds) == 0 {
		return st, false
	}
	if value, calls := flatten(n.Pipe); value != nil {
		if st.yaml = yamlOf(calls); st.yaml != nil {
			keys := chain(value, s)
			st.conf = len(keys) > 0 && len(keys) <= 2 && keys[0] == "ConfigData"
			st.key = strings.Join(keys[min(1, len(keys)):], "")
			return st, st.conf
		}
	}
	if last := cmds[len(cmds)-1]; len(cmds) == 2 && len(last.Args) == 1 && calls(last, "quote") {
		st.quoted = true
		cmds = cmds[:1]
	}
	if len(cmds) != 1 {
		return st, false
	}
	args := cmds[0].Args
	switch {
	case len(args) == 1:
	case len(args) == 2 && !st.quoted && calls(cmds[0], "quote"):
		st.quoted = true
	case len(args) == 3 && calls(cmds[0], "default"):
		literal, ok := args[1].(*parse.StringNode)
		if !ok {
			return st, false
		}
		st.fallback = &literal.Text
	default:
		return st, false
	}
	return st, st.reads(chain(args[len(args)-1], s))
}

// flatten returns the value that a pipeline begins with, and the functions that are called one after the other, each with
// its arguments but the last.
func flatten(pipe *parse.PipeNode) (value parse.Node, calls [][]parse.Node) {
	for i, cmd := range pipe.Cmds {
		args := cmd.Args
		if i == 0 {
			value, args = args[len(args)-1], args[:len(args)-1]
			if inner, ok := value.(*parse.PipeNode); ok && len(inner.Decl) == 0 {
				value, calls = flatten(inner)
			}
		}
		if len(args) > 0 {
			calls = append(calls, args)
		}
	}
	return value, calls
}

// yamlOf returns the step that replaces calls, or nil.
func yamlOf(calls [][]parse.Node) *yamlStep {
	next := func(name string, args int) []parse.Node {
		if len(calls) == 0 || len(calls[0]) != 1+args {
			return nil
		}
		if function, ok := calls[0][0].(*parse.IdentifierNode); !ok || function.Ident != name {
			return nil
		}
		call := calls[0]
		calls = calls[1:]
		return call
	}
	y := &yamlStep{stringify: next("stringify", 0) != nil}
	if next("toYaml", 0) == nil {
		return nil
	}
	indent := next("indent", 1)
	if indent == nil {
		indent = next("nindent", 1)
		y.newline = indent != nil
	}
	if indent != nil {
		width, ok := indent[1].(*parse.NumberNode)
		if !ok || !width.IsInt || width.Int64 < 0 || width.Int64 > maxIndent {
			return nil
		}
		y.indent = strings.Repeat(" ", int(width.Int64))
	}
	if len(calls) > 0 {
		return nil
	}
	return y
}

func calls(cmd *parse.CommandNode, name string) bool {
	function, ok := cmd.Args[0].(*parse.IdentifierNode)
	return ok && function.Ident == name
}

// chain returns the keys of an expression that starts at the data, or nil.
func chain(n parse.Node, s scope) []string {
	switch n := n.(type) {
	case *parse.FieldNode:
		if s.dot {
			return n.Ident
		}
	case *parse.VariableNode:
		if s.dollar && n.Ident[0] == "$" {
			return n.Ident[1:]
		}
	}
	return nil
}

// reads makes the step read a key chain, and reports whether it can.
func (st *step) reads(keys []string) bool {
	if len(keys) == 1 && shorthands[keys[0]] != nil {
		keys = shorthands[keys[0]]
	}
	switch len(keys) {
	case 1:
		st.field = fields[keys[0]]
	case 2:
		st.key = keys[1]
		st.table = tables[keys[0]]
		st.conf = keys[0] == "ConfigData"
	}
	return st.field != nil || st.table != nil || st.conf
}

// sequence holds the steps of one call. If they are the first in a block, the call also begins the block.
type sequence struct {
	list  []step
	block int // or noBlock
}

const noBlock = -1

// run writes the steps of a run.
func (w *Worker) run(number int) (none, error) {
	r := &w.program.runs[number]
	if r.block != noBlock {
		if _, err := w.at(r.block); err != nil {
			return none{}, err
		}
	}
	for i := range r.list {
		st := &r.list[i]
		if st.text != nil {
			w.out = append(w.out, st.text...)
		} else if err := w.step(st); err != nil {
			return none{}, &stepError{st.pos, err}
		}
	}
	return none{}, w.bounded()
}

// stepError is an error with the position of its action.
type stepError struct {
	pos parse.Pos
	err error
}

func (e *stepError) Error() string { return e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }

// step writes the value that a step reads.
func (w *Worker) step(st *step) error {
	text, found := "", true
	switch {
	case st.yaml != nil:
		return w.stepYAML(st)
	case st.field != nil:
		text = st.field(w.data)
	case st.table != nil:
		text, found = st.table(w.data)[st.key]
	default:
		var isText bool
		v := w.data.ConfigData[st.key]
		if text, isText = v.(string); !isText && v != nil {
			return w.stepAny(st, v)
		}
		found = v != nil
	}
	if text == "" && st.fallback != nil {
		text, found = *st.fallback, true
	}
	if !found {
		return meter.ErrAbsent
	}
	return w.printText(text, st.quoted)
}

// stepAny writes a value that is not a string.
func (w *Worker) stepAny(st *step, v any) error {
	var err error
	if st.fallback != nil {
		if v, err = w.orDefault(*st.fallback, v); err != nil {
			return err
		}
	}
	if st.quoted {
		_, err = w.printQuoted(v)
	} else {
		_, err = w.print(v)
	}
	return err
}

// stepYAML writes a configuration, or one of its values, as YAML.
func (w *Worker) stepYAML(st *step) error {
	var v any = w.data.ConfigData
	if st.key != "" {
		v = w.data.ConfigData[st.key]
	}
	var err error
	if st.yaml.stringify {
		if v, err = w.stringify(v); err != nil {
			return err
		}
	}
	text, err := w.toYAML(v)
	if err != nil {
		return err
	}
	lines := 1 + strings.Count(text, "\n")
	if err := w.Charge(meter.PerCall + float64(2*len(text)+lines*(1+len(st.yaml.indent)))); err != nil {
		return err
	}
	start := len(w.out)
	if st.yaml.newline {
		w.out = append(w.out, '\n')
	}
	w.out = append(w.out, st.yaml.indent...)
	for line := range strings.Lines(text) {
		w.out = append(w.out, line...)
		if strings.HasSuffix(line, "\n") {
			w.out = append(w.out, st.yaml.indent...)
		}
	}
	w.trace.printed(w.out, w.start, start)
	return w.bounded()
}
